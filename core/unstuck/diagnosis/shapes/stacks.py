"""Errors with a stack below them: node and its test runners, Java, Go panics, Rust panics."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

from unstuck.diagnosis.shapes.finding import Finding, is_library, place

__all__ = ["GoShape", "JavaShape", "RustPanicShape", "ScriptShape"]

HEAD = re.compile(r"\s*(?:\S{1,30}\|\S{1,30}\s*\| )?(?:Uncaught )?(?:[✘✗⨯×] )?([A-Z]\w{0,80})(?: \[(\w+)\])?: (.*)$")
AT = re.compile(
    r".{0,60}?\bat (?:async )?(?:(.{1,200}?) \()?((?:file://)?[^\s()]{1,400}):(\d{1,7}):\d{1,7}\)?(?: \{)?$"
)
ARROW = re.compile(r"\s*❯ (?:(\S{1,200}) )?([^\s:]{1,400}):(\d{1,7}):\d{1,7}$")
THROWN = re.compile(r"((?:file://)?(?:/|[A-Za-z]:\\)[^\s:]{1,400}):(\d{1,7})$")
TEST = re.compile(
    r"\s*(?:● (.{1,300})|FAIL\s+(\S+\s+>\s+.{1,300})|✖ (.{1,300}?)(?: \([\d.]+ ?m?s\))?|\d{1,4}\) (.{1,300}):?)$"
)
SUITE = re.compile(r"\s*FAIL\s+(\S+\.[cm]?[jt]sx?)(?: \[.*\])?$")
ERROR_WORD = re.compile(r"(?:Error|Exception|Failure|Warning|Fault|Panic)$")
MESSAGE_LINES = 12


class ScriptShape:
    """JavaScript and TypeScript: the first error that has frames; test runners name the test above it."""

    gates: ClassVar[tuple[str, ...]] = (" at ", "❯ ")

    def __init__(self, text: str) -> None:
        self._test = self._suite = ""
        self._head: tuple[str, str, str] | None = None
        self._message: list[str] = []
        self._thrown: tuple[str, str] | None = None
        self._frames: list[tuple[str, str, str]] = []
        self._done: Finding | None = None
        self._placeless: Finding | None = None
        self._in_frames = False

    def feed(self, line: str) -> None:
        if self._done is not None or not line:
            return
        frame = self._frame(line)
        if frame is not None:
            self._in_frames = True
            self._frames.append(frame)
        elif self._in_frames and self._head:
            self._close()
        else:
            self._text(line)

    @staticmethod
    def _frame(line: str) -> tuple[str, str, str] | None:
        match = AT.match(line) if "at " in line else ARROW.match(line) if "❯ " in line else None
        return (match[2], match[3], match[1] or "") if match else None

    def _text(self, line: str) -> None:
        self._in_frames = False
        head = HEAD.match(line) if ": " in line else None
        if head and (ERROR_WORD.search(head[1]) or head[1] == "Error"):
            self._head = (head[1], head[2] or "", f"{head[1]}: {head[3]}")
            self._message, self._frames = [], []
        elif line[0] in " FR0123456789✖" and (test := TEST.match(line)) and not line.lstrip().startswith("● Console"):
            self._test = (test[1] or test[2] or test[3] or test[4]).strip()
            self._head, self._message, self._frames = ("", "", ""), [], []
        elif line.lstrip().startswith("FAIL") and (suite := SUITE.match(line)):
            self._suite = suite[1]
        elif self._head and len(self._message) < MESSAGE_LINES:
            self._message.append(line.strip())
        elif (thrown := THROWN.match(line)) and not is_library(thrown[1]):
            self._thrown = (thrown[1], thrown[2])

    def _close(self) -> None:
        """The first error is the one told of; if it has no place, a later one may lend its own."""
        found = self._current()
        if self._placeless is not None and found is not None:
            found = replace(self._placeless, location=found.location)
        if found is not None and found.location:
            self._done = found
        else:
            self._placeless, self._in_frames, self._frames = found, False, []

    def finding(self) -> Finding | None:
        return self._done or self._placeless or self._current()

    def _current(self) -> Finding | None:
        if self._head is None or not (self._frames or self._thrown):
            return None
        name, code, headline = self._head
        headline = headline or next((said for said in self._message if said), "")
        if not headline:
            return None
        own = [frame for frame in self._frames if not is_library(frame[0])]
        file, number, function = own[0] if own else (*(self._thrown or ("", "")), "")
        tested = bool(self._test or self._suite)
        return Finding(
            weight=90 if tested else 85,
            headline=headline,
            name=name or ("AssertionError" if "expect(" in headline or "xpected" in headline else ""),
            code=code or _code_in(self._message),
            location=place(file, number) if file else None,
            function="" if function.startswith(("Object.<anonymous>", "<anonymous>")) else function,
            test=self._test or self._suite,
            detail=" ".join(self._message[:MESSAGE_LINES]),
            kind="test" if tested else "run",
            files=tuple(dict.fromkeys(frame[0] for frame in own)),
        )


def _code_in(lines: list[str]) -> str:
    return next((line.split("'")[1] for line in lines if line.startswith("code: '")), "")


JAVA_HEAD = re.compile(r'(Exception in thread "[^"]*" |Caused by: )?((?:[a-z]\w*\.)+[A-Z][\w$]*)(?:: (.*))?$')
JAVA_AT = re.compile(r"\s+at ([\w.$/<>@-]{1,300})\(([\w$-]{1,200}\.\w{1,10}):(\d{1,7})\)$")
JAVA_LIBRARY = re.compile(r"(?:java\.|javax\.|jdk\.|sun\.|org\.junit|org\.gradle|org\.apache\.maven|kotlin\.|scala\.)")


class JavaShape:
    """The innermost cause, at its first frame of the user's own."""

    gates: ClassVar[tuple[str, ...]] = ("Exception", "\tat ", "Caused by: ")

    def __init__(self, text: str) -> None:
        self._heads: list[str] = []
        self._names: list[str] = []
        self._frame: tuple[str, str, str] | None = None
        self._files: list[str] = []

    def feed(self, line: str) -> None:
        if line[:1] in ("\t", " "):
            if self._heads and self._frame is None and (at := JAVA_AT.match(line)):
                function = at[1].rpartition("/")[2]
                if not JAVA_LIBRARY.match(function) and "java.base/" not in at[1]:
                    self._frame = (at[2], at[3], function)
                    self._files.append(at[2])
        elif "." in line and (head := JAVA_HEAD.match(line)) and (head[1] or self._thrown(head[2])):
            self._heads.append(line.removeprefix("Caused by: ").removeprefix(head[1] or ""))
            self._names.append(head[2].rpartition(".")[2])
            self._frame = None

    @staticmethod
    def _thrown(name: str) -> bool:
        return name.endswith(("Exception", "Error"))

    def finding(self) -> Finding | None:
        if not self._heads:
            return None
        file, number, function = self._frame or ("", "", "")
        return Finding(
            weight=86 if self._frame else 70,
            headline=self._heads[-1],
            name=self._names[-1],
            location=place(file, number) if file else None,
            function=function,
            files=tuple(dict.fromkeys(self._files)),
        )


