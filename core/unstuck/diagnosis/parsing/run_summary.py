"""Closing lines of test runners, compilers and linters: counts of failures and passes, and whether anything ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with
from unstuck.diagnosis.matching.prefilter import IndexedText, Literals, Prefilter
from unstuck.diagnosis.parsing.line_prefix import without_prefixes

LINE_LIMIT = 400
_PHRASE_LIMIT = 100
_SEVERAL_LINES = ("node", "jest", "vitest", "mocha", "bun", "tap", "automake", "stestr")
_COUNTS = Lazy(r"\b(\d+) (failed|failing|failures?|fail|errors?|errored|passed|passing|pass|xfailed|xpassed)\b")
_NAMED_COUNTS = Lazy(
    r"\b(failures|errors|unexpected successes|fail|pass|failed|passed)\b\s*[:=]?\s*(\d+)", re.IGNORECASE
)
_PASSED = ("passed", "passing", "pass")
_RAN = (*_PASSED, "xfailed", "xpassed")


Unit = Literal["test", "suite", "error", "run", "total"]
"""``test``, ``suite`` and ``error`` are counted by a known tool's own line. ``suite`` covers files, packages, names and
totals that repeat, so it adds no tests. A ``run`` of tests and a ``total`` of errors are claimed by looser wording."""
_CERTAIN: tuple[Unit, ...] = ("test", "suite", "error")
_TESTS: tuple[Unit, ...] = ("test", "run")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Counts of one closing line, at offset ``at`` of the output without a shared prefix.

    ``failed`` counts failures and errors, ``outside`` those of them outside of a test, ``total`` all tests. ``ran`` is
    None where the line does not say.
    """

    runner: str
    line: str
    at: int
    unit: Unit
    ran: bool | None
    failed: int = 0
    outside: int = 0
    passed: int = 0
    total: int = 0

    @property
    def phrase(self) -> str:
        """The line without its decoration, short enough for a question."""
        return self.line.strip(" \t=-*[]|")[:_PHRASE_LIMIT]

    @property
    def certain(self) -> bool:
        """True for a known tool's own line, which may contradict an exit code."""
        return self.unit in _CERTAIN


@dataclass(frozen=True, slots=True)
class _Closing:
    """A line that has the one of ``literals`` and matches ``pattern`` closes a run of ``runner``.

    The groups ``bad``, ``more``, ``outside``, ``passed`` and ``total`` are counts, ``counts`` is a list such as ``1
    failed, 2 passed`` and ``named`` one such as ``Failures: 1``. Without any of them the line itself means ``failed``
    and ``passed``; a group that is empty means them, too. ``ran`` is for lines without a count.
    """

    runner: str
    literals: Literals
    pattern: Lazy
    failed: int = 0
    passed: int = 0
    ran: bool | None = None
    unit: Unit = "test"


def _closing(
    runner: str, part: str, pattern: str, *, failed: int = 0, passed: int = 0, ran: bool | None = None
) -> _Closing:
    return _Closing(runner, Literals(part), Lazy(pattern), failed, passed, ran)


def _of(unit: Unit, *closings: _Closing) -> Iterable[_Closing]:
    return (replace(closing, unit=unit) for closing in closings)


