"""Parsers of reports whose place is on another line than the message: above it, below it, or in a box."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, all_of, is_library, place

FILE = r"(?P<file>[^\s:(\[][^:(\n]{0,400}?)"
# esbuild, rolldown and miette (oxlint, biome's successors): a box that names the place, or an indented place.
BOX = Lazy(rf"\s*(?:[╭┌][─-]{{1,3}}\[ ?|,-\[ ?){FILE}:(?P<line>\d{{1,7}}):\d{{1,7}} ?\]$")
BELOW = Lazy(rf"\s{{2,12}}{FILE}:(?P<line>\d{{1,7}}):\d{{1,7}}:$")
HEAD = Lazy(r"\s*(?:(?P<sign>[×✖✗✘xX⚠!])\s+)?(?:\[ERROR\] )?(?P<msg>\S.*)$")
RULE_NAME = Lazy(r"(?P<code>[\w-]{1,40}\([\w/@-]{1,80}\)): (?P<msg>\S.*)$")
PARSED = Lazy(r"\[(?P<code>PARSE_ERROR|[A-Z_]{4,40})\] ")
# Lines between a message and its box.
BETWEEN = 4


def boxed(text: str, lines: list[str]) -> Finding | None:
    """Return the first error above a box with its place; where there are only warnings, the first of them."""
    warned: Finding | None = None
    for number, line in enumerate(lines):
        spot = BOX.match(line) if "[" in line and line.endswith("]") else None
        if spot is None or is_library(spot["file"]):
            continue
        above = (HEAD.match(one) for one in reversed(lines[max(0, number - BETWEEN) : number]) if one.strip())
        head = next((one for one in above if one and (one["sign"] or PARSED.match(one["msg"]))), None)
        if head is None:
            continue
        found = _boxed(head["msg"], place(spot["file"], spot["line"]))
        if head["sign"] not in ("⚠", "!"):
            return found
        warned = warned or found
    return warned


def _boxed(message: str, spot: str) -> Finding:
    ruled = RULE_NAME.match(message)
    if ruled:
        return Finding(82, ruled["msg"], code=ruled["code"], location=spot, kind="lint")
    coded = PARSED.match(message)
    code = coded["code"] if coded else ""
    name = (
        "SyntaxError"
        if code == "PARSE_ERROR"
        else "ImportError"
        if code in ("UNRESOLVED_IMPORT", "MISSING_EXPORT")
        else ""
    )
    return Finding(82, message[coded.end() :] if coded else message, name=name, location=spot, kind="build")


def esbuild(text: str, lines: list[str]) -> Finding | None:
    """``✘ [ERROR] message`` and its place, indented, two lines below."""
    for number, line in enumerate(lines):
        if "[ERROR] " not in line or not (head := HEAD.match(line)) or head["sign"] not in ("✘", "X", "x", "✗"):
            continue
        spot = next(filter(None, map(BELOW.match, lines[number + 1 : number + BETWEEN])), None)
        own = spot is not None and not is_library(spot["file"])
        where = place(spot["file"], spot["line"]) if spot is not None and own else None
        return Finding(82, head["msg"], location=where, kind="build")
    return None


# gfortran, OCaml, GHC and Flow print the place first.
ABOVE = (
    Lazy(rf"{FILE}:(?P<line>\d{{1,7}}):\d{{1,7}}:$"),
    Lazy(r'File "(?P<file>[^"\n]{1,300})", lines? (?P<line>\d{1,7})(?:-\d{1,7})?(?:, characters \d{1,7}-\d{1,7})?:$'),
    Lazy(rf"{FILE}:(?P<line>\d{{1,7}}):\d{{1,7}}(?:-\d{{1,7}})?: error:(?: \[(?P<code>GHC-\d{{1,6}})\].{{0,80}})?$"),
    Lazy(r"Error -{2,200} (?P<file>[^\s:]{1,300}):(?P<line>\d{1,7}):\d{1,7}$"),
)
MESSAGE = Lazy(r"(?:Fatal )?Error(?: \([\w ,/+-]{1,80}\))?: (?P<msg>\S.*)$")
BELOW_PLACE = 9


def placed_above(text: str, lines: list[str]) -> Finding | None:
    """Return the first error whose place is on a line of its own above it."""
    for number, line in enumerate(lines):
        if not line.endswith(":") and "error: [GHC-" not in line and not line.startswith("Error --"):
            continue
        fortran, ocaml, haskell, flow = (shape.match(line) for shape in ABOVE)
        spot = fortran or ocaml or haskell or flow
        typed = spot is not None and spot["file"].startswith("<")
        if spot is None or (is_library(spot["file"]) and not typed):
            continue
        below = lines[number + 1 : number + BELOW_PLACE]
        first = next(filter(None, below), "") if flow else ""
        message = first or (_indented(below) if haskell else _error(below))
        if message:
            code = (haskell["code"] or "") if haskell else ""
            where = None if typed else place(spot["file"], spot["line"])
            return Finding(83, message, code=code, location=where, kind="build")
    return None


def _indented(below: list[str]) -> str:
    """Return the first indented line without its bullet."""
    first = below[0] if below else ""
    return first.strip(" •") if first[:1] == " " else ""


def _error(below: list[str]) -> str:
    """Return the message of the error line, with what is indented under it."""
    for number, line in enumerate(below):
        if found := MESSAGE.match(line):
            more = below[number + 1 : number + 2]
            return " ".join([found["msg"], *(one.strip() for one in more if one[:2] == "  ")])
    return ""


SASS_HEAD = Lazy(r"Error: (?P<msg>\S.*)$")
SASS_PLACE = Lazy(r"\s{2,12}(?P<file>\S{1,300}\.(?:s[ac]ss|css)) (?P<line>\d{1,7}):\d{1,7}\s{1,4}\S.*$")


def sass(text: str, lines: list[str]) -> Finding | None:
    """``Error: message``, the source in a frame, and the place below it with the name of the rule or the file."""
    head = ""
    for line in lines:
        if line.startswith("Error: ") and (message := SASS_HEAD.match(line)):
            head = message["msg"]
        elif head and "ss " in line and (spot := SASS_PLACE.match(line)):
            return Finding(82, head, location=place(spot["file"], spot["line"]), kind="build")
    return None


BATS_TEST = Lazy(r"\s*(?:not ok \d{1,5}|✗) (?P<test>\S.{0,300}?)(?: (?:\[\d+\]|in \d+ms))?$")
BATS_PLACE = Lazy(
    r"#?\s*\((?:from function `.{1,100}' )?in (?:test )?file (?P<file>\S{1,300}), line"
    r" (?P<line>\d{1,7})(?P<more>,|\))?$"
)
BATS_PART = Lazy(r"#?\s*in test file (?P<file>\S{1,300}), line (?P<line>\d{1,7})\)$")
BATS_SAID = Lazy(r"#?\s*`(?P<msg>.{1,1000})' failed(?: with status (?P<status>\d{1,3}))?$")


def bats(text: str, lines: list[str]) -> Finding | None:
    """Return the first failed test of bats: its command, at the line of the test file."""
    tests: list[str] = []
    found: Finding | None = None
    spot: tuple[str, str] | None = None
    for line in lines:
        if ("not ok " in line or "✗ " in line) and (test := BATS_TEST.match(line)):
            tests.append(test["test"])
        elif "file " in line and (named := BATS_PLACE.match(line) or BATS_PART.match(line)):
            spot = (named["file"], named["line"])
        elif found is None and spot and "' failed" in line and (said := BATS_SAID.match(line)):
            missing = said["status"] == "127"
            found = Finding(
                91,
                f"`{said['msg']}' failed",
                name="" if missing else "AssertionError",
                code="exit 127" if missing else "",
                location=place(*spot),
                kind="test",
            )
    if found is not None:
        found.test = all_of(tests)
    return found


HINTED = Lazy(r"\s+(?P<file>\S{1,300}\.\w{1,8})$")
HTML = Lazy(r"\s+L(?P<line>\d{1,7}) \|")
HTML_SAID = Lazy(r"\s+\^ (?P<msg>\S.*?) \((?P<code>[\w-]{1,60})\)$")


def htmlhint(text: str, lines: list[str]) -> Finding | None:
    """``file``, ``L3 | source`` and below a caret the message with its rule in brackets."""
    file, line_number = "", ""
    for line in lines:
        if (named := HINTED.match(line)) and not line_number:
            file = named["file"]
        elif file and (source := HTML.match(line)):
            line_number = source["line"]
        elif line_number and (said := HTML_SAID.match(line)):
            return Finding(80, said["msg"], code=said["code"], location=place(file, line_number), kind="lint")
    return None


OCAML_RAISED = Lazy(r"Fatal error: exception (?P<msg>(?P<name>[\w.]{1,100}?)(?:[( ].*|$))")
OCAML_FRAME = Lazy(
    r'(?:Raised at|Called from|Re-raised at) .{0,200}file "(?P<file>[^"]{1,300})"(?: \(inlined\))?, lines?'
    r" (?P<line>\d{1,7})"
)
OCAML_LIBRARY = ("stdlib.ml", "list.ml", "array.ml", "hashtbl.ml", "map.ml", "string.ml", "bytes.ml", "printf.ml")


def ocaml_exception(text: str, lines: list[str]) -> Finding | None:
    """Return an exception of OCaml at the first frame outside its standard library."""
    head = None
    for line in lines:
        if head is None:
            head = OCAML_RAISED.match(line) if line.startswith("Fatal error: exception ") else None
        elif "file " in line and (frame := OCAML_FRAME.match(line)) and frame["file"] not in OCAML_LIBRARY:
            return Finding(86, head["msg"], name=head["name"], location=place(frame["file"], frame["line"]))
    return Finding(86, head["msg"], name=head["name"]) if head else None


CYTHON = Lazy(rf"{FILE}:(?P<line>\d{{1,7}}):\d{{1,7}}: (?P<msg>\S.*)$")


def cython(text: str, lines: list[str]) -> Finding | None:
    """Return the compiler's error, which its own traceback goes on below."""
    start = next((number for number, line in enumerate(lines) if line == "Error compiling Cython file:"), len(lines))
    spot = next(filter(None, map(CYTHON.match, lines[start:])), None)
    return Finding(91, spot["msg"], location=place(spot["file"], spot["line"]), kind="build") if spot else None


