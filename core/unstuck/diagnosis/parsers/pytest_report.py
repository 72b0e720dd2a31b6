"""Parser of pytest: the first failing test of a run, or the reason why no test ran."""

from __future__ import annotations

import re
from itertools import pairwise

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, all_of, is_library, place
from unstuck.diagnosis.parsers.python import traceback

TITLE = Lazy(r"_{3,} (?:ERROR (?:collecting|at (?:setup|teardown) of) )?(.{1,300}?) _{3,}$")
SPOT = Lazy(r"([^\s:][^:\n]{0,300}):(\d{1,7}):(?: (?:in (.{1,200})|([A-Za-z_][\w.]*)))?$")
ONE_LINE = Lazy(r"((?:\w\W)?[/\\][^\s:][^:\n]{0,300}\.py):(\d{1,7}): (.*)$")
FRAME = Lazy(r'\s+File "([^"]{1,500})", line (\d{1,7})(?:, in (.{1,200}))?$')
WANTED = Lazy(r"file (\S{1,400}), line (\d{1,7})$")
SUMMARY = ("FAILED ", "ERROR ")
PROGRESS = Lazy(r"[.FEsxX]+\s+\[ *\d{1,3}%\]$")
CLASS = (
    r"(?:[A-Za-z_][\w.]{0,200}\.)?(?:Failed|"
    r"[A-Z]\w{0,80}(?:Error|Exception|Failed|Failure|Exit|Interrupt|Group|Warning|Expired|Timeout))"
)
# A plain name first: it is the most frequent and needs no backtracking.
HEAD = Lazy(rf"([A-Z]\w+): |({CLASS})(?:: |$)|([A-Za-z_]\w*(?:\.\w+)+): ")
STRICT = Lazy(rf"{CLASS}(?:: |$)")
USAGE = (
    "ERROR: file or directory not found",
    "ERROR: not found:",
    "ERROR: no such option",
    "ERROR: could not ",
    "ImportError while loading conftest",
)
# Messages that pytest prints before its header.
NEVER_BEGUN = ("file or directory not found", "not found: ")
BORDERS = ("___", "===")
BORDER = Lazy(r"_{3,} \S.* _{3,}$|={3,} \S.* ={3,}$")
# Titles of what -rA and -rx print of other tests.
NOT_FAILED = ("PASSES", "XFAILURES", "XPASSES")
MARKS = frozenset("EFI_=")
# Line number and line.
Numbered = tuple[int, str]


def failing_test(text: str, lines: list[str]) -> Finding | None:
    """Return the finding in one section of the failures, with the tests of the summary."""
    # Most lines are of passed tests; those have a test's name beside the file.
    candidates = [
        (number, line)
        for number, line in enumerate(lines)
        if line and (line[0] in MARKS or (".py" in line and "::" not in line))
    ]
    reader = _Reader()
    for number, line in _of_one_section(candidates, lines):
        reader.feed(line, number)
    return reader.finding()


def internal_error(text: str, lines: list[str]) -> Finding | None:
    """Return an exception of a plugin or conftest inside pytest: a traceback behind a mark."""
    mark = "INTERNALERROR> "
    return traceback(text, [line.removeprefix(mark) for line in lines if line.startswith(mark)])


def _of_one_section(candidates: list[Numbered], lines: list[str]) -> list[Numbered]:
    """Return ``candidates`` with only the failure whose test is first in the code, in any order of the workers."""
    borders = [number for number, line in candidates if line.startswith(BORDERS) and BORDER.match(line)]
    if len(borders) < 2:
        return candidates
    parts = list(pairwise((*borders, len(lines))))
    titles = [line for line in (lines[start] for start, _ in parts) if line[0] == "="]
    if any(title.strip("= ") in NOT_FAILED for title in titles):
        candidates, parts = _of_failures(candidates, parts, lines)
    sections = [section for section in parts if lines[section[0]][0] == "_"]
    if len(sections) < 2:
        return candidates
    kept = min(sections, key=lambda section: _order(lines[section[0]], lines[section[0] + 1 : section[1]]))
    dropped = {number for section in sections if section != kept for number in range(*section)}
    return [one for one in candidates if one[0] not in dropped]


def _of_failures(
    candidates: list[Numbered], parts: list[tuple[int, int]], lines: list[str]
) -> tuple[list[Numbered], list[tuple[int, int]]]:
    """Return ``candidates`` and ``parts`` without those below the title of tests that have not failed."""
    dropped: set[int] = set()
    kept: list[tuple[int, int]] = []
    inside = False
    for part in parts:
        title = lines[part[0]]
        inside = title.strip("= ") in NOT_FAILED if title[0] == "=" else inside
        if inside:
            dropped.update(range(*part))
        else:
            kept.append(part)
    return [one for one in candidates if one[0] not in dropped], kept


def _order(title: str, section: list[str]) -> tuple[bool, str, int, str]:
    """Return the order of a section: errors before failures, then by file and line of the test."""
    places = (SPOT.match(line) or FRAME.match(line) for line in section if ".py" in line)
    file, number = next(((spot[1], int(spot[2])) for spot in places if spot and not is_library(spot[1])), ("", 0))
    return not title.lstrip("_").startswith(" ERROR "), file, number, title