_PYTEST_PART = r"\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests? \w+)"
_SIGNS = r"[^\w\n]{0,10}"
_OF_SOME = r"(?: ?(?:of|out of|/) ?\d+)?"
# Words of a project's own runner for what is not right yet, and what is counted otherwise.
_LACKS = (
    "not",
    "wrong",
    "missing",
    "broken",
    "bad",
    "left",
    "remaining",
    "remain",
    "incorrect",
    "invalid",
    "unmet",
    "differ",
)
_UNITS = (
    r"(?:milli|micro)?seconds?\b|minutes?\b|hours?\b|m?s\b|bytes?\b|[KMG]i?B\b|files?\b|lines?\b|percent\b|retries\b"
    r"|attempts?\b"
)
_CLOSINGS: Prefilter[_Closing] = Prefilter(
    (
        *_of(
            "test",
            _closing(
                "pytest",
                " in ",
                rf"(?:=+ )?(?P<counts>{_PYTEST_PART}(?:, {_PYTEST_PART})*) in [\d.]+s(?: \([\d:,"
                rf" a-z]+\))?(?: =+)?$",
            ),
            _closing("pytest", "no tests ran", r"(?:=+ )?no tests ran in [\d.]+s", ran=False),
            _closing("pytest", " deselected in ", r"(?:=+ )?\d+ deselected in [\d.]+s", ran=False),
            _closing("pytest", "no tests collected", r"(?:=+ )?no tests collected(?: \(.*\))? in [\d.]+s", ran=False),
            _closing("robot", " test…", r"(?P<total>\d+) tests?, (?P<passed>\d+) passed, (?P<bad>\d+) failed\b"),
            _closing("unittest", "FAILED (", r"FAILED \((?P<named>[^)]*)\)$", ran=True),
            _closing("unittest", "Ran ", r"Ran (?P<total>\d+) tests? in [\d.]+s$"),
            _closing("unittest", "NO TESTS RAN", r"NO TESTS RAN(?: \(.*\))?$", ran=False),
            _closing("jest", "Tests:", r"Tests:\s+(?P<counts>\d+ \w+(?:, \d+ \w+)*)$"),
            _closing("jest", "No tests found, exiting", r"No tests found, exiting with code", ran=False),
            _closing("vitest", "Tests ", r"\s*Tests {1,4}(?P<counts>\d+ \w+(?: \| \d+ \w+)*) \(\d+\)$"),
            _closing("vitest", "No test files found", r"No test files found", ran=False),
            _closing("mocha", " passing", r"\s+(?P<passed>\d+) passing(?: \([\w. ]+\))?$"),
            _closing("mocha", " failing", r"\s+(?P<bad>\d+) failing$"),
            _closing("node", " fail ", r"[#ℹ] fail (?P<bad>\d+)$"),
            _closing("node", " cancelled ", r"[#ℹ] cancelled (?P<bad>\d+)$"),
            _closing("node", " tests ", r"[#ℹ] tests (?P<total>\d+)$"),
            _closing("node", " pass ", r"[#ℹ] pass\s+(?P<passed>\d+)$"),
            _closing("tap", "# fail ", r"# fail\s+(?P<bad>[1-9]\d*)$"),
            _closing("tap", "1..0", r"1\.\.0(?: +#.*)?$", ran=False),
            _closing("stestr", " - Failed: ", r" - Failed: (?P<bad>\d+)$"),
            _closing("stestr", " - Passed: ", r" - Passed: (?P<passed>\d+)$"),
            _closing("cargo", "test result: ", r"test result: \w+\. (?P<passed>\d+) passed; (?P<bad>\d+) failed;"),
            _closing(
                "nextest",
                "Summary [",
                r"\s*Summary \[.{1,20}\] +(?P<total>\d+)(?:/\d+)? tests? run: (?P<counts>.*)$",
            ),
            _closing("go", "--- FAIL: ", r"--- FAIL: ", failed=1),
            _closing("go", "--- PASS: ", r"--- PASS: ", passed=1),
            _closing("go", '"Action":"fail"', r'\{"Time":.*"Action":"fail","Package":', failed=1),
            _closing("go", '"Action":"pass"', r'\{"Time":.*"Action":"pass","Package":"[^"]*","Test":', passed=1),
            _closing("go", "ok ", r"ok {2}\t\S+\t(?!.*\[no tests to run\])(?:[\d.]+s|\(cached\))", passed=1),
            _closing("go", "[no test files]", r"\?\s+\S+\s+\[no test files\]$", ran=False),
            # Since 1.22 a package without tests has its coverage, which is none.
            _closing("go", "of statements", r"\t\S+\t\tcoverage: 0\.0% of statements$", ran=False),
            *(
                _closing("go", part, rf'\{{"Time":.*"Output":"(?:\?|ok) .*{re.escape(part)}\\n"\}}$', ran=False)
                for part in ("[no test files]", "[no tests to run]")
            ),
            _closing("go", "[no tests to run]", r"ok {2}\t\S+\t.*\[no tests to run\]", ran=False),
            _closing(
                "junit",
                "Tests run: ",
                r"(?:\[\w+\] +)?Tests run: +(?P<total>\d+), +"
                r"(?P<named>Failures: +\d+, +Errors: +\d+)",
            ),
            _closing("gradle", " completed, ", r"(?P<total>\d+) tests? completed, (?P<bad>\d+) failed"),
            _closing(
                "rspec",
                " example…",
                r"(?P<total>\d+) examples?, (?P<bad>\d+) failures?(?:, (?P<outside>\d+) errors?"
                r" occurred)?",
            ),
            _closing(
                "minitest",
                " assertions, ",
                r"(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<bad>\d+) failures, "
                r"(?P<more>\d+) errors",
            ),
            _closing("phpunit", "Assertions: ", r"Tests: (?P<total>\d+), Assertions: \d+(?P<named>.*)\.$"),
            _closing("phpunit", "OK (", r"OK \((?P<passed>\d+) tests?, \d+ assertions?\)$"),
            _closing("phpunit", "No tests executed!", r"No tests executed!$", ran=False),
            _closing("pest", "Tests: ", r"\s+Tests: +(?P<counts>\d+ \w+(?:, \d+ \w+)*) \(\d+ assertions\)$"),
            _closing(
                "exunit", " failure…", r"(?:\d+ \w+, )*(?P<total>\d+) tests?, (?P<bad>\d+) failures?(?:, \d+ \w+)*$"
            ),
            _closing(
                "ctest", "% tests passed, ", r"\d+% tests passed, (?P<bad>\d+) tests? failed out of (?P<total>\d+)$"
            ),
            _closing("ctest", "No tests were found!!!", r"No tests were found!!!$", ran=False),
            _closing("dotnet", "Failed: ", r"(?:Failed|Passed)! +- Failed: +(?P<bad>\d+), Passed: +(?P<passed>\d+),"),
            _closing("dotnet", "Failed: ", r"\s+Failed: (?P<bad>[1-9]\d*)$"),
            _closing(
                "deno",
                " passed",
                r"(?:ok|FAILED) \| (?P<counts>\d+ passed(?: \(\d+ steps?\))?(?: \| \d+ \w+(?: \(\d+"
                r" steps?\))?)*)",
            ),
            _closing("bun", " fail", r" *(?P<bad>\d+) fail$"),
            _closing("bun", " pass", r" *(?P<passed>\d+) pass$"),
            _closing("playwright", " failed", r" {2}(?P<bad>\d+) failed$"),
            _closing("playwright", " passed (", r" {2}(?P<passed>\d+) passed \([\d.]+m?s\)$"),
            _closing("ava", " failed", r" {2}(?P<bad>\d+) tests? failed$"),
            _closing(
                "catch2",
                "test cases: ",
                r"(?:\[doctest\] )?test cases: +(?P<total>\d+) \| +(?P<counts>\d+"
                r" passed *\| +\d+ failed)",
            ),
            _closing(
                "busted",
                " success…",
                r"(?P<passed>\d+) success(?:es)? / (?P<bad>\d+) failures? / (?P<more>\d+) errors?",
            ),
            _closing(
                "scalatest",
                "Tests: succeeded ",
                r"(?:\[\w+\] )?Tests: succeeded (?P<passed>\d+), failed (?P<bad>\d+)",
            ),
            _closing("jasmine", " spec…", r"(?P<total>\d+) specs?, (?P<bad>\d+) failures?"),
            _closing("jasmine", "No specs found", r"Incomplete: No specs found", ran=False),
            _closing("behave", " scenario…", r"(?P<passed>\d+) scenarios? passed, (?P<bad>\d+) failed, "),
            _closing("robot", " test…", r"(?P<total>\d+) tests?, (?P<passed>\d+) passed, (?P<bad>\d+) failed$"),
            _closing("robot", "contains no tests", r"\[ ERROR \] Suite '.*' contains no tests", ran=False),
            _closing("eunit", "Failed: ", r"\s*Failed: (?P<bad>\d+)\.\s+Skipped: \d+\.\s+Passed: (?P<passed>\d+)\."),
            _closing(
                "testthat", "[ FAIL ", r"\[ FAIL (?P<bad>\d+) \| WARN \d+ \| SKIP \d+ \| PASS (?P<passed>\d+) \]$"
            ),
        ),
        *_of(
            "suite",
            _closing("pytest", "FAILED ", r"FAILED \S+\.py(?:::\S.*)?(?: - .*)?$", failed=1),
            _closing("pytest", "ERROR ", r"ERROR \S+\.py(?:::\S.*)?(?: - .*)?$", failed=1),
            _closing("pytest", "SUBFAILED", r"SUBFAILED\(.*\) \S+\.py", failed=1),
            _closing("pytest", "FAIL Required test coverage", r"FAIL Required test coverage of ", failed=1),
            _closing("tsc", ": error TS", r"\S+\(\d+,\d+\): error TS\d+: ", failed=1),
            _closing("jest", "Test Suites:", r"Test Suites: (?P<bad>\d+) failed, "),
            _closing("vitest", "Test Files ", r"\s*Test Files {1,4}(?P<bad>\d+) failed\b"),
            _closing("tap", "# Looks like you failed", r"# Looks like you failed (?P<bad>\d+) tests? of \d+"),
            _closing("tap", "not ok ", r"not ok \d+\b(?!.*# (?i:todo|skip)\b)", failed=1),
            _closing("uvu", "FAIL  ", r" {2,3}FAIL {2}\S", failed=1),
            _closing("prove", "Result: ", r"Result: FAIL$", failed=1),
            _closing("prove", "Result: ", r"Result: NOTESTS$", ran=False),
            _closing("prove", "Result: ", r"Result: PASS$", ran=True),
            _closing("go", "FAIL\t", r"FAIL\t\S+", failed=1),
            _closing("gotestsum", "DONE ", r"DONE (?P<total>\d+) tests(?:, (?P<counts>.*?))? in [\d.]+s$"),
            _closing(
                "swift",
                "Executed ",
                r"\s*Executed (?P<total>\d+) tests?, with (?:\d+ tests? skipped and )?"
                r"(?P<bad>\d+) failures?",
            ),
            _closing("meson", "Fail: ", r"Fail: +(?P<bad>\d+) *$"),
            _closing("automake", "# FAIL: ", r"# FAIL: +(?P<bad>\d+)$"),
            _closing("automake", "# ERROR: ", r"# ERROR: +(?P<bad>\d+)$"),
            _closing("googletest", "[  FAILED  ]", r"\[  FAILED  \] (?P<bad>\d+) tests?, listed below"),
            _closing("googletest", "[==========]", r"\[==========\] (?P<total>\d+) tests? from \d+ test \w+ ran"),
            _closing("tasty", " tests failed (", r"(?P<bad>\d+) out of \d+ tests failed \("),
            _closing("tox", ": FAIL ", r"\s*[\w.-]+: FAIL (?:code \d+|✖)", failed=1),
        ),
        *_of(
            "error",
            _closing("mypy", "Found ", r"Found (?P<bad>\d+) errors? in \d+ files?(?: \(.*\))?$"),
            _closing("ruff", "Found ", r"Found (?P<bad>\d+) errors?\.$"),
            _closing(
                "tsc",
                "Found ",
                r"Found (?P<bad>\d+) errors?(?: in \S+(?::\d+)?| in \d+ files\.| in the same file, starting at: \S+|\."
                r" Watching.*)$",
            ),
            _closing(
                "cargo",
                "error: could not compile",
                r"error: could not compile `[^`]+`(?: \([^)]+\))?(?: due to (?P<bad>\d+) previous errors?)?",
                failed=1,
            ),
            _closing("oxlint", "Found ", r"Found \d+ warnings? and (?P<bad>\d+) errors?\."),
            _closing("pyright", " warning…", r"(?P<bad>\d+) errors?, \d+ warnings?(?:, \d+ informations?)? ?$"),
            _closing("eslint", " problem…", r"✖ \d+ problems? \((?P<bad>\d+) errors?, \d+ warnings?\)"),
            _closing(
                "prettier", "Code style issues ", r"(?:\[warn\] )?Code style issues (?:were )?found in ", failed=1
            ),
            _closing("formatter", " would be ", r"(?P<bad>\d+) files? would be reformatted\b"),
            _closing("rubocop", " offense…", r"\d+ files? inspected, (?P<bad>\d+) offenses? detected"),
        ),
        *_of(
            "run",
            _closing(
                "test runner",
                " failed",
                r"(?:=+ .{0,200}|Tests?:? .{0,60}|\s*Tests\s.{0,60}|)\b(?P<bad>\d+) failed",
            ),
            _closing("npm", "Test failed", r"npm (?:error|ERR!) Test failed", failed=1),
            _closing("npm", " test", r"> \S+ test$", failed=1),
        ),
        *_of(
            "total",
            _closing("compiler", "Found ", r"Found (?P<bad>\d+) errors?\b"),
            _closing(
                "rust",
                " due to ",
                r"error: (?:aborting|could not compile .{1,80}) due to (?:(?P<bad>\d+) )?previous errors?",
                failed=1,
            ),
            _closing("compiler", " error…", r"(?P<bad>\d+) errors?(?: generated\.|, \d+ warnings?\b.*|)$"),
            _closing("linter", " problem…", r"[✖×] (?P<bad>\d+) problems?\b"),
            *(
                _closing("linter", f" {word}", rf"(?P<bad>\d+) {word}\b")
                for word in ("issues", "offenses", "problems", "violations")
            ),
            *(
                _closing(
                    "script", f" {word}", rf"{_SIGNS}(?P<bad>\d+){_OF_SOME} (?:(?!{_UNITS})[\w-]+ ){{0,3}}{word}\b"
                )
                for word in _LACKS
            ),
            _closing(
                "script",
                " fail…",
                rf"{_SIGNS}(?P<bad>\d+) ?(?:of|out of|/) ?\d+ (?:[\w-]+ ){{0,3}}fail(?:ed|ures?|ing)?\b",
            ),
            _closing(
                "script", " fail…", rf"{_SIGNS}(?P<bad>\d+) (?:[\w-]+ ){{0,2}}(?:failed|failing|failures?){_SIGNS}$"
            ),
        ),
    )
)


