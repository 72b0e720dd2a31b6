"""Advice for a retry: the analysis of an error, and one concrete sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.phrase_table import Phrases, Table
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.truncation import as_text
from unstuck.text import Clean

PATTERNS: dict[str, tuple[str, ...]] = {
    "syntax_error": (r"SyntaxError", r"Unexpected token", r"Parse error"),
    "test_assertion": (r"Expected.*but received", r"AssertionError", r"expect\(.*\)\.to"),
    "import_error": (r"Cannot find module", r"Module not found", r"ImportError"),
    "type_error": (r"TypeError", r"is not assignable to", r"Type.*is not"),
    "runtime_error": (r"ReferenceError", r"undefined is not", r"null is not"),
}
SEARCHED = 20_000
LINE = 2_000

ADVICE: dict[str, str] = {
    "syntax_error": "Read the reported line and the one before it; close what is open there, and parse it again.",
    "test_assertion": "Compare expected with actual; change the code, not the test, unless the test is wrong.",
    "import_error": "Check the name and the path of the import, then whether the package is installed here.",
    "type_error": "Look at the value at this line: convert it, or correct the signature.",
    "runtime_error": "Define the name before it is used, and guard the value that is missing.",
    "unknown": "Run the command again on its own, read its first error line, and change one thing.",
}
TYPE_ADVICE: dict[ErrorType, str] = {
    ErrorType.SYNTAX_ERROR: ADVICE["syntax_error"],
    ErrorType.TYPE_ERROR: ADVICE["type_error"],
    ErrorType.IMPORT_ERROR: ADVICE["import_error"],
    ErrorType.ATTRIBUTE_ERROR: "Check what the object is at this line and how the name is spelt.",
    ErrorType.KEY_ERROR: "Print the keys that exist there, use the right one, and decide what a missing key means.",
    ErrorType.VALUE_ERROR: "Print the value that was refused, and convert or check it where it enters.",
    ErrorType.INDEX_ERROR: "Check the length before the access; the sequence is shorter than the code believes.",
    ErrorType.RUNTIME_ERROR: "Look at the values at this line, and handle the case that the code did not expect.",
    ErrorType.ASSERTION_ERROR: ADVICE["test_assertion"],
    ErrorType.TIMEOUT_ERROR: "Find what it waits for; bound the wait or make the step smaller before raising a limit.",
    ErrorType.CONNECTION_ERROR: "Check that the service is up and that host and port are right; then try again.",
    ErrorType.HTTP_ERROR: "Read the status and the body of the answer; correct the request before sending it again.",
    ErrorType.DATABASE_ERROR: "Compare the statement with the schema as it is; run the migrations that are missing.",
    ErrorType.VALIDATION_ERROR: "Correct the named field or finding; do not switch the rule off.",
    ErrorType.UNKNOWN: ADVICE["unknown"],
}
# Name of the missing value in languages where a variable may hold it.
NOTHING = {
    **dict.fromkeys((".py", ".pyi", ".pyx"), "None"),
    **dict.fromkeys(
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"), "undefined or null"
    ),
    **dict.fromkeys((".rb", ".lua", ".ex", ".exs"), "nil"),
    **dict.fromkeys((".php", ".dart", ".groovy"), "null"),
}
# Languages whose compiler reports type errors: there is no value to inspect yet.
COMPILED = (
    *(".go", ".rs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm", ".java", ".kt", ".kts", ".scala"),
    *(".swift", ".cs", ".fs", ".hs", ".ml", ".zig", ".d", ".nim", ".f90", ".v"),
)
DECLARED = "Make the types at this line agree: convert the value, or correct the declaration."
NAMED = "Declare or import the name, or correct its spelling."
NAMES = Phrases(
    ("undefined: ", r"^undefined: "),
    "undeclared",
    "not declared",
    "not found in this scope",
    "cannot find symbol",
    ("cannot find ", r"\bcannot find (?:name|type|value|function|macro|variable|struct|trait|enum|identifier|['\"`])"),
    ("unresolved reference", r"\bunresolved reference\b"),
    ("unknown type", r"\bunknown type(?: name)?\b"),
    ("undefined", r"\bundefined (?:variable|identifier|function|reference to)\b"),
    "not in scope",
)
COMMAND = "Check the command's name, and whether it is installed and in PATH."
MEMORY = "Find what uses up the memory, and work on smaller pieces of it."
POINTER = "Find the pointer or the index that is not valid at this line; a debugger or a sanitizer shows it."
CODE_ADVICE = {
    "usage": "Read the program's help, and correct the arguments that it was called with.",
    "exit 127": COMMAND,
    "exit 137": MEMORY,
    "exit 139": POINTER,
}
# Error types that are too general for one advice.
WIDE = (ErrorType.RUNTIME_ERROR, ErrorType.UNKNOWN)
PHRASE_ADVICE: Table[str] = Table(
    (ADVICE["runtime_error"], Phrases("is not defined", "unboundlocalerror", "unbound variable", "parameter not set")),
    (
        "Check the path and the directory that it is relative to; make the file first if it is yet to be made.",
        Phrases("no such file", "file not found", "enoent", "nosuchfileexception", "could not find "),
    ),
    (
        "Check the path and who may use it; work where that is allowed rather than with more rights.",
        Phrases("permission denied", "operation not permitted", "eacces", "eperm", "accessdeniedexception"),
    ),
    (
        "Remove what is not needed any more, such as old build output: nothing can be written before.",
        Phrases("no space left", "enospc", "disk quota exceeded"),
    ),
    (MEMORY, Phrases("out of memory", "cannot allocate memory", "memoryerror", "outofmemoryerror", "bad_alloc")),
    (POINTER, Phrases("segmentation fault", "nil pointer", "null pointer", "nullpointerexception")),
    (
        "Find the call that never reaches its end, and give the recursion one.",
        Phrases("recursion depth", "stack overflow", "stackoverflowerror", "maximum call stack"),
    ),
    ("Decide what a divisor of zero means here, and check for it first.", Phrases("division by zero", "by zero")),
)
MODULE = Lazy(
    r"(?:module named|Cannot find module|cannot import name|unresolved import|import) ['\"`]?([\w@./-]{1,120})['\"`]?"
)


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """Kind of fix for an error. ``pattern`` is the one that matched, empty for ``unknown``.

    Example::

        print(analyze_error("ImportError: no module named shop").fix_hint)
    """

    type: str
    error: str
    pattern: str = ""
    fix_hint: str = ""

    @property
    def description(self) -> str:
        """The advice, under the name that a fix has for it."""
        return self.fix_hint


def analyze_error(error: str) -> ErrorAnalysis:
    """Return the first kind whose pattern matches a line of ``error``."""
    error = as_text(error)
    lines = [line[:LINE] for line in error[:SEARCHED].split("\n")]
    for kind, patterns in PATTERNS.items():
        for pattern in patterns:
            compiled = re.compile(pattern)
            if any(compiled.search(line) for line in lines):
                return ErrorAnalysis(kind, error, pattern, _advice(kind, error[:SEARCHED]))
    return ErrorAnalysis("unknown", error, "", ADVICE["unknown"])


def _advice(kind: str, error: str) -> str:
    module = MODULE.search(error) if kind == "import_error" else None
    return f"{module[1]}: {ADVICE[kind]}" if module else ADVICE[kind]


def hint_for(parsed: ParsedOutput, error_type: ErrorType) -> Clean:
    """Return one sentence for the next attempt: the place and the advice."""
    if parsed.context_exhausted:
        return Clean("Save what is done, summarise it, and go on in a new session.")
    advice = _specific_advice(parsed, error_type) or TYPE_ADVICE[error_type]
    return Clean(f"{parsed.location}: {advice}" if parsed.location else advice.replace(" at this line", ""))


def _specific_advice(parsed: ParsedOutput, error_type: ErrorType) -> str | None:
    if "command not found" in parsed.lowered.text and error_type is ErrorType.IMPORT_ERROR:
        return COMMAND
    if error_type in (ErrorType.TYPE_ERROR, ErrorType.ATTRIBUTE_ERROR):
        return _type_advice(parsed, error_type)
    return CODE_ADVICE.get(parsed.code) or (PHRASE_ADVICE.first_in(parsed.lowered) if error_type in WIDE else None)


def _type_advice(parsed: ParsedOutput, error_type: ErrorType) -> str | None:
    """Return advice in the terms of the file's language, or None where it is unknown."""
    if parsed.kind == "build" and NAMES.match(parsed.lowered):
        return NAMED
    file = (parsed.location or "").rpartition(":")[0]
    suffix = f".{file.rpartition('.')[2].lower()}" if "." in file else ""
    attribute = error_type is ErrorType.ATTRIBUTE_ERROR
    if suffix in COMPILED:
        return None if attribute else DECLARED
    if nothing := NOTHING.get(suffix):
        if attribute:
            return f"Check what the object is at this line (it may be {nothing}) and how the name is spelt."
        return f"Look at the value at this line: convert it, handle {nothing}, or correct the signature."
    return None
