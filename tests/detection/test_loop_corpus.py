"""Measured on labelled histories: loops that must be seen, and work that only looks like one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unstuck.contract import Observation, Verdict
from unstuck.detection import LoopDetector

LOOPS = Path(__file__).parent.parent / "data" / "loops.jsonl"


def verdict(case: dict[str, Any]) -> Verdict | None:
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
            )
        )
        for event in case["events"]
    )
    return next((one for one in said if one is not None), None)


def test_precision_and_recall() -> None:
    """Two of three loops are seen, and hardly ever is honest work called one."""
    cases = [json.loads(line) for line in LOOPS.read_text(encoding="utf-8").splitlines()]
    fired = {case["id"]: verdict(case) for case in cases}
    loops = [case["id"] for case in cases if case["expect"] == "loop"]
    hits = [one for one in loops if fired[one]]
    false = [one for one in fired if fired[one] and one not in loops]
    assert len(hits) / len(loops) >= 0.7
    assert len(hits) / (len(hits) + len(false)) >= 0.93


def test_first_verdicts_are_nudges_with_evidence() -> None:
    """The first word is said to the agent, and it quotes what repeats."""
    cases = [json.loads(line) for line in LOOPS.read_text(encoding="utf-8").splitlines()]
    verdicts = [found for case in cases if (found := verdict(case))]
    assert verdicts
    assert all(found.nudge and found.evidence and found.steps and found.repeats >= 3 for found in verdicts)
