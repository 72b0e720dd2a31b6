"""Questions about agents that are at work: they stand still, their files are saved, and then the gate is opened.

What is about to be asked is known to this process alone. A kill in between loses nothing: an attempt that has ended has
no question any more, and a budget that is used up is asked about again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from unstuck.errors import RecordError
from unstuck.supervision.checkpointing import IDLE, saved_before, saved_before_all
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.types import RUN, Question
from unstuck.supervision.gates.service import open_gate

__all__ = ["RUNS_ON", "ask", "is_asking", "stop_asking"]

RUNS_ON = "the agent runs on and changes its files"
"""Why nothing is saved of an agent that cannot be made to stand still."""


def ask(core: RunContext, question: Question) -> None:
    """Save what ``question`` is about, then open its gate; at once where there is nothing that could be saved.

    Whoever is asked about stands still from now on.
    """
    if question.attempt in core.live.asking:
        return
    if question.standing == "runs_on":
        _open(core, question, {"checkpoint": "", "not_saved": RUNS_ON})
    elif question.attempt == RUN and not any(row.is_live for row in core.head.attempts.values()):
        _open(core, question, {"checkpoint": "", "not_saved": IDLE})
    else:
        core.live.asking[question.attempt] = asyncio.ensure_future(_asked(core, question, core.clock.monotonic()))
        for attempt, stand_still in core.live.keep_time.items():
            if is_asking(core, attempt):
                stand_still()


def is_asking(core: RunContext, attempt: str) -> bool:
    """Whether a question about ``attempt``, or about the whole run, is about to be opened."""
    return attempt in core.live.asking or RUN in core.live.asking


async def stop_asking(core: RunContext) -> None:
    """The run is left: nothing that has not been asked is asked any more."""
    asking = list(core.live.asking.values())
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


async def _asked(core: RunContext, question: Question, began: float) -> None:
    try:
        # A record that cannot be written any more ends the run wherever it is next looked at.
        with suppress(RecordError):
            if _is_due(core, question):
                saved = await _saved(core, question)
            if _is_due(core, question):
                _open(core, question, saved, stood=core.clock.monotonic() - began)
    finally:
        del core.live.asking[question.attempt]
        core.signals.wake_all()


async def _saved(core: RunContext, question: Question) -> dict[str, Any]:
    return await (saved_before_all(core) if question.attempt == RUN else saved_before(core, core.row(question.task)))


def _is_due(core: RunContext, question: Question) -> bool:
    """Whether what is asked about is still there after its files were saved."""
    run = core.head.run
    if question.attempt == RUN:
        return run.over == question.key and run.state in ("running", "blocked")
    row, attempt = core.row(question.task), core.head.attempts[question.attempt]
    stopping = attempt.state == "stopping" or run.state == "draining"
    return row.state == "running" and row.attempt == question.attempt and attempt.is_live and not stopping


def _open(core: RunContext, question: Question, saved: dict[str, Any], *, stood: float = 0.0) -> None:
    if question.type == "permission":
        # There a checkpoint is what is asked about, not where the files are safe.
        saved = {"saved" if key == "checkpoint" else key: value for key, value in saved.items()}
    gate = open_gate(
        core,
        question.type,
        task=question.task,
        key=question.key,
        context=question.context | saved,
        attempt=question.attempt,
        standing=question.standing,
        found=question.found,
        choices=question.choices,
        actor=question.actor,
        stood=stood if question.standing == "frozen" else 0.0,
    )
    question.opened(gate)
