"""Permissions: a call that needs one waits for a person's answer."""

from __future__ import annotations

import asyncio

from unstuck.contract import Capabilities, Directive, Gate, Observation
from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow
from unstuck.supervision.attempt.observer import Holding, permission_key
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.live_questions import ask
from unstuck.supervision.gates.service import standing_of
from unstuck.text import Clean, admit

NOBODY = Clean("Nobody may be asked whether this is allowed, so it is not. Do without it.")
_NOT_ASKED = Clean("This was not allowed: it could not be asked.")
_TEXT_LIMIT = 2_000


class Permitting:
    """Asks for the calls of a live attempt one after the other."""

    def __init__(self, core: RunContext, task: str, can: Capabilities, holding: Holding) -> None:
        self._core, self._task, self._can, self._holding = core, task, can, holding
        self._one_at_a_time = asyncio.Lock()

    async def permit(self, observation: Observation, *, why: Clean) -> Directive:
        """Return the answer to this action. A loop or another open question is settled first."""
        async with self._one_at_a_time:
            held = await self._holding.step(observation, within=None)
            if held.kind in ("deny", "stop"):
                return held
            if (given := self._given_before(observation)) is not None:
                return await self._holding.hand_over(given, observation.id)
            if not self._core.may_ask:
                return Directive(kind="deny", text=NOBODY)
            self._ask(observation, why)
            return await self._holding.hold(observation, None) or Directive(kind="deny", text=_NOT_ASKED)

    def withdraw(self, attempt: str) -> None:
        """Withdraw the questions of the calls that waited when the attempt ended."""
        for row in self._core.head.open_gates():
            if row.gate.type == "permission" and row.gate.attempt == attempt:
                event = e.GateWithdrawn(gate=row.id, reason="the attempt has ended")
                self._core.append(event, task=self._task, attempt=attempt)

    def _given_before(self, observation: Observation) -> GateRow | None:
        """The answer to the same call of an attempt that was interrupted before it got the answer.

        The calls must be equal in every character: a person has not seen the middle of a long one.
        """
        called = observation.text, observation.tool
        live = self._core.row(self._task).attempt
        for row in self._core.head.gates.values():
            gate = row.gate
            waits = (gate.type, gate.task, row.status) == ("permission", self._task, "answered")
            if waits and gate.attempt not in (None, live) and _called(gate) == called:
                return row
        return None

    def _ask(self, observation: Observation, why: Clean) -> None:
        row = self._core.row(self._task)
        context = {
            "task_id": self._task,
            "agent_id": row.task.agent or row.task.agent_type,
            "problem": _said(observation),
            "tool": observation.tool,
        }
        if why:
            context["context"] = admit(why, limit=_TEXT_LIMIT)
        question = Question(
            type="permission",
            key=permission_key(row.attempt, observation),
            context=context,
            task=self._task,
            attempt=row.attempt,
            standing=standing_of(self._can),
        )
        ask(self._core, question)


def _called(gate: Gate) -> tuple[object, object]:
    return gate.context.get("problem"), gate.context.get("tool")


def _said(observation: Observation) -> Clean:
    return admit(observation.text, limit=_TEXT_LIMIT)
