"""Parsers of reports over several lines: a pointer below a headline, findings below a file, a longer message."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, is_library, place

CODED = Lazy(
    r"(?:(?:error|ERROR)(?:\[(?P<code>[A-Z]\d{1,5}|[a-z][a-z-]{2,60})\])?:? "
    r"|(?P<name>[A-Z][A-Za-z]{1,40}Error): |warning\[(?P<warned>[a-z-]{3,60})\]: "
    r"|(?P<lint>[A-Z]{1,5}\d{3,4}|invalid-syntax)(?: \[\*\])?:? )(?P<msg>\S.*)$"
)
# pyrefly prints the name of the rule at the end.
TRAILING_CODE = Lazy(r"(.*\S) \[([a-z][a-z-]{2,60})\]$")
POINTER = Lazy(r"\s*(?:-->|┌─|╭▸) (?P<file>[^\s:][^:\n]{0,400}):(?P<line>\d{1,7}):\d{1,7}:?$")
POINTERS = ("-->", "┌─ ", "╭▸ ")
DENIED = ("`-D ", "#[deny(", "clippy::")


def pointed(text: str, lines: list[str]) -> Finding | None:
    """``error[E0308]: message`` or ``F401 message``, and ``--> file:line:column`` on a line below it."""
    headline = None
    warned: Finding | None = None
    for line in lines:
        if line[:1] not in (" ", "") and (coded := CODED.match(line)):
            headline = coded
        elif (
            headline
            and any(map(line.__contains__, POINTERS))
            and (spot := POINTER.match(line))
            and not is_library(spot["file"])
        ):
            lint, code = headline["lint"] or headline["warned"] or "", headline["code"] or ""
            message, ruled = headline["msg"], None if code else TRAILING_CODE.match(headline["msg"])
            if ruled:
                message, code = ruled[1], ruled[2]
            denied = not lint and not code and any(mark in text for mark in DENIED)
            found = Finding(
                weight=82,
                headline=message,
                name=headline["name"] or ("SyntaxError" if spot["file"].endswith(".toml") else ""),
                code=lint or code or ("error=denied" if denied else ""),
                location=place(spot["file"], spot["line"]),
                kind="lint" if lint else "build",
            )
            if not headline["warned"]:
                return found
            warned, headline = warned or found, None
    return warned


# The file's name alone, or in sqlfluff's heading; djlint underlines it.
LISTED_FILE = Lazy(r"(?:== \[)?(?P<file>(?:/|\.{0,2}/|[A-Za-z]\W\\|\w)[^\s\]]{0,400}\.[A-Za-z]{1,8})(?:\] FAIL|:)?$")
UNDERLINE = Lazy(r"[─=-]{3,200}$")
LISTED = Lazy(
    r"\s+(?P<line>\d{1,7}):\d{1,7}:?\s+(?:(?:error|✖)\s+(?P<msg>.*?)(?:\s{2,}\(?(?P<code>[@\w/.-]{1,80})\)?)?"
    r"|(?P<lint>[A-Z]{1,5}\d{3,4}) (?:\[\*\] )?(?P<message>\S.*))$"
)
# A finding of sqlfluff, and one of djlint.
ROW = Lazy(
    r"L: {1,6}(?P<line>\d{1,7}) \| P: {1,6}\d{1,7} \| {1,4}(?P<code>[A-Z]{2}\d\d|PRS) \| (?P<msg>\S.*)$"
    r"|(?P<rule>[A-Z]\d{3}) (?P<at>\d{1,7}):\d{1,7} (?P<message>\S.*)$"
)


def listed(text: str, lines: list[str]) -> Finding | None:
    """Return the first finding of a linter below the file's name, without warnings."""
    file = ""
    for line in lines:
        if file and (row := ROW.match(line)):
            code = row["code"] or row["rule"]
            where = place(file, row["line"] or row["at"])
            message = row["msg"] or row["message"]
            return Finding(80, message, code="syntax" if code == "PRS" else code, location=where, kind="lint")
        if line[:1].strip() and not UNDERLINE.match(line):
            named = LISTED_FILE.match(line)
            file = named["file"] if named else ""
        elif file and ":" in line and (found := LISTED.match(line)):
            return Finding(
                weight=80,
                headline=found["msg"] or found["message"] or "",
                code=found["code"] or found["lint"] or "",
                location=place(file, found["line"]),
                kind="lint",
            )
    return None


