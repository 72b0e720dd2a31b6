"""Closing lines of known runners: how many tests, checks or files failed, and whether any ran at all. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with

__all__ = ["RunSummary", "contradiction", "ran_nothing", "run_summaries"]

LINE_LIMIT = 400
_PHRASE_LIMIT = 100
_COUNTS = Lazy(r"\b(\d+) (failed|failing|failures?|fail|errors?|errored|passed|passing|pass|xfailed|xpassed)\b")
_NAMED_COUNTS = Lazy(
    r"\b(failures|errors|unexpected successes|fail|pass|failed|passed)\b\s*[:=]?\s*(\d+)", re.IGNORECASE
)
_GOOD = ("passed", "passing", "pass", "xfailed", "xpassed")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One closing line. ``failed`` counts failures and errors; ``ran`` is None where the line does not say.

    ``at`` is the offset of the line in the output.
    """

    runner: str
    line: str
    at: int
    failed: int
    ran: bool | None

    @property
    def phrase(self) -> str:
        """The line without its decoration, short enough for a question."""
        return self.line.strip(" \t=-*[]|")[:_PHRASE_LIMIT]


@dataclass(frozen=True, slots=True)
class _Closing:
    """A line that holds ``part`` and matches ``pattern`` closes a run of ``runner``.

    The groups ``bad`` and ``good`` are counts, ``counts`` is a list such as ``1 failed, 2 passed`` and ``named`` one
    such as ``Failures: 1``. Without any of them the line itself means ``failed`` failures; ``none`` means nothing ran.
    """

    runner: str
    part: str
    pattern: Lazy
    failed: int = 0
    ran: bool | None = None


def _closing(runner: str, part: str, pattern: str, *, failed: int = 0, ran: bool | None = None) -> _Closing:
    return _Closing(runner, part, Lazy(pattern), failed, ran)


