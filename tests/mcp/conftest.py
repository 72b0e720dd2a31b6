"""A watched project, and an agent that calls: over the real socket, where the protocol itself does not matter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock

from unstuck import Supervisor
from unstuck.agents.mcp.relay import Result, Supervised
from unstuck.contract import Answer, Gate
from unstuck.eventlog.envelope import Record
from unstuck.runs.watch import watch
from unstuck.settings.models import Settings
from unstuck.supervision.context.signals import Subject
from unstuck.text import admit
from unstuck.workspace.project import locate

PATIENCE = 20


async def told(call: Awaitable[Result]) -> Result:
    """Return the reply to the agent, and confirm that it has it."""
    found = await asyncio.wait_for(call, PATIENCE)
    if found.exchange is not None:
        await found.exchange.acknowledge()
    return found


class World:
    """A watch, what it has recorded, and the person at it."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.records: list[Record] = []
        self._moved = asyncio.Event()
        supervisor.core.journal.on_append(self._note)

    def _note(self, record: Record) -> None:
        self.records.append(record)
        self._moved.set()

    def agent(self, name: str = "Some Agent") -> Supervised:
        """One more agent in the project."""
        return Supervised({}, name)

    async def until(self, seen: Callable[[], Any]) -> Any:
        """The first thing that ``seen`` finds."""
        async with asyncio.timeout(PATIENCE):
            while not (found := seen()):
                self._moved.clear()
                await self._moved.wait()
        return found

    def of(self, event: type[Any]) -> list[Any]:
        """Every event of this kind so far."""
        return [record.event for record in self.records if isinstance(record.event, event)]

    def open(self, count: int = 1) -> list[Gate]:
        """The open questions, once there are so many."""
        gates = [row.gate for row in self.supervisor.core.head.open_gates()]
        return gates if len(gates) >= count else []

    async def asked(self, agent: Supervised, question: str, **more: Any) -> tuple[asyncio.Task[Result], Gate]:
        """A call that waits, and its question."""
        before = {gate.id for gate in self.open(0)}
        call = asyncio.ensure_future(agent.call("ask_human", {"question": question, **more}))
        found = await self.until(lambda: [gate for gate in self.open() if gate.id not in before])
        return call, found[0]

    async def carried(self, gate: Gate, wanted: bool) -> None:
        """Until a call waits for the answer, or none does any more."""
        core = self.supervisor.core
        async with asyncio.timeout(PATIENCE):
            while (gate.id in core.live.calls) is not wanted:
                await core.signals.next(Subject.ATTEMPT, gate.attempt or "").wait()

    async def says(self, gate: Gate, choice: Any, text: str = "", number: float | None = None) -> None:
        """The person answers."""
        await self.supervisor.answer(gate.id, Answer(choice=choice, text=admit(text), number=number))


Watched = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def watched(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """``watched(**settings)``: the project under a watch, with everybody at work in it."""
    monkeypatch.chdir(repo)

    @asynccontextmanager
    async def enter(policy: Any = None, clock: ManualClock | None = None, **settings: Any) -> AsyncIterator[World]:
        place = await locate(repo)
        async with watch(place, Settings(**settings), policy=policy, clock=clock) as supervisor:
            yield World(supervisor)

    return enter
