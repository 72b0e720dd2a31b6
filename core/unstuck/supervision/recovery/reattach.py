"""Orphans of a resumed run: ended or taken over, and recorded either way.

An agent dies with its supervisor where the platform allows, so what is found here is an agent or a child of one that
has freed itself of that. The process that takes it over is not its parent: its exit code is lost, its output has no
reader, and the check alone judges its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from unstuck.contract import APART, Actor, Answer, Capabilities, Gate, Guidance, Observer, Receipt, Report, Task
from unstuck.eventlog import events as e
from unstuck.eventlog.state import AttemptRow
from unstuck.processes import Remains, account_of, end_survivors, helpers_done, works_elsewhere
from unstuck.supervision.checkpointing import saved_before
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.gates.gate_timers import timer_of
from unstuck.supervision.gates.gate_types import SURVIVOR_CHOICES
from unstuck.supervision.gates.service import open_gate, standing_of
from unstuck.supervision.recovery.interrupted_attempt import chosen_for
from unstuck.supervision.recovery.observations import named_processes
from unstuck.text import admit

_SHOWN = 20


class Survivor:
    """Remaining processes of an attempt as an agent; :meth:`attempt` waits for its end."""

    can = Capabilities(hold="freeze", stop=True)

    def __init__(self, remains: Remains, output: Path) -> None:
        self._remains, self._output = remains, output

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Wait until nothing of it is at work any more."""
        await self._remains.over()
        if not self._output.exists():
            return Report()
        size = self._output.stat().st_size
        return Report(output=admit(f"{self._output.parent.name}/{self._output.name}"), output_at=(0, size))

    async def stop(self, attempt: str) -> Receipt:
        return await self._remains.end()

    def freeze(self, attempt: str) -> None:
        """Suspend it while a question about it is open."""
        self._remains.hold(True)

    def thaw(self, attempt: str) -> None:
        """Continue it after the suspension."""
        self._remains.hold(False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """An attempt that has survived, and what a rule says about it; ``asked``: a person or a rule is to decide."""

    attempt: str
    survivor: Survivor
    context: dict[str, object]
    asked: bool
    found: tuple[int, Answer] | None = None
    choices: tuple[str, ...] = SURVIVOR_CHOICES


async def interrupt_running(core: RunContext) -> tuple[Left, ...]:
    """End the orphans of a dead supervisor and record each running attempt as interrupted.

    Returns those that are kept, because a decision about them is due or the settings take them over.
    """
    until = core.head.mono
    attempts = [attempt for attempt in core.head.attempts.values() if attempt.is_live]
    identities = await asyncio.to_thread(_identities, core, attempts)
    begun = {attempt.id: (identities[attempt.id], *attempt.spawns) for attempt in attempts if attempt.id in identities}
    if begun:
        await helpers_done(who for spawned in begun.values() for who in spawned)
    kept = [left for attempt in attempts if attempt.id in identities and (left := await _left(core, attempt))]
    staying = {left.attempt for left in kept}
    over = [attempt for attempt in attempts if attempt.id not in staying]
    ended = dict.fromkeys(who for attempt in over for who in begun.get(attempt.id, ()))
    receipt = await end_survivors(list(ended))
    if receipt.ended or receipt.alive:
        core.append(e.StopReceipt(ended=receipt.ended, alive=receipt.alive))
    for attempt in over:
        _record_end(core, attempt, until)
    return tuple(kept)


def _identities(core: RunContext, attempts: Iterable[AttemptRow]) -> dict[str, tuple[int, float]]:
    """The processes of these attempts; where this record is a copy, not those of the run it was copied from."""
    found = {attempt.id: (attempt.pid, attempt.spawned) for attempt in attempts if attempt.pid}
    return {id: who for id, who in found.items() if not works_elsewhere(*who, core.folder)}


async def take_over(core: RunContext, kept: tuple[Left, ...]) -> None:
    """Ask about each orphan of an attempt, or continue it where the settings say so."""
    for left in kept:
        attempt = core.head.attempts[left.attempt]
        gate = ""
        if left.asked:
            left.survivor.freeze(attempt.id)
            saved = await saved_before(core, core.row(attempt.task))
            gate = open_gate(
                core,
                "recovery",
                task=attempt.task,
                key="survivors",
                context=left.context | saved,
                attempt=attempt.id,
                standing=standing_of(left.survivor.can),
                found=left.found,
                choices=left.choices,
            )
        else:
            event = e.RecoveryDecided(choice="adopt")
            by: Actor = "human" if chosen_for(core.recovery.chosen, attempt.task) else "policy"
            core.append(event, task=attempt.task, attempt=attempt.id, actor=by)
        core.live.orphans[attempt.id] = left.survivor, gate
        _withdraw(core, attempt, but=gate)


async def _left(core: RunContext, attempt: AttemptRow) -> Left | None:
    """Return the remaining processes of ``attempt`` to decide about; None if there are none or they must end."""
    run, row = core.head.run, core.row(attempt.task)
    if run.state == "draining" or attempt.state == "stopping":
        return None  # its end was decided before
    if attempt.guidance.ways:
        return None  # nothing could compare its approaches any more
    if not attempt.pid or row.attempt != attempt.id or row.state != "running":
        return None
    remains = Remains(attempt.pid, attempt.spawned)
    processes = await asyncio.to_thread(remains.identities)
    # Only a run whose plan names the agents returns to this task without a person.
    if not processes or run.kind not in ("plan", "command"):
        return None
    named = await asyncio.to_thread(named_processes, processes[:_SHOWN], attempt.pid)
    at_work = any(one.agent for one in named)
    context: dict[str, object] = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "problem": f"the supervisor was killed, and {_at_work(len(processes))}",
        "processes": [f"{one.pid} {one.command or one.name} (since {one.since})" for one in named],
    }
    # The first choice is the one that a dialog offers: what an agent has started is no reason to wait.
    choices = SURVIVOR_CHOICES if at_work else ("stop", *(one for one in SURVIVOR_CHOICES if one != "stop"))
    survivor = Survivor(remains, core.folder / "output" / f"{attempt.id}.log")
    preview = Gate(id="", type="recovery", task=row.id, key="survivors", context=context, choices=SURVIVOR_CHOICES)
    if chosen := chosen_for(core.recovery.chosen, row.id):
        return Left(attempt=attempt.id, survivor=survivor, context=context, asked=False) if chosen == "adopt" else None
    found = core.policy(preview) if core.may_ask else None
    asked = core.may_ask and (core.person or found is not None or timer_of(core, preview) is not None)
    if not asked and core.settings.survivors == "stop":
        return None
    return Left(attempt=attempt.id, survivor=survivor, context=context, asked=asked, found=found, choices=choices)


