"""From a class, a code or a phrase to one of the error types."""

from __future__ import annotations

from unstuck.diagnosis.classification.complaints import GIVEN, more_certain
from unstuck.diagnosis.classification.expectations import by_expectation
from unstuck.diagnosis.classification.phrases import STRONG, SYNTAX, WEAK
from unstuck.diagnosis.classification.vocabulary import CLASSES, CODES, CURL, ENDINGS, GENERIC, LIBRARIES
from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.run_summary import counted_in

EXITS = {
    124: ErrorType.TIMEOUT_ERROR,
    127: ErrorType.IMPORT_ERROR,
    134: ErrorType.RUNTIME_ERROR,
    137: ErrorType.RUNTIME_ERROR,
    139: ErrorType.RUNTIME_ERROR,
}
REFUSED_BY_GIT = 128
TYPESCRIPT = {"1": ErrorType.SYNTAX_ERROR, "5": ErrorType.VALUE_ERROR}
COMPILED = 78
# Classes that say no more than that something went wrong: the words decide.
WORDED = ("shell", "jq", "throw")
# A code of npm and of Node's errors: a status, or the name of a state.
STATE = Lazy(r"E(?:([45])\d\d|[A-Z]{2,30})$")
# What keeps a linter from reading a file.
UNREADABLE = Lazy(r"^no such file or directory\b|^permission denied\b")
# A class within the words of another program.
CLASS_NAMED = Lazy(r": ([A-Z]\w{1,60}(?:Error|Exception))[: ]")
# A warning is shown, and is not the failure.
WARNED = Lazy(r"\W{0,3}warn")
# How sure a line is that has nothing but a place and words.
PLACED = 40
# How sure a line is that only says that something failed.
FAILED = 30
# What a compiler says of a name that it does not know, and of a value that does not fit.
UNTYPED = Lazy(
    r"\bis (?:not defined|unbound|undeclared)\b|\bis used, but is not defined\b"
    r"|\bunknown (?:type|identifier)\b|\bcannot convert from\b"
)
# A rule of a type checker, which is no question of grammar.
RULE_CODE = Lazy(r"(?!invalid-syntax|parse-error)[a-z]+(?:-[a-z]+)+$")
# A check of clang-tidy, of which each finding is an error; what the compiler itself says is none.
DENIED_CHECK = Lazy(r"(?!clang-diagnostic-error).*,-warnings-as-errors$")
# A rule of a formatter, which says what it expects.
STYLE = Lazy(r"[A-Z]{2}\d\d$")
# How many arguments a call needs is no question of grammar.
ARITY = Lazy(r"\b(?:not enough|too (?:few|many)|wrong number of|unexpected keyword) (?:type )?arguments?\b")


def error_type_of(parsed: ParsedOutput) -> ErrorType:
    """Return the error type: by class or code, else by a phrase of the headline, else by the exit code."""
    if parsed.kind == "lint":
        wrong = _by_code(parsed) or _by_class(parsed.name)
        # A linter's own rule has a name in lower case.
        if UNREADABLE.search(parsed.lowered.text):
            return ErrorType.RUNTIME_ERROR
        wrong = wrong or (
            None if parsed.code.islower() or STYLE.match(parsed.code) else SYNTAX.first_in(parsed.lowered)
        )
        return ErrorType.SYNTAX_ERROR if wrong is ErrorType.SYNTAX_ERROR else ErrorType.VALIDATION_ERROR
    return (
        STRONG.first_in(parsed.lowered)
        or _by_code(parsed)
        or _by_class(parsed.name)
        or LIBRARIES.get(parsed.headline.partition(".")[0])
        or _by_expectation(parsed)
        or _by_compiler(parsed)
        or WEAK.first_in(parsed.lowered)
        or _by_detail(parsed)
        or _by_tool(parsed)
    )


def type_around(parsed: ParsedOutput) -> ErrorType:
    """Return the error type by the lines around a headline that says none, where no runner has counted."""
    if parsed.kind in ("test", "lint") or parsed.context_exhausted or counted_in(parsed.seen):
        return ErrorType.UNKNOWN
    return more_certain(parsed, (STRONG, WEAK, GIVEN))