CHECKED = Lazy(r"In (?P<file>\S{1,300}) line (?P<line>\d{1,7}):$")
CHECK = Lazy(r"\s*\^-*\^?-* ?(?P<code>SC\d{4}) \(\w+\): (?P<msg>.*)$")


def shellcheck(text: str, lines: list[str]) -> Finding | None:
    """``In file line n:``, the source line, and the finding below a caret."""
    spot = None
    for line in lines:
        if line.startswith("In ") and (checked := CHECKED.match(line)):
            spot = checked
        elif spot and "SC" in line and (message := CHECK.match(line)):
            where = place(spot["file"], spot["line"])
            return Finding(weight=82, headline=message["msg"], code=message["code"], location=where, kind="lint")
    return None


CMAKE = Lazy(r"CMake Error at (?P<file>[^:\n]{1,400}):(?P<line>\d{1,7})(?: \((?P<function>\w+)\))?:$")
CMAKE_LINES = 3


def cmake(text: str, lines: list[str]) -> Finding | None:
    """``CMake Error at file:line (command):`` and its indented message."""
    for number, line in enumerate(lines):
        head = CMAKE.match(line) if line.startswith("CMake Error at ") else None
        if head is None:
            continue
        message: list[str] = []
        for below in lines[number + 1 : number + 8]:
            if below.strip() and below[:1] == " ":
                message.append(below.strip())
            if message and ((not below.strip() and message[-1][-1] != ":") or len(message) == CMAKE_LINES):
                break
        where = place(head["file"], head["line"])
        return Finding(83, " ".join(message) or line, "CMakeError", "", where, head["function"] or "", kind="build")
    return None


RUBY = Lazy(
    r"(?P<file>\S{1,300}):(?P<line>\d{1,7}):in [`'](?P<function>.{1,200}?)': (?P<msg>.*?) \((?P<name>[\w:]{1,80})\)$"
)
RUBY_FROM = Lazy(r"\s+(?:\d+: )?from (?P<file>\S{1,300}):(?P<line>\d{1,7}):in [`'](?P<function>.{1,200}?)'$")


def ruby(text: str, lines: list[str]) -> Finding | None:
    """Return Ruby's error, at the user's first frame."""
    head = None
    for line in lines:
        if head is None:
            head = RUBY.match(line) if ":in " in line else None
            spot = head
        elif spot is not None and is_library(spot["file"]):
            spot = RUBY_FROM.match(line) if "from " in line else None
    if head is None:
        return None
    own = spot if spot is not None and not is_library(spot["file"]) else None
    return Finding(
        weight=86,
        headline=f"{head['name']}: {head['msg']}",
        name=head["name"].rpartition("::")[2],
        location=place(own["file"], own["line"]) if own else None,
        function=own["function"] if own else "",
    )


THROWN = Lazy(
    r"(?:terminate called after throwing an instance of '|libc\+\+abi: .* exception of type )([\w:]{1,200})(.*)$"
)


def terminated(text: str, lines: list[str]) -> Finding | None:
    """Return an uncaught C++ exception with its message on the next line."""
    for number, line in enumerate(lines):
        if thrown := THROWN.match(line):
            message = next(
                (below.partition("what(): ")[2] for below in lines[number : number + 3] if "what(): " in below), ""
            )
            message = message or thrown[2].lstrip("': ")
            name = thrown[1].rpartition("::")[2]
            return Finding(84, f"{thrown[1]}: {message.strip()}" if message else thrown[1], name=name)
    return None


SANITIZER = Lazy(r"(?:=+\d+=+)?\s*(?:ERROR|WARNING): (?P<msg>(?P<name>\w+Sanitizer): \S.*)$")
SANITIZED = Lazy(r"\s+#\d+ 0x[0-9a-f]+ in (?P<function>.{1,200}?) (?P<file>/?\S{1,300}?):(?P<line>\d{1,7})(?::\d+)?$")


def sanitizer(text: str, lines: list[str]) -> Finding | None:
    """Return a sanitizer's report, at the user's first frame."""
    head = None
    for line in lines:
        if head is None:
            head = SANITIZER.match(line) if "Sanitizer: " in line else None
        elif "#" in line and (frame := SANITIZED.match(line)) and not is_library(frame["file"]):
            where = place(frame["file"], frame["line"])
            return Finding(86, head["msg"], name=head["name"], location=where, function=frame["function"])
    return Finding(86, head["msg"], name=head["name"]) if head else None


