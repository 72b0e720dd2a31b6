"""The comparison of claims and checks over a long log: its memory does not grow with the log."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

from unstuck.contract import Guidance, Report, Task
from unstuck.diagnosis.pipeline import diagnose
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.event import Event
from unstuck.runs.queries.truth import Truth
from unstuck.text import Clean


def held(attempts: int) -> int:
    """Memory that is in use after so many attempts with failures of their own (bytes)."""
    truth, seq = Truth(), 0

    def add(event: Event, attempt: str = "") -> None:
        nonlocal seq
        seq += 1
        truth.add(Record(
            seq=seq, time="2026-11-23T00:00:00Z", mono=float(seq), run="r", actor="agent", event=event,
            name=event.name, task="web", attempt=attempt,
        ))  # fmt: skip

    add(e.TaskAdded(work=Task(id="web", prompt=Clean("x"), agent="a")))
    tracemalloc.start()
    try:
        for number in range(attempts):
            name = f"web.{number}"
            guidance = Guidance(attempt=name, number=number, level="retry", text=Clean("x"), workdir=Path("/"))
            found = diagnose(f"app/file{number}.py:{number + 1}: error: name{number} is wrong", exit_code=1)
            add(e.AttemptStarted(guidance=guidance), name)
            add(e.AttemptEnded(report=Report(claim="done")), name)
            add(e.CheckFinished(result="failed", diagnosis=found.as_dict() if found else None), name)
        gc.collect()  # when it last ran by itself depends on all that ran before
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_log() -> None:
    """Ten times as many attempts, each with another failure, need less than twice the memory."""
    held(400)  # what is imported and cached on first use
    assert held(4_000) < 2 * held(400)
