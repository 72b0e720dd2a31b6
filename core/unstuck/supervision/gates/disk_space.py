"""The disk question: open while the log has no space, with a retry every second.

Every step has to be recorded, so agents are suspended meanwhile (see ``attempt.runner``) and no new
one starts. The gate is answered like any other but cannot be written yet: ``notice`` tells the person.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from unstuck.clock.waits import first_of
from unstuck.contract import Answer
from unstuck.errors import GitError
from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow, TaskRow
from unstuck.eventlog.storage.durable_files import NO_ROOM
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject

RETRY_S = 1.0
_KEY = "record"
_FULL = "the disk is full"
# Git gives no reason for a file that it could not write.
_SAID = ("No space left on device", "Disk quota exceeded", "unable to write file")


class RoomKeeper:
    """Watches the disk space of the log. ``notice`` gets the problem and its gate, and an empty problem at its end."""

    def __init__(self, core: RunContext) -> None:
        self.notice: Callable[[str, str], None] = lambda problem, gate: None
        self.patient = False
        """True to wait for space: a run whose first record has none is refused instead."""
        self._core = core
        self._gate = ""
        self._work: asyncio.Task[None] | None = None
        core.journal.on_trouble(self._on_trouble)

    async def stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    def _on_trouble(self) -> None:
        core = self._core
        if core.journal.held and not self.patient:
            core.journal.discard_pending()
        elif core.journal.held and not self._gate:
            self._ask()
            self._work = asyncio.ensure_future(self._wait_for_room())
        elif self._gate and not core.journal.held:
            self._is_over()
        core.signals.wake_all()

    def _ask(self) -> None:
        from unstuck.supervision.gates.service import open_gate

        core = self._core
        problem = f"the disk has no space for the event log: {core.journal.held}"
        self._gate = open_gate(core, "disk", task="", key=_KEY, context={"problem": problem, "not_saved": _FULL})
        self.notice(core.journal.held, self._gate)

    def _is_over(self) -> None:
        """Close the question at once: the next step must not find it open."""
        gate, self._gate = self._gate, ""
        if not self._core.journal.failure:
            self.notice("", gate)
            _withdraw(self._core, self._core.head.gates[gate])

    async def _wait_for_room(self) -> None:
        core, journal = self._core, self._core.journal
        began, answered = core.clock.monotonic(), ""
        while journal.held:
            if answered == self._gate:
                self._ask()  # too little space was freed: the person may try again, or abandon
            gate = core.head.gates[self._gate]
            is_late = core.clock.monotonic() - began >= core.settings.disk_wait
            if _is_given_up(gate) or (is_late and not (core.person and core.may_ask)):
                journal.discard_pending()
                return
            await first_of(core.clock.sleep(RETRY_S), core.signals.next(Subject.DISK_SPACE).wait())
            journal.retry()
            answered = gate.id if gate.status != "open" and gate.by == "human" else ""


def _is_given_up(gate: GateRow) -> bool:
    answer: Answer | None = gate.answer
    return answer is not None and answer.choice == "abandon"


def _withdraw(core: RunContext, gate: GateRow) -> None:
    if gate.status == "open":
        core.append(e.GateWithdrawn(gate=gate.id, reason="the disk has space again"))


def withdraw_old(core: RunContext) -> None:
    """Withdraw the disk questions of a resumed run: it has space."""
    for row in core.head.open_gates():
        if row.gate.type == "disk" and not row.gate.task:
            _withdraw(core, row)


def has_no_room(error: Exception) -> bool:
    """Return whether a worktree failed because its disk, which may differ from the log's, is full."""
    if isinstance(error, OSError):
        return error.errno in NO_ROOM
    return isinstance(error, GitError) and any(said in str(error) for said in _SAID)


def ask_for_room(core: RunContext, row: TaskRow, error: Exception) -> None:
    """Ask about one task: a full disk uses up no attempt, and the other tasks continue."""
    from unstuck.supervision.gates.service import open_gate

    problem = f"the disk has no space for the worktree: {error}"
    context = {"problem": problem, "tree": str(core.tree_of(row)), "not_saved": _FULL}
    open_gate(core, "disk", task=row.id, key="tree", context=context)
