"""Questions that a live agent asks in a call: the call waits and returns the answer.

Such an agent is held by its own call, so it is neither suspended nor stopped for the answer. When the call ends before
the agent has the answer, the question stays open like any other: the agent is suspended or
held at its next step, and gets the answer there, in its next attempt, or when it asks the same again.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.live_questions import ask, is_asking
from unstuck.supervision.memory.answer_memory import keep_rules
from unstuck.supervision.memory.failure_memory import keep_safe

_UNHEARD = ("open", "answered", "sent")


class Call:
    """One call of the agent at work in ``question.attempt``; ``id`` is its own name for it.

    It has to be closed; a closed call delivers no answer.
    """

    def __init__(self, core: RunContext, question: Question, id: str = "") -> None:
        self._core, self._id = core, id
        self._question = replace(question, standing="held", opened=self._carry)
        self._gate = ""
        self._over = False

    def close(self) -> None:
        core, gate = self._core, self._gate
        self._over, self._gate = True, ""
        if gate and (left := core.live.calls.pop(gate) - 1):
            core.live.calls[gate] = left
        core.signals.wake(Subject.ATTEMPT, self._question.attempt)

    async def answered(self) -> GateRow | None:
        """Wait for the question to close; return it durable and recorded as sent, or None where none was opened.

        None is opened where the attempt ends first.
        """
        core = self._core
        while not self._gate:
            core.journal.require()
            if not self._is_live():
                return None
            if gate := self._asked_before():
                self._carry(gate)
            elif is_asking(core, self._question.attempt):
                await self._until_asked()
            else:
                ask(core, self._question)
        await self._until_closed()
        row = core.head.gates[self._gate]
        if row.status == "answered":
            await self._send(row)
        await core.journal.committed()
        return row

    async def delivered(self) -> None:
        """Record that the agent has the result of the call."""
        row = self._core.head.gates.get(self._gate)
        if row is not None and row.status == "sent":
            event = e.AnswerDelivered(gate=row.id)
            self._core.append(event, task=row.gate.task, attempt=row.gate.attempt or "")
            await self._core.journal.committed()

    def _carry(self, gate: str) -> None:
        if not self._over:
            self._gate = gate
            self._core.live.calls[gate] = self._core.live.calls.get(gate, 0) + 1
            self._core.signals.wake(Subject.ATTEMPT, self._question.attempt)

    def _is_live(self) -> bool:
        core, question = self._core, self._question
        row, attempt = core.row(question.task), core.head.attempts.get(question.attempt)
        live = attempt is not None and attempt.is_live and attempt.state != "stopping"
        at_work = row.state == "running" and row.attempt == question.attempt
        return live and at_work and core.head.run.state != "draining"

    def _asked_before(self) -> str:
        """The same question of this attempt, open or with an answer that the agent has not received."""
        question = self._question
        for row in self._core.head.gates_of(question.task):
            same = (row.gate.attempt, row.gate.type, row.gate.key) == (question.attempt, question.type, question.key)
            if same and row.status in _UNHEARD:
                return row.id
        return ""

    async def _until_asked(self) -> None:
        asking = self._core.live.asking_about(self._question.attempt)
        if asking is not None:
            await asyncio.wait([asking])

    async def _until_closed(self) -> None:
        core = self._core
        while core.head.gates[self._gate].status == "open":
            core.journal.require()
            await core.signals.next(Subject.GATE, self._gate).wait()

    async def _send(self, row: GateRow) -> None:
        """Record that the answer is on its way to the agent in this call."""
        core, gate = self._core, row.gate
        core.detector.answered(gate.task)
        keep_rules(core, (row.id,))
        await keep_safe(core)
        sent = e.AnswerSent(gate=row.id, call=self._id, incarnation=gate.attempt or "")
        core.append(sent, task=gate.task, attempt=gate.attempt or "")