def run_summaries(output: str) -> tuple[RunSummary, ...]:
    """Every closing line in ``output``, in its order. A prefix that all lines share is no part of them."""
    bare = without_prefixes(output)
    return counted_in(IndexedText(bare)) or (() if bare == output else counted_in(IndexedText(output)))


def counted_in(seen: IndexedText) -> tuple[RunSummary, ...]:
    """Return for each line of ``seen`` that closes a run the most certain summary."""
    found: dict[int, RunSummary] = {}
    for one in _summaries(seen):
        known = found.get(one.at)
        if known is None or _order(known) < _order(one):
            found[one.at] = one
    return tuple(found[at] for at in sorted(found))


def _order(one: RunSummary) -> tuple[bool, int, bool]:
    return one.certain, one.failed, one.ran is not None


def _summaries(seen: IndexedText, units: tuple[Unit, ...] = ()) -> Iterator[RunSummary]:
    """The closing lines of ``units``, or of all, by rule; a line may fit several."""
    for rule in _CLOSINGS.candidates(seen):
        part = rule.literals.part
        if (units and rule.unit not in units) or part not in seen.lines:
            continue
        for at, line in _lines_with(seen.text, part):
            if len(line) <= LINE_LIMIT and (summary := _read(rule, line, at)) is not None:
                yield summary


