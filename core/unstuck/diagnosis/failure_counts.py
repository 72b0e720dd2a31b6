"""Counts of errors and passes in a check's output, and the stage at which it failed."""

from __future__ import annotations

from collections.abc import Iterable

from unstuck.diagnosis.enums import ErrorType, FailureType
from unstuck.diagnosis.extent import Extent, Stage
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.parsing.truncation import ends_of

__all__ = ["extent_of"]

_MULTILINE = 8

_PYTEST_REST = (
    r"(?:(?P<g>\d+) passed)?(?:, \d+ (?:skipped|deselected|xfailed|xpassed|warnings?))*(?:, )?(?:(?P<e1>\d+) errors?)?"
)
# Closing lines of test runners. Groups: b… counts failures, e… errors outside of a test, g passes, t all tests.
_CLOSINGS = tuple(
    Lazy(pattern, _MULTILINE)
    for pattern in (
        rf"^=*[ ]?(?=\d+ \w+(?:, \d+ \w+)* in [\d.]+ ?s)(?:(?P<b1>\d+) failed)?(?:, )?{_PYTEST_REST}",
        r"^Ran (?P<t>\d+) tests? in [\d.]+s\s+FAILED \((?:failures=(?P<b1>\d+))?(?:, )?(?:errors=(?P<b2>\d+))?",
        r"^ *Tests:? +(?:(?P<b1>\d+) failed)?(?:[,| ]+\d+ (?:skipped|todo))*[,| ]*(?:(?P<g>\d+) passed)?.*$",
        r"^ +(?P<g>\d+) passing\b.*$",
        r"^ +(?P<b1>\d+) failing$",
        r"^[#ℹ] pass (?P<g>\d+)$",
        r"^[#ℹ] fail (?P<b1>\d+)$",
        r"^test result: \w+\. (?P<g>\d+) passed; (?P<b1>\d+) failed",
        r"^(?:\[\w+\] )?Tests run: (?P<t>\d+), Failures: (?P<b1>\d+), Errors: (?P<b2>\d+)",
        r"^Tests: (?P<t>\d+), Assertions: \d+(?:, Errors: (?P<b1>\d+))?(?:, Failures: (?P<b2>\d+))?",
        r"^(?P<t>\d+) (?:examples?|tests?), (?P<b1>\d+) failures?\b",
        r"^(?P<t>\d+) runs, \d+ assertions, (?P<b1>\d+) failures, (?P<b2>\d+) errors",
        r"^(?P<t>\d+) tests completed, (?P<b1>\d+) failed",
        r"^\d+% tests passed, (?P<b1>\d+) tests failed out of (?P<t>\d+)",
        r"^(?:Failed|Passed)!? +- Failed: +(?P<b1>\d+), Passed: +(?P<g>\d+)",
    )
)
# Tests of Go, which prints no number of them.
_GO_FAILS = Lazy(r"^--- FAIL: ", _MULTILINE)
_GO_PASSES = Lazy(r"^(?:--- PASS: |ok  ?\t)", _MULTILINE)
# A runner that ran while a part of what it runs could not be loaded.
_NOT_LOADED = (
    "_FailedTest", "failed to run", "during collection", "ERROR collecting", "[build failed]", "[setup failed]",
)  # fmt: skip
_SIGNS = r"[^\w\n]{0,10}"
# Closing lines of compilers, type checkers and linters.
_TOTALS = tuple(
    Lazy(pattern, _MULTILINE)
    for pattern in (
        r"^Found (\d+) errors?\b",
        r"^error: (?:aborting|could not compile .{1,80}) due to (\d+ |)previous errors?",
        r"^(\d+) errors?(?: generated\.|, \d+ warnings?\b.*|)$",
        r"^[✖×] (\d+) problems?\b",
        r"^(\d+) (?:issues|offenses|problems|violations)\b",
        rf"^{_SIGNS}(\d+) ?(?:of|out of|/) ?\d+ (?:[\w-]+ ){{0,3}}fail(?:ed|ures?|ing)?\b",
        rf"^{_SIGNS}(\d+) (?:[\w-]+ ){{0,2}}(?:failed|failing|failures?){_SIGNS}$",
    )
)
# Beginnings of lines of which each is one error.
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
    """The extent of a check's failure: its ``output`` was read as ``diagnosis``. Looks at a bounded head and tail."""
    text = ends_of(output)
    failed, outside, passed = _tests(text)
    ran, partly = bool(failed or passed), bool(failed and outside)
    errors = failed + outside or _total(text) or _distinct(_ERRORS.findall(text))
    if not failed + outside:
        errors = errors or _distinct(_FAILS.findall(text))
        passed = passed or _distinct(_PASSES.findall(text))
    return Extent(_stage(text, diagnosis, ran=ran, partly=partly or bool(passed)), errors, passed)


def _stage(text: str, diagnosis: Diagnosis | None, *, ran: bool, partly: bool) -> Stage:
    """The stage at which it failed; ``ran``: tests were counted, ``partly``: some of them for certain ran."""
    if diagnosis is None:
        return ""
    if diagnosis.failure_type is FailureType.BROKEN_BUILD:
        if partly:
            return ""  # a part of it loads
        return "parse" if diagnosis.error_type is ErrorType.SYNTAX_ERROR else "load"
    tested = ran and diagnosis.failure_type is FailureType.VERIFICATION_FAILED
    return "run" if tested and not any(words in text for words in _NOT_LOADED) else ""


def _tests(text: str) -> tuple[int, int, int]:
    """What test runners count: tests that failed, errors outside of tests, and tests that passed."""
    failed = outside = passed = 0
    for closing in _CLOSINGS:
        for found in closing.finditer(text):
            counts = {name: int(number) for name, number in found.groupdict().items() if number}
            bad = sum(number for name, number in counts.items() if name[0] == "b")
            failed, outside = failed + bad, outside + counts.get("e1", 0)
            passed += counts.get("g", 0) or max(0, counts.get("t", 0) - bad)
    return failed + len(_GO_FAILS.findall(text)), outside, passed + len(_GO_PASSES.findall(text))


def _total(text: str) -> int:
    for total in _TOTALS:
        if found := [int(number or 1) for number in total.findall(text)]:
            return sum(found)
    return 0


def _distinct(lines: Iterable[str]) -> int:
    return len(dict.fromkeys(map(str.strip, lines)))
