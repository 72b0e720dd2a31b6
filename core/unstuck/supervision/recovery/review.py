"""Review of a resumed run: no step is taken before a person has decided how its tasks continue."""

from __future__ import annotations

import asyncio

from unstuck.contract import Answer
from unstuck.errors import GateError
from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow
from unstuck.settings.models import EvaluatorSettings
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.gates.gate_timers import keep_open
from unstuck.supervision.gates.service import answer_gate
from unstuck.supervision.recovery.evaluator import evaluate
from unstuck.supervision.recovery.facts import (
    CheckFacts,
    Observed,
    RecoveryChoice,
    RecoveryState,
    reconstruct,
    was_cut_off,
)
from unstuck.supervision.recovery.interrupted_attempt import recover
from unstuck.supervision.recovery.observations import check_now, observe


class Standstill:
    """A reopened run that waits for the review of its interrupted tasks.

    ``always``: also where nothing has to be decided. ``known`` is set once ``facts`` are there.
    """

    def __init__(
        self, core: RunContext, *, died: bool, always: bool = False, evaluator: EvaluatorSettings | None = None
    ) -> None:
        self._core, self._died, self._always, self._evaluator = core, died, always, evaluator
        self._seen: dict[str, Observed] = {}
        self._begun = False
        self.is_over = False
        """Set once work may begin, or no one waits any more."""
        self.known = asyncio.Event()
        self.facts = RecoveryState(run=core.run, died=died, seq=core.head.seq)
        self.evaluating = ""
        """State of the evaluator in words: at work, or its problem; empty otherwise."""

    async def over(self) -> bool:
        """Save what is there, ask, and wait. False where the person left before everything was decided."""
        try:
            return await self._over()
        finally:
            self.is_over = True

    async def _over(self) -> bool:
        core = self._core
        for row in [row for row in core.head.tasks.values() if row.state == "interrupted"]:
            while (now := core.row(row.id)).state == "interrupted" and not now.gate:
                await recover(core, now)
        if not (self._always or self.questions()):
            return True
        await self.look()
        self.known.set()
        asking = asyncio.ensure_future(self._evaluate())
        try:
            return await self._let_go()
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _let_go(self) -> bool:
        core = self._core
        while not self._begun and core.head.run.state != "draining":
            if not self._always and not self.questions():
                break  # everything was answered from elsewhere
            if not core.person:
                return False
            await core.signals.next(Subject.RECOVERY).wait()
        return True

    async def _evaluate(self) -> None:
        """Ask the evaluator for proposals, where the settings name one and a task needs judging."""
        core = self._core
        if self._evaluator is None or not self.facts.tasks:
            return
        self.evaluating = "the evaluator is at work"
        found = await evaluate(self._evaluator, self.facts, environ=core.environ, clock=core.clock)
        self.evaluating = found.problem
        for task, proposal in found.proposals.items():
            row = core.row(task)
            event = e.RecoveryProposed(choice=proposal.choice, reason=proposal.reason, evaluator=proposal.evaluator)
            core.append(event, task=task, attempt=row.attempt, actor="agent")

    def questions(self) -> tuple[GateRow, ...]:
        """The attempts that are still to be decided."""
        return tuple(row for row in self._core.head.open_gates() if row.gate.type == "recovery")

    async def look(self) -> RecoveryState:
        """Look at everything again."""
        core = self._core
        store = core.checkpoints if core.repository is not None else None
        for row in [row for row in core.head.tasks.values() if was_cut_off(row)]:
            seen = await observe(core.head, row, core.tree_of(row), store, output=core.folder / "output")
            before = self._seen.get(row.id)
            self._seen[row.id] = seen.model_copy(update={"check": before.check if before else None})
        return self._put_together()

    async def check(self, task: str) -> CheckFacts:
        """Return the present result of the task's check, within the check's time limit."""
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
                    answer_gate(self._core.journal, gate.id, Answer(choice=choice), via="screen")
                except GateError as error:
                    refused[gate.gate.task] = str(error)
        await self._core.journal.committed()
        return refused

    def keep_open(self) -> None:
        """A person is there: no question is answered automatically any more."""
        for gate in self.questions():
            keep_open(self._core, gate.id)

    def begin(self) -> None:
        """Release the run."""
        self._begun = True
        self._core.signals.wake(Subject.RECOVERY)

    def leave(self) -> None:
        """Leave without a decision: orphans continue as they were found, and the questions stay open."""
        core = self._core
        for attempt, (survivor, _) in core.live.orphans.items():
            thaw = getattr(survivor, "thaw", None)
            if thaw is not None:
                thaw(attempt)
        core.live.orphans.clear()
        if not core.head.open_gates():
            core.append(e.StopRequested(reason="left before anything was decided"), actor="human")
