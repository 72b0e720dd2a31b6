"""Parsers of errors with a stack below: Java, Go panics and tests, Rust panics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, all_of, is_library, place

JAVA_HEAD = Lazy(r'(Exception in thread "[^"]*" |Caused by: )?((?:[a-z]\w*\.)*[A-Z][\w$]*)(?:: (.*))?$')
JAVA_AT = Lazy(r"\s+at ([\w.$/<>@-]{1,300})\(([\w$-]{1,200}\.\w{1,10}):(\d{1,7})\)$")
JAVA_LIBRARY = Lazy(r"(?:java\.|javax\.|jdk\.|sun\.|org\.junit|org\.gradle|org\.apache\.maven|kotlin\.|scala\.)")


def java(text: str, lines: list[str]) -> Finding | None:
    """Return the innermost cause, at the user's first frame."""
    heads: list[str] = []
    name, frame = "", None
    files: dict[str, None] = {}
    for line in lines:
        if line[:1] in ("\t", " "):
            if heads and frame is None and "at " in line and (at := JAVA_AT.match(line)):
                function = at[1].rpartition("/")[2]
                if not JAVA_LIBRARY.match(function) and "java.base/" not in at[1]:
                    frame = (at[2], at[3], function)
                    files[at[2]] = None
        elif _may_throw(line) and (head := JAVA_HEAD.match(line)) and (head[1] or _is_thrown(head[2])):
            heads.append(line.removeprefix(head[1] or ""))
            name = head[2].rpartition(".")[2].rpartition("$")[2]
            frame = None
    if not heads:
        return None
    return Finding(
        weight=86 if frame else 70,
        headline=heads[-1],
        name=name,
        location=place(frame[0], frame[1]) if frame else None,
        function=frame[2] if frame else "",
        files=tuple(files),
    )


def _may_throw(line: str) -> bool:
    return "." in line or line.startswith("Exception in thread")


def _is_thrown(name: str) -> bool:
    return "." in name and name.endswith(("Exception", "Error"))


GO_FRAME = Lazy(r"\t(\S{1,400}\.go):(\d{1,7})(?: \+0x[0-9a-f]+)?$")
GO_FAIL = Lazy(r"\s*--- FAIL: (\S{1,200})")
GO_RUNS = Lazy(r"=== (?:RUN|CONT|NAME) +(\S{1,200})$")
GO_SAID = Lazy(r"\s+(\S{1,200}\.go):(\d{1,7}): (.*)$")
# clang's own last line.
TOO_MANY = "fatal error: too many errors"
GO_RUNTIME = ("/src/runtime/", "/src/testing/", "/src/time/")


def go(text: str, lines: list[str]) -> Finding | None:
    """Return a panic at its first frame outside the runtime, or the message of the first failed test in the code."""
    reader = _GoReader()
    for line in lines:
        reader.feed(line)
    return reader.finding("\nFAIL" in text)


class _GoReader:
    """Parser that gets every line once. With -v a test's messages are above the line with its result.

    Tests that run in parallel are done in any order, and with -v what each says goes on below its name.
    """

    def __init__(self) -> None:
        self._panic = self._function = self._called = self._running = ""
        self._spot: tuple[str, str] | None = None
        self._failed: list[str] = []
        self._messages: dict[str, tuple[str, int, str]] = {}

    def feed(self, line: str) -> None:
        if line.startswith(("panic: ", "fatal error: ")) and not self._panic and not line.startswith(TOO_MANY):
            self._panic = line
        elif line.startswith("=== "):
            runs = GO_RUNS.match(line)
            self._running = runs[1] if runs else self._running
        elif "--- FAIL: " in line and (fail := GO_FAIL.match(line)):
            self._failed.append(fail[1])
            self._running = fail[1]
        elif self._spot is None and line[:1] in ("\t", " ") and ".go:" in line:
            self._frame(line)
        elif self._panic and self._spot is None and line.endswith(")"):
            self._called = line.rpartition("(")[0].rpartition("/")[2]

    def _frame(self, line: str) -> None:
        if self._panic:
            frame = GO_FRAME.match(line)
            if frame and not is_library(frame[1]) and not any(part in frame[1] for part in GO_RUNTIME):
                self._spot, self._function = (frame[1], frame[2]), self._called
        elif logged := GO_SAID.match(line):
            self._messages.setdefault(self._running, (logged[1], int(logged[2]), logged[3]))

    def finding(self, tested: bool) -> Finding | None:
        messages = [(*self._messages[test], test) for test in self._failed if test in self._messages]
        file, line, message, _ = min(messages, default=("", 0, "", ""))
        spot = self._spot if self._panic else (file, line)
        groups = {test.rpartition("/")[0] for test in self._failed}
        test = all_of(test for test in self._failed if test not in groups)
        headline = self._panic or message or (f"{self._failed[0]} failed" if self._failed else "")
        if not headline:
            return None
        return Finding(
            weight=88,
            headline=headline,
            name="panic" if self._panic else "AssertionError",
            location=place(*spot) if spot and spot[0] else None,
            function=self._function if self._panic else "",
            test=test,
            kind="test" if test or tested else "run",
            files=(spot[0],) if spot and spot[0] else (),
        )


