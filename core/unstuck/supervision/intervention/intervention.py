"""Interventions of a person: an agent at work is held, and gets the person's decision.

An intervention is a question that the person has opened: it is recorded, shown and answered, and outlives a
kill like any other. No rule and no timer answers it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from unstuck.contract import HELD, IN_WAIT, Answer, Gate
from unstuck.errors import AnswerRefused, UsageError
from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.live_questions import is_asking
from unstuck.supervision.gates.service import answer_gate, open_gate
from unstuck.supervision.intervention.allowed import NextRung, why_not
from unstuck.supervision.memory.failure_memory import ways_for
from unstuck.supervision.standalone.timeout_monitor import timeout_context
from unstuck.text import admit

CHOICES = ("show_me", "retry", "continue", "skip", "abandon")
BEFORE_IT_BEGINS = ("continue", "skip", "abandon")
_NOT_BEGUN = "nothing: no agent has begun"


async def hold(core: RunContext, task: str) -> str:
    """Hold the agent of ``task``; return the id of the question that it waits for.

    Its files are saved first. A task that has not begun, or waits for a service, waits for the answer. Raises
    UsageError where there is nothing to hold.
    """
    row = core.head.tasks.get(task)
    if row is not None and row.state in ("blocked", "ready", "backoff") and not why_not(core.head, row, "hold"):
        return _keep_from_starting(core, row)
    return await _asked(core, task, _held_question(core, task))


def _keep_from_starting(core: RunContext, row: TaskRow) -> str:
    waits = row.state == "backoff"
    context = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "question": f"You held it {'while it waited' if waits else 'before it started'}. What next?",
        "checkpoint": "",
        "not_saved": "nothing: no agent is at work" if waits else _NOT_BEGUN,
        **({IN_WAIT: True} if waits else {}),
    }
    gate = open_gate(core, "question", task=row.id, key=HELD, context=context, choices=BEFORE_IT_BEGINS, actor="human")
    core.signals.wake(Subject.TASK, row.id)
    return gate


async def step_in(core: RunContext, task: str, answer: Answer, via: str) -> Gate | None:
    """Hold ``task``, unless it is held already, and answer its question; None where nothing had to be held.

    Raises UsageError where it cannot be held, AnswerRefused where its question takes another answer.
    """
    row = core.head.tasks.get(task)
    waits = row is not None and row.state in ("blocked", "ready", "backoff", "parked") and not row.gate
    if waits and (answer.choice == "skip" or answer.choice == "abandon"):
        status: Literal["skipped", "abandoned"] = "skipped" if answer.choice == "skip" else "abandoned"
        core.append(e.TaskEnded(task_id=task, status=status, reason=admit(answer.text)), task=task, actor="human")
        return None
    if row is not None and waits:
        raise UsageError(f"{task}: {why_not(core.head, row, 'show_me')}")
    gate = await hold(core, task)
    refuse_in_hands(core, task)
    return answer_gate(core.journal, gate, answer, via=via)


def refuse_in_hands(core: RunContext, task: str) -> None:
    """Raise AnswerRefused during a takeover of ``task``: nothing may reach its agent meanwhile."""
    if task and core.takeovers.has(task):
        raise AnswerRefused(f"{task}: it is being edited by hand; answer when that has ended")


def choose_rung(core: RunContext, task: str, level: NextRung) -> None:
    """Choose the next step of ``task`` and end an agent at work. Raises UsageError, AnswerRefused."""
    row = core.head.tasks.get(task)
    if row is None:
        raise UsageError(f"there is no task {task}")
    refuse_in_hands(core, task)
    why = why_not(core.head, row, level)
    if not why and level == "pivot" and row.diagnosis and not ways_for(core.memory, core.limits, row, core.clock.now()):
        why = "no other approach is left for its failure: name one"
    if not why and level == "human" and not core.may_ask:
        why = "this run never asks a person"
    if why:
        raise UsageError(f"{task}: {why}")
    core.append(e.RungChosen(task_id=task, level=level), task=task, attempt=row.attempt, actor="human")


async def extend(core: RunContext, task: str, seconds: float, via: str) -> Gate:
    """Give the attempt at ``task`` so many seconds from now on. Raises UsageError, AnswerRefused."""
    gate = await _asked(core, task, _time_question(core, task))
    if core.head.gates[gate].gate.type != "timeout":
        raise AnswerRefused(f"{task} waits for an answer: its timeouts are paused")
    return answer_gate(core.journal, gate, Answer(choice="extend", number=seconds), via=via)


async def _asked(core: RunContext, task: str, question: Question | None) -> str:
    row = core.head.tasks.get(task)
    if row is None:
        raise UsageError(f"there is no task {task}")
    gate = core.head.gates.get(row.gate)
    if gate is not None and gate.status == "open":
        return gate.id
    questioned = core.live.ask.get(row.attempt)
    if question is None or row.state != "running" or questioned is None:
        raise UsageError(f"no agent works at {task} at the moment")
    if not is_asking(core, row.attempt):
        questioned(question)
    if asking := core.live.asking_about(row.attempt):
        await asyncio.wait([asking])
    now = core.row(task)
    gate = core.head.gates.get(now.gate)
    if gate is None or gate.status != "open":
        if (now.attempt, now.state) == (row.attempt, "running"):
            raise AnswerRefused(f"{task} was decided about at the same time")
        raise UsageError(f"the attempt at {task} has just ended")
    return gate.id


def _held_question(core: RunContext, task: str) -> Question | None:
    row = core.head.tasks.get(task)
    if row is None or not row.attempt:
        return None
    context: dict[str, Any] = {
        "task_id": task,
        "agent_id": row.task.agent or row.task.agent_type,
        "question": "You held it. What next?",
    }
    return Question(
        type="question", key=HELD, context=context, task=task, attempt=row.attempt, choices=CHOICES, actor="human"
    )


def _time_question(core: RunContext, task: str) -> Question | None:
    row = core.head.tasks.get(task)
    attempt = core.head.attempts.get(row.attempt) if row is not None else None
    if row is None or attempt is None:
        return None
    if attempt.deadline is None and row.gate == "":
        raise UsageError(f"no clock runs for {task}")
    now = core.clock.monotonic()
    context = timeout_context(
        task_id=task,
        agent_id=row.task.agent or row.task.agent_type,
        elapsed=now - attempt.started,
        limit=attempt.limit,
        started_at=core.clock.now() - (now - attempt.started),
    )
    return Question(
        type="timeout", key="wall", context=context | {"clock": "wall"}, task=task, attempt=attempt.id, actor="human"
    )
