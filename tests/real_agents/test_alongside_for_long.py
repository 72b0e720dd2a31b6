"""Real agents beside a watch that nobody looks at: a question that outlasts every hook, and sub-agents at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.real_agents.conftest import Labs
from tests.real_agents.scripted_model import Asked, Turn
from tests.real_agents.sessions import TASK, Session

from unstuck import Supervisor
from unstuck.agents.hooks.hook_agents import HOLD_LIMIT_S, KNOWN
from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.runs.watch import watch
from unstuck.text import Clean
from unstuck.workspace.project import locate

pytestmark = pytest.mark.agents

FAILING = "echo oops >&2; exit 3"
ADVICE = "look in the cellar"
REFUSED = "A question to the person is still open"
PARTS = ("PART ONE", "PART TWO")
DELEGATED = tuple(
    ("Agent", {"description": part, "prompt": f"Do {part}", "subagent_type": "general-purpose"}) for part in PARTS
)


class Watched:
    """A watch beside ``one``, in this process, and what it has recorded."""

    def __init__(self, one: Session, supervisor: Supervisor) -> None:
        self.one, self.supervisor = one, supervisor
        self.records: list[Record] = []
        self.moved = asyncio.Event()
        supervisor.core.journal.on_append(self._note)

    def _note(self, record: Record) -> None:
        self.records.append(record)
        self.moved.set()

    async def until_asked(self) -> str:
        """The gate that is open, once one is."""
        while not self.supervisor.core.head.open_gates():
            self.moved.clear()
            await self.moved.wait()
        return self.supervisor.core.head.open_gates()[0].id

    def count(self, kind: type[e.Event]) -> int:
        return sum(isinstance(record.event, kind) for record in self.records)

    async def work(self, task: str = TASK, *, session: str | None = None) -> str:
        """One run of the agent, to its end; what it printed."""
        with self.one.working(task, session=session) as process:
            return await asyncio.to_thread(self.one.done, process)


@asynccontextmanager
async def watching(one: Session, hold_limit_s: float = HOLD_LIMIT_S) -> AsyncIterator[Watched]:
    one.install()
    place = await locate(one.lab.repo)
    async with watch(place, environ=one.lab.environ, hold_limit_s=hold_limit_s) as supervisor:
        yield Watched(one, supervisor)
    one.remove()


@pytest.mark.parametrize("name", list(KNOWN))
async def test_a_question_outlasts_every_hook(name: str, lab: Labs) -> None:
    """Nobody answers: its call is refused three times, then it is stopped where it can be, and its process ends. The
    question stays open, and the answer, given afterwards, enters with the person's next prompt in that session."""

    def repeats(asked: Asked) -> Turn:
        if ADVICE in asked.text:
            return Turn(text="In the cellar it is. Done.")
        if asked.answered >= 12:
            return Turn(text="I give up.")
        # Some agents have a guard of their own against one and the same call.
        return Turn(text="Again.", command=FAILING if asked.answered < 3 else f"echo {asked.answered}")

    one = Session(lab(name, repeats))
    async with watching(one, hold_limit_s=1.0) as watched:
        core = watched.supervisor.core
        await watched.work()
        requests = one.lab.model.asked
        assert sum(REFUSED in asked.last for asked in requests) == 3
        if name in ("claude", "gemini"):
            assert len(requests) == 3 + 3 + 1  # it is stopped: its model hears nothing more
        assert watched.count(e.HoldRefused) == 4
        (row,) = core.head.tasks.values()
        assert row.status is None
        assert row.attempts == 1
        assert len(core.head.open_gates()) == 1
        assert row.report is not None
        assert row.report.how == "stopped"
        gate = await watched.until_asked()
        await watched.supervisor.answer(gate, Answer(choice="show_me", text=Clean(ADVICE)))
        before = len(requests)
        await watched.work("Well?", session=row.session)
        told = requests[before]
        assert ADVICE in told.last
        assert "Well?" in told.last
        assert "Again." in told.text  # the same conversation
    assert all(attempt.state != "live" for attempt in core.head.attempts.values())


async def test_sub_agents_are_watched_each_by_itself(lab: Labs) -> None:
    """Two sub-agents of Claude Code work at once: they inherit the hooks, their steps bear their names, the one that
    repeats itself hears the person's answer, the other one goes on, and what they use is counted."""

    def delegates(asked: Asked) -> Turn:
        prompt = asked.turns[0][1]
        if TASK in prompt:
            return Turn(text="Done.") if asked.answered else Turn(text="I delegate.", calls=DELEGATED)
        if ADVICE in asked.text:
            return Turn(text="In the cellar it is.")
        if PARTS[0] in prompt:
            return Turn(text="Again.", command="echo first is broken >&2; exit 3")
        return Turn(text="On.", command=f"echo {asked.answered}") if asked.answered < 4 else Turn(text="All is done.")

    one = Session(lab("claude", delegates))
    async with watching(one) as watched:
        core = watched.supervisor.core
        work = asyncio.ensure_future(watched.work())
        gate = await watched.until_asked()
        held = core.head.gates[gate].gate
        (asker,) = {
            record.event.agent_id
            for record in watched.records
            if isinstance(record.event, e.StepRecorded) and record.event.kind == "failure"
        }
        assert held.context["subagent"] == asker != ""
        await watched.supervisor.answer(gate, Answer(choice="show_me", text=Clean(ADVICE)))
        assert "Done." in await work
    told = next(asked for asked in one.lab.model.asked if ADVICE in asked.last)
    assert PARTS[0] in told.turns[0][1]
    assert not any(ADVICE in asked.last for asked in one.lab.model.asked if PARTS[1] in asked.turns[0][1])
    steps = [record.event for record in watched.records if isinstance(record.event, e.StepRecorded)]
    assert len({step.agent_id for step in steps if step.kind == "action"}) == 3
    assert len(core.head.tasks) == 1
    assert core.head.run.tokens == 110 * len(one.lab.model.asked)