RUST_PANIC = Lazy(
    r"thread '([^']{0,200})'(?: \(\d+\))? panicked at (?:'(.*)', )?([^\s:,]{1,400}):(\d{1,7})(?::\d{1,7}):?$"
)
# Before Rust 1.73 the message is in quotes and may have several lines; the place is after the last of them.
RUST_QUOTED = Lazy(r"thread '([^']{0,200})' panicked at '(.*)$")
RUST_UNQUOTED = Lazy(r"(.*)', ([^\s:,]{1,400}):(\d{1,7}):\d{1,7}$")
RUST_AFTER = ("note: ", "stack backtrace:", "---- ", "test result: ")
RUST_FAILED = Lazy(r"test (\S.{0,300}?)(?: \(line \d{1,7}\))? \.\.\. FAILED$")
RUST_AT = Lazy(r"\s+at (\S{1,400}):(\d{1,7}):\d{1,7}$")
RUST_MESSAGE_LINES = 3


class RustPanic(NamedTuple):
    """Panic of one thread: its place, the lines of its message, and the numbers of its first line and of the next."""

    begin: int
    end: int
    thread: str
    file: str
    line: str
    message: list[str]


def rust_panics(lines: list[str]) -> Iterator[RustPanic]:
    """Return every panic with a known place, in the order of the output."""
    for number, line in enumerate(lines):
        if "panicked at" not in line:
            continue
        if head := RUST_PANIC.match(line.strip()):
            yield RustPanic(number, number + 1, head[1], head[3], head[4], [head[2]] if head[2] else [])
        elif head := RUST_QUOTED.match(line.strip()):
            message = [head[2]]
            for later in range(number + 1, len(lines)):
                if "panicked at" in lines[later] or lines[later].startswith(RUST_AFTER):
                    break
                last = RUST_UNQUOTED.match(lines[later].rstrip())
                message.append((last[1] if last else lines[later]).strip())
                if last:
                    yield RustPanic(number, later + 1, head[1], last[2], last[3], message)
                    break


RUST_UNWRAPPED = Lazy(r".{0,400}`Err` value: (\w{1,60}Error)\b")


def _raised(headline: str) -> str:
    """Return the class of a panic: that of the error that was unwrapped, or of an assertion."""
    if headline.startswith("assert"):
        return "AssertionError"
    unwrapped = RUST_UNWRAPPED.match(headline)
    return unwrapped[1] if unwrapped else "panic"


def rust_panic(text: str, lines: list[str]) -> Finding | None:
    """Return the first panic; of tests the first in the code, because threads end in any order."""
    panics = list(rust_panics(lines))
    if not panics:
        return None
    tested = "\ntest result: FAILED" in text
    panic = min(panics, key=lambda one: (one.file, int(one.line))) if tested else panics[0]
    end = next((later.begin for later in panics if later.begin > panic.begin), len(lines))
    message, frame = panic.message[:RUST_MESSAGE_LINES], None
    wanted = 0 if panic.message else RUST_MESSAGE_LINES
    for line in lines[panic.end : end]:
        if len(message) < wanted and not line.startswith(("note: ", "stack backtrace")):
            message.append(line.strip())
        elif frame is None and " at " in line and (at := RUST_AT.match(line)) and not is_library(at[1]):
            frame = at
    # A helper of the library panics for its caller, which the backtrace names.
    spot = (panic.file, panic.line) if not is_library(panic.file) else (frame[1], frame[2]) if frame else None
    headline = next((line for line in message if line), "panicked")
    return Finding(
        weight=90 if tested else 86,
        headline=headline,
        name=_raised(headline),
        location=place(*spot) if spot else None,
        test=(all_of(test[1] for test in map(RUST_FAILED.match, lines) if test) or panic.thread) if tested else "",
        function="" if tested else panic.thread,
        detail=" ".join(message[1:3]),
        kind="test" if tested else "run",
        files=(spot[0],) if spot else (),
    )
