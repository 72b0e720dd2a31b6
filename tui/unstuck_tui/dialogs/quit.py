"""The dialog before the screen is left: stop the agents, leave them at work, or stay."""

from __future__ import annotations

from typing import Literal

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from unstuck.clock import Clock
from unstuck.eventlog.state import State
from unstuck.runs.answers.question import Option
from unstuck.runs.view.run_view import agents_at_work
from unstuck.words.labels import counted, is_checking, some, word_of
from unstuck_tui.dialogs.dialog import Dialog, choices_of
from unstuck_tui.keys.actions import bindings_of, spoken

QuitChoice = Literal["stop", "leave", "stay"]

_NAMED = 6
_BETWEEN = ("judging", "undecided", "preparing", "backoff")


class QuitDialog(Dialog[QuitChoice, Option]):
    """Stop all, leave them at work, or stay. It fits into every terminal, so that one can always leave."""

    BINDINGS = bindings_of("quit")
    LEAST = Size(1, 1)

    def __init__(self, state: State, *, clock: Clock) -> None:
        self._at_stake = at_stake(state)
        super().__init__("Leave the screen?", choices_of("quit"), clock=clock, hint=f"{spoken('dialog.back')} stays")

    def compose_reading(self) -> ComposeResult:
        yield Static(Content(self._at_stake), id="at-stake", classes="text", markup=False)

    def follow(self, state: State) -> None:
        """The run has gone on meanwhile."""
        before, self._at_stake = self._at_stake, at_stake(state)
        if self._at_stake != before:
            for line in self.query("#at-stake").results(Static):
                line.update(Content(self._at_stake))

    def chosen(self, choice: Option) -> None:
        decided: dict[str, QuitChoice] = {"stop": "stop", "leave": "leave"}
        self.finish(decided.get(choice.name, "stay"))


def at_stake(state: State) -> str:
    """The agents at work and those suspended, else the tasks between two attempts, and the questions that wait."""
    held = sorted({attempt.task for attempt in state.attempts.values() if attempt.state == "held"})
    working, asked = [task for task in agents_at_work(state) if task not in held], len(state.open_gates())
    parts = []
    if working:
        parts.append(f"{counted(len(working), 'agent is', 'agents are')} at work: {some(working, _NAMED)}")
    if held:
        parts.append(f"{counted(len(held), 'agent is', 'agents are')} suspended: {some(held, _NAMED)}")
    if not parts:
        parts.append("No agent is at work at this moment")
        busy = [
            f"{row.id} is {word_of(state, row)}"
            for row in state.tasks.values()
            if row.state in _BETWEEN or is_checking(state, row)
        ]
        parts += [some(busy, _NAMED)] if busy else []
    if asked:
        parts.append(f"{counted(asked, 'question waits', 'questions wait')} for you")
    return " · ".join(parts)
