"""Closing lines of runners: what counts a failure or nothing run, and what only looks like one."""

from __future__ import annotations

import pytest

from unstuck.diagnosis.parsing.run_summary import contradiction, ran_nothing, run_summaries

FAILED = {
    "pytest": "=========== 1 failed, 2 passed, 1 warning in 0.12s ===========",
    "pytest -q": "1 failed in 0.03s",
    "pytest errors": "3 passed, 2 errors in 61.20s (0:01:01)",
    "pytest -qq": "FAILED tests/test_a.py::test_b[x y] - assert 1 == 2",
    "unittest": "FAILED (failures=1, errors=2)",
    "jest": "Tests:       1 failed, 4 passed, 5 total",
    "jest suite": "Test Suites: 1 failed, 1 total",
    "vitest": "      Tests  1 failed | 4 passed (5)",
    "mocha": "  2 failing",
    "node": "# fail 1",
    "node spec": "ℹ fail 3",
    "node cancelled": "# cancelled 1",
    "tape": "# fail  1",
    "perl": "# Looks like you failed 1 test of 3.",
    "prove": "Result: FAIL",
    "cargo": "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "nextest": "     Summary [   0.012s] 3 tests run: 2 passed, 1 failed, 0 skipped",
    "go": "FAIL\texample.com/add\t0.003s",
    "go build": "FAIL\texample.com/add [build failed]",
    "gotestsum": "DONE 3 tests, 1 failure in 0.401s",
    "maven": "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0",
    "gradle": "3 tests completed, 1 failed",
    "rspec": "3 examples, 1 failure",
    "rspec load": "0 examples, 0 failures, 1 error occurred outside of examples",
    "minitest": "3 runs, 3 assertions, 0 failures, 1 errors, 0 skips",
    "phpunit": "Tests: 3, Assertions: 3, Failures: 1.",
    "pest": "  Tests:    1 failed, 2 passed (3 assertions)",
    "exunit": "1 doctest, 3 tests, 1 failure",
    "bats": "3 tests, 1 failure",
    "ctest": "67% tests passed, 1 tests failed out of 3",
    "dotnet": "Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total: 3, Duration: 9 ms - app.dll",
    "deno": "FAILED | 1 passed | 1 failed (5ms)",
    "bun": " 1 fail",
    "swift": "\t Executed 3 tests, with 1 failure (0 unexpected) in 0.004 (0.005) seconds",
    "meson": "Fail:               1   ",
    "automake": "# FAIL:  1",
    "playwright": "  1 failed",
    "googletest": "[  FAILED  ] 1 test, listed below:",
    "catch2": "test cases: 3 | 2 passed | 1 failed",
    "busted": "2 successes / 1 failure / 0 errors / 0 pending : 0.01 seconds",
    "scalatest": "[info] Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0",
    "tasty": "1 out of 3 tests failed (0.00s)",
    "eunit": "  Failed: 1.  Skipped: 0.  Passed: 2.",
    "testthat": "[ FAIL 1 | WARN 0 | SKIP 0 | PASS 2 ]",
    "tox": "  py311: FAIL code 1 (0.20=setup[0.02]+cmd[0.18] seconds)",
    "mypy": "Found 3 errors in 2 files (checked 9 source files)",
    "ruff": "Found 2 errors.",
    "tsc": "Found 1 error in src/a.ts:3",
    "pyright": "1 error, 0 warnings, 0 informations",
    "eslint": "✖ 3 problems (2 errors, 1 warning)",
    "rubocop": "9 files inspected, 2 offenses detected",
}
FAILED |= {
    "pytest-cov": "FAIL Required test coverage of 100% not reached. Total coverage: 50.00%\n2 passed in 0.09s",
    "pytest -qq error": "ERROR test_a.py",
    "pytest subtests": "SUBFAILED(i=1) test_a.py::test_b - assert 1 == 2",
    "tsc pretty": "Found 3 errors in 2 files.",
    "tsc plain": "bad.ts(1,5): error TS2322: Type 'string' is not assignable to type 'number'.",
    "oxlint": "Found 0 warnings and 1 error.",
    "jasmine": "2 specs, 1 failure",
    "behave": "1 scenario passed, 1 failed, 0 skipped",
    "robot": "2 tests, 1 passed, 1 failed",
    "cargo build": "error: could not compile `x` (lib test) due to 1 previous error",
}
FAILED |= {
    "bare tap": "TAP version 13\nok 1 - adds\nnot ok 2 - subtracts\n1..2",
    "stestr": "Totals\n======\nRan: 3 tests in 0.1 sec.\n - Passed: 2\n - Skipped: 0\n - Failed: 1\n",
    "uvu": '   FAIL  "adds"\n    Expected values to be strictly equal:',
    "go -json": '{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"a.test/add","Test":"TestAdd"}',
    "prettier": "[warn] Code style issues found in the above file. Run Prettier with --write to fix.",
    "prettier several": "[warn] Code style issues found in 2 files. Run Prettier with --write to fix.",
    "black": "1 file would be reformatted, 2 files would be left unchanged.",
    "ruff format": "2 files would be reformatted, 1 file already formatted",
}
NOTHING = {
    "pytest": "no tests ran in 0.01s",
    "pytest deselected": "4 deselected in 0.02s",
    "unittest": "Ran 0 tests in 0.000s\n\nNO TESTS RAN",
    "jest": "No tests found, exiting with code 0",
    "vitest": "No test files found, exiting with code 0",
    "node": "# tests 0\n# pass 0\n# fail 0",
    "go": "?   \texample.com/a\t[no test files]\n?   \texample.com/b\t[no test files]",
    "go run": "ok  \texample.com/a\t0.002s [no tests to run]",
    "go cached": "ok  \texample.com/a\t(cached) [no tests to run]\n?   \texample.com/b\t[no test files]",
    "go cover": "\texample.com/a\t\tcoverage: 0.0% of statements\n?   \texample.com/b\t[no test files]",
    "go -json": '{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"a.test/b",'
    '"Output":"?   \\ta.test/b\\t[no test files]\\n"}\n'
    '{"Time":"2026-01-02T03:04:05Z","Action":"skip","Package":"a.test/b","Elapsed":0}',
    "go -json run": '{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"a.test/d",'
    '"Output":"ok  \\ta.test/d\\t0.003s [no tests to run]\\n"}\n'
    '{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"a.test/d","Elapsed":0.003}',
    "cargo": "     Running unittests src/lib.rs (target/debug/deps/x)\n"
    "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished",
    "ctest": "No tests were found!!!",
    "phpunit": "No tests executed!",
    "rspec": "0 examples, 0 failures",
    "mocha": "  0 passing (1ms)",
    "prove": "Files=0, Tests=0\nResult: NOTESTS",
}
NOTHING |= {
    "jasmine": "Incomplete: No specs found",
    "pytest collects nothing": "no tests collected (3 deselected) in 0.01s",
    "an empty plan": "TAP version 13\n1..0 # SKIP nothing here",
    "robot": "[ ERROR ] Suite 'Empty' contains no tests.",
}
PASSED = {
    "pytest": "3 passed, 1 skipped, 1 xfailed, 2 warnings in 0.12s",
    "pytest rerun": "3 passed, 1 rerun in 0.12s",
    "unittest": "Ran 3 tests in 0.001s\n\nOK (expected failures=1)",
    "jest": "Test Suites: 1 passed, 1 total\nTests:       4 passed, 4 total",
    "node": "# tests 3\n# pass 3\n# fail 0\n# cancelled 0",
    "cargo": "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
    "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
    "the end of cargo": "   Doc-tests x\n\nrunning 0 tests\n\n"
    "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "go cached": "ok  \texample.com/a\t(cached)\n?   \texample.com/b\t[no test files]",
    "go cover": "ok  \texample.com/a\t0.01s\tcoverage: 80.0%\n\texample.com/b\t\tcoverage: 0.0% of statements\n"
    "?   \texample.com/c\t[no test files]",
    "maven": "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0",
    "ctest": "100% tests passed, 0 tests failed out of 3",
    "ruff fixed": "Found 3 errors (3 fixed, 0 remaining).",
    "mypy": "Success: no issues found in 9 source files",
    "pyright": "0 errors, 2 warnings, 0 informations",
    "eslint": "✖ 2 problems (0 errors, 2 warnings)",
    "tap todo": "ok 1 - adds\nnot ok 2 - later # TODO not written\nnot ok 3 - other # skip no network\n1..3",
    "stestr": " - Passed: 3\n - Failed: 0\n",
    "go -json": '{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"a.test/add","Test":"TestAdd"}\n'
    '{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"a.test/b",'
    '"Output":"?   \\ta.test/b\\t[no test files]\\n"}',
    "black": "All done!\n3 files would be left unchanged.",
    "ruff format": "3 files already formatted",
    "a workspace": "No tests found, exiting with code 0\nTests:       4 passed, 4 total",
}
LOOKS_ALIKE = (
    "2 failed password attempts in auth.log",
    "retrying: 1 failed, 3 left in queue",
    "Downloaded 3 packages, 0 failed",
    "commit: fix the 1 failed test in CI",
    "test_reports_1_failed PASSED",
    "  - says FAILED when it failed",
    "Found 2 errors in the log of yesterday",
    "FAILED is printed by the mailer",
    "1 error was corrected",
    "# failures are kept",
    "it is not ok 3 times",
    "Code style issues are listed below",
    "no files would be reformatted",
    "the 3 tests, 1 failure and 2 notes below are history",
)


