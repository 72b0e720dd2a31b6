"""A replay judges every step of a run as the run did, and two equal settings never differ."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.supervision.test_random_failures import (
    ACTS,
    ANSWERS,
    CONTINUED,
    CRASHED,
    ERRORS,
    EXTENDED,
    FULL,
    HOLDS,
    LIMITS,
    SHOWN,
    _all,
    _worked,
)

from unstuck import Answer, admit
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.records import read_records
from unstuck.runs.queries.what_if import Comparison, RunReplay, rows
from unstuck.runs.queries.what_if_settings import changed, changes_in

GOLDEN = sorted((Path(__file__).parents[1] / "data" / "golden").glob("*.jsonl"))
CHANGES = st.lists(
    st.one_of(
        st.integers(0, 5).map("max_retries={}".format),
        st.integers(0, 5).map("max_pivots={}".format),
        st.integers(0, 3).map("max_research={}".format),
        st.integers(1, 9).map("max_attempts={}".format),
        st.integers(1, 5).map("task_failure_limit={}".format),
        st.integers(2, 6).map("window_size={}".format),
        st.sampled_from(["ask=never", "outage_limit=0", "skip_to_ask=[zorp]", "after_quota=resume"]),
        st.sampled_from(["parallel=3", "failover=[codex]", "failover=[]"]),
    ),
    max_size=4,
)


def compared(records: Iterable[Record], *changes: str) -> Comparison:
    found = Comparison()
    replay = RunReplay("r", lambda own: changed(own, changes_in(changes)), found)
    for record in records:
        replay.add(record)
    replay.end()
    return found


def _is_decision(event: object) -> bool:
    if isinstance(event, e.DirectiveIssued):
        return bool(event.line)
    return isinstance(event, (e.ConfigurationError, e.TransientErrorRetry, e.OutageWait, e.AgentFailure))


@example(_all(ERRORS[0], 9), [SHOWN], FULL, "none", ["max_retries=0"])
@example([("", {"exit_code": 3}), ("", CRASHED), *_all(ERRORS[0], 1)], [], {**FULL, "max_retries": 0}, "step", [])
@example([("", {"signal": "blocked", "question": "No database"}), *_all(ERRORS[6], 1)], [], FULL, "freeze", [])
@example(_all(ERRORS[0], 3, "loop"), [SHOWN, CONTINUED, Answer(choice="retry")], FULL, "freeze", ["window_size=2"])
@example(_all(ERRORS[0], 3, "loop"), [SHOWN, CONTINUED, Answer(choice="retry")], FULL, "step", ["window_size=5"])
@example(_all(ERRORS[1], 3, "slow"), [EXTENDED, Answer(choice="retry", text=admit("faster"))], FULL, "freeze", [])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTS, min_size=3, max_size=9), st.lists(ANSWERS, max_size=6), LIMITS, HOLDS, CHANGES)
def test_random_runs(
    acts: list[Any], answers: list[Answer], limits: dict[str, Any], hold: str, changes: list[str]
) -> None:
    """Today's rules say of a run of today what it did; equal settings differ nowhere; other ones add up."""
    with tempfile.TemporaryDirectory() as folder:
        records = asyncio.run(_worked(Path(folder), acts, answers, limits, hold))
    same = compared(records)
    assert same.drifts == []
    assert same.differences == []
    assert same.compared >= sum(_is_decision(record.event) for record in records)
    other = compared(records, *changes)
    assert other.drifts == []
    assert other.compared + other.unknown - other.short == same.compared + len(
        [one for one in other.differences if one.is_alarm and one.own.kind == "none"]
    )
    assert len(other.differences) == len({one.task for one in other.differences})


@pytest.mark.parametrize("log", GOLDEN, ids=lambda path: path.stem)
def test_recorded_runs(log: Path) -> None:
    """Logs of every earlier version: equal settings differ nowhere, also where today's rules differ from the log."""
    found = compared(read_records(log))
    assert found.differences == []
    *_, total = rows(found, {})
    assert (total["questions"], total["alarms"], total["attempts"], total["tokens"]) == (0, 0, 0, 0)
