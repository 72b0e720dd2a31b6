"""Extent of a check: the errors and passes that its output counts, and whether anything ran."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.compare.recording import read

from unstuck.diagnosis.enums import FailureType
from unstuck.diagnosis.extent import Extent
from unstuck.diagnosis.failure_counts import extent_of
from unstuck.diagnosis.parsing.run_summary import contradiction
from unstuck.diagnosis.pipeline import diagnose

DATA = Path(__file__).parent.parent / "data"
# Those whose checks stop at the first failure count what passed instead.
FIRST_ONLY = ("pytest-first", "make-first")


def extent(output: str, exit_code: int = 1) -> Extent:
    """The extent of a failed check with this output."""
    return extent_of(output, diagnose(output, exit_code=exit_code))


@pytest.mark.parametrize(
    "row", [row for row in read() if row["left"]], ids=lambda row: f"{row['family']}-{row['left']}"
)
def test_the_errors_of_real_tools_are_counted(row: dict[str, object]) -> None:
    """As many errors are counted as there are things left to fix."""
    found = extent(str(row["output"]), int(str(row["exit_code"])))
    if row["family"] in FIRST_ONLY:
        assert (found.errors <= 1, found.passed) == (True, 5 - int(str(row["left"])))
    else:
        assert found.errors == row["left"]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("=== 2 failed, 3 passed, 1 skipped in 0.12s ===\nE   assert 1 == 2\n", Extent("run", 2, 3)),
        ("E   assert 1 == 2\nFAILED t.py::test_a - assert 1 == 2\n1 failed in 0.12s\n", Extent("run", 1, 0)),
        (
            "ERROR collecting a.py\nE   SyntaxError: invalid syntax\n=== 1 error in 0.1s ===\n",
            Extent("parse", 1, 0),
        ),
        # With a part that does not load beside one that ran, nobody can say that it all loads, or that nothing does.
        (
            "FAILED t.py::test_a - assert 1 == 2\nERROR collecting b.py\n=== 1 failed, 1 error in 0.1s ===\n",
            Extent("", 2, 0),
        ),
        ("ok  \tparts/a\t0.1s\n# parts/b\nb/b.go:3:1: undefined: x\nFAIL\tparts/b [build failed]\n", Extent("", 1, 1)),
        ("Tests:       1 failed, 4 passed, 5 total\nAssertionError: no\n", Extent("run", 1, 4)),
        ("Test suite failed to run\nTests: 1 failed, 1 total\n", Extent("", 1, 0)),
        ("  3 passing (10ms)\n  2 failing\n\n  1) adds:\n     AssertionError: 1 == 2\n", Extent("run", 2, 3)),
        ("3 examples, 2 failures\nFailure/Error: expect(1).to eq 2\n", Extent("run", 2, 1)),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1)\nAssertionError: no\n", Extent("run", 2, 3)),
        ("# tests 4\n# pass 3\n# fail 1\nAssertionError: no\n", Extent("run", 1, 3)),
        ("test cases: 3 | 2 passed | 1 failed\n", Extent("run", 1, 2)),
        ("[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 0\n", Extent("run", 2, 3)),
        ("a.c:1:2: error: x\na.c:1:2: error: x\nb.c:3:4: error: y\n", Extent("load", 2, 0)),
        ("error: could not compile `a` (lib) due to 2 previous errors; 1 warning emitted\n", Extent("", 2, 0)),
        ("app.ts(1,2): error TS2322: no\nerror TS18003: No inputs\n", Extent("load", 2, 0)),
        ("HTTP 500 error from the service\n", Extent("", 0, 0)),
        ("expected 3 errors but got 4\n", Extent("", 0, 0)),
        ("the oven is cold\n", Extent("", 0, 0)),
        ("", Extent("", 0, 0)),
    ],
)
def test_what_is_counted_and_what_is_known_to_run(output: str, expected: Extent) -> None:
    """Known runners say that tests ran; where a part did not load, or nothing is counted, nothing is claimed."""
    found = extent(output)
    assert (found.errors, found.passed) == (expected.errors, expected.passed)
    assert found.stage == expected.stage


def test_no_tool_runs_what_it_could_not_build() -> None:
    """Of all recorded failures, none is said to have run that is a broken build, and none the other way round."""
    for line in (DATA / "tools.jsonl").read_text(encoding="utf-8").splitlines():
        output = json.loads(line)["output"]
        found = diagnose(output, exit_code=1)
        assert found is not None
        stage = extent_of(output, found).stage
        assert stage in ({"", "parse", "load"} if found.failure_type is FailureType.BROKEN_BUILD else {"", "run"})


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("2 checks did not hold", 2),
        ("2 of 5 wrong", 2),
        ("✗ 4 rules are broken", 4),
        ("7 translations missing", 7),
        ("1 of 3 pages invalid", 1),
        ("3 snapshots are not up to date", 3),
        ("12 seconds left", 0),
        ("3 files left unchanged", 0),
        ("attempt 3 did not end", 0),
    ],
)
def test_the_count_of_a_projects_own_runner_is_read(line: str, count: int) -> None:
    """Open items count in other words, too; times, sizes and files do not."""
    text = f"checking\n{line}\n"
    assert extent_of(text, diagnose(text, exit_code=1, phase="test")).errors == count
    assert contradiction(text) == ""


@pytest.mark.parametrize(
    ("now", "before", "better", "broke"),
    [
        (Extent("load", 3), Extent("parse", 1), True, False),
        (Extent("parse", 4), Extent("load", 3), False, False),
        (Extent("run", 2, 3), Extent("load", 1), True, False),
        (Extent("load", 1), Extent("run", 2, 3), False, True),
        (Extent("", 1), Extent("run", 2, 3), True, False),
        (Extent("run", 1, 4), Extent("run", 2, 3), True, False),
        (Extent("run", 3, 2), Extent("run", 2, 3), False, False),
        (Extent("run", 2, 4), Extent("run", 2, 3), True, False),
        (Extent("run", 0, 4), Extent("run", 2, 3), False, False),
        (Extent("load", 5), Extent("load", 2), False, True),
        (Extent("load", 2), Extent("load", 2), False, False),
        (Extent("load", 1), Extent("load", 2), True, False),
        (Extent("load", 5), Extent("load", 0), False, False),
        (Extent("load", 5), Extent("parse", 2), True, False),
        (Extent("", 5), Extent("", 2), False, False),
    ],
)
def test_what_is_closer_to_passing_and_what_has_broken(now: Extent, before: Extent, better: bool, broke: bool) -> None:
    """A later stage or fewer errors are closer; nothing that runs, or more errors at the same stage, is broken."""
    assert now.is_better_than(before) is better
    assert now.broke(before) is broke


@pytest.mark.parametrize(
    ("best", "now", "stage"), [("run", "load", "run"), ("parse", "load", "load"), ("", "run", "run")]
)
def test_a_stage_stays_reached(best: str, now: str, stage: str) -> None:
    """The best extent keeps the latest stage, with the counts of now."""
    assert Extent(now, 2, 3).after(Extent(best, 1, 1)) == Extent(stage, 2, 3)  # type: ignore[arg-type]