def is_test_run(seen: IndexedText) -> bool:
    """Return whether a test runner reports failed tests."""
    return any(one.failed for one in _summaries(seen, _TESTS))


def contradiction(output: str, *, trusted: bool = False) -> str:
    """The part of ``output`` that reports a failed or empty run, for a check that ended with 0; empty for none.

    ``trusted`` means that the exit code is certainly that of the last runner. Then only its own closing lines count,
    and not what a run inside its tests has printed.
    """
    summaries = _certain(output)
    counted = _last_block(summaries) if trusted else summaries
    # The last count of several: it is the one that a runner adds up.
    bad = next((summary for summary in reversed(counted) if summary.failed), None)
    if bad is not None:
        return f"printed {bad.phrase}"
    return "ran no test" if _nothing(summaries) else ""


def _last_block(summaries: list[RunSummary]) -> list[RunSummary]:
    """Return the closing lines of the last runner: one, or all at the end of a runner that prints several."""
    last = summaries[-1:]
    if not last or last[0].runner not in _SEVERAL_LINES:
        return last
    return list(takewhile(lambda one: one.runner == last[0].runner, reversed(summaries)))


def ran_nothing(output: str) -> bool:
    """Return whether a known runner reports that it ran no test, and none reports that it ran or failed."""
    return _nothing(_certain(output))


