"""An agent's reported usage is kept with its attempt and summed for the run."""

from __future__ import annotations

import math
from pathlib import Path

from unstuck import Guidance, Observation, Report, Supervisor, Task
from unstuck.contract import Capabilities, Observer, Receipt
from unstuck.eventlog.log.records import replay
from unstuck.eventlog.usage import Usage, usage_by_rung, usage_of, used_in_session
from unstuck.settings.models import Settings
from unstuck.text import Clean


class Counting:
    """Reports what each of its attempts has used, once with figures that are none."""

    can = Capabilities(resume=True, fresh=True)

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        observer.see(Observation(kind="usage", tokens=1_000, cost=0.25))
        observer.see(Observation(kind="usage", tokens=500, cost=0.5))
        observer.see(Observation(kind="usage", tokens=-7, cost=math.nan))
        observer.see(Observation(kind="usage", tokens=0, cost=-3.0))
        return Report(session=guidance.session or f"session-{guidance.attempt}")

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()


async def test_what_agents_use_is_summed_up(repo: Path) -> None:
    """Two tasks: each attempt has its own sum, the run has both, and the log tells the same when it is read back."""
    async with Supervisor.open(repo, Settings.model_validate({"unverified": "accept"})) as supervisor:
        for name in ("web", "docs"):
            await supervisor.supervise(Task(id=name, prompt=Clean("Mend it")), Counting())
        state, log = supervisor.core.head, supervisor.core.journal.path
        assert state.attempts["web.1"].tokens == 1_500
        assert state.attempts["web.1"].cost == 0.75
        assert state.run.tokens == 3_000
        assert state.run.cost == 1.5
        await supervisor.core.journal.committed()
        assert replay(log).run == state.run
        assert usage_of(state, state.tasks["web"]) == Usage(attempts=1, tokens=1_500, cost=0.75)


async def test_each_rung_has_its_own_sum(repo: Path) -> None:
    """A task that climbs: what its first attempt, its retries and its pivots have used is told apart, and added up."""
    handler = {"max_retries": 1, "max_pivots": 2, "max_research": 0}
    settings = Settings.model_validate({"failure_handler": handler, "ask": "never"})
    async with Supervisor.open(repo, settings) as supervisor:
        task = Task(id="web", prompt=Clean("Mend it"), verify="echo 'assert 1 == 2'; exit 1")
        await supervisor.supervise(task, Counting())
        state = supervisor.core.head
        row = state.tasks["web"]
        by_rung = usage_by_rung(state, row)
    assert list(by_rung) == ["first", "retry", "pivot"]
    assert [used.attempts for used in by_rung.values()] == [1, 1, 2]
    assert by_rung["pivot"] == Usage(attempts=2, tokens=3_000, cost=1.5)
    assert usage_of(state, row) == Usage(attempts=4, tokens=6_000, cost=3.0)
    assert state.run.tokens == 6_000
    assert state.run.cost == 3.0


async def test_each_session_has_its_own_sum(repo: Path) -> None:
    """A retry goes on with its session, and a pivot begins another: what a session has used is known from the record,
    so that an agent which sums up whole sessions is counted right also by the process that goes on with the run."""
    handler = {"max_retries": 1, "max_pivots": 1, "max_research": 0}
    settings = Settings.model_validate({"failure_handler": handler, "ask": "never"})
    async with Supervisor.open(repo, settings) as supervisor:
        await supervisor.supervise(Task(id="web", prompt=Clean("Mend it"), verify="exit 1"), Counting())
        await supervisor.core.journal.committed()
        state = replay(supervisor.core.journal.path)
    sessions = ("session-web.1", "session-web.3", "another", "")
    assert [used_in_session(state, session) for session in sessions] == [
        (3_000, 0, 1.5),
        (1_500, 0, 1.5 / 2),
        (0, 0, 0.0),
        (0, 0, 0.0),
    ]