def _by_expectation(parsed: ParsedOutput) -> ErrorType | None:
    """Return the type where the headline says what was expected: a compiler expects tokens, a check values."""
    if parsed.kind == "build" and parsed.weight >= COMPILED:
        if ARITY.search(parsed.lowered.text) or RULE_CODE.match(parsed.code):
            return None
        grammar = by_expectation(parsed.lowered.text) is ErrorType.SYNTAX_ERROR
        return ErrorType.SYNTAX_ERROR if grammar else SYNTAX.first_in(parsed.lowered)
    if parsed.name and parsed.name != "shell":
        return None
    if parsed.kind == "run" and ARITY.search(parsed.lowered.text):
        return ErrorType.VALUE_ERROR
    return None if parsed.name else by_expectation(parsed.lowered.text)


def _by_compiler(parsed: ParsedOutput) -> ErrorType | None:
    """Return the type of a name or a value that a compiler does not accept, which in a running program is another."""
    compiled = parsed.kind == "build" and parsed.location and not parsed.name
    return ErrorType.TYPE_ERROR if compiled and UNTYPED.search(parsed.lowered.text) else None


def _by_detail(parsed: ParsedOutput) -> ErrorType | None:
    """Return the type by the words below a headline that only announces them."""
    if parsed.name not in GENERIC or not parsed.headline.endswith(":"):
        return None
    below = IndexedText(parsed.detail.lower())
    return STRONG.first_in(below) or WEAK.first_in(below)


def _by_code(parsed: ParsedOutput) -> ErrorType | None:
    code = parsed.code
    if not code:
        return None
    if code.isdigit():
        if parsed.headline.startswith("curl: ("):
            return CURL.get(int(code), ErrorType.CONNECTION_ERROR)
        return ErrorType.HTTP_ERROR
    if code.startswith("TS") and code[2:].isdigit() and code not in CODES:
        # Four digits: those with a 1 are the parser's, those with a 5 are about the compiler's own options.
        return TYPESCRIPT.get(code[2], ErrorType.TYPE_ERROR) if len(code) == 6 else ErrorType.TYPE_ERROR
    if code == "exit 127":
        return ErrorType.IMPORT_ERROR
    return CODES.get(code) or _by_state(code)


def _by_state(code: str) -> ErrorType | None:
    state = STATE.match(code)
    if state is None:
        return None
    return ErrorType.HTTP_ERROR if state[1] else ErrorType.RUNTIME_ERROR


def _by_class(name: str) -> ErrorType | None:
    if not name or name in GENERIC:
        return None
    if name.isupper():
        # Common Lisp: SB-INT:SIMPLE-READER-ERROR
        name = "".join(map(str.capitalize, name.rpartition(":")[2].removeprefix("SIMPLE-").split("-")))
    return CLASSES.get(name) or next((CLASSES[ending] for ending in ENDINGS if name.endswith(ending)), None)


def _by_tool(parsed: ParsedOutput) -> ErrorType:
    """Return the type by the tool: a compiler's error is one of types, an unknown class is a runtime error."""
    if parsed.kind == "build" and parsed.weight >= COMPILED and not parsed.name:
        denied = parsed.code.startswith("error=") or "-W" in parsed.code or DENIED_CHECK.match(parsed.code)
        return ErrorType.VALIDATION_ERROR if denied else ErrorType.TYPE_ERROR
    if parsed.name:
        return (GIVEN.first_in(parsed.lowered) if parsed.name in WORDED else None) or ErrorType.RUNTIME_ERROR
    if parsed.kind == "test" and parsed.weight <= FAILED:
        return ErrorType.ASSERTION_ERROR
    if parsed.kind == "build" and parsed.weight == PLACED:
        return ErrorType.VALIDATION_ERROR
    if not parsed.weight and WARNED.match(parsed.lowered.text):
        return ErrorType.UNKNOWN
    if parsed.kind != "test" and not parsed.context_exhausted and (given := GIVEN.first_in(parsed.lowered)):
        return given
    if parsed.exit_code == REFUSED_BY_GIT and parsed.lowered.text.startswith("fatal: "):
        return ErrorType.RUNTIME_ERROR
    if within := CLASS_NAMED.search(parsed.headline):
        return _by_class(within[1]) or ErrorType.RUNTIME_ERROR
    exited = parsed.code.removeprefix("exit ")
    return EXITS.get(int(exited) if exited.isdigit() else parsed.exit_code or 0, ErrorType.UNKNOWN)
