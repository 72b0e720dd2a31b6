"""Identity of a caller: an agent of the run, a session known from hooks, or a visitor known only by its calls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import psutil

from unstuck.contract import Capabilities, Observer, Report, Task, TaskSession
from unstuck.errors import RecordError
from unstuck.eventlog import events as e
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean

CAPABILITIES = Capabilities(hold="step", tell=True)
PROMPT = Clean("(an agent that is known by its calls alone)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An agent that works in ``attempt``."""

    task: str
    attempt: str
    observer: Observer


class Sessions(Protocol):
    """Sessions known from hooks."""

    def session_of(self, lineage: Sequence[int]) -> tuple[str, str, TaskSession] | None:
        """Return task, live attempt (empty for none) and session of the agent that has started this process."""


def lineage(pid: int) -> tuple[int, ...]:
    """Return ``pid`` and its ancestors, nearest first; empty if they are unknown."""
    try:
        return (pid, *(parent.pid for parent in psutil.Process(pid).parents())) if pid else ()
    except psutil.Error:
        return ()


def attempt_of(core: RunContext, lineage: Sequence[int], named: str) -> Caller | None:
    """Return the caller in a live attempt, found by its process, else by the ``named`` attempt."""
    for row in core.head.attempts.values():
        by = row.pid in lineage if lineage else row.id == named
        if row.is_live and by and (observer := core.live.observers.get(row.id)) is not None:
            return Caller(task=row.task, attempt=row.id, observer=observer)
    return None


@dataclass(slots=True, eq=False)
class _Visitor:
    """An agent beside a watch. ``attempt`` is empty before its first call and after its task."""

    client: str
    work: TaskSession | None = None
    task: str = ""
    attempt: str = ""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Visitors:
    """Agents beside a watch without hooks: each is a task from its first call until it disconnects."""

    def __init__(self, core: RunContext, open_session: Callable[[Task, Capabilities], TaskSession], verify: str | None):
        self._core, self._open_session, self._verify = core, open_session, verify
        self._known: dict[str, _Visitor] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def caller(self, token: str, client: str) -> Caller | None:
        """Return the agent with this token in a live attempt; None if no attempt may begin."""
        visitor = self._known.setdefault(token, _Visitor(client))
        async with visitor.turn:
            if not self._is_live(visitor):
                await self._end(visitor)
                await self._begin(visitor)
            if visitor.work is None or not visitor.attempt:
                return None
            return Caller(task=visitor.task, attempt=visitor.attempt, observer=visitor.work)

    def leave(self, token: str) -> None:
        """Withdraw the questions of a disconnected agent and end its task."""
        if (visitor := self._known.pop(token, None)) is not None:
            ending = asyncio.ensure_future(self._left(visitor))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Cancel the ends that still run."""
        for ending in self._ending:
            ending.cancel()
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _left(self, visitor: _Visitor) -> None:
        # An event log that cannot be written ends the watch elsewhere.
        with suppress(RecordError):
            async with visitor.turn:
                for row in self._core.head.open_gates():
                    if visitor.attempt and row.gate.attempt == visitor.attempt:
                        event = e.GateWithdrawn(gate=row.id, reason="the agent has gone")
                        self._core.append(event, task=visitor.task, attempt=visitor.attempt)
                await self._end(visitor)

    def _is_live(self, visitor: _Visitor) -> bool:
        attempt = self._core.head.attempts.get(visitor.attempt)
        return attempt is not None and attempt.is_live and attempt.state != "stopping"

    async def _begin(self, visitor: _Visitor) -> None:
        """Begin a new task: a task that is over cannot begin again."""
        name, count = _name(visitor.client), 1
        while name in self._core.head.tasks:
            count += 1
            name = f"{_name(visitor.client)}-{count}"
        task = Task(id=name, prompt=PROMPT, agent=_name(visitor.client), verify=self._verify)
        visitor.task, visitor.work = name, self._open_session(task, CAPABILITIES)
        directive = await visitor.work.begin()
        visitor.attempt = directive.guidance.attempt if directive.guidance is not None else ""

    async def _end(self, visitor: _Visitor) -> None:
        attempt, visitor.attempt = visitor.attempt, ""
        if attempt and visitor.work is not None:
            await visitor.work.end(attempt, Report(how="stopped"))


def _name(client: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", client.lower())[:24].strip("-") or "agent"
