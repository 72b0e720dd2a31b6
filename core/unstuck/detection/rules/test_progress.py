"""Comparison of two failures of one check: the number of failures, the tests, the place, and progress."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from unstuck.detection.rules.failing_output import SHORT, FailingOutput, numbers_in, plain
from unstuck.detection.steps.troubles import quotes

ALIKE = 0.7
MISS_LIMIT = SHORT
EDIT_LIMIT = 2_000
DRIFT = 2
SHIFT = 12
MORE_WORDS = 2
ENDING_LENGTH = 20
SHARED = 0.85
NOISE = 0.05
NAME_LENGTH = 6
NAME_LIMIT = 40
SPELLINGS = 3

# The time since the beginning, as builders and kernels print it before a line.
_ELAPSED = re.compile(r"^(?:#\d+ |\[ *)\d+\.\d+\]? ", re.MULTILINE)
_TIMED = re.compile(r"\s*real\t.*\nuser\t.*\nsys\t.*\s*$")
_DIGIT = re.compile(r"\d")
_AMOUNT = re.compile(r"(?<![A-Za-z_\d.])v?\d[\d.,]*")
_NOT_KNOWN: tuple[object, ...] = (None, "", frozenset())
_WORDS = re.compile(r"[\w.-]+")
_LETTER = re.compile(r"[^\W\d_]")
_PATHS = re.compile(r"[^\s\"'`(){}<>,;=\[\]]+")
_NAMES = re.compile(r"[\w.@/-]+")


@dataclass(eq=False)
class Failure:
    """Failure of a check: its call and what it printed.

    ``written`` are the names that edits have brought since the failure before. The exit code of a hidden failure is
    not known.
    """

    key: str
    action: str
    number: int
    output: FailingOutput
    call: str = ""
    written: frozenset[str] = frozenset()
    is_hidden: bool = False

    @cached_property
    def unnamed(self) -> str:
        """Short text without the names of its call, and without those that were just written."""
        return without_names(self.call, self.output.text, self.written)

    @property
    def quotes(self) -> bool:
        """True when the text names what was just written."""
        return bool(self.written) and not self.written.isdisjoint(_names_in(self.output.text[:MISS_LIMIT]))

    @cached_property
    def _reported(self) -> list[str]:
        output = self.output
        if not (self.is_hidden and output.is_short):
            return output.reported
        return plain([line for line in output.lines if not quotes(line, self.call)]) or output.reported

    @cached_property
    def outcome(self) -> frozenset[str]:
        """Lines that report an error, or all of a short text, without numbers."""
        # A number of the call says what the result is about.
        given = set(self.call.partition(" | ")[0].split())
        return frozenset(
            _AMOUNT.sub(lambda one: one[0] if one[0] in given else "#", line) if _DIGIT.search(line) else line
            for line in self._reported
        )

    @property
    def amounts(self) -> list[float]:
        """Numbers of the outcome that are no lines."""
        return [number for line in self._reported for number in numbers_in(line)]

    def is_outcome_of(self, other: Failure) -> bool:
        """Return whether two failures of any calls report the same errors. One of them may be cut."""
        mine, others = self.outcome, other.outcome
        shared = mine & others
        if not shared:
            return False
        # Each line of a short text counts.
        part = 1 if self.output.is_short or other.output.is_short else SHARED
        if len(shared) < part * min(len(mine), len(others)) or not any(len(line) >= ENDING_LENGTH for line in shared):
            return False
        # Beside other output an error may be a remark.
        if (self.is_hidden or other.is_hidden) and not self.resembles(other):
            return False
        one, two = self.output, other.output
        if not (_may_equal(one.count, two.count) and _may_equal(one.tests, two.tests)):
            return False
        # Of several scripts each has its own file.
        return self.action != other.action or _may_equal(one.signature.file, two.signature.file)

    def ends_as(self, other: Failure) -> bool:
        """Return whether two failures of different calls have the same first error and end in the same words."""
        one, two = self.output, other.output
        return len(one.ending) >= ENDING_LENGTH and one.ending == two.ending and one.message == two.message

    def is_shifted(self, other: Failure, by: int = SHIFT) -> bool:
        """Return whether only the line differs, by no more than an edit adds."""
        one, two = self.output, other.output
        if one.place is None or two.place is None or abs(one.place[1] - two.place[1]) > by:
            return False
        return (one.place[2], one.message, one.ending) == (two.place[2], two.message, two.ending)

    def resembles(self, other: Failure) -> bool:
        """Return whether more than half of as many words as the two ends do not share are in both."""
        mine, others = self.output.words, other.output.words
        shared = len(mine & others)
        return shared * 2 > len(mine | others) - shared

    def recurs_as(self, other: Failure) -> bool:
        """Return whether this is the same failure in another output."""
        one, two = self.output, other.output
        return (
            (one.count, one.tests, one.message) == (two.count, two.tests, two.message)
            and one.signature.identity == two.signature.identity
            and (one.headline or self.key) == (two.headline or other.key)
        )


def _may_equal(one: object, two: object) -> bool:
    """Return whether two values are equal, or one of them is not known."""
    return one == two or one in _NOT_KNOWN or two in _NOT_KNOWN


def without_elapsed(text: str) -> str:
    """Return an output without the times before its lines, and without those of the shell below it."""
    text = _TIMED.sub("", text) if "\nuser\t" in text else text
    return _ELAPSED.sub("", text) if text[:1] in ("#", "[") else text


def say_more(failures: Sequence[Failure]) -> bool:
    """Return whether each failure, after other steps, says what none before it said: more and more traces."""
    if any(before.number + 1 == after.number for before, after in pairwise(failures)):
        return False
    known: set[str] = set()
    for failure in failures:
        vocabulary = failure.output.vocabulary
        if known and len(vocabulary - known) < MORE_WORDS:
            return False
        known |= vocabulary
    return True


def comes_nearer(failures: Sequence[Failure]) -> bool:
    """Return whether failures differ in values alone, some of which fall each time."""
    values = [failure.output.values for failure in failures]
    shape, first = values[0]
    last = values[-1][1]
    if first == last or any(other != shape for other, _ in values):
        return False
    series = [numbers for _, numbers in values]
    fallen = [place for place, (before, after) in enumerate(zip(first, last, strict=False)) if after < before]
    return any(all(before[place] > after[place] for before, after in pairwise(series)) for place in fallen)


def pass_more(failures: Sequence[Failure]) -> bool:
    """Return whether more tests pass each time: what fails is left for later."""
    return all(before.output.passed < after.output.passed for before, after in pairwise(failures))


def is_trend(failures: Sequence[Failure], one_check: bool) -> bool:
    """Return whether failures with one outcome may come nearer to a goal: a number falls each time.

    Those of one check may also move down a file, rise each time, or differ in a number by more than noise.
    """
    series = [list(values) for values in zip(*(failure.amounts for failure in failures), strict=False)]
    if any(values == sorted(set(values), reverse=True) for values in series):
        return True
    lines = [place[1] for failure in failures if (place := failure.output.place) is not None]
    noise = NOISE if all(failure.output.errors for failure in failures) else 0.0
    if one_check and len(lines) == len(failures) and lines == sorted(set(lines)):
        return True
    # A counter of tries or the id of a process, as the state of a thing shows them, is no goal.
    return (
        one_check
        and not failures[-1].is_hidden
        and (
            any(values == sorted(set(values)) for values in series)
            or any(max(values) - min(values) > noise * max(map(abs, values)) for values in series)
        )
    )


def is_progress(best: Failure, after: Failure) -> bool:
    """Return whether the check progressed: fewer failures, or an error further down the same file."""
    one, two = best.output, after.output
    if one.count is not None and two.count is not None and two.count != one.count:
        return two.count < one.count
    if one.tests or one.place is None or two.place is None or one.place[0] != two.place[0]:
        return False
    return two.place[1] > one.place[1] + DRIFT and not after.is_shifted(best)


def is_same(before: Failure, after: Failure) -> bool:
    """Return whether two failures match. The results of one call made twice in a row may differ in more words."""
    if before.key == after.key or (before.unnamed and before.unnamed == after.unnamed):
        return True
    if not before.resembles(after):
        return False
    if before.recurs_as(after):
        return True
    one, two = before.output, after.output
    again = before.action == after.action and before.number + 1 == after.number
    if not again or (one.count, one.tests) != (two.count, two.tests) or _is_trend(one, two):
        return False
    return one.signature.similarity(two.signature) >= ALIKE


def _is_trend(before: FailingOutput, after: FailingOutput) -> bool:
    """Return whether two outputs differ only in numbers: a measurement that may improve."""
    return before.numbers[0] == after.numbers[0] and before.numbers[1] != after.numbers[1]


def names_brought(old: str, new: str) -> frozenset[str]:
    """Return the words and paths that an edit brings; a number is a value, and no name."""
    return _names_in(new[:EDIT_LIMIT]) - _names_in(old[:EDIT_LIMIT])


def _names_in(text: str) -> frozenset[str]:
    return frozenset(name for name in {*_WORDS.findall(text), *_PATHS.findall(text)} if _LETTER.search(name))


def is_one_name(calls: Sequence[tuple[str, str]]) -> bool:
    """Return whether the names that calls missed, as their results say, are one name in other spellings."""
    names = []
    for call, result in calls:
        missed = max((word for word in _NAMES.findall(call) if word in result), key=len, default="")
        names.append("".join(filter(str.isalnum, missed.lower()))[:NAME_LIMIT])
    shortest = min(names, key=len)
    least = max(NAME_LENGTH, len(shortest) * 2 // 3)
    parts = (
        shortest[start : start + size]
        for size in range(len(shortest), least - 1, -1)
        for start in range(len(shortest) - size + 1)
    )
    part = next((part for part in parts if all(part in name for name in names)), "")
    # Names of one family, such as plugins, only begin alike.
    wanders = part == shortest or len({name.find(part) for name in names}) > 1
    return bool(part) and wanders and len(set(names)) >= SPELLINGS


def without_names(call: str, result: str, written: frozenset[str] = frozenset()) -> str:
    """Return a short result with the names of ``call`` and the ``written`` ones masked; empty for a longer one."""
    if len(result) > MISS_LIMIT:
        return ""
    if "%2" in result:
        result = result.replace("%2f", "/").replace("%2F", "/")
    if written:
        result = _PATHS.sub(lambda path: "NAME" if path[0] in written else path[0], result)
    named = written.union(_WORDS.findall(call.replace("\\n", " ").replace("\\t", " ")))
    words = ["NAME" if word in named else word for word in _WORDS.findall(result)]
    return " ".join(word for before, word in pairwise(["", *words]) if word != "NAME" or before != word)
