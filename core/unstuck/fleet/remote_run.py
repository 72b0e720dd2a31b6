"""A run on another host as a person sees it: its copy here, and its host for whatever is done to it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from unstuck.clock import Clock
from unstuck.contract import Answer
from unstuck.errors import AnswerRefused, GateClosed, UnstuckError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.tail import LogFollower
from unstuck.eventlog.state import State
from unstuck.fleet.requests import PRINTED, TAIL
from unstuck.runs.view.output_files import Printed
from unstuck.runs.view.outputs import OutputKind, OutputTail, workdir_of
from unstuck.runs.view.run_elsewhere import AskedRun
from unstuck.settings.models import Settings
from unstuck.supervision.checkpointing import Since
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.text import admit, one_line, sanitise
from unstuck.words.labels import answer_words

_CLOSED_S = 3.0
_DIFF = 4_000_000

AskHost = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a message about a log to its host and returns the reply. Raises UnstuckError while the host is cut off."""


class RemoteRun(AskedRun):
    """The run whose log ``host`` calls ``log``. ``path`` is the copy. Raises RecordError where that is damaged."""

    place = None

    def __init__(self, host: str, log: str, path: Path, clock: Clock, ask: AskHost) -> None:
        super().__init__(Settings(), clock)
        self.host, self.name, self.log, self._ask = host, log, path, ask
        self.state = State()
        if path.exists():
            follower = LogFollower(path)
            follower.read()
            self.state = follower.state
        self.live = False
        self.problem = ""
        """The reason why its log is not followed any further."""
        self.title = f"{host} · ATTACHED"
        self._changed = asyncio.Event()

    def take(self, records: Sequence[Record]) -> None:
        """Take in the records that were appended to the copy."""
        for record in records:
            if record.seq <= self.state.seq:
                continue  # read from the copy already
            fold(self.state, record)
            self._show(record)
        self._changed.set()

    async def output(self, task: str, kind: OutputKind) -> OutputTail:
        try:
            reply = await self._request({"do": "output", "task": task, "kind": kind})
            tail = TAIL.validate_python(reply.get("tail"))
        except (UnstuckError, ValidationError) as problem:
            return OutputTail(note=one_line(str(problem), 200))
        return OutputTail(admit(tail.text, limit=65_536), one_line(tail.note, 200), tail.entries)

    async def printed(self, attempts: Sequence[str]) -> Mapping[str, Printed]:
        try:
            reply = await self._request({"do": "printed", "attempts": list(attempts)})
            return PRINTED.validate_python(reply.get("printed"))
        except (UnstuckError, ValidationError):
            return {}

    async def changes(self, task: str, since: Since = "start") -> tuple[str, str]:
        reply = await self._request({"do": "changes", "task": task, "since": since})
        return one_line(str(reply.get("checkpoint") or ""), 80), admit(str(reply.get("diff") or ""), limit=_DIFF)

    async def answer(self, gate: str, answer: Answer) -> object:
        try:
            return await super().answer(gate, answer)
        except AnswerRefused:
            await self._raise_closed(gate)
            raise

    async def _raise_closed(self, gate: str) -> None:
        """Raise GateClosed once the copy holds an earlier answer of another person."""
        try:
            async with asyncio.timeout(_CLOSED_S):
                while (row := self.state.gates.get(gate)) is not None and row.status == "open":
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return
        if row is not None:
            raise GateClosed(gate, row.by or "the supervisor", row.closed, answer_words(row))

    async def start_takeover(self, task: str) -> Takeover:
        """Raise UnstuckError with the ssh command that opens a shell where the files of ``task`` are."""
        row = self.state.tasks.get(task)
        folder = one_line(workdir_of(self.state, row), 300) if row is not None else ""
        # Quoted twice: a person pastes it into a shell here, and a hostile host chose the folder's name.
        there = shlex.quote(f"cd {shlex.quote(folder)} && exec $SHELL -l") if folder else ""
        raise UnstuckError(f"its files are on {self.host}; hold it, then: ssh -t {self.host} {there}".rstrip())

    async def end_takeover(self, taken: Takeover) -> TakeoverChanges:
        raise UnstuckError("no files were taken over here")

    async def stop(self, reason: str) -> object:
        return await self._request({"do": "stop", "reason": reason})

    async def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = _cleaned(await self._ask(self.name, message))
        if "error" in reply:
            raise AnswerRefused(one_line(admit(str(reply["error"])), 500))
        return reply


def _cleaned(value: Any) -> Any:
    """Return a host's reply with every text in it cleaned of what steers a terminal."""
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    if isinstance(value, dict):
        return {sanitise(str(name)): _cleaned(one) for name, one in value.items()}
    return value
