"""Before the screen is left: what becomes of the agents."""

from __future__ import annotations

from typing import Literal

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from unstuck.clock import Clock
from unstuck.record.state import State
from unstuck_tui.actions import actions_of, bindings_of, spoken
from unstuck_tui.dialogs.dialog import Dialog
from unstuck_tui.dialogs.listed import Listed
from unstuck_tui.view import agents_at_work

__all__ = ["Leaving", "LeavingDialog"]

Leaving = Literal["stop", "leave", "stay"]


class LeavingDialog(Dialog[Leaving, Listed]):
    """Stop all, leave them at work, or stay. Whoever wants to leave can, however small the terminal is."""

    BINDINGS = bindings_of("quit")
    LEAST = Size(1, 1)

    def __init__(self, state: State, *, clock: Clock) -> None:
        self._working, self._asked = agents_at_work(state), len(state.open_gates())
        choices = [
            Listed(name=action.id.partition(".")[2], key=spoken(action.id), label=action.label, touches=action.help)
            for action in actions_of("quit")
        ]
        super().__init__("Leave the screen?", choices, clock=clock, hint=f"{spoken('dialog.back')} stays")

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
