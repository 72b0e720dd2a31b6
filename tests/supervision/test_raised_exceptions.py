"""A coroutine that raises is an agent that fails itself: its exception is told, and what only a person cures asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records

from unstuck import Answer, Guidance, Supervisor, Task, admit
from unstuck.eventlog import events as e

CHECK = "test -f done.txt || { echo 'E       assert 1 == 2'; echo '1 failed in 0.01s'; exit 1; }"
TASK = Task(id="t", prompt=admit("Do it."), verify=CHECK)


class AuthenticationError(Exception):
    """The exception of a model's client library, by its usual name."""


class Raising:
    """A coroutine that raises ``error`` in its first ``times`` attempts, and then does the work."""

    def __init__(self, tree: Path, error: Exception, *, times: int = 99, works: bool = False) -> None:
        self.tree, self.error, self.times, self.works = tree, error, times, works
        self.told: list[Guidance] = []

    async def __call__(self, guidance: Guidance) -> None:
        self.told.append(guidance)
        if self.works:
            (self.tree / "work.txt").write_text(str(len(self.told)))
        if len(self.told) <= self.times:
            raise self.error
        (self.tree / "done.txt").touch()


async def test_an_exception_is_told_to_the_next_attempt(repo: Path, clock: ManualClock, records: type[Records]) -> None:
    """Beside what the check said; and the event log keeps it."""
    async with Supervisor.open(repo, clock=clock, person=True) as supervisor:
        agent, record = (
            Raising(repo, ValueError("the index has no entry `web`"), times=1, works=True),
            records(supervisor),
        )
        assert (await supervisor.supervise(TASK, agent)).status == "succeeded"
        prompt = agent.told[1].text
        assert "The last attempt raised an exception. Its last words were:" in prompt
        assert "| ValueError: the index has no entry `web`" in prompt
        assert "assert 1 == 2" in prompt
        first, last = record.of(e.CheckFinished)
        assert (first.ending, last.ending) == ("raised an exception", "")


async def test_a_refused_key_is_asked_after_one_attempt(repo: Path, clock: ManualClock, records: type[Records]) -> None:
    """The first line is the exception's own; *I have fixed it* repeats the attempt with the same words."""
    async with Supervisor.open(repo, clock=clock, person=True) as supervisor:
        error = AuthenticationError("401 {'error': {'type': 'authentication_error', 'message': 'invalid x-api-key'}}")
        agent, record = Raising(repo, error, times=1), records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(TASK, agent))
        gate = await record.asked()
        assert gate.gate.key == "agent"
        assert gate.gate.context["question"].splitlines()[0].endswith(str(error))
        assert len(agent.told) == 1
        await supervisor.answer(gate.id, Answer(choice="choose", number=1))
        assert (await working).status == "succeeded"
        assert agent.told[1].text == agent.told[0].text
        assert not record.of(e.DirectiveIssued)


async def test_three_exceptions_without_a_changed_file_ask(
    repo: Path, clock: ManualClock, records: type[Records]
) -> None:
    """The work was never at fault: nobody climbs for it."""
    async with Supervisor.open(repo, clock=clock, person=True) as supervisor:
        agent, record = Raising(repo, RuntimeError("no route to the model")), records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(TASK, agent))
        gate = await record.asked()
        assert len(agent.told) == 3
        first, told = gate.gate.context["question"].splitlines()
        assert first.endswith("RuntimeError: no route to the model")
        assert "raised an exception and changed no file, 3 times in a row" in told
        await supervisor.answer(gate.id, Answer(choice="abandon"))
        assert (await working).status == "abandoned"