_PYTEST_PART = r"\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests? \w+)"
_RULES: tuple[_Closing, ...] = (
    _closing(
        "pytest",
        " in ",
        rf"(?:=+ )?(?P<counts>{_PYTEST_PART}(?:, {_PYTEST_PART})*) in [\d.]+s(?: \([\d:,"
        rf" a-z]+\))?(?: =+)?$",
    ),
    _closing("pytest", "no tests ran", r"(?:=+ )?no tests ran in [\d.]+s", ran=False),
    _closing("pytest", " deselected in ", r"(?:=+ )?\d+ deselected in [\d.]+s", ran=False),
    _closing("pytest", "FAILED ", r"FAILED \S+\.py(?:::\S.*)?(?: - .*)?$", failed=1, ran=True),
    _closing("unittest", "FAILED (", r"FAILED \((?P<named>[^)]*)\)$", ran=True),
    _closing("unittest", "Ran ", r"Ran (?P<good>\d+) tests? in [\d.]+s$"),
    _closing("unittest", "NO TESTS RAN", r"NO TESTS RAN(?: \(.*\))?$", ran=False),
    _closing("jest", "Tests:", r"Tests:\s+(?P<counts>\d+ \w+(?:, \d+ \w+)*)$"),
    _closing("jest", "Test Suites:", r"Test Suites: (?P<bad>\d+) failed, "),
    _closing("jest", "No tests found, exiting", r"No tests found, exiting with code", ran=False),
    _closing("vitest", "Tests ", r"\s*Tests {1,4}(?P<counts>\d+ \w+(?: \| \d+ \w+)*) \(\d+\)$"),
    _closing("vitest", "Test Files ", r"\s*Test Files {1,4}(?P<bad>\d+) failed\b"),
    _closing("vitest", "No test files found", r"No test files found", ran=False),
    _closing("mocha", " passing", r"\s+(?P<good>\d+) passing(?: \([\w. ]+\))?$"),
    _closing("mocha", " failing", r"\s+(?P<bad>\d+) failing$"),
    _closing("node", " fail ", r"(?:#|ℹ) fail (?P<bad>\d+)$"),
    _closing("node", " cancelled ", r"(?:#|ℹ) cancelled (?P<bad>\d+)$"),
    _closing("node", " tests ", r"(?:#|ℹ) tests (?P<good>\d+)$"),
    _closing("tap", "# fail ", r"# fail\s+(?P<bad>[1-9]\d*)$"),
    _closing("tap", "# Looks like you failed", r"# Looks like you failed (?P<bad>\d+) tests? of \d+"),
    _closing("prove", "Result: ", r"Result: FAIL$", failed=1, ran=True),
    _closing("prove", "Result: ", r"Result: NOTESTS$", ran=False),
    _closing("prove", "Result: ", r"Result: PASS$", ran=True),
    _closing("cargo", "test result: ", r"test result: \w+\. (?P<good>\d+) passed; (?P<bad>\d+) failed;"),
    _closing("nextest", "Summary [", r"\s*Summary \[.{1,20}\] +(?P<good>\d+)(?:/\d+)? tests? run: (?P<counts>.*)$"),
    _closing("go", "FAIL\t", r"FAIL\t\S+", failed=1, ran=True),
    _closing("go", "--- FAIL: ", r"--- FAIL: ", failed=1, ran=True),
    _closing("go", "ok ", r"ok {2}\t\S+\t(?!.*\[no tests to run\])(?:[\d.]+s|\(cached\))", ran=True),
    _closing("go", "[no test files]", r"\?\s+\S+\s+\[no test files\]$", ran=False),
    _closing("go", "[no tests to run]", r"ok {2}\t\S+\t.*\[no tests to run\]", ran=False),
    _closing("gotestsum", "DONE ", r"DONE (?P<good>\d+) tests(?:, (?P<counts>.*?))? in [\d.]+s$"),
    _closing(
        "junit",
        "Tests run: ",
        r"(?:\[\w+\] +)?Tests run: +(?P<good>\d+), +"
        r"(?P<named>Failures: +\d+, +Errors: +\d+)",
    ),
    _closing("gradle", " completed, ", r"(?P<good>\d+) tests? completed, (?P<bad>\d+) failed"),
    _closing(
        "rspec",
        " example",
        r"(?P<good>\d+) examples?, (?P<bad>\d+) failures?(?:, (?P<more>\d+) errors?"
        r" occurred)?",
    ),
    _closing(
        "minitest",
        " assertions, ",
        r"(?P<good>\d+) (?:runs|tests), \d+ assertions, (?P<bad>\d+) failures, "
        r"(?P<more>\d+) errors",
    ),
    _closing("phpunit", "Assertions: ", r"Tests: (?P<good>\d+), Assertions: \d+(?P<named>.*)\.$"),
    _closing("phpunit", "OK (", r"OK \((?P<good>\d+) tests?, \d+ assertions?\)$"),
    _closing("phpunit", "No tests executed!", r"No tests executed!$", ran=False),
    _closing("pest", "Tests: ", r"\s+Tests: +(?P<counts>\d+ \w+(?:, \d+ \w+)*) \(\d+ assertions\)$"),
    _closing("exunit", " failure", r"(?:\d+ \w+, )*(?P<good>\d+) tests?, (?P<bad>\d+) failures?(?:, \d+ \w+)*$"),
    _closing("ctest", "% tests passed, ", r"\d+% tests passed, (?P<bad>\d+) tests? failed out of (?P<good>\d+)$"),
    _closing("ctest", "No tests were found!!!", r"No tests were found!!!$", ran=False),
    _closing("dotnet", "Failed: ", r"(?:Failed|Passed)! +- Failed: +(?P<bad>\d+), Passed: +(?P<good>\d+),"),
    _closing("dotnet", "Failed: ", r"\s+Failed: (?P<bad>[1-9]\d*)$"),
    _closing(
        "deno",
        " passed",
        r"(?:ok|FAILED) \| (?P<counts>\d+ passed(?: \(\d+ steps?\))?(?: \| \d+ \w+(?: \(\d+"
        r" steps?\))?)*)",
    ),
    _closing("bun", " fail", r" *(?P<bad>\d+) fail$"),
    _closing("bun", " pass", r" *(?P<good>\d+) pass$"),
    _closing(
        "swift",
        "Executed ",
        r"\s*Executed (?P<good>\d+) tests?, with (?:\d+ tests? skipped and )?"
        r"(?P<bad>\d+) failures?",
    ),
    _closing("meson", "Fail: ", r"Fail: +(?P<bad>\d+) *$"),
    _closing("automake", "# FAIL: ", r"# FAIL: +(?P<bad>\d+)$"),
    _closing("automake", "# ERROR: ", r"# ERROR: +(?P<bad>\d+)$"),
    _closing("playwright", " failed", r" {2}(?P<bad>\d+) failed$"),
    _closing("playwright", " passed (", r" {2}(?P<good>\d+) passed \([\d.]+m?s\)$"),
    _closing("ava", " test", r" {2}(?P<bad>\d+) tests? failed$"),
    _closing("googletest", "[  FAILED  ]", r"\[  FAILED  \] (?P<bad>\d+) tests?, listed below"),
    _closing("googletest", "[==========]", r"\[==========\] (?P<good>\d+) tests? from \d+ test \w+ ran"),
    _closing(
        "catch2",
        "test cases: ",
        r"(?:\[doctest\] )?test cases: +(?P<good>\d+) \| +(?P<counts>\d+"
        r" passed *\| +\d+ failed)",
    ),
    _closing("busted", " success", r"(?P<good>\d+) success(?:es)? / (?P<bad>\d+) failures? / (?P<more>\d+) errors?"),
    _closing("scalatest", "Tests: succeeded ", r"(?:\[\w+\] )?Tests: succeeded (?P<good>\d+), failed (?P<bad>\d+)"),
    _closing("tasty", " tests failed (", r"(?P<bad>\d+) out of \d+ tests failed \("),
    _closing("eunit", "Failed: ", r"\s*Failed: (?P<bad>\d+)\.\s+Skipped: \d+\.\s+Passed: (?P<good>\d+)\."),
    _closing("testthat", "[ FAIL ", r"\[ FAIL (?P<bad>\d+) \| WARN \d+ \| SKIP \d+ \| PASS (?P<good>\d+) \]$"),
    _closing("tox", ": FAIL ", r"\s*[\w.-]+: FAIL (?:code \d+|✖)", failed=1, ran=True),
    _closing("mypy", "Found ", r"Found (?P<bad>\d+) errors? in \d+ files?(?: \(.*\))?$"),
    _closing("ruff", "Found ", r"Found (?P<bad>\d+) errors?\.$"),
    _closing(
        "tsc",
        "Found ",
        r"Found (?P<bad>\d+) errors?(?: in \S+(?::\d+)?| in the same file, starting at: \S+|\."
        r" Watching.*)$",
    ),
    _closing("pyright", " warning", r"(?P<bad>\d+) errors?, \d+ warnings?(?:, \d+ informations?)? ?$"),
    _closing("eslint", " problem", r"✖ \d+ problems? \((?P<bad>\d+) errors?, \d+ warnings?\)"),
    _closing("rubocop", " offense", r"\d+ files? inspected, (?P<bad>\d+) offenses? detected"),
)  # fmt: skip