WEBPACK = Lazy(r"ERROR in (?P<file>\S{1,300}?)(?:[: ](?P<line>\d{1,7}):\d.*)?$")


def webpack(text: str, lines: list[str]) -> Finding | None:
    """``ERROR in file line:columns`` and the message on the next line."""
    for number, line in enumerate(lines[:-1]):
        head = WEBPACK.match(line) if line.startswith("ERROR in ") else None
        if head is not None:
            where = place(head["file"], head["line"]) if head["line"] else None
            return Finding(81, lines[number + 1].strip() or line, location=where, kind="build")
    return None


PYRIGHT = Lazy(r"(?P<indent>\s*)(?P<file>[^\s:(][^:(\n]{0,400}?):(?P<line>\d{1,7}):\d{1,7} - error: (?P<msg>\S.*)$")
PYRIGHT_RULE = Lazy(r"(.*?) ?\((report\w{1,80})\)$")


def pyright(text: str, lines: list[str]) -> Finding | None:
    """``file:line:column - error: message``, which may go on below it, and at its very end the rule's name."""
    for number, line in enumerate(lines):
        head = PYRIGHT.match(line) if " - error: " in line else None
        if head is None:
            continue
        message, deeper = [head["msg"]], head["indent"] + "  "
        for below in lines[number + 1 :]:
            if PYRIGHT_RULE.match(message[-1]) or not below.startswith(deeper):
                break
            message.append(below.strip())
        ruled = PYRIGHT_RULE.match(message[-1])
        message[-1] = ruled[1] if ruled else message[-1]
        where = place(head["file"], head["line"])
        code = ruled[2] if ruled else ""
        return Finding(84, message[0], "TypeError", code, where, detail=" ".join(message[1:]), kind="build")
    return None


TERRAFORM_HEAD = Lazy(r"(?:│ )?Error: (?P<msg>\S.*)$")
TERRAFORM_PLACE = Lazy(r"(?:│ )?\s+on (?P<file>\S{1,300}) line (?P<line>\d{1,7})(?:, in (?P<function>.{1,200}?))?:$")
TERRAFORM_LINES = 6


def terraform(text: str, lines: list[str]) -> Finding | None:
    """``Error: summary``, ``on file line n, in block:`` with the source below it, and a paragraph that explains."""
    head, acting = "", False
    for number, line in enumerate(lines):
        if "Error: " in line and (message := TERRAFORM_HEAD.match(line)):
            head, acting = message["msg"], False
        elif head and line.removeprefix("│ ").startswith("  with "):
            # Only a resource that exists or is being created has an address.
            acting = True
        elif head and " line " in line and (spot := TERRAFORM_PLACE.match(line)):
            below = [text.removeprefix("│").strip(" ") for text in lines[number : number + 30]]
            source_ends = below.index("") + 1 if "" in below else len(below)
            explained = below[source_ends : source_ends + TERRAFORM_LINES]
            explained = explained[: explained.index("")] if "" in explained else explained
            return Finding(
                weight=82,
                headline=": ".join(filter(None, (head, " ".join(explained).strip("╵ ")))),
                location=place(spot["file"], spot["line"]),
                function=spot["function"] or "",
                kind="run" if acting else "build",
            )
    return None


LUA_ASSERT = "[C]: in function 'assert'"
LUA_SAID = Lazy(r"lua\S*: (?:(?P<file>\(command line\)|[^\s:]{1,300}):(?P<line>\d{1,7}): )?(?P<msg>\S.*)$")


def lua_assertion(text: str, lines: list[str]) -> Finding | None:
    """Return a failed ``assert`` of Lua, which only the stack tells from any other error."""
    said = next(filter(None, (LUA_SAID.match(line) for line in lines if line.startswith("lua"))), None)
    if said is None:
        return None
    own = said["file"] and not is_library(said["file"])
    return Finding(
        weight=88,
        headline=said["msg"],
        name="AssertionError",
        location=place(said["file"], said["line"]) if own else _lua_frame(lines),
    )


LUA_FRAME = Lazy(r"\s+(?P<file>[^\s:(\[]{1,300}):(?P<line>\d{1,7}): in ")


def _lua_frame(lines: list[str]) -> str | None:
    """Return the place of the first frame: the message of an assertion has none of its own."""
    frame = next(filter(None, map(LUA_FRAME.match, lines)), None)
    return place(frame["file"], frame["line"]) if frame else None