def _certain(output: str) -> list[RunSummary]:
    # The closing line of empty documentation tests is all that the end of cargo's output may show of a run.
    cut = "Running " not in output
    return [
        replace(summary, ran=None) if cut and summary.runner == "cargo" and summary.ran is False else summary
        for summary in run_summaries(output)
        if summary.certain
    ]


def _nothing(summaries: Iterable[RunSummary]) -> bool:
    known = [summary.ran for summary in summaries if summary.ran is not None]
    return bool(known) and not any(known)


def _lines_with(text: str, part: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in lines_with(text, part):
        at = text.find(line, at)
        yield at, line
        at += len(line)


def _read(rule: _Closing, line: str, at: int) -> RunSummary | None:
    found = rule.pattern.match(line)
    if found is None:
        return None
    plain = {name: int(number) for name, number in found.groupdict().items() if number and number.isdigit()}
    listed = [*_listed(found.groupdict())]
    passed = plain.get("passed", 0) + sum(count for count, word in listed if word in _PASSED)
    failed = sum(plain.get(name, 0) for name in ("bad", "more", "outside"))
    failed += sum(count for count, word in listed if word not in _RAN)
    outside = plain.get("outside", 0)
    if rule.runner == "pytest":
        outside += sum(count for count, word in listed if word.startswith("error"))
    if not plain and not listed:
        failed, passed = rule.failed, rule.passed
    total = plain.get("total", 0)
    ran = rule.ran
    if ran is None and (failed or passed or total or any(count for count, _ in listed)):
        ran = True
    elif ran is None and ("passed" in plain or "total" in plain or any(word in _RAN for _, word in listed)):
        ran = False
    return RunSummary(rule.runner, line, at, rule.unit, ran, failed, outside, passed, total)


def _listed(groups: dict[str, str | None]) -> Iterator[tuple[int, str]]:
    """The counts of a list with their words in lower case."""
    for count, word in _COUNTS.findall(groups.get("counts") or ""):
        yield int(count), word
    for word, count in _NAMED_COUNTS.findall(groups.get("named") or ""):
        yield int(count), word.lower()