def run_summaries(output: str) -> tuple[RunSummary, ...]:
    """Every closing line in ``output``, in its order."""
    found: dict[int, RunSummary] = {}
    for rule in _RULES:
        for at, line in _lines_with(output, rule.part):
            if len(line) <= LINE_LIMIT and (summary := _read(rule, line, at)) is not None:
                known = found.get(at)
                if known is None or (known.failed, known.ran is not None) < (summary.failed, summary.ran is not None):
                    found[at] = summary
    return tuple(found[at] for at in sorted(found))


def contradiction(output: str, *, trusted: bool = False) -> str:
    """What in ``output`` says that the run failed or ran nothing, for a check that ended with 0; empty for none.

    ``trusted`` says that the exit code is certainly that of the last runner: then only what it says itself counts,
    and not what a run inside its tests has printed.
    """
    summaries = run_summaries(output)
    counted = summaries[-1:] if trusted else summaries
    # The last count of several: it is the one that a runner adds up.
    bad = next((summary for summary in reversed(counted) if summary.failed), None)
    if bad is not None:
        return f"printed {bad.phrase}"
    return "ran no test" if _nothing(summaries) else ""


def ran_nothing(output: str) -> bool:
    """Whether a known runner says that it ran no test, and none says that it ran or failed."""
    return _nothing(run_summaries(output))


def _nothing(summaries: tuple[RunSummary, ...]) -> bool:
    said = [summary.ran for summary in summaries if summary.ran is not None]
    return bool(said) and not any(said) and not any(summary.failed for summary in summaries)


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
    groups = found.groupdict()
    if not groups:
        return RunSummary(rule.runner, line, at, rule.failed, rule.ran)
    failed = sum(int(groups[name] or 0) for name in ("bad", "more") if name in groups)
    good = int(groups["good"] or 0) if "good" in groups else None
    for count, word in _COUNTS.findall(groups.get("counts") or ""):
        if word in _GOOD:
            good = (good or 0) + int(count)
        else:
            failed += int(count)
    for word, count in _NAMED_COUNTS.findall(groups.get("named") or ""):
        failed += 0 if word.lower() in _GOOD else int(count)
    ran = rule.ran
    if ran is None:
        ran = True if failed or good else (False if good == 0 else None)
    return RunSummary(rule.runner, line, at, failed, ran)
