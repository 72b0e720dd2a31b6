"""What an agent says that it has used is kept with its attempt and summed up for the run."""

from __future__ import annotations

import math
from pathlib import Path

from unstuck import Guidance, Observation, Report, Supervisor, Task
from unstuck.contract import Capabilities, Observer, Receipt
from unstuck.record.journal import replay
from unstuck.settings import Settings
from unstuck.text import Clean


class Counting:
    """Reports what each of its attempts has used, once with figures that are none."""

    can = Capabilities()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        observer.see(Observation(kind="usage", tokens=1_000, cost=0.25))
        observer.see(Observation(kind="usage", tokens=500, cost=0.5))
        observer.see(Observation(kind="usage", tokens=-7, cost=math.nan))
        observer.see(Observation(kind="usage", tokens=0, cost=-3.0))
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()


async def test_what_agents_use_is_summed_up(repo: Path) -> None:
    """Two tasks: each attempt has its own sum, the run has both, and the log tells the same when it is read back."""
    async with Supervisor.open(repo, Settings.model_validate({"unverified": "accept"})) as supervisor:
        for name in ("web", "docs"):
            await supervisor.supervise(Task(id=name, prompt=Clean("Mend it")), Counting())
        state, log = supervisor.core.head, supervisor.core.journal.path
        assert (state.attempts["web.1"].tokens, state.attempts["web.1"].cost) == (1_500, 0.75)
        assert (state.run.tokens, state.run.cost) == (3_000, 1.5)
        await supervisor.core.journal.committed()
        assert replay(log).run == state.run