ISSUE = Lazy(r">> Issue: \[(?P<code>B\d{3})[^\]]{0,80}\] (?P<msg>\S.*)$")
ISSUE_AT = Lazy(r"\s+Location: (?P<file>\S{1,300}?):(?P<line>\d{1,7})(?::\d{1,7})?$")


def bandit(text: str, lines: list[str]) -> Finding | None:
    """``>> Issue: [B602:name] message`` and ``Location: file:line:column``."""
    head = None
    for line in lines:
        if line.startswith(">> Issue: "):
            head = ISSUE.match(line)
        elif head and "Location: " in line and (spot := ISSUE_AT.match(line)):
            return Finding(82, head["msg"], code=head["code"], location=place(spot["file"], spot["line"]), kind="lint")
    return None


CYCLE = Lazy(
    r"(?:package (?P<package>\S{1,300})"
    r"|\s+imports (?P<next>\S{1,300}?)(?: from \S{1,300}?)?(?P<end>: import cycle not allowed.*)?)$"
)


def import_cycle(text: str, lines: list[str]) -> Finding | None:
    """Return Go's circle of packages in one line."""
    circle: list[str] = []
    for line in lines:
        found = CYCLE.match(line) if "import" in line or line.startswith("package ") else None
        if found is None:
            continue
        circle = [found["package"]] if found["package"] else [*circle, found["next"]]
        if found["end"]:
            return Finding(
                83, f"import cycle not allowed: {' imports '.join(circle)}", name="ImportError", kind="build"
            )
    return None
