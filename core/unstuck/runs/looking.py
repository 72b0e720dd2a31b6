"""Looking at runs without changing them, and answering a gate of a run that nobody works on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from unstuck.channel import call, socket_path
from unstuck.clock import SystemClock
from unstuck.contract import Answer, Gate
from unstuck.errors import (
    AnswerRefused,
    ChannelError,
    GateUnknown,
    ProjectLocked,
    RecordDamaged,
    RecordError,
    UsageError,
)
from unstuck.record.journal import Journal
from unstuck.record.load import joined, load_by_day
from unstuck.record.lock import ProjectLock, read_holder
from unstuck.record.memory import Memory, memory_file
from unstuck.record.reader import RunReader
from unstuck.record.runs import run_names
from unstuck.record.state import State
from unstuck.runs.rows import run_row
from unstuck.settings import runtime_dir
from unstuck.supervision.asking import answer_gate
from unstuck.supervision.learning import remember_given
from unstuck.workspace.project import Project

__all__ = [
    "answer_message",
    "answer_offline",
    "answer_online",
    "day_rows",
    "find_run",
    "is_live",
    "run_rows",
    "state_of",
    "states_of",
]

_TRIES, _PAUSE = 100, 0.05  # the pause is in seconds


def find_run(place: Project, wanted: str) -> str:
    """The id of the run that ``wanted`` names: an id, the unique beginning of one, or ``last``, the newest one."""
    found = run_names(place.runs)
    if wanted == "last" and found:
        return found[-1]
    matching = [run for run in found if run == wanted] or [run for run in found if run.startswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    if not found:
        raise UsageError(f"there is no run in this project yet ({place.root})")
    if matching:
        raise UsageError(f"{wanted} could be any of: {', '.join(matching[:5])}")
    raise UsageError(f"there is no run {wanted}; `unstuck runs` lists them")


def state_of(place: Project, run: str) -> tuple[State, RecordDamaged | None]:
    """What the log of ``run`` tells, up to its damage if it has any. Raises RecordError where it cannot be read."""
    return RunReader(place.runs / run).state()


def run_rows(place: Project, *, newest: int = 0) -> Iterator[dict[str, Any]]:
    """One row for each run, oldest first, or for so many of the ``newest``.

    A log that cannot be read says so in its row.
    """
    now = SystemClock().now()
    for run in run_names(place.runs)[-newest:]:
        try:
            state, damage = state_of(place, run)
        except RecordError as error:
            yield {"run": run, "state": "damaged", "problem": str(error)}
            continue
        yield run_row(run, state, now) | ({"state": "damaged", "problem": str(damage)} if damage else {})


def states_of(place: Project, runs: Iterable[str], complain: Callable[[str], None]) -> Iterator[tuple[str, State]]:
    """What is known of each of ``runs``; ``complain`` hears what could not be read: what stands before it counts."""
    for run in runs:
        try:
            state, damage = state_of(place, run)
        except RecordError as error:
            complain(str(error))
            continue
        if damage is not None:
            complain(f"{damage}; counted is what stood before")
        yield run, state


def day_rows(place: Project, complain: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """What was asked of people on each day, in all runs together; ``complain`` as for :func:`states_of`."""
    now = SystemClock().now()
    states = states_of(place, run_names(place.runs), complain)
    for day, load in joined(load_by_day(state, now) for _, state in states).items():
        yield {"day": day, **load.as_dict()}


def is_live(place: Project, run: str) -> bool:
    """Whether somebody works on ``run`` now. A supervisor on another machine is believed to, as long as it says so."""
    holder = read_holder(place.home / "lock")
    if holder is None or holder.run != run:
        return False
    from unstuck.processes import is_alive  # a finished run is looked at without it

    return bool(holder.host) or is_alive(holder.pid, holder.started)


def answer_online(place: Project, gate: str, answer: Answer, environ: dict[str, str]) -> bool:
    """Give the answer to the live run; False where none is live. Raises AnswerRefused with what it said."""
    try:
        reply = call(socket_path(runtime_dir(environ), place.home), answer_message(gate, answer), timeout=30.0)
    except (ChannelError, OSError):
        return False
    if "error" in reply:
        raise AnswerRefused(str(reply["error"]))
    return True


def answer_message(gate: str, answer: Answer) -> dict[str, Any]:
    """An answer as it goes through the socket of a live run."""
    return {
        "do": "answer",
        "gate": gate,
        "choice": answer.choice,
        "text": answer.text,
        "number": answer.number,
        "scope": answer.scope,
    }


async def answer_offline(place: Project, gate: str, answer: Answer) -> tuple[str, Gate]:
    """Record the answer in the log of the run that has this gate.

    Raises GateUnknown, GateClosed, ProjectLocked, and AnswerRefused where nobody can ever hear it.
    """
    run = _run_with(place, gate)
    lock = ProjectLock(place.home / "lock", run=run)
    await _acquire(lock)
    try:
        journal = await Journal.open(place.runs / run, run=run, clock=SystemClock())
        try:
            if journal.head.run.kind == "watch":
                raise AnswerRefused(f"the watch that asked {gate} has ended, so nobody is left to hear the answer")
            closed = answer_gate(journal, gate, answer)
            await journal.committed()
            memory = Memory(memory_file(place.home))
            with suppress(RecordError):
                memory.load()
                remember_given(memory, run, journal.head.gates[gate])
                memory.sync()
        finally:
            await journal.close()
    finally:
        lock.release()
    return run, closed


async def _acquire(lock: ProjectLock) -> None:
    """Take the lock; somebody else who is only answering, too, has it for a moment. Raises ProjectLocked."""
    for _ in range(_TRIES):
        with suppress(ProjectLocked):
            lock.acquire()
            return
        await asyncio.sleep(_PAUSE)
    lock.acquire()


def _run_with(place: Project, gate: str) -> str:
    """The run that asked this. Raises GateUnknown, and RecordDamaged where nothing can be added to its log."""
    for run in reversed(run_names(place.runs)):
        try:
            state, damage = state_of(place, run)
        except RecordError:
            continue
        if gate in state.gates:
            if damage is not None:
                raise damage
            return run
    raise GateUnknown(gate)
