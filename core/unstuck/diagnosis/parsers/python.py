"""Parsers of Python: tracebacks, syntax errors, fatal errors, and unittest, with tracebacks under a heading."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, all_of, is_library, place

FRAME = Lazy(r'\s*File "([^"\n]{1,500})", line (\d{1,7})(?:, in (.{1,200}))?')
HEAD = Lazy(r"([A-Za-z_][\w.]{0,200})(?:: (.*))?$")
# An exception below frames whose title is not in the output.
CUT_HEAD = Lazy(r"\s{0,40}(?:\w{1,60}\.){0,8}[A-Z]\w{0,80}(?:: .*)?$")
SYNTAX = ("SyntaxError", "IndentationError", "TabError")
TITLE = "Traceback (most recent call last):"
DETAIL_LINES = 2
# Above each leaf of a group; one that was never raised has no traceback of its own.
LEAF = Lazy(r"\s{0,200}\+(?:-\+)?-{16} \d{1,7} -{16}$")
# An exception of another process that is raised again here.
ELSEWHERE = "RemoteTraceback"
# The interpreter's own report, the innermost frame first and without a comma.
FATAL_TITLE = "(most recent call first):"
FATAL_HEAD = Lazy(r"(?:Fatal Python error: \S.*|Timeout \(\d{1,3}:\d\d:\d\d(?:\.\d{1,6})?\)!)$")
FATAL_HEADS = ("Fatal Python error: ", "Timeout (")
SIGNALLED = (("Segmentation fault", "exit 139"), ("Aborted", "exit 134"))
FATAL_FRAME = Lazy(r'  File "([^"\n]{1,500})", line (\d{1,7}) in (.{1,200})$')
# Frames of a library's compiled parts have no directory of their own.
COMPILED = (".pyx", ".pxi", ".pxd")
# os.environ raises in these files.
ENVIRONMENT = ("<frozen os>", "/os.py")


def traceback(text: str, lines: list[str]) -> Finding | None:
    """Return the last exception in the output; under unittest the first."""
    reader = _Reader()
    for line in lines:
        reader.feed(line)
    tested = [found for found in reader.found if found.test]
    if tested:
        tested[0].test = all_of(found.test for found in tested)
        return tested[0]
    last = reader.found[-1] if reader.found else None
    if last is not None and ELSEWHERE in text:
        return next(found for found in reader.found if found.headline == last.headline)
    return last


def innermost(trace: str) -> tuple[str, str] | None:
    """Return the place and the function of the user's innermost frame of a stack without its heading, or None."""
    frames = (FRAME.match(line) for line in trace.split("\n") if 'File "' in line)
    own = [frame for frame in frames if frame and frame[3] and not is_library(frame[1])]
    return (place(own[-1][1], own[-1][2]), own[-1][3]) if own else None


def fatal(text: str, lines: list[str]) -> Finding | None:
    """Return the interpreter's own fatal error, at the user's innermost frame of the current thread.

    Where no current thread is marked, it is the last one, which is the main thread.
    """
    headline = next((line for line in lines if line.startswith(FATAL_HEADS) and FATAL_HEAD.match(line)), "")
    starts = [number for number, line in enumerate(lines) if line.endswith(FATAL_TITLE)]
    if not headline or not starts:
        return None
    start = next((number for number in starts if lines[number].startswith("Current thread ")), starts[-1])
    end = next((number for number in starts if number > start), len(lines))
    frames = (FATAL_FRAME.match(line) for line in lines[start + 1 : end])
    file, number, function = next(
        ((frame[1], frame[2], frame[3]) for frame in frames if frame and not is_library(frame[1])), ("", "", "")
    )
    return Finding(
        weight=89,
        headline=headline,
        name="Timeout" if headline.startswith("Timeout ") else "FatalPythonError",
        code=next((code for words, code in SIGNALLED if words in headline), ""),
        location=place(file, number) if file else None,
        function=function,
        files=(file,) if file else (),
    )


