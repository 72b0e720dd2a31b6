"""Whether a test runner was at work: what it says in the end, or a place alone below what failed."""

from __future__ import annotations

from dataclasses import dataclass

from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with
from unstuck.diagnosis.matching.prefilter import Either, Gates, Overview
from unstuck.diagnosis.parsers.base import is_library, place

__all__ = ["is_test_run", "place_alone"]

LINE_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class _End:
    """A line with the one of ``gates`` that ``pattern`` matches at its start is said of a failed test run."""

    gates: Either
    pattern: Lazy


ENDS: Gates[_End] = Gates(
    _End(Either(part), Lazy(pattern))
    for part, pattern in (
        (" failed", r"(?:=+ .{0,200}|Tests?:? .{0,60}|\s*Tests\s.{0,60}|)\b\d+ failed"),
        ("FAILED (", r"FAILED \((?:failures|errors)=\d"),
        (" failing", r"\s*\d+ failing$"),
        ("fail ", r"[#ℹ] fail [1-9]"),
        ("--- FAIL: ", r"--- FAIL: "),
        ("test result: FAILED", r""),
        ("Tests run: ", r"(?:\[ERROR\] )?Tests run: .*(?:Failures|Errors): [1-9]"),
        ("Test failed", r"npm (?:error|ERR!) Test failed"),
        (" test", r"> \S+ test$"),
        (" failure…", r"\d+ (?:examples?|tests?), [1-9]\d* failures?"),
        ("Assertions: ", r"Tests: \d+, Assertions: .*(?:Failures|Errors): [1-9]"),
        (" runs, ", r"\d+ runs, .*\b[1-9]\d* (?:failures|errors)"),
    )
)
# A line that is nothing but a place, which some test runners print below what failed.
PLACE_ALONE = Lazy(r"\s*(?:# )?([^\s:#]{1,300}\.[A-Za-z]\w{0,4}):(\d{1,7})(?::in [`'].{1,200}')?$")
PLACE_ENDS = frozenset("0123456789'")


def is_test_run(seen: Overview) -> bool:
    """Whether a test runner says that tests failed."""
    for end in ENDS.in_question(seen):
        part = end.gates.part
        if part in seen.kinds and any(map(end.pattern.match, lines_with(seen.text, part))):
            return True
    return False


def place_alone(text: str) -> str | None:
    """The user's own place that stands alone on a line."""
    spots = (
        PLACE_ALONE.match(line) for line in text.split("\n") if line[-1:] in PLACE_ENDS and len(line) <= LINE_LIMIT
    )
    return next((place(spot[1], spot[2]) for spot in spots if spot and not is_library(spot[1])), None)
