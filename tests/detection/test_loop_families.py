"""Families of histories: what is said in every case stands in one file, so that a change of a rule is seen in full."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.detection.habit_families import HABITS
from tests.detection.loop_families import KEPT, LOOPS, QUIET, History, cases
from tests.detection.session_families import KEPT_SESSIONS, LAST
from tests.detection.task_families import TASKS
from tests.detection.trade_families import CRAFTS, TRADES

from unstuck.detection import LoopDetector

EXPECTED = Path(__file__).parent.parent / "data" / "loop_families.jsonl"
PRECISION = 0.95
RECALL = {"seen": 0.95, "kept": 0.95, "last": 0.95, "tasks": 0.9, "habits": 0.85, "trades": 0.9, "crafts": 0.85}
DELAY = 2


def alarms(history: History) -> list[str]:
    """Everything that is said on the way, each with its step."""
    detector, step, said = LoopDetector(), -1, []
    for observation in history.observations:
        step += observation.kind in ("success", "failure")
        if verdict := detector.observe(observation):
            said.append(f"{step} {verdict.kind} {'nudge' if verdict.nudge else 'question'}")
    return said


@cache
def found() -> dict[str, dict[str, Any]]:
    """Return the verdict in each case."""
    return {
        name: {"case": name, "loop": is_loop, "first": history.first, "alarms": alarms(history)}
        for name, is_loop, history in cases()
    }


@cache
def expected() -> dict[str, dict[str, Any]]:
    """Return the expected verdict of each case. A missing file is written again: delete it after a change, and look at
    the diff.
    """
    if not EXPECTED.exists():
        EXPECTED.write_text("".join(f"{json.dumps(row)}\n" for row in found().values()), encoding="utf-8")
    return {row["case"]: row for row in map(json.loads, EXPECTED.read_text(encoding="utf-8").splitlines())}


@pytest.mark.parametrize("family", [*LOOPS, *QUIET])
def test_every_case_reads_as_expected(family: str) -> None:
    """Each case gives exactly the alarms of the file."""
    rows = {name: row for name, row in found().items() if name.startswith(f"{family}/")}
    assert rows == {name: row for name, row in expected().items() if name.startswith(f"{family}/")}


def test_nothing_expected_is_left_over() -> None:
    """The file has the cases that there are, and no other."""
    assert found().keys() == expected().keys()


def group(case: str) -> str:
    """Return the batch of a case: each was written when the rules for those before it stood."""
    family = case.partition("/")[0]
    later = {"tasks": TASKS, "habits": HABITS, "trades": TRADES, "crafts": CRAFTS}
    for batch, families in later.items():
        if family in families:
            return batch
    return "last" if family in LAST else "kept" if family in KEPT | KEPT_SESSIONS else "seen"


@pytest.mark.parametrize("name", RECALL)
def test_loops_are_found_early_and_quiet_work_is_left_alone(name: str) -> None:
    """Nearly every loop is found, within two steps of where a careful person steps in, and hardly anything else."""
    rows = {case: row for case, row in found().items() if group(case) == name}
    first = {case: int(row["alarms"][0].split()[0]) for case, row in rows.items() if row["alarms"]}
    loops = {case: row["first"] for case, row in rows.items() if row["loop"]}
    hits = {case for case in loops if case in first and first[case] >= loops[case] - 1}
    late = sorted(first[case] - loops[case] for case in hits)
    assert len(hits) / len(loops) >= RECALL[name], sorted(loops.keys() - hits)
    assert len(hits) / len(first) >= PRECISION, sorted(first.keys() - hits)
    assert late[len(late) // 2] <= DELAY
