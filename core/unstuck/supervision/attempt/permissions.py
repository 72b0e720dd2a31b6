"""Permissions: a call that needs one waits for a person's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from unstuck.contract import DENIED, Capabilities, Denial, Directive, Gate, Observation, Report, Scope
from unstuck.escalation.permission_rules import allowed, rules_for
from unstuck.eventlog import events as e
from unstuck.eventlog.memory.permission_file import kept_rules
from unstuck.eventlog.state import GateRow, State, TaskRow
from unstuck.supervision.attempt.observer import Holding, permission_key
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.gate_types import gives_permission
from unstuck.supervision.gates.live_questions import ask
from unstuck.supervision.gates.service import standing_of
from unstuck.text import Clean, admit, one_line

NOBODY = Clean("Nobody may be asked whether this is allowed, so it is not. Do without it.")
_NOT_ASKED = Clean("This was not allowed: it could not be asked.")
_TEXT_LIMIT = 2_000


class Grant(NamedTuple):
    """A permission rule of a run: its scope, and the task and the question that gave it."""

    rule: str
    scope: Scope
    task: str
    gate: str


def grants(state: State) -> Iterator[Grant]:
    """Yield the permission rules that persons and answer rules have given for longer than once."""
    for row in state.gates.values():
        answer = row.answer
        if answer is None or not gives_permission(row.gate, answer):
            continue
        # A call of an agent that only runs is allowed for the run, because it comes again in a later attempt.
        scope = "run" if row.gate.type == "question" and answer.scope == "once" else answer.scope
        if scope != "once":
            yield from (Grant(str(rule), scope, row.gate.task, row.id) for rule in row.gate.context["rules"])


def granted(state: State, row: TaskRow) -> tuple[str, ...]:
    """Return the permission rules in force for ``row``, also those that its user has given for always."""
    # One for always is in the user's file, where it may have been revoked since.
    own = (one.rule for one in grants(state) if one.scope == "run" or (one.scope == "task" and one.task == row.id))
    return tuple(dict.fromkeys((*kept_rules(), *own)))


def unsettled(state: State, row: TaskRow, report: Report) -> tuple[Denial, ...]:
    """Return the denials of ``report`` without those that a person wants ``row`` to do without."""
    settled = {
        one.gate.context.get("call")
        for one in state.gates_of(row.id)
        if one.gate.key == DENIED and one.effect == "prepare"
    }
    return tuple(one for one in report.denied if one.what not in settled)


class Permitting:
    """Asks for the calls of a live attempt one after the other."""

    def __init__(self, core: RunContext, task: str, can: Capabilities, holding: Holding) -> None:
        self._core, self._task, self._can, self._holding = core, task, can, holding
        self._one_at_a_time = asyncio.Lock()
        self.denied: list[Denial] = []

    async def permit(self, observation: Observation, *, why: Clean) -> Directive:
        """Return the answer to this action. A loop or another open question is settled first."""
        async with self._one_at_a_time:
            held = await self._holding.step(observation, within=None)
            if held.kind in ("deny", "stop"):
                return held
            if (given := self._given_before(observation)) is not None:
                return await self._holding.hand_over(given, observation.id)
            row = self._core.row(self._task)
            if allowed(granted(self._core.head, row), observation.tool, observation.text):
                return Directive(kind="go_on")
            if not self._core.may_ask:
                self.denied.append(
                    Denial(what=one_line(observation.text, 300), rules=rules_for(observation.tool, observation.text))
                )
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
        for row in self._core.head.gates_of(self._task):
            gate = row.gate
            waits = (gate.type, row.status) == ("permission", "answered")
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
            "rules": list(rules_for(observation.tool, observation.text)),
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
