"""Measured on labelled histories: loops that must be seen, and work that only looks like one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unstuck.contract import Observation, Verdict
from unstuck.detection import LoopDetector

DATA = Path(__file__).parent.parent / "data"
PRECISION = 0.95
RECALL = 0.92


def cases(name: str = "loops") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def verdicts(case: dict[str, Any]) -> list[Verdict]:
    """Everything that is said on the way."""
    detector = LoopDetector()
    said = (
        detector.observe(
            Observation(
                kind=event["kind"],
                text=event["text"],
                at=event.get("t", 0.0),
                task_id="task",
                agent_id=event.get("agent", ""),
                tool=event.get("tool", "bash"),
                role=event.get("role"),
                approach=event.get("approach"),
                tree=event.get("tree"),
            )
        )
        for event in case["events"]
    )
    return [one for one in said if one is not None]


def fires(case: dict[str, Any]) -> bool:
    """Return whether a loop is reported; a blocked agent counts only if the label calls it an outage."""
    counted = {"loop", "circular_fix", "waiting"}
    if case.get("infra") and case["expect"] == "loop":
        counted |= {"blocked"}
    return any(said.kind in counted for said in verdicts(case))


def test_precision_and_recall() -> None:
    """Nearly every loop is seen, and hardly ever is honest work called one."""
    fired = {case["id"]: fires(case) for case in cases()}
    loops = {case["id"] for case in cases() if case["expect"] == "loop"}
    hits = {name for name in loops if fired[name]}
    false = {name for name in fired if fired[name]} - loops
    assert len(hits) / len(loops) >= RECALL, loops - hits
    assert len(hits) / (len(hits) + len(false)) >= PRECISION, false


def test_first_verdicts_are_nudges_with_evidence() -> None:
    """The first word is said to the agent: it quotes what repeats, and what would count as progress."""
    first = [said[0] for case in cases() if (said := verdicts(case))]
    assert first
    assert all(one.nudge and one.evidence and one.steps and one.resets_on and one.repeats >= 3 for one in first)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases("more_loops")])
def test_more_histories(case: dict[str, Any]) -> None:
    """Histories apart from the measured ones: work is left alone, loops are seen."""
    assert fires(case) == (case["expect"] == "loop")
