"""An agent that speaks the protocol, scripted by a test, and the supervisor that works with it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from tests.manual_clock import ManualClock

from unstuck import Answer, Outcome, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandSpec
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.text import one_line

if TYPE_CHECKING:
    from unstuck.agents.acp.turns import AcpAgent

PROGRAM = Path(__file__).with_name("scripted_agent.py")
PATIENCE = 20


def rule(*acts: dict[str, Any], told: str = "") -> dict[str, Any]:
    """Its behaviour in a turn in which it is told ``told``."""
    return {"told": told, "do": list(acts)}


def act(name: str, /, **fields: Any) -> dict[str, Any]:
    """One thing that it does."""
    return {"act": name, **fields}


def run(command: str, **fields: Any) -> dict[str, Any]:
    """It runs a command."""
    return act("run", command=command, **fields)


class Talk:
    """One run of one supervisor with one scripted agent."""

    def __init__(self, supervisor: Supervisor, folder: Path, agent: AcpAgent) -> None:
        self.supervisor, self.folder, self.agent = supervisor, folder, agent
        self._moved = asyncio.Event()
        self._records: list[Any] = []
        supervisor.core.journal.on_append(self._note)

    def _note(self, record: Any) -> None:
        self._records.append(record)
        self._moved.set()

    def work(self, verify: str | None = None, prompt: str = "Make the shop work") -> asyncio.Task[Outcome]:
        """The task, begun."""
        task = Task(id="web", prompt=admit(prompt), verify=verify)
        return asyncio.ensure_future(self.supervisor.supervise(task, self.agent))

    async def until(self, found: Callable[[], Any]) -> Any:
        """Return what ``found`` gives once it gives something; checked after each record."""
        async with asyncio.timeout(PATIENCE):
            while not (hit := found()):
                self._moved.clear()
                await self._moved.wait()
        return hit

    async def until_noted(self, kind: str, count: int = 1) -> list[Any]:
        """Return the agent's notes once there are so many."""
        async with asyncio.timeout(PATIENCE):
            while len(found := self.noted(kind)) < count:
                await asyncio.sleep(0.02)
        return found

    async def answer(self, choice: str, text: str = "") -> Any:
        """Answer the one question that is open, once it is."""
        (row,) = await self.until(lambda: list(self.supervisor.core.head.open_gates()))
        await self.supervisor.answer(row.id, Answer(choice=choice, text=admit(text)))  # type: ignore[arg-type]
        return row.gate

    def events(self, kind: type[Any]) -> list[Any]:
        """Every record of this kind."""
        return [record.event for record in self._records if isinstance(record.event, kind)]

    def noted(self, kind: str) -> list[Any]:
        """Return the agent's notes."""
        file = self.folder / f"{kind}.jsonl"
        lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def told(self) -> list[str]:
        """Return the prompts that the agent got, turn by turn."""
        return [one["text"] for one in self.noted("told")]

    def status(self, gate: str) -> str:
        """Return the status of a question."""
        return self.supervisor.core.head.gates[gate].status

    def left(self) -> list[int]:
        """The processes of the agent that are still there."""
        return [pid for pid in self.noted("pids") if psutil.pid_exists(pid) and is_alive(pid)]


def is_alive(pid: int) -> bool:
    """Return whether it is a live process, not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


Talks = Callable[..., AbstractAsyncContextManager[Talk]]


@pytest.fixture
def talking(repo: Path, tmp_path: Path) -> Talks:
    """``talking(*rules, **script)``: a supervisor and an agent that follows these rules; nothing of it stays behind."""

    @asynccontextmanager
    async def opened(
        *rules: dict[str, Any],
        settings: dict[str, Any] | None = None,
        clock: ManualClock | None = None,
        freeze: bool = True,
        program: str = "",
        **script: Any,
    ) -> AsyncIterator[Talk]:
        from unstuck.agents.acp.turns import AcpAgent  # whose protocol takes a second to import

        folder = tmp_path / "agent"
        folder.mkdir(exist_ok=True)
        file = folder / "script.json"
        file.write_text(json.dumps({"rules": rules, **script}), encoding="utf-8")
        if program:  # the name by which it is known
            (folder / program).symlink_to(sys.executable)
        command = (
            str(folder / program) if program else sys.executable,
            "-I",
            "-S",
            str(PROGRAM),
            str(file),
            str(folder),
        )
        # As in a run of our own: it is nudged before a person is asked.
        start = e.RunStarted(project=one_line(repo.name), kind="command")
        async with Supervisor.open(repo, Settings(**(settings or {})), start=start) as supervisor:
            core = supervisor.core
            agent = AcpAgent(
                CommandSpec(command=command, freeze=freeze),
                folder=core.folder,
                environ=os.environ,
                limit=2**20,
                clock=clock,
            )
            talk = Talk(supervisor, folder, agent)
            yield talk
            assert talk.left() == []

    return opened
