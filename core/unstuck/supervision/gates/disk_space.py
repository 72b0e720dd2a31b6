"""While the disk has no space for the record: a gate of its own, and a look every second whether there is room again.

Nothing may happen that is not recorded, so agents stand still meanwhile (see ``attempts`` and ``holding``) and no new
one starts. The gate is decided like any other, but nobody can find it on the disk yet: ``notice`` is how people hear.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from unstuck.contract import Answer
from unstuck.errors import GitError
from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow, TaskRow
from unstuck.eventlog.storage.durable_files import NO_ROOM
from unstuck.supervision.context.context import Core
from unstuck.supervision.gates.service import open_gate

__all__ = ["RETRY_S", "RoomKeeper", "ask_for_room", "has_no_room", "withdraw_old"]

RETRY_S = 1.0
_KEY = "record"
_FULL = "the disk is full"
# Of a file that could not be written git does not say why.
_SAID = ("No space left on device", "Disk quota exceeded", "unable to write file")


class RoomKeeper:
    """Looks after the record's room. ``notice`` gets the trouble and its gate, and an empty trouble once it is over."""

    def __init__(self, core: Core) -> None:
        self.notice: Callable[[str, str], None] = lambda problem, gate: None
        self.patient = False
        """Whether there is anything to wait for: a run whose very first record has no room is refused instead."""
        self._core = core
        self._gate = ""
        self._changed = core.changed("the room")
        self._work: asyncio.Task[None] | None = None
        core.journal.on_trouble(self._on_trouble)

    async def stop(self) -> None:
        """Look after it no longer."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    def _on_trouble(self) -> None:
        core = self._core
        if core.journal.held and not self.patient:
            core.journal.give_up()
        elif core.journal.held and not self._gate:
            self._ask()
            self._work = asyncio.ensure_future(self._wait_for_room())
        elif self._gate and not core.journal.held:
            self._is_over()
        core.wake()

    def _ask(self) -> None:
        core = self._core
        problem = f"the disk has no space for the event log: {core.journal.held}"
        self._gate = open_gate(core, "disk", task="", key=_KEY, context={"problem": problem, "not_saved": _FULL})
        self.notice(core.journal.held, self._gate)

    def _is_over(self) -> None:
        """At once: whatever goes on from here must not find the question open."""
        gate, self._gate = self._gate, ""
        if not self._core.journal.failure:
            self.notice("", gate)
            _withdraw(self._core, self._core.head.gates[gate])

    async def _wait_for_room(self) -> None:
        core, journal = self._core, self._core.journal
        began, answered = core.clock.monotonic(), ""
        while journal.held:
            if answered == self._gate:
                self._ask()  # whoever has made too little room may try again, or give up
            gate = core.head.gates[self._gate]
            is_late = core.clock.monotonic() - began >= core.settings.disk_wait
            if _is_given_up(gate) or (is_late and not (core.person and core.may_ask)):
                journal.give_up()
                return
            await self._pause()
            journal.retry()
            answered = gate.id if gate.status != "open" and gate.by == "human" else ""

    async def _pause(self) -> None:
        """A second, or until something has happened."""
        self._changed.clear()
        sleeping = asyncio.ensure_future(self._core.clock.sleep(RETRY_S))
        moved = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait((sleeping, moved), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            moved.cancel()
            await asyncio.gather(sleeping, moved, return_exceptions=True)


def _is_given_up(gate: GateRow) -> bool:
    answer: Answer | None = gate.answer
    return answer is not None and answer.choice == "abandon"


def _withdraw(core: Core, gate: GateRow) -> None:
    if gate.status == "open":
        core.append(e.GateWithdrawn(gate=gate.id, reason="the disk has space again"))


def withdraw_old(core: Core) -> None:
    """A run that is opened again has room: nobody need answer what was asked when it had none."""
    for row in core.head.open_gates():
        if row.gate.type == "disk" and not row.gate.task:
            _withdraw(core, row)


def has_no_room(error: Exception) -> bool:
    """Whether a work tree could not be made because its disk, which need not be the record's, is full."""
    if isinstance(error, OSError):
        return error.errno in NO_ROOM
    return isinstance(error, GitError) and any(said in str(error) for said in _SAID)


def ask_for_room(core: Core, row: TaskRow, error: Exception) -> None:
    """Ask about one task: no attempt is used up by a disk that is full, and the other tasks go on."""
    problem = f"the disk has no space for the worktree: {error}"
    context = {"problem": problem, "tree": str(core.tree_of(row)), "not_saved": _FULL}
    open_gate(core, "disk", task=row.id, key="tree", context=context)
