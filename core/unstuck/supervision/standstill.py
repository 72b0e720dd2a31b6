"""Between a run's reopening and its first step: nothing happens until a person has said what is to become of it."""

from __future__ import annotations

import asyncio

from unstuck.contract import Answer
from unstuck.errors import GateError
from unstuck.record import events as e
from unstuck.record.state import GateRow
from unstuck.supervision.asking import answer_gate
from unstuck.supervision.core import Core
from unstuck.supervision.observing import check_now, observe
from unstuck.supervision.reconstruction import (
    CheckFacts,
    Observed,
    RecoveryChoice,
    RecoveryState,
    reconstruct,
    was_cut_off,
)
from unstuck.supervision.recovering import recover

__all__ = ["Standstill"]

_NAME = "the standstill"  # with a blank, like no task's name: whoever wakes everything wakes this, too


class Standstill:
    """A run that was opened again and waits to be let go.

    ``always``: also where nothing has to be decided. ``known`` is set once ``facts`` are there.
    """

    def __init__(self, core: Core, *, died: bool, always: bool = False) -> None:
        self._core, self._died, self._always = core, died, always
        self._seen: dict[str, Observed] = {}
        self._begun = False
        self.known = asyncio.Event()
        self.facts = RecoveryState(run=core.run, died=died, seq=core.head.seq)

    async def over(self) -> bool:
        """Save what is there, ask, and wait. False where the person left before everything was decided."""
        core = self._core
        moved = core.changed(_NAME)
        core.journal.on_append(lambda record: moved.set())
        for row in [row for row in core.head.tasks.values() if row.state == "interrupted"]:
            while (now := core.row(row.id)).state == "interrupted" and not now.gate:
                await recover(core, now)
        if not (self._always or self.questions()):
            return True
        await self.look()
        self.known.set()
        while not self._begun and core.head.run.state != "draining":
            if self.known.is_set() and not self._always and not self.questions():
                break  # everything was answered from elsewhere
            if not core.person:
                return False
            moved.clear()
            await moved.wait()
        return True

    def questions(self) -> tuple[GateRow, ...]:
        """What is still to be decided."""
        return tuple(row for row in self._core.head.open_gates() if row.gate.type == "recovery")

    async def look(self) -> RecoveryState:
        """Look at everything anew."""
        core = self._core
        store = core.checkpoints if core.repository is not None else None
        for row in [row for row in core.head.tasks.values() if was_cut_off(row)]:
            seen = await observe(core.head, row, core.tree_of(row), store)
            before = self._seen.get(row.id)
            self._seen[row.id] = seen.model_copy(update={"check": before.check if before else None})
        return self._put_together()

    async def check(self, task: str) -> CheckFacts:
        """What the task's check says now; it may take as long as a check may."""
        row = self._core.row(task)
        found = await check_now(self._core.verifier, row, self._core.workdir(self._core.tree_of(row)))
        self._seen[task] = self._seen.get(task, Observed()).model_copy(update={"check": found})
        self._put_together()
        return found

    def refresh(self) -> RecoveryState:
        """The facts with what the record says by now, such as a proposal."""
        return self._put_together()

    def _put_together(self) -> RecoveryState:
        head, git = self._core.head, self._core.repository is not None
        self.facts = reconstruct(head, self._seen, git=git, died=self._died)
        return self.facts

    async def decide(self, choices: dict[str, RecoveryChoice]) -> dict[str, str]:
        """Answer for each task as the person has chosen; returns why an answer was not taken, by task."""
        refused = {}
        for gate in self.questions():
            if choice := choices.get(gate.gate.task):
                try:
                    answer_gate(self._core.journal, gate.id, Answer(choice=choice))
                except GateError as error:
                    refused[gate.gate.task] = str(error)
        await self._core.journal.committed()
        return refused

    def begin(self) -> None:
        """Let the run go on."""
        self._begun = True
        self._core.wake(_NAME)

    def leave(self) -> None:
        """Nobody has decided: what was found at work goes on as it was found, and the questions stay open."""
        core = self._core
        for attempt, (survivor, _) in core.survivors.items():
            thaw = getattr(survivor, "thaw", None)
            if thaw is not None:
                thaw(attempt)
        core.survivors.clear()
        if not core.head.open_gates():
            core.append(e.StopRequested(reason="left before anything was decided"), actor="human")
