"""What a failing check measures: how much fails, which tests, where; and whether it got further."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from unstuck.detection.steps.volatile_text import comparable
from unstuck.diagnosis.signatures.signature import FailureSignature, extract_failure_signature

__all__ = ["Failure", "is_progress", "is_same", "shape_of_miss"]

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
    """One failing result of a check; what costs something is found out when it is asked for."""

    key: str
    action: str
    number: int
    text: str

    @cached_property
    def signature(self) -> FailureSignature:
        return extract_failure_signature(self.text)

    @cached_property
    def tests(self) -> frozenset[str]:
        """The tests that failed, by name."""
        found = (one or two for one, two in _TEST.findall(self.text))
        return frozenset(list(dict.fromkeys(name.strip() for name in found))[:TESTS_KEPT])

    @cached_property
    def count(self) -> int | None:
        """How many tests, errors or problems there are, where the text says so."""
        counts = [int(one or two) for one, two in _COUNT.findall(self.text)]
        return max(counts) if counts else None

    @cached_property
    def place(self) -> tuple[str, int] | None:
        """The first file and line that is named."""
        found = _PLACE.search(self.text)
        return (found[1] or "", int(found[2] or found[3])) if found else None

    @cached_property
    def essence(self) -> tuple[str, str, int | None, frozenset[str]]:
        """What is the same when the same failure comes again, whatever else the output says."""
        headline = self.signature.metadata.get("headline", "")
        said = comparable(_LINE_NUMBER.sub("", headline)) if headline else self.key
        return self.signature.identity, said, self.count, self.tests

    @cached_property
    def words(self) -> frozenset[str]:
        """The last words, for a first guess."""
        return frozenset(comparable(self.text[-400:]).split())

    @cached_property
    def numbers(self) -> tuple[str, tuple[float, ...]]:
        """The text without its numbers, and the numbers."""
        said = comparable(self.text)
        return _NUMBER.sub("N", said), tuple(float(number) for number in _NUMBER.findall(said))


def is_progress(best: Failure, after: Failure) -> bool:
    """Whether the check got further than ever: fewer failures, or the same kind of error further down a file."""
    if best.count is not None and after.count is not None and after.count != best.count:
        return after.count < best.count
    if best.tests or best.place is None or after.place is None or best.place[0] != after.place[0]:
        return False
    return after.place[1] > best.place[1] + DRIFT


def is_same(before: Failure, after: Failure) -> bool:
    """Whether it is the same failure in other words; the same call made again at once may vary its words more."""
    if before.key == after.key:
        return True
    shared = len(before.words & after.words)
    if shared * 2 <= len(before.words | after.words) - shared:
        return False
    if before.essence == after.essence:
        return True
    again = before.action == after.action and before.number + 1 == after.number
    if not again or (before.count, before.tests) != (after.count, after.tests) or _is_trend(before, after):
        return False
    return before.signature.similarity(after.signature) >= ALIKE


def _is_trend(before: Failure, after: Failure) -> bool:
    """Whether the two say the same but for some numbers: a measurement, which may be getting better."""
    return before.numbers[0] == after.numbers[0] and before.numbers[1] != after.numbers[1]


def shape_of_miss(call: str, said: str) -> str:
    """How a short answer says that what ``call`` names is not there; empty where it says something else."""
    if len(said) > MISS_LIMIT or not _MISSING.search(said):
        return ""
    named = {word.strip(_AROUND) for word in call.split()}
    return " ".join("NAME" if _NAME.match(word) or word.strip(_AROUND) in named else word for word in said.split())
