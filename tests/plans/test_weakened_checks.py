"""A task that changes its tests instead of doing the work: it is named, and with protected files it is a question."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.plans.conftest import Bench

TEST = """import unittest
import calc


class Add(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)
"""
SKIPPED = TEST.replace("    def test_add", '    @unittest.skip("later")\n    def test_add')
CHECK = "python -B -m unittest -q test_calc"
CHEATS = "cp $OUT/skipped.py test_calc.py"
REPAIRS = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py"


def plan(bench: Bench, script: str) -> Path:
    """One task with a failing test; its agent finds a test file that is skipped."""
    bench.write({"calc.py": "def add(a, b):\n    return a - b\n", "test_calc.py": TEST})
    (bench.outside / "skipped.py").write_text(SKIPPED, encoding="utf-8")
    return bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": "web", "agent": "worker", "prompt": "Make the test pass.", "verify": CHECK}],
    )


@pytest.fixture
def protected(monkeypatch: pytest.MonkeyPatch) -> None:
    """My own settings protect the tests."""
    monkeypatch.setitem(os.environ, "UNSTUCK_CHECK_POLICY__PROTECTED", "[test_*.py]")


def test_a_skipped_test_is_named_where_the_task_succeeds(bench: Bench) -> None:
    """By default it is no question: the lines, `show` and its JSON name the file and the line."""
    done = bench.run(plan(bench, CHEATS))
    assert done.code == 0, done.out + done.err
    finding = "test_calc.py:6: test skipped or expected to fail"
    assert f"! the task changed its check or tests: {finding}" in done.out
    assert finding in bench.call("show").out
    task = next(row for row in map(json.loads, bench.call("show", "--json").out.splitlines()) if row.get("task"))
    assert task["weakened"][0].startswith(finding)


def test_an_honest_repair_names_nothing(bench: Bench) -> None:
    """An honest repair that leaves the tests alone names no weakened test."""
    done = bench.run(plan(bench, REPAIRS))
    assert done.code == 0
    assert "changed its check" not in done.out


def test_a_protected_file_is_a_question_before_success(bench: Bench, protected: None) -> None:
    """Headless it pauses with 3; accepted, the task succeeds with the changes."""
    paused = bench.run(plan(bench, CHEATS))
    assert paused.code == 3, paused.out + paused.err
    assert "the check passed, but protected files were changed: test_calc.py" in paused.out
    assert "test skipped" in paused.out
    assert bench.call("answer", bench.gate(), "choose", "1").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert "unittest.skip" in (bench.root / "test_calc.py").read_text()


def test_refused_changes_are_a_failure_that_the_agent_hears_of(bench: Bench, protected: None) -> None:
    """I say no: the next attempt is told which files to restore, and does the work."""
    script = f"if [ $n -lt 2 ]; then {CHEATS}; else git checkout -q test_calc.py; {REPAIRS}; fi"
    path = plan(bench, script)
    bench.run(path)
    assert bench.call("answer", bench.gate(), "choose", "2").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert "protected files were changed: test_calc.py" in bench.prompt("web.2")
    assert (bench.root / "test_calc.py").read_text() == TEST


def test_where_nobody_may_be_asked_it_counts_as_failed(bench: Bench, protected: None) -> None:
    """With `ask: never` a changed protected file never ends in success."""
    path = plan(bench, CHEATS)
    assert bench.run(path, "--ask", "never").code == 4
    assert bench.statuses()["web"] != "succeeded"


def test_a_repository_cannot_take_the_protection_away(bench: Bench, protected: None) -> None:
    """The setting is refused in a file of the project, which an agent can edit."""
    bench.write({"unstuck.yaml": "check_policy: {protected: []}\n"})
    refused = bench.run(plan(bench, CHEATS))
    assert refused.code == 2
    assert "cannot be set by a file of the project" in refused.err
