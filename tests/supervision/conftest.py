"""An agent that does what the test says, and what a supervisor records of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from unstuck import Guidance, Report, Supervisor, Task
from unstuck.contract import Capabilities, Observer, Receipt

PATIENCE = 30


class Reporting:
    """An agent without a process that works until it is stopped or let go, and can be frozen."""

    can = Capabilities(hold="freeze", stop=True, fresh=True)

    def __init__(self) -> None:
        self.observer: asyncio.Future[Observer] = asyncio.get_running_loop().create_future()
        self.finish = asyncio.Event()
        self.frozen: list[bool] = []

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        if not self.observer.done():
            self.observer.set_result(observer)
        await self.finish.wait()
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        self.finish.set()
        return Receipt(ended=((1, 1.0, "interrupted"),))

    def freeze(self, attempt: str) -> None:
        self.frozen.append(True)

    def thaw(self, attempt: str) -> None:
        self.frozen.append(False)


class Records:
    """Records of a supervisor, and a way to wait for one."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor, self.moved = supervisor, asyncio.Event()
        self.seen: list[Any] = []
        supervisor.core.journal.on_append(self._note)

    def _note(self, record: Any) -> None:
        self.seen.append(record)
        self.moved.set()

    def of(self, event: type[Any]) -> list[Any]:
        return [record.event for record in self.seen if isinstance(record.event, event)]

    async def asked(self) -> Any:
        """The one question that is open, once its files are saved and it has been asked."""
        await self.until(lambda: self.supervisor.core.head.open_gates() and not self.supervisor.core.live.asking)
        (row,) = self.supervisor.core.head.open_gates()
        return row

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self.moved.clear()
                await self.moved.wait()


@pytest.fixture
def reporting() -> type[Reporting]:
    """The agent's class."""
    return Reporting


@pytest.fixture
def records() -> type[Records]:
    """The class of what is recorded; make one as soon as the supervisor is open."""
    return Records
