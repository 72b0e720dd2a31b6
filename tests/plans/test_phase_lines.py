"""Phases and progress in the lines of a plan: which task of how many, what its agent is doing, how many tests pass."""

from __future__ import annotations

import sys

from tests.plans.conftest import Bench

TESTS = "def test_hook():\n    assert open('hook').read() == 'done'\n\n\ndef test_other():\n    pass\n"
SCRIPT = """
[ $n = 1 ] && printf half > hook || printf done > hook
[ $n = 1 ] && phase='RED: Writing tests' || phase='GREEN: Implementing'
echo 'UNSTUCK {"signal": "complete", "phase": "'$phase'"}'
"""


def test_phases_and_progress(bench: Bench) -> None:
    """Each task begins with its number in the plan; its tests are counted where the runner says how many."""
    bench.write({"test_hook.py": TESTS, ".gitignore": "__pycache__\n.pytest_cache\n"})
    check = f"{sys.executable} -m pytest -q -p no:cacheprovider test_hook.py"
    plan = bench.plan(
        agents={"worker": bench.agent("worker", SCRIPT)},
        tasks=[
            {"id": "session-hook", "prompt": "Session Hook", "verify": check},
            {"id": "routes", "prompt": "Protected Routes", "verify": "test -f hook", "needs": ["session-hook"]},
        ],
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    lines = [line[11:] for line in done.out.splitlines()]
    hook = [line.removeprefix("session-hook  ") for line in lines if line.startswith("session-hook  ")]
    assert hook[:3] == ["→ Phase 1/2: session-hook", "▶ attempt 1", "  → Phase: RED: Writing tests"]
    (failed,) = [line for line in hook if "✗" in line]
    assert failed.endswith("test_hook.py:2 (1/2 tests)")
    assert hook.index("  → Phase: GREEN: Implementing") > hook.index("▶ attempt 2 (retry)") > hook.index(failed)
    assert hook[-2:] == [f"  ✓ {check} (2/2 tests)", "✓ succeeded"]
    assert [line for line in lines if "→ Phase 2/2: routes" in line]
    assert len([line for line in lines if "→ Phase 1/2" in line]) == 1


def test_the_only_task_has_no_number(bench: Bench) -> None:
    """A single task has no number, and a check without a count has no number of tests."""
    plan = bench.plan(
        agents={"worker": bench.agent("worker", "touch x")}, tasks=[{"id": "a", "prompt": "x", "verify": "test -f x"}]
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert "Phase" not in done.out
    assert "tests)" not in done.out


def test_words_for_signs(bench: Bench) -> None:
    """``--plain`` says the phase without a sign."""
    parts = {"agents": {"worker": bench.agent("worker", "touch x")}}
    done = bench.run(bench.plan(**parts, tasks=[{"id": "a", "prompt": "x"}, {"id": "b", "prompt": "y"}]), "--plain")
    # Neither task needs the other: whichever begins first keeps its number.
    assert sorted(line[11:] for line in done.out.splitlines() if "Phase" in line) == [
        "a  Phase 1/2: a",
        "b  Phase 2/2: b",
    ]
