"""pytest: the first failing test of a run, or why no test ran."""

from __future__ import annotations

import re
from typing import ClassVar

from unstuck.diagnosis.shapes.finding import Finding, is_library, place

__all__ = ["PytestShape"]

TITLE = re.compile(r"_{3,} (?:ERROR (?:collecting|at (?:setup|teardown) of) )?(.{1,300}?) _{3,}$")
SPOT = re.compile(r"([^\s:][^:\n]{0,300}):(\d{1,7}): (?:in (.{1,200})|([A-Za-z_][\w.]*)$)")
SYNTAX = re.compile(r'File "([^"]{1,500})", line (\d{1,7})$')
SUMMARY = re.compile(r"(FAILED|ERROR) (\S.*?)(?: - (.*))?$")
HEAD = re.compile(r"([A-Za-z_][\w.]{0,200}): |([A-Za-z_][\w.]*(?:Error|Exception|Failed|Exit|Interrupt))$")
NO_TESTS = ("no tests ran", "no tests collected")
USAGE = (
    "ERROR: file or directory not found",
    "ERROR: usage:",
    "ERROR: not found:",
    "ImportError while loading conftest",
)
TESTS_KEPT = 50


class PytestShape:
    """Reads the failures section by section; the first section is the one reported."""

    gates: ClassVar[tuple[str, ...]] = ("\nE  ", "\nFAILED ", "\nERROR", "test session starts")

    def __init__(self, text: str) -> None:
        self._active = False
        self._section = 0
        self._head = ""
        self._said: list[str] = []
        self._spots: list[tuple[str, str, str]] = []
        self._last = ""
        self._failed: list[str] = []
        self._reason = ""
        self._broken = False
        self._usage = ""

    def feed(self, line: str) -> None:
        first = line[:1]
        if first == "E" and line.startswith("E  "):
            self._error_line(line[1:].strip())
        elif first == "_" and TITLE.match(line):
            self._section += 1
            self._last = ""
        elif first in ("F", "E") and line.startswith(("FAILED ", "ERROR ", "ERROR:")):
            self._summary(line)
        elif first == "=":
            self._rule(line)
        elif first.strip() and self._section <= 1 and ".py:" in line:
            spot = SPOT.match(line)
            if spot and not is_library(spot[1]):
                self._spots.append((spot[1], spot[2], spot[3] or ""))

    def _rule(self, line: str) -> None:
        self._active = self._active or "test session starts" in line or "short test summary" in line
        if "no tests ran" in line and not self._usage:
            self._usage = "no tests ran"

    def _error_line(self, said: str) -> None:
        self._active = True
        if self._section > 1 or not said:
            return
        if (syntax := SYNTAX.match(said)) is not None:
            self._spots.append((syntax[1], syntax[2], ""))
            return
        if HEAD.match(said) or not self._last:
            self._head = said if HEAD.match(said) or not self._head else self._head
            self._said = []
        self._said.append(said)
        self._last = said

    def _summary(self, line: str) -> None:
        if line.startswith(USAGE):
            self._usage = line.removeprefix("ERROR: ")
            return
        summary = SUMMARY.match(line)
        if summary is None or ("::" not in summary[2] and ".py" not in summary[2]):
            return
        self._active = True
        self._broken = self._broken or (summary[1] == "ERROR" and "::" not in summary[2])
        self._reason = self._reason or summary[3] or ""
        if len(self._failed) < TESTS_KEPT:
            self._failed.append(summary[2])

    def finding(self) -> Finding | None:
        if not self._active:
            return None
        if not self._failed and not self._head:
            return Finding(weight=95, headline=self._usage) if self._usage else None
        headline = self._head or self._reason or f"{len(self._failed)} failed"
        head = HEAD.match(headline)
        file, number, function = self._spots[-1] if self._spots else ("", "", "")
        return Finding(
            weight=100,
            headline=headline,
            name=_name(headline, head),
            location=place(file, number) if file else None,
            function=function or next((spot[2] for spot in reversed(self._spots) if spot[2]), ""),
            test=" ".join(sorted(self._failed)),
            detail=" ".join(self._said[1:3]),
            kind="build" if self._broken else "test",
            files=tuple(dict.fromkeys(spot[0] for spot in self._spots)),
        )


def _name(headline: str, head: re.Match[str] | None) -> str:
    if head is None:
        return "AssertionError" if headline.startswith("assert") else ""
    name = (head[1] or head[2]).rpartition(".")[2]
    return "AssertionError" if name == "Failed" else name