class _Reader:
    """Parser that gets every line once. ``found`` are the exceptions in the order of the output."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self._prefix = ""
        self._open = False
        self._frames: list[tuple[str, str, str]] = []
        self._syntax: tuple[str, str] | None = None
        self._detail_wanted = 0
        self._test = ""
        self._leaf = False

    def feed(self, line: str) -> None:
        leaf, self._leaf = self._leaf, False
        if TITLE in line:
            self._start(line)
        elif leaf:
            self._never_raised(line)
        elif self._open:
            # Most lines between are source code.
            if self._prefix or line[:1] != " " or 'File "' in line:
                self._inside(self._without_prefix(line))
        elif self._detail_wanted:
            self._more(line)
        elif 'File "' in line:
            self._frame(line)
        elif (self._frames and CUT_HEAD.match(line)) or (self._syntax and line.lstrip().startswith(SYNTAX)):
            self._finish(line.strip())
        elif line.startswith(("FAIL: ", "ERROR: ")) and line.endswith((")", "]")):
            self._test = line.split(": ", 1)[1].split(" (", 1)[-1].rstrip(")")
        else:
            self._leaf = "+--" in line and bool(self.found) and LEAF.match(line) is not None

    def _start(self, line: str) -> None:
        prefix = line[: line.index(TITLE)].removesuffix("Exception Group ")
        self._prefix = prefix[:-2] + "| " if prefix.endswith("+ ") else prefix
        self._open, self._frames, self._syntax, self._detail_wanted = True, [], None, 0

    def _without_prefix(self, line: str) -> str:
        if self._prefix and line.startswith(self._prefix.rstrip()):
            return line[len(self._prefix) :]
        return line

    def _inside(self, line: str) -> None:
        if not line or line[0] in " \t[":
            self._frame(line)
        else:
            self._open = False
            self._finish(line)

    def _frame(self, line: str) -> None:
        frame = FRAME.match(line) if 'File "' in line else None
        if frame is None:
            return
        if frame[3]:
            self._frames.append((frame[1], frame[2], frame[3]))
        else:
            self._syntax = (frame[1], frame[2])

    def _finish(self, line: str) -> None:
        head = HEAD.match(line)
        if head is None:
            return
        own = [frame for frame in self._frames if not is_library(frame[0])]
        file, number, function = next(
            (frame for frame in reversed(own) if not frame[0].endswith(COMPILED)), (own or [("", "", "")])[-1]
        )
        name = head[1].rpartition(".")[2]
        if self._syntax and name in SYNTAX:
            (file, number), function = self._syntax, ""
        inside = "_FailedTest" in self._test
        self.found.append(
            Finding(
                weight=90 if self._test else 85,
                headline=line,
                name=name,
                location=place(file, number) if file and not is_library(file) else None,
                function=function,
                test=self._test,
                # unittest reports a test in place of a module that it could not load.
                kind=("build" if inside else "test") if self._test else "run",
                files=tuple(dict.fromkeys(frame[0] for frame in own)),
                environment=name == "KeyError" and bool(self._frames) and self._frames[-1][0].endswith(ENVIRONMENT),
            )
        )
        self._test, self._frames, self._syntax = "", [], None
        self._detail_wanted = DETAIL_LINES if "validation error" in line else 0

    def _never_raised(self, line: str) -> None:
        """Record a leaf of a group without a traceback at the place of the group."""
        group = self.found[-1]
        self._finish(line.partition("| ")[2])
        leaf = self.found[-1]
        if leaf is not group:
            leaf.location, leaf.function, leaf.files = group.location, group.function, group.files

    def _more(self, line: str) -> None:
        """Add the fields of a validation error, which are on the lines below."""
        self._detail_wanted -= 1
        last = self.found[-1]
        last.detail = f"{last.detail} {line.strip()}".strip()
