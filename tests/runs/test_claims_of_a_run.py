"""Claims at the end of a run: counted from its state, equal to what ``unstuck truth`` counts in its log."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from unstuck.contract import Guidance, Report, Task
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.event import Event
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import State
from unstuck.runs.queries.truth import Truth
from unstuck.runs.run_end import Claims, claims_of
from unstuck.text import Clean

ATTEMPTS = (
    ("done", "failed"), ("done", "contradicted"), ("not_done", "failed"), ("", "failed"), ("done", ""), ("", ""),
    ("done", "could_not_run"), ("not_done", "passed"), ("done", "passed"),
)  # fmt: skip


def test_counted_as_in_the_log() -> None:
    """The last line of a run has the sums of its log, without a second look at a log that may be long."""
    truth, state = Truth(), State()

    def add(event: Event, attempt: str = "") -> None:
        record = Record(
            seq=state.seq + 1, time="2026-11-23T00:00:00Z", mono=1.0, run="r", actor="agent", event=event,
            name=event.name, task="web", attempt=attempt,
        )  # fmt: skip
        truth.add(record)
        fold(state, record)

    add(e.TaskAdded(work=Task(id="web", prompt=Clean("x"), agent="a")))
    assert claims_of(state) is None
    for number, (claim, found) in enumerate(ATTEMPTS, 1):
        name = f"web.{number}"
        guidance = Guidance(attempt=name, number=number, level="retry", text=Clean("x"), workdir=Path("/"))
        add(e.AttemptStarted(guidance=guidance), name)
        if claim or found:
            add(e.AttemptEnded(report=Report(claim=claim or "unknown")), name)
        else:
            add(e.AttemptInterrupted(reason="killed", used_s=1.0), name)
        if found:
            add(e.CheckFinished(result=found), name)
    truth.end_run()
    (row,) = truth.rows()
    claims = claims_of(state)
    assert claims == Claims(**{name: row[name] for name in asdict(Claims())})
    assert claims == Claims(attempts=9, claimed_done=5, compared=5, agreed=2, false_claims=2)
