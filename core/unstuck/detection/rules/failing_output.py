"""Failing output: what it reports, such as counts, tests, a place and the lines of its errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import islice

from unstuck.detection.steps.volatile_text import comparable
from unstuck.diagnosis.signatures.signature import FailureSignature, extract_failure_signature

SHORT = 300
TESTS_KEPT = 100
ERRORS_KEPT = 8
ENDING = 400
ERROR_LENGTH = 60
OUTPUTS_KEPT = 64

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
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"(?:(?<!\w)-)?\d+(?:\.\d+)?")
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
_VOCABULARY = re.compile(r"\b[^\W\d]{3,}\b")


class FailingOutput:
    """Failing output of a call, with its parts parsed at the first use."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_short = len(text) <= SHORT

    @cached_property
    def signature(self) -> FailureSignature:
        return extract_failure_signature(self.text)

    @cached_property
    def headline(self) -> str:
        """Headline of the signature, without numbers of lines."""
        return unnumbered(self.signature.metadata.get("headline", ""))

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
    def passed(self) -> int:
        """Number of tests that passed, as the end of the text says; 0 where it does not."""
        found = _PASSED.search(self.text[-SHORT:])
        return int(found[1]) if found else 0

    @cached_property
    def place(self) -> tuple[str, int, str] | None:
        """First file and line of the text, and the words of the line that names them."""
        found = _PLACE.search(self.text)
        if found is None:
            return None
        start, end = _line_at(self.text, found.start())
        return found[1] or "", int(found[2] or found[3]), unnumbered(self.text[start:end])

    @cached_property
    def ending(self) -> str:
        """Last line of the text, without numbers of lines."""
        return unnumbered(self.text[-ENDING:].rstrip().rpartition("\n")[2])

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
        return unnumbered(line[:ENDING])

    @cached_property
    def long_errors(self) -> frozenset[str]:
        """Ends of the long lines that report an error: a script may put its own words before them."""
        lines = {line[-ERROR_LENGTH:] for line in self.errors if len(line) >= ERROR_LENGTH and not line[0].isspace()}
        return frozenset(map(comparable, lines))

    @cached_property
    def lines(self) -> list[str]:
        """Lines that report an error, or all of a short text that are not blank."""
        return [line for line in self.text.splitlines() if line.strip()] if self.is_short else list(self.errors)

    @cached_property
    def reported(self) -> list[str]:
        """``lines`` without what edits and runs change in them."""
        return plain(self.lines)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All words of the text that have no digits."""
        return frozenset(_VOCABULARY.findall(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Last words of the text, for a cheap first comparison."""
        return frozenset(comparable(self.text[-ENDING:]).split())

    @cached_property
    def values(self) -> tuple[str, tuple[float, ...]]:
        """Text without its numbers, and the numbers that are no lines."""
        return _measured(unnumbered(self.text))

    @cached_property
    def numbers(self) -> tuple[str, tuple[float, ...]]:
        """Text without its numbers, and the numbers."""
        return _measured(comparable(self.text))


@lru_cache(maxsize=OUTPUTS_KEPT)
def failing_output(text: str) -> FailingOutput:
    """Return the failing output of this text. What fails again often says the very same."""
    return FailingOutput(text)


def plain(lines: Sequence[str]) -> list[str]:
    """Return lines without what edits and runs change in them."""
    return [_plain(line[:ENDING]) for line in lines]


def unnumbered(text: str) -> str:
    """Return ``text`` without numbers of lines and other volatile parts."""
    return comparable(_LINE_NUMBER.sub("", text) if _DIGIT.search(text) else text)


def numbers_in(text: str) -> list[float]:
    """Return the numbers in ``text``."""
    return [*map(float, _NUMBER.findall(text))]


def _plain(line: str) -> str:
    # Each pattern needs a digit, and most lines have none.
    if not _DIGIT.search(line):
        return comparable(line)
    return _HASH.sub("#", _LINE_NUMBER.sub("", comparable(_GUTTER.sub("", line))))


def _measured(text: str) -> tuple[str, tuple[float, ...]]:
    return _NUMBER.sub("N", text), tuple(numbers_in(text))


def _line_at(text: str, place: int) -> tuple[int, int]:
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, end if end >= 0 else len(text)
