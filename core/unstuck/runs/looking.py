"""Looking at runs without changing them, and answering a gate of a run that nobody works on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
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
from unstuck.record.checking import readable
from unstuck.record.journal import LOG_NAME, Journal
from unstuck.record.lock import ProjectLock
from unstuck.record.memory import Memory
from unstuck.record.runs import run_names
from unstuck.record.state import State
from unstuck.record.usage import usage_by_rung, usage_of
from unstuck.settings import runtime_dir
from unstuck.supervision.asking import answer_gate
from unstuck.supervision.learning import remember_given
from unstuck.workspace.project import Project

__all__ = ["answer_offline", "answer_online", "find_run", "run_rows", "show_rows", "state_of"]

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
    return readable(place.runs / run / LOG_NAME)


def run_rows(place: Project) -> Iterator[dict[str, Any]]:
    """One row for each run, oldest first; a log that cannot be read says so in its row."""
    for run in run_names(place.runs):
        try:
            state, damage = state_of(place, run)
        except RecordError as error:
            yield {"run": run, "state": "damaged", "problem": str(error)}
            continue
        yield run_row(run, state) | ({"state": "damaged", "problem": str(damage)} if damage else {})


def run_row(run: str, state: State) -> dict[str, Any]:
    """The row of one run."""
    counts = Counter(row.status or row.state for row in state.tasks.values())
    return {
        "run": run,
        "state": state.run.state,
        "started": state.run.started,
        "kind": state.run.kind,
        "exit_reason": state.run.exit_reason,
        "exit_code": state.run.exit_code,
        "tasks": dict(counts),
        "open_gates": len(state.open_gates()),
    }


def show_rows(run: str, state: State) -> Iterator[dict[str, Any]]:
    """The run, then its tasks, then its open gates."""
    yield run_row(run, state) | {
        "tokens": state.run.tokens,
        "cost": state.run.cost,
        "seconds": round(state.run.used("time", state.mono), 1),
        "budget": dict(state.run.limits),
    }
    for row in state.tasks.values():
        diagnosis, used = row.diagnosis, usage_of(state, row)
        yield {
            "task": row.id,
            "state": row.state,
            "status": row.status,
            "level": row.level,
            "attempts": row.attempts,
            "needs": list(row.task.needs),
            "headline": diagnosis.headline if diagnosis else "",
            "location": (diagnosis.signature.location or "") if diagnosis else "",
            "error_type": diagnosis.signature.error_type.value if diagnosis else "",
            "reason": row.reason,
            "checkpoint": row.good,
            "tokens": used.tokens,
            "cost": used.cost,
            "rungs": {rung: asdict(spent) for rung, spent in usage_by_rung(state, row).items()},
        }
    for gate in state.open_gates():
        yield {
            "gate": gate.id,
            "type": gate.gate.type,
            "task": gate.gate.task,
            "opened": gate.opened,
            "choices": [choice.replace("_", "-") for choice in gate.gate.choices],
            "standing": gate.gate.standing,
            "context": dict(gate.gate.context),
        }


def answer_online(place: Project, gate: str, answer: Answer, environ: dict[str, str]) -> bool:
    """Give the answer to the live run; False where none is live. Raises AnswerRefused with what it said."""
    message = {
        "v": 1,
        "do": "answer",
        "gate": gate,
        "choice": answer.choice,
        "text": answer.text,
        "number": answer.number,
        "scope": answer.scope,
    }
    try:
        reply = call(socket_path(runtime_dir(environ), place.home), message, timeout=30.0)
    except (ChannelError, OSError):
        return False
    if "error" in reply:
        raise AnswerRefused(str(reply["error"]))
    return True


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
            memory = Memory(place.home / "memory.jsonl")
            with suppress(RecordError):
                memory.load()
                remember_given(memory, run, journal.head.gates[gate])
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
