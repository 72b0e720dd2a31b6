"""A demo at another speed, and the clock on the wall."""

from __future__ import annotations

import time
from datetime import datetime

import yaml
from tests.rehearsal.conftest import Stage


def test_no_time_of_a_fast_demo_lies_ahead(stage: Stage) -> None:
    """At fifty times the speed a task is over soon, and no record is of a time that has yet to come."""
    began = time.time()
    played = stage.play("fixed-on-a-retry", speed="50")
    ended = time.time()
    times = [datetime.fromisoformat(row["time"]).timestamp() for row in played.rows if "time" in row]
    assert times
    assert began - 0.001 <= min(times) <= max(times) <= ended


def test_limits_shrink_with_the_waits(stage: Stage) -> None:
    """At thirty times the speed, silence of half a second is what 15 s are at its own, and the question says so."""
    played = stage.play("hangs-silently", {"gate": "timeout", "answer": "stop"}, speed="30")
    plan = yaml.safe_load((played.directory / "plan.yaml").read_text(encoding="utf-8"))
    assert plan["tasks"][0]["idle"] == 0.5
    (late,) = played.data("agent_timeout")
    assert 500 <= late["elapsed_ms"] < 15_000