class _Reader:
    """Parser that gets every line once."""

    def __init__(self) -> None:
        self._active = self._failures = self._complete = False
        self._title = self._class = ""
        self._head = ""
        self._indent = 0
        self._messages: list[str] = []
        self._spots: list[tuple[str, str, str]] = []
        self._block_ends = -1
        self._failed: list[tuple[str, str]] = []
        self._one_line: re.Match[str] | None = None
        self._broken = False
        self._usage = ""

    def feed(self, line: str, number: int) -> None:
        first = line[0]
        if first == "E" and (line == "E" or line.startswith("E  ")) and not PROGRESS.match(line):
            self._error_line(line[1:], number)
        elif first == "_":
            title = TITLE.match(line)
            self._title = title[1] if title else self._title
        elif first == "F" or first == "E" or first == "I":
            self._summary(line)
        elif first == "=":
            self._rule(line)
        elif not self._complete and ".py" in line:
            self._place(line, first)

    def _place(self, line: str, first: str) -> None:
        if first == " ":
            spot = FRAME.match(line) if 'File "' in line and self._title else None
        elif first == "f" and line.startswith("file "):
            spot = WANTED.match(line)
        else:
            spot = SPOT.match(line)
            if spot is None and self._failures and not self._title and (reported := ONE_LINE.match(line)):
                # --tb=line has no sections but one line for each failure.
                self._one_line = min(self._one_line or reported, reported, key=_place_of)
                spot = None
        if spot and spot.re.groups > 3:
            self._class = spot[4] or self._class
        if spot and not is_library(spot[1]):
            function = (spot[3] or "") if spot.re.groups > 2 else ""
            self._spots.append((spot[1], spot[2], function))

    def _rule(self, line: str) -> None:
        if " FAILURES " in line:
            # Errors before the tests are above this section and already parsed.
            self._failures, self._complete = True, bool(self._head)
        if self._failures or "test session starts" in line:
            self._active = True
        if "no tests ran" in line and not self._usage:
            self._usage = "no tests ran"

    def _error_line(self, raw: str, number: int) -> None:
        message = raw.strip()
        goes_on, self._block_ends = number == self._block_ends + 1, number
        self._active = True
        if not message or self._complete:
            return
        if not goes_on:
            self._messages = []
        if (syntax := FRAME.match(raw)) is not None:
            if not syntax[3]:
                self._spots.append((syntax[1], syntax[2], ""))
            return
        indent = len(raw) - len(raw.lstrip())
        better = indent <= self._indent and not STRICT.match(self._head) and STRICT.match(message)
        if not self._messages or better:
            self._head, self._indent, self._messages = message, indent, []
        self._messages.append(message)

    def _summary(self, line: str) -> None:
        if line.startswith(USAGE):
            self._usage = line.removeprefix("ERROR: ")
            self._broken = self._broken or line.startswith("ImportError")
            return
        kind, _, entry = line.partition(" ") if line.startswith(SUMMARY) else ("", "", "")
        test, _, reason = entry.partition(" - ")
        if "::" not in test and ".py" not in test:
            return
        self._active = True
        self._broken = self._broken or (kind == "ERROR" and "::" not in test)
        self._failed.append((test, reason))

    def finding(self) -> Finding | None:
        if not self._active and not self._usage.startswith(NEVER_BEGUN):
            return None
        if self._one_line is not None:
            self._spots, self._messages = [(self._one_line[1], self._one_line[2], "")], []
            self._head = self._one_line[3]
        if not self._failed and not self._head:
            code = "configuration" if self._usage == "no tests ran" else "usage"
            return Finding(weight=59, headline=self._usage, code=code) if self._usage else None
        # Sorted, because tests run in any order.
        self._failed.sort()
        headline = self._head or self._reason() or self._class or f"{len(self._failed)} failed"
        found = Finding(100, headline, _name(headline))
        found.kind = "build" if self._broken else "test"
        found.test = all_of(dict(self._failed))
        found.detail = " ".join(self._messages[1:3])
        if self._spots:
            file, number, function = self._spots[-1]
            found.location = place(file, number)
            found.function = function or next((spot[2] for spot in reversed(self._spots) if spot[2]), "")
            found.files = tuple(dict.fromkeys(spot[0] for spot in self._spots))
        return found

    def _reason(self) -> str:
        """Return the summary's reason for the parsed section, else for the first test."""
        named = self._failed
        if self._title:
            title = f".{self._title}"
            named = [one for one in named if one[0].replace("::", ".").endswith(title)] + named
        for _, message in named:
            if message:
                return message
        return ""


def _place_of(report: re.Match[str]) -> tuple[str, int, str]:
    return report[1], int(report[2]), report[3]


def _name(headline: str) -> str:
    head = HEAD.match(headline)
    if head is None:
        return "AssertionError" if headline.startswith("assert") else ""
    name = str(head[head.lastindex or 0]).rpartition(".")[2]
    return "AssertionError" if name == "Failed" else name