def _at_work(count: int) -> str:
    one = "a process of this attempt is still running"
    return one if count == 1 else f"{count} processes of this attempt are still running"


def _record_end(core: RunContext, attempt: AttemptRow, until: float) -> None:
    _withdraw(core, attempt)
    apart = (f"{attempt.id}{APART}{number}" for number in range(2, len(attempt.guidance.ways) + 1))
    outputs = (core.folder / "output" / f"{name}.log" for name in (attempt.id, *apart))
    accounts = [account for output in outputs if (account := account_of(output)) is not None]
    if accounts:
        ended = tuple(one for account in accounts for one in account.receipt.ended)
        alive = tuple(one for account in accounts for one in account.receipt.alive)
        core.append(e.StopReceipt(ended=ended, alive=alive), task=attempt.task, attempt=attempt.id)
    ran = max((account.seconds for account in accounts), default=0.0)
    used = core.row(attempt.task).used + _used(core, attempt, until, ran)
    interrupted = e.AttemptInterrupted(reason="the supervisor ended", used_s=round(used, 3))
    core.append(interrupted, task=attempt.task, attempt=attempt.id)


def _used(core: RunContext, attempt: AttemptRow, until: float, ran: float) -> float:
    """Seconds of its time that it has used: up to its last record, and what else is known of it since.

    That is how long its helper says it ``ran``, and when its output was last written to. It is never more than the
    limit of the attempt, so that a clock that was set again does no harm.
    """
    used = attempt.used(until)
    if attempt.held_since is not None or not attempt.spawned:
        return used
    try:
        written = (core.folder / "output" / f"{attempt.id}.log").stat().st_mtime - attempt.spawned
    except OSError:
        written = 0.0
    known = max(used, ran - attempt.held, written - attempt.held)
    return max(used, min(known, attempt.limit)) if attempt.limit else known


def _withdraw(core: RunContext, attempt: AttemptRow, *, but: str = "") -> None:
    for row in core.head.open_gates():
        if row.gate.attempt == attempt.id and row.id != but:
            event = e.GateWithdrawn(gate=row.id, reason="its supervisor has ended" if but else "the attempt has ended")
            core.append(event, task=attempt.task, attempt=attempt.id)
