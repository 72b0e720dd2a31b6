"""Answers to questions of a run without a live process. The run uses them when it is resumed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from unstuck.clock import SystemClock
from unstuck.contract import Answer, Gate
from unstuck.errors import AnswerRefused, GateClosed, GateUnknown, ProjectLocked, RecordError, UnstuckError
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.log.load_state import is_watch
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.eventlog.storage.lock import RUN_LOCK, WATCH_LOCK, ProjectLock
from unstuck.eventlog.storage.run_store import run_names
from unstuck.processes import agent_sign
from unstuck.rows.row_writer import RowWriter
from unstuck.runs.queries.run_list import state_of
from unstuck.supervision.gates.service import answer_gate
from unstuck.supervision.memory.answer_memory import remember_given
from unstuck.workspace.project import Project

_TRIES, _PAUSE = 100, 0.05  # the pause is in seconds


async def answer_offline(place: Project, gate: str, answer: Answer, *, via: str = "file") -> tuple[str, Gate]:
    """Record the answer in the log of the run that has this gate.

    Raises GateUnknown, GateClosed, ProjectLocked, and AnswerRefused if no agent can receive the answer any more.
    """
    run = _run_with(place, gate)
    try:
        async with offline_journal(place, run) as journal:
            if journal.head.run.kind == "watch":
                raise AnswerRefused(f"the watch that asked {gate} has ended, so it cannot take an answer")
            closed = answer_gate(journal, gate, answer, via=via)
            await journal.committed()
            memory = Memory(memory_file(place.home))
            with suppress(RecordError):
                memory.load()
                remember_given(memory, run, journal.head.gates[gate])
                memory.sync()
    except ProjectLocked:
        _require_open(place, run, gate)  # what holds the lock may have been given the answer of another
        raise
    return run, closed


@asynccontextmanager
async def offline_journal(place: Project, run: str) -> AsyncIterator[Journal]:
    """Open the log of a run without a live process for a person. Raises ProjectLocked, and AnswerRefused for an agent.

    Nothing else works on such a run meanwhile.
    """
    clock = SystemClock()
    lock = ProjectLock(place.home / (WATCH_LOCK if is_watch(place.runs / run) else RUN_LOCK), run=run)
    await _acquire(lock)
    try:
        journal = await Journal.open(place.runs / run, run=run, clock=clock)
        rows = RowWriter(journal, clock)
        try:
            if sign := agent_sign(os.getpid(), journal.head.agents(), journal.head.run.unwatched):
                raise AnswerRefused(f"an agent may not answer: this question needs a person ({sign})")
            yield journal
        finally:
            await journal.close()
            await rows.close()
    finally:
        lock.release()


def _require_open(place: Project, run: str, gate: str) -> None:
    """Raise GateClosed where the log has an answer to ``gate`` by now."""
    state, _ = state_of(place, run)
    row = state.gates.get(gate)
    if row is not None and row.status != "open":
        raise GateClosed(gate, row.by or "the supervisor", row.closed)


async def _acquire(lock: ProjectLock) -> None:
    """Take the lock, which another answer may hold for a moment. Raises ProjectLocked."""
    for _ in range(_TRIES):
        with suppress(ProjectLocked):
            lock.acquire()
            return
        await asyncio.sleep(_PAUSE)
    lock.acquire()


def _run_with(place: Project, gate: str) -> str:
    """Return the run that asked this. Raises GateUnknown, and RecordError for a damaged log and one behind a link."""
    problem: UnstuckError = GateUnknown(gate)
    for run in reversed(run_names(place.runs)):
        try:
            state, damage = state_of(place, run)
        except RecordError as error:
            problem = error if (place.runs / run).is_symlink() else problem
            continue
        if gate in state.gates:
            if damage is not None:
                raise damage
            return run
    raise problem
