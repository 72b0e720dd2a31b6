"""Timers of questions: set up by the user only, counted down, and recorded with the actor timer."""

from __future__ import annotations

from collections.abc import Callable

from unstuck.clock.deadlines import Deadlines
from unstuck.contract import Answer, Gate
from unstuck.errors import UnstuckError
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.settings.models import TimerSettings
from unstuck.supervision.context.context import RunContext
from unstuck.text import admit


def timer_of(core: RunContext, gate: Gate) -> TimerSettings | None:
    """Return the timer of ``gate``; None where there is none, or the gate does not take its answer."""
    timer = core.settings.timers.get(gate.type)
    return timer if timer is not None and timer.answer in gate.choices else None


def start_timer(core: RunContext, gate: Gate) -> None:
    """Count down to the answer of ``gate``, where the settings have one."""
    timer = timer_of(core, gate)
    if timer is not None and core.head.gates[gate.id].status == "open":
        event = e.TimerStarted(gate=gate.id, seconds=timer.after, choice=timer.answer)
        core.append(event, task=gate.task, attempt=gate.attempt or "", actor="timer")


def keep_open(core: RunContext, gate: str) -> None:
    """Cancel the countdown of ``gate``: a person is there."""
    row = core.head.gates.get(gate)
    if row is not None and row.gate.acts_at is not None:
        core.append(e.TimerCancelled(gate=gate), task=row.gate.task, actor="human")


class Timers:
    """Sets a deadline for every gate that counts down; ``answer`` then records the answer of the settings."""

    def __init__(self, core: RunContext, deadlines: Deadlines, *, answer: Callable[[str, Answer], object]) -> None:
        self._core, self._deadlines, self._give = core, deadlines, answer
        core.journal.on_append(self._on_append)

    def _on_append(self, record: Record) -> None:
        event = record.event
        if isinstance(event, e.TimerStarted):
            self._deadlines.at(f"gate {event.gate}", record.mono + event.seconds, lambda: self._answer(event.gate))
        elif isinstance(event, (e.TimerCancelled, e.GateAnswered, e.GateWithdrawn)):
            self._deadlines.cancel(f"gate {event.gate}")

    def _answer(self, gate: str) -> None:
        row = self._core.head.gates[gate]
        timer = timer_of(self._core, row.gate)
        if timer is None or row.status != "open" or row.gate.acts_at is None:
            return
        text = admit(timer.approach or "")
        try:
            answer = Answer(choice=timer.answer, text=text, number=timer.number)
            self._give(gate, answer)
        except UnstuckError:
            return  # refused: the gate waits like any other