GO_FRAME = re.compile(r"\t(\S{1,400}\.go):(\d{1,7})(?: \+0x[0-9a-f]+)?$")
GO_FAIL = re.compile(r"\s*--- FAIL: (\S{1,200})")
GO_SAID = re.compile(r"\s+(\S{1,200}\.go):(\d{1,7}): (.*)$")


class GoShape:
    """A panic at its first frame outside the runtime, or the first message of the first failing test."""

    gates: ClassVar[tuple[str, ...]] = ("panic: ", "--- FAIL: ")

    def __init__(self, text: str) -> None:
        self._panic = self._function = self._test = self._said = ""
        self._spot: tuple[str, str] | None = None

    def feed(self, line: str) -> None:
        if line.startswith("panic: ") and not self._panic:
            self._panic, self._spot = line, None
        elif "--- FAIL: " in line and (fail := GO_FAIL.match(line)):
            self._test = self._test if self._said else fail[1]
        elif self._spot is None and line[:1] in ("\t", " ") and ".go:" in line:
            self._frame(line)
        elif self._panic and self._spot is None and line.endswith(")"):
            self._function = line.rpartition("(")[0].rpartition("/")[2]

    def _frame(self, line: str) -> None:
        if self._panic and (frame := GO_FRAME.match(line)):
            if not is_library(frame[1]) and "/src/runtime/" not in frame[1]:
                self._spot = (frame[1], frame[2])
        elif self._test and (said := GO_SAID.match(line)):
            self._spot, self._said = (said[1], said[2]), said[3]

    def finding(self) -> Finding | None:
        headline = self._panic or self._said or (f"{self._test} failed" if self._test else "")
        if not headline:
            return None
        return Finding(
            weight=88,
            headline=headline,
            name="panic" if self._panic else "AssertionError",
            location=place(*self._spot) if self._spot else None,
            function=self._function if self._panic else "",
            test=self._test,
            kind="test" if self._test else "run",
            files=(self._spot[0],) if self._spot else (),
        )


RUST_PANIC = re.compile(
    r"thread '([^']{0,200})'(?: \(\d+\))? panicked at (?:'(.*)', )?([^\s:,]{1,400}):(\d{1,7})(?::\d{1,7}):?$"
)


class RustPanicShape:
    """The first panic; its message is on the next line, or in quotes before Rust 1.73."""

    gates: ClassVar[tuple[str, ...]] = ("panicked at",)

    def __init__(self, text: str) -> None:
        self._spot: tuple[str, str] | None = None
        self._library = False
        self._message: list[str] = []
        self._test = ""
        self._tested = False

    def feed(self, line: str) -> None:
        if self._spot is None:
            if "panicked at" in line and (panic := RUST_PANIC.match(line.strip())):
                self._spot, self._test = (panic[3], panic[4]), panic[1]
                self._message = [panic[2]] if panic[2] else []
        elif len(self._message) < 3 and not line.startswith(("note: ", "stack backtrace")):
            self._message.append(line.strip())
        if line.startswith("test result: FAILED"):
            self._tested = True

    def finding(self) -> Finding | None:
        if self._spot is None:
            return None
        headline = next((said for said in self._message if said), "panicked")
        return Finding(
            weight=90 if self._tested else 86,
            headline=headline,
            name="AssertionError" if headline.startswith("assert") else "panic",
            location=None if is_library(self._spot[0]) else place(*self._spot),
            test=self._test if self._tested else "",
            function="" if self._tested else self._test,
            detail=" ".join(self._message[1:3]),
            kind="test" if self._tested else "run",
            files=(self._spot[0],),
        )
