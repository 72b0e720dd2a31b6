"""Questions about agents at work: the agents are suspended, their files saved, and then the gate is opened.

A question that is not open yet exists in this process alone. A kill loses nothing: an ended attempt has
no question, and a budget that is used up leads to its question again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from unstuck.errors import RecordError
from unstuck.supervision.checkpointing import IDLE, saved_before, saved_before_all
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.types import RUN, Question

RUNS_ON = "the agent runs on and changes its files"
"""The reason why no files are saved of an agent that cannot be suspended."""


def ask(core: RunContext, question: Question) -> None:
    """Save the files of ``question``, then open its gate; at once where there is nothing to save.

    The agents that it is about are suspended from now on.
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
    """Return whether a question about ``attempt``, or about the whole run, is about to be opened."""
    return attempt in core.live.asking or RUN in core.live.asking


async def stop_asking(core: RunContext) -> None:
    """Cancel the questions that are not open yet."""
    asking = list(core.live.asking.values())
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


async def _asked(core: RunContext, question: Question, began: float) -> None:
    try:
        # A log that cannot be written ends the run at its next check.
        with suppress(RecordError):
            if _is_due(core, question):
                is_about_run = question.attempt == RUN
                saved = await (saved_before_all(core) if is_about_run else saved_before(core, core.row(question.task)))
            if _is_due(core, question):
                _open(core, question, saved, stood=core.clock.monotonic() - began)
    finally:
        del core.live.asking[question.attempt]
        core.signals.wake_all()


def _is_due(core: RunContext, question: Question) -> bool:
    """Return whether the question still applies after the files were saved."""
    run = core.head.run
    if question.attempt == RUN:
        return run.over == question.key and run.state in ("running", "blocked")
    row, attempt = core.row(question.task), core.head.attempts[question.attempt]
    stopping = attempt.state == "stopping" or run.state == "draining"
    return row.state == "running" and row.attempt == question.attempt and attempt.is_live and not stopping


def _open(core: RunContext, question: Question, saved: dict[str, Any], *, stood: float = 0.0) -> None:
    from unstuck.supervision.gates.service import open_gate

    if question.type == "permission":
        # There ``checkpoint`` is the subject of the question, not the copy of the files.
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
