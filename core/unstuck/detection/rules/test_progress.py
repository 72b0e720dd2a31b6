"""Comparison of two failures of one check: the number of failures, the tests, the place, and progress."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from unstuck.detection.steps.volatile_text import comparable
from unstuck.diagnosis.signatures.signature import FailureSignature, extract_failure_signature

ALIKE = 0.7
MISS_LIMIT = 300
DRIFT = 2
TESTS_KEPT = 100

_COUNT = re.compile(
    r"\b(\d{1,6}) (?:tests? |examples? |compile |type )?"
    r"(?:failed|failing|failures?|errors?|problems?|issues?|violations?)\b"
    r"|\b(?:failed|failures?|errors?)[=:] ?(\d{1,6})\b",
    re.IGNORECASE,
)
_TEST = re.compile(
    r"^\s*(?:(?:FAILED|FAIL:|--- FAIL:|✕|✗|×|●|not ok \d+ -?) +(\S.{0,160}?)(?: - .*| \(\d.*|: .*)?"
    r"|test (\S+) \.\.\. FAILED)$",
    re.MULTILINE,
)
_PLACE = re.compile(r"([\w./-]+\.\w{1,8})(?::|\(|\", line )(\d{1,6})|\bline (\d{1,6})\b")
_LINE_NUMBER = re.compile(r"(?<=[\w\"'])[:(]\d{1,6}(?:[:,]\d{1,5})?\b\)?|\b(?:line|column|col) \d{1,6}\b")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MISSING = re.compile(
    r"not found|no such|not exist|cannot find|could not find|can't find|unknown|no match|not present"
    r"|not in (?:file|index)",
    re.IGNORECASE,
)
_NAME = re.compile(r"\S*[\d_/\\'\"`]|\S+\.\w")
_AROUND = "()[]{}<>,;:.'\"`"


@dataclass(eq=False)
class Failure:
    """Failing result of a check, with its parts parsed at the first use."""

    key: str
    action: str
    number: int
    text: str

    @cached_property
    def signature(self) -> FailureSignature:
        return extract_failure_signature(self.text)

    @cached_property
    def tests(self) -> frozenset[str]:
        """Names of the tests that failed."""
        found = (one or two for one, two in _TEST.findall(self.text))
        return frozenset(list(dict.fromkeys(name.strip() for name in found))[:TESTS_KEPT])

    @cached_property
    def count(self) -> int | None:
        """Number of failing tests, errors or problems, or None where the text has none."""
        counts = [int(one or two) for one, two in _COUNT.findall(self.text)]
        return max(counts) if counts else None

    @cached_property
    def place(self) -> tuple[str, int] | None:
        """First file and line of the text."""
        found = _PLACE.search(self.text)
        return (found[1] or "", int(found[2] or found[3])) if found else None

    @cached_property
    def fingerprint(self) -> tuple[str, str, int | None, frozenset[str]]:
        """Parts that are equal when the same failure occurs again in another output."""
        headline = self.signature.metadata.get("headline", "")
        line = comparable(_LINE_NUMBER.sub("", headline)) if headline else self.key
        return self.signature.identity, line, self.count, self.tests

    @cached_property
    def words(self) -> frozenset[str]:
        """Last words of the text, for a cheap first comparison."""
        return frozenset(comparable(self.text[-400:]).split())

    @cached_property
    def numbers(self) -> tuple[str, tuple[float, ...]]:
        """Text without its numbers, and the numbers."""
        text = comparable(self.text)
        return _NUMBER.sub("N", text), tuple(float(number) for number in _NUMBER.findall(text))


def is_progress(best: Failure, after: Failure) -> bool:
    """Return whether the check progressed: fewer failures, or an error further down the same file."""
    if best.count is not None and after.count is not None and after.count != best.count:
        return after.count < best.count
    if best.tests or best.place is None or after.place is None or best.place[0] != after.place[0]:
        return False
    return after.place[1] > best.place[1] + DRIFT


def is_same(before: Failure, after: Failure) -> bool:
    """Return whether two failures match. The results of one call made twice in a row may differ in more words."""
    if before.key == after.key:
        return True
    shared = len(before.words & after.words)
    if shared * 2 <= len(before.words | after.words) - shared:
        return False
    if before.fingerprint == after.fingerprint:
        return True
    again = before.action == after.action and before.number + 1 == after.number
    if not again or (before.count, before.tests) != (after.count, after.tests) or _is_trend(before, after):
        return False
    return before.signature.similarity(after.signature) >= ALIKE


def _is_trend(before: Failure, after: Failure) -> bool:
    """Return whether two failures differ only in numbers: a measurement that may improve."""
    return before.numbers[0] == after.numbers[0] and before.numbers[1] != after.numbers[1]


def missing_name_message(call: str, result: str) -> str:
    """Return a short result that reports a missing name, with the names of ``call`` masked; empty for other results."""
    if len(result) > MISS_LIMIT or not _MISSING.search(result):
        return ""
    named = {word.strip(_AROUND) for word in call.split()}
    return " ".join("NAME" if _NAME.match(word) or word.strip(_AROUND) in named else word for word in result.split())