@pytest.mark.parametrize("tool", FAILED)
def test_a_closing_line_with_failures_contradicts_exit_code_zero(tool: str) -> None:
    """Whatever the runner, its closing line with a failure is quoted as what contradicts success."""
    output = f"some output\n{FAILED[tool]}\nmore output\n"
    assert contradiction(output).startswith("printed ")
    assert not ran_nothing(output)


@pytest.mark.parametrize("tool", NOTHING)
def test_a_run_of_no_test_contradicts_exit_code_zero(tool: str) -> None:
    """A runner that found nothing to run proves nothing."""
    assert contradiction(NOTHING[tool]) == "ran no test"
    assert ran_nothing(NOTHING[tool])


@pytest.mark.parametrize("tool", PASSED)
def test_a_clean_closing_line_contradicts_nothing(tool: str) -> None:
    """Skipped, expected, fixed and rerun tests, and a package without tests beside others, are no contradiction."""
    assert contradiction(PASSED[tool]) == ""


@pytest.mark.parametrize("line", LOOKS_ALIKE)
def test_words_that_only_look_alike_contradict_nothing(line: str) -> None:
    """A log, a commit message or a test's name that speaks of failures is not a runner's closing line."""
    assert contradiction(f"before\n{line}\nafter") == ""


def test_a_first_run_that_failed_is_not_covered_by_a_second_that_passed() -> None:
    """`pytest a; pytest b` ends with b's success, and a's failure is still there to read."""
    assert contradiction("1 failed in 0.03s\n2 passed in 0.01s") == "printed 1 failed in 0.03s"


def test_a_run_inside_a_test_counts_for_nothing_where_the_exit_code_is_the_runners_own() -> None:
    """A plugin's test suite prints inner runs that fail; its own closing line, which is the last, passes."""
    output = "===== 1 failed in 0.03s =====\nPASSED\n===== 50 passed in 3.02s ====="
    assert contradiction(output, trusted=True) == ""
    assert contradiction(output) != ""


@pytest.mark.parametrize(
    "output",
    [
        "# tests 2\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 0",
        "Test Suites: 1 failed, 1 total\nTests:       0 total\nSnapshots:   0 total",
    ],
)
def test_all_closing_lines_of_the_last_runner_count(output: str) -> None:
    """A runner that closes with several lines is read as a whole, also where its exit code is its own."""
    assert contradiction(output, trusted=True) != ""


def test_a_large_output_without_a_closing_line_says_nothing() -> None:
    """A megabyte of log has no closing line in it."""
    assert run_summaries("INFO worker 7 did 12 jobs in 0.3s\n" * 30_000) == ()
