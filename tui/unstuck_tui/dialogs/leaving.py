"""Before the screen is left: what becomes of the agents."""

from __future__ import annotations

from typing import Literal

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from unstuck.clock import Clock
from unstuck.record.state import State
from unstuck.supervision.steps import can_progress
from unstuck.supervision.supervisor import Supervisor
from unstuck_tui.actions import actions_of, bindings_of
from unstuck_tui.dialogs.dialog import Dialog
from unstuck_tui.dialogs.listed import Listed

__all__ = ["Leaving", "LeavingDialog", "agents_at_work", "goes_on"]

Leaving = Literal["stop", "leave", "stay"]


def agents_at_work(state: State) -> list[str]:
    """The tasks whose agents are alive."""
    return sorted({attempt.task for attempt in state.attempts.values() if attempt.is_live})


def goes_on(supervisor: Supervisor) -> bool:
    """Whether there is anything that the run does without a person."""
    state = supervisor.core.head
    if state.run.kind == "watch":
        return bool(agents_at_work(state))
    accept = supervisor.core.accept_unverified
    works = any(can_progress(state, row, accept_unverified=accept) for row in state.tasks.values())
    return state.run.state == "blocked" or (state.run.state == "running" and (works or not state.tasks))


class LeavingDialog(Dialog[Leaving, Listed]):
    """Stop all, leave them at work, or stay. Whoever wants to leave can, however small the terminal is."""

    BINDINGS = bindings_of("quit")
    LEAST = Size(1, 1)

    def __init__(self, state: State, *, clock: Clock) -> None:
        self._working, self._asked = agents_at_work(state), len(state.open_gates())
        choices = [
            Listed(name=action.id.partition(".")[2], key=action.keys, label=action.label, touches=action.help)
            for action in actions_of("quit")
        ]
        super().__init__("Leave the screen?", choices, clock=clock, hint="esc stays")

    def compose_reading(self) -> ComposeResult:
        count = len(self._working)
        text = f"{count} {'agent is' if count == 1 else 'agents are'} at work: {', '.join(self._working[:6])}"
        if count > 6:
            text += f" and {count - 6} more"
        if self._asked:
            text += f" · {self._asked} {'question waits' if self._asked == 1 else 'questions wait'} for you"
        yield Static(Content(text), classes="text", markup=False)

    def chosen(self, choice: Listed) -> None:
        decided: dict[str, Leaving] = {"stop": "stop", "leave": "leave"}
        self.finish(decided.get(choice.name, "stay"))
