"""Counts of errors and passes in a check's output, and the stage at which it failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from unstuck.diagnosis.enums import ErrorType, FailureType
from unstuck.diagnosis.extent import Extent, Stage
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.parsing.line_prefix import without_prefixes
from unstuck.diagnosis.parsing.run_summary import RunSummary, run_summaries
from unstuck.diagnosis.parsing.truncation import ends_of

_MULTILINE = 8

# Messages of a runner about a part that could not be loaded.
_NOT_LOADED = (
    "_FailedTest", "failed to run", "during collection", "ERROR collecting", "[build failed]", "[setup failed]",
)  # fmt: skip
_SIGNS = r"[^\w\n]{0,10}"
# Beginnings of lines that each report one error.
_ERROR_LINES = (
    r"[^\s:(][^:\n(]{0,300}(?::\d+){1,2}:? (?:fatal )?error\b",
    r"[^\s:(][^\n(]{0,300}\(\d+(?:,\d+)?\): (?:fatal )?error\b",
    r"error(?:\[\w+\])?: (?!aborting|could not compile|test failed)",
    r"error TS\d+: ",
    r"[^\s:]{1,300}\.go:\d+:\d+: ",
    r"[^\s:]{1,300}:\d+:\d+: [A-Z]{1,4}\d+ ",
    r"e: \S",
    r"\[ERROR\] \S{1,300}:\[\d+,\d+\]",
    r" +\d+:\d+ +error ",
)
_ERRORS = Lazy(rf"^(?:{'|'.join(_ERROR_LINES)}).*$", _MULTILINE)
_FAILS = Lazy(rf"^{_SIGNS}(?:FAIL(?:ED|URE)?|not ok|ERROR|(?:test|check) failed|[✗✘✖×])(?![\w=]).*$", _MULTILINE)
_PASSES = Lazy(rf"^{_SIGNS}(?:ok|OK|PASS(?:ED)?|(?:test|check) passed|[✓✔])(?!\w).*$", _MULTILINE)


def extent_of(output: str | bytes, diagnosis: Diagnosis | None) -> Extent:
    """Extent of the failure that ``diagnosis`` describes, by the bounded head and tail of ``output``."""
    text = without_prefixes(ends_of(output))
    summaries = run_summaries(text)
    failed, outside, passed = _tests(summaries)
    ran, partly = bool(failed or passed), bool(failed and outside)
    errors = failed + outside or _total(summaries) or _distinct(_ERRORS.findall(text))
    if not failed + outside:
        errors = errors or _distinct(_FAILS.findall(text))
        passed = passed or _distinct(_PASSES.findall(text))
    return Extent(_stage(text, diagnosis, ran=ran, partly=partly or bool(passed)), errors, passed)


def tests_in(output: str | bytes) -> tuple[int, int]:
    """Return how many tests passed and how many ran, where a known test runner says so; else zeros."""
    failed, outside, passed = _tests(run_summaries(ends_of(output)))
    return passed, passed + failed + outside


def _stage(text: str, diagnosis: Diagnosis | None, *, ran: bool, partly: bool) -> Stage:
    """Return the stage of the failure. ``ran`` means that tests were counted, ``partly`` that some of them ran."""
    if diagnosis is None:
        return ""
    if diagnosis.failure_type is FailureType.BROKEN_BUILD:
        if partly:
            return ""  # a part loads
        return "parse" if diagnosis.error_type is ErrorType.SYNTAX_ERROR else "load"
    tested = ran and diagnosis.failure_type is FailureType.VERIFICATION_FAILED
    return "run" if tested and not any(words in text for words in _NOT_LOADED) else ""


def _tests(summaries: Iterable[RunSummary]) -> tuple[int, int, int]:
    """Counts of test runners: tests that failed, errors outside of tests, and tests that passed."""
    failed, outside, passed, total = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for one in summaries:
        if one.unit == "test":
            failed[one.runner] += one.failed - one.outside
            outside[one.runner] += one.outside
            passed[one.runner] += one.passed
            total[one.runner] += one.total
    for runner in total:
        # Some runners count only all tests and those that failed.
        passed[runner] = passed[runner] or max(0, total[runner] - failed[runner])
    return failed.total(), outside.total(), passed.total()


def _total(summaries: Iterable[RunSummary]) -> int:
    return sum(one.failed for one in summaries if one.unit in ("error", "total"))


def _distinct(lines: Iterable[str]) -> int:
    return len(dict.fromkeys(map(str.strip, lines)))
