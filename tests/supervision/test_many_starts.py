"""Many tasks that start: what one start costs does not grow with the tasks that are at work."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstuck import Guidance, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck.supervision.context.context import RunContext


async def test_a_start_looks_at_no_other_task(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand tasks that start in one moment hold up no key: none of the starts goes through the tasks at work."""
    looks: list[int] = []
    busy = RunContext.busy

    def counted(core: RunContext) -> tuple[object, ...]:
        looks.append(len(rows := busy(core)))
        return rows

    async with Supervisor.open(repo, person=True) as supervisor:
        core = supervisor.core
        for number in range(50):
            supervisor.add(Task(id=f"task-{number}", prompt=admit("Work"), agent_type="backend"))
        await core.journal.committed()
        monkeypatch.setattr(RunContext, "busy", counted)
        for number in range(50):
            task = f"task-{number}"
            guidance = Guidance(attempt=f"{task}.1", number=1, level="retry", text=admit("Work"), workdir=core.root)
            core.append(e.AttemptStarted(guidance=guidance, limit_s=900), task=task, attempt=guidance.attempt)
        assert looks == []
        assert len(busy(core)) == 50
