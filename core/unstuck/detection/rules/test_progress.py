"""Comparison of two failures of one check: the number of failures, the tests, the place, and progress."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from unstuck.detection.steps.troubles import quotes
from unstuck.detection.steps.volatile_text import comparable
from unstuck.diagnosis.signatures.signature import FailureSignature, extract_failure_signature

ALIKE = 0.7
MISS_LIMIT = 300
EDIT_LIMIT = 2_000
DRIFT = 2
TESTS_KEPT = 100
ERRORS_KEPT = 8
SHIFT = 12
MORE_WORDS = 2
ENDING = 400
ENDING_LENGTH = 20
ERROR_LENGTH = 60
SHARED = 0.85
NOISE = 0.05
NAME_LENGTH = 6
NAME_LIMIT = 40
SPELLINGS = 3

_COUNT = re.compile(
    r"\b(\d{1,6}) (?:tests? |examples? |compile |type )?"
    r"(?:failed|failing|failures?|errors?|problems?|issues?|violations?)\b"
    r"|\b(?:failed|failures?|errors?)[=:] ?(\d{1,6})\b"
)
_PASSED = re.compile(r"\b(\d{1,6}) (?:tests? )?pass(?:ed|ing)\b")
_TEST = re.compile(
    r"^\s*(?:(?:FAILED|FAIL:|--- FAIL:|✕|✗|✘|×|●|not ok \d+ -?) +(\S.{0,160}?)(?: - .*| \(\d.*|: .*)?"
    r"|test (\S+) \.\.\. FAILED)$",
    re.MULTILINE,
)
_TEST_ONLY = re.compile(r"\s*(?:FAILED|FAIL:|--- FAIL:)\s+\S+\s*", re.IGNORECASE)
_PLACE = re.compile(r"([\w./-]+\.\w{1,8})(?::|\(|\", line )(\d{1,6})|\bline (\d{1,6})\b")
_LINE_NUMBER = re.compile(
    r"(?<=\bsh: )\d{1,6}(?=:)|(?<=[\w\"'])[:(]\d{1,6}(?:[:,]\d{1,5})?\b\)?|\b(?:line|column|col) \d{1,6}\b"
)
# The time since the beginning, as builders and kernels print it before a line.
_ELAPSED = re.compile(r"^(?:#\d+ |\[ *)\d+\.\d+\]? ", re.MULTILINE)
_TIMED = re.compile(r"\s*real\t.*\nuser\t.*\nsys\t.*\s*$")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"(?:(?<!\w)-)?\d+(?:\.\d+)?")
_AMOUNT = re.compile(r"(?<![A-Za-z_\d.])v?\d[\d.,]*")
# The number before a line of code that an output shows.
_GUTTER = re.compile(r"^\W*\d+(?=\s*[:|│→])")
# A hash in any alphabet, or a part of one.
_HASH = re.compile(
    r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[0-9A-Za-z]{16,}\b"
    r"|(?<![A-Za-z\d])(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{6,}(?![A-Za-z\d])"
)
_ERROR_WORDS = (
    *(
        "error",
        "couldn't",
        "can't",
        "cannot",
        "could not",
        "failed",
        "unable",
        "denied",
        "refused",
        "fatal",
        "undefined",
    ),
    *("exception", "no such", "not found"),
)
_REMARK = re.compile(r"warning|notice|\bnote\b|hint|for more information|complete log")
_WORDS = re.compile(r"[\w.-]+")
_LETTER = re.compile(r"[^\W\d_]")
_PATHS = re.compile(r"[^\s\"'`(){}<>,;=\[\]]+")
_NAMES = re.compile(r"[\w.@/-]+")
_VOCABULARY = re.compile(r"\b[^\W\d]{3,}\b")


@dataclass(eq=False)
class Failure:
    """Failing result of a check, with its parts parsed at the first use.

    ``written`` are the names that edits have brought since the failure before. The exit code of a hidden failure is
    not known.
    """

    key: str
    action: str
    number: int
    text: str
    call: str = ""
    written: frozenset[str] = frozenset()
    is_hidden: bool = False

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
        counts = [int(one or two) for one, two in _COUNT.findall(self.text.lower())]
        return max(counts) if counts else None

    @cached_property
    def place(self) -> tuple[str, int, str] | None:
        """First file and line of the text, and the words of the line that names them."""
        found = _PLACE.search(self.text)
        if found is None:
            return None
        start, end = _line_at(self.text, found.start())
        return found[1] or "", int(found[2] or found[3]), _unnumbered(self.text[start:end])

    @cached_property
    def unnamed(self) -> str:
        """Short text without the names of its call, and without those that were just written."""
        return without_names(self.call, self.text, self.written)

    @property
    def quotes(self) -> bool:
        """True when the text names what was just written."""
        return not self.written.isdisjoint(_names_in(self.text[:MISS_LIMIT]))

    @cached_property
    def fingerprint(self) -> tuple[str, str, int | None, frozenset[str], str]:
        """Parts that are equal when the same failure occurs again in another output."""
        headline = self.signature.metadata.get("headline", "")
        return self.signature.identity, _unnumbered(headline) or self.key, self.count, self.tests, self.message

    @cached_property
    def ending(self) -> str:
        """Last line of the text, without numbers of lines."""
        return _unnumbered(self.text[-ENDING:].rstrip().rpartition("\n")[2])

    @cached_property
    def errors(self) -> Sequence[str]:
        """Lines that report an error."""
        text = self.text
        lowered = text.lower()
        found: set[tuple[int, int]] = set()
        # Words are found in the whole text at once: most lines have none.
        for word in _ERROR_WORDS:
            place = lowered.find(word)
            while place >= 0:
                found.add(line := _line_at(lowered, place))
                place = lowered.find(word, line[1])
        lines = {text[start:end]: (start, end) for start, end in sorted(found)}
        return [line for line, place in islice(lines.items(), ERRORS_KEPT) if not _REMARK.search(lowered, *place)]

    @cached_property
    def message(self) -> str:
        """First line that reports an error and not only the name of a test, without numbers of lines."""
        line = next((line for line in self.errors if not _TEST_ONLY.fullmatch(line)), "")
        return _unnumbered(line[:ENDING])

    @cached_property
    def long_errors(self) -> frozenset[str]:
        """Ends of the long lines that report an error: a script may put its own words before them."""
        lines = {line[-ERROR_LENGTH:] for line in self.errors if len(line) >= ERROR_LENGTH and not line[0].isspace()}
        return frozenset(map(comparable, lines))

    @cached_property
    def _reported(self) -> list[str]:
        """Lines that report an error, or all of a short text, without numbers of lines."""
        short = len(self.text) <= MISS_LIMIT
        lines = [line for line in self.text.splitlines() if line.strip()] if short else self.errors
        if self.is_hidden and short:
            lines = [line for line in lines if not quotes(line, self.call)] or lines
        return [_plain(line[:ENDING]) for line in lines]

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
        return [float(number) for line in self._reported for number in _NUMBER.findall(line)]

    def is_outcome_of(self, other: Failure) -> bool:
        """Return whether two failures of any calls report the same errors. One of them may be cut."""
        mine, others = self.outcome, other.outcome
        shared = mine & others
        if not shared:
            return False
        # Each line of a short text counts.
        part = 1 if min(len(self.text), len(other.text)) <= MISS_LIMIT else SHARED
        if len(shared) < part * min(len(mine), len(others)) or not any(len(line) >= ENDING_LENGTH for line in shared):
            return False
        # Beside other output an error may be a remark.
        if (self.is_hidden or other.is_hidden) and not self.resembles(other):
            return False
        known = (
            (self.count, other.count),
            (self.tests, other.tests),
            # Of several scripts each has its own file.
            (self.action == other.action and self.signature.file, self.action == other.action and other.signature.file),
        )
        return all(one == two or one in (None, "", frozenset()) or two in (None, "", frozenset()) for one, two in known)

    def ends_as(self, other: Failure) -> bool:
        """Return whether two failures of different calls have the same first error and end in the same words."""
        return len(self.ending) >= ENDING_LENGTH and self.ending == other.ending and self.message == other.message

    def is_shifted(self, other: Failure, by: int = SHIFT) -> bool:
        """Return whether only the line differs, by no more than an edit adds."""
        if self.place is None or other.place is None or abs(self.place[1] - other.place[1]) > by:
            return False
        return (self.place[2], self.message, self.ending) == (other.place[2], other.message, other.ending)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All words of the text that have no digits."""
        return frozenset(_VOCABULARY.findall(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Last words of the text, for a cheap first comparison."""
        return frozenset(comparable(self.text[-400:]).split())

    def resembles(self, other: Failure) -> bool:
        """Return whether more than half of as many words as the two ends do not share are in both."""
        shared = len(self.words & other.words)
        return shared * 2 > len(self.words | other.words) - shared

    @cached_property
    def values(self) -> tuple[str, tuple[float, ...]]:
        """Text without its numbers, and the numbers that are no lines."""
        return _measured(_unnumbered(self.text))

    @cached_property
    def numbers(self) -> tuple[str, tuple[float, ...]]:
        """Text without its numbers, and the numbers."""
        return _measured(comparable(self.text))


def without_elapsed(text: str) -> str:
    """Return an output without the times before its lines, and without those of the shell below it."""
    text = _TIMED.sub("", text) if "\nuser\t" in text else text
    return _ELAPSED.sub("", text) if text[:1] in ("#", "[") else text


def _measured(text: str) -> tuple[str, tuple[float, ...]]:
    return _NUMBER.sub("N", text), tuple(map(float, _NUMBER.findall(text)))


def _line_at(text: str, place: int) -> tuple[int, int]:
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, end if end >= 0 else len(text)


def _plain(line: str) -> str:
    """Return a line without what edits and runs change in it."""
    # Each pattern needs a digit, and most lines have none.
    if not _DIGIT.search(line):
        return comparable(line)
    return _HASH.sub("#", _LINE_NUMBER.sub("", comparable(_GUTTER.sub("", line))))


def _unnumbered(line: str) -> str:
    return comparable(_LINE_NUMBER.sub("", line))


def say_more(failures: Sequence[Failure]) -> bool:
    """Return whether each failure, after other steps, says what none before it said: more and more traces."""
    if any(before.number + 1 == after.number for before, after in pairwise(failures)):
        return False
    known: set[str] = set()
    for failure in failures:
        if known and len(failure.vocabulary - known) < MORE_WORDS:
            return False
        known |= failure.vocabulary
    return True


def comes_nearer(failures: Sequence[Failure]) -> bool:
    """Return whether failures differ in values alone, some of which fall each time."""
    shape, first = failures[0].values
    last = failures[-1].values[1]
    if first == last or any(failure.values[0] != shape for failure in failures):
        return False
    series = [failure.values[1] for failure in failures]
    fallen = [place for place, (before, after) in enumerate(zip(first, last, strict=False)) if after < before]
    return any(all(before[place] > after[place] for before, after in pairwise(series)) for place in fallen)


def pass_more(failures: Sequence[Failure]) -> bool:
    """Return whether more tests pass each time: what fails is left for later."""
    counts = [int(found[1]) if (found := _PASSED.search(failure.text[-MISS_LIMIT:])) else 0 for failure in failures]
    return all(before < after for before, after in pairwise(counts))


def is_trend(failures: Sequence[Failure], one_check: bool) -> bool:
    """Return whether failures with one outcome may come nearer to a goal: a number falls each time.

    Those of one check may also move down a file, rise each time, or differ in a number by more than noise.
    """
    series = [list(values) for values in zip(*(failure.amounts for failure in failures), strict=False)]
    if any(values == sorted(set(values), reverse=True) for values in series):
        return True
    lines = [failure.place[1] for failure in failures if failure.place is not None]
    noise = NOISE if all(failure.errors for failure in failures) else 0.0
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
    if best.count is not None and after.count is not None and after.count != best.count:
        return after.count < best.count
    if best.tests or best.place is None or after.place is None or best.place[0] != after.place[0]:
        return False
    return after.place[1] > best.place[1] + DRIFT and not after.is_shifted(best)


def is_same(before: Failure, after: Failure) -> bool:
    """Return whether two failures match. The results of one call made twice in a row may differ in more words."""
    if before.key == after.key or (before.unnamed and before.unnamed == after.unnamed):
        return True
    if not before.resembles(after):
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
