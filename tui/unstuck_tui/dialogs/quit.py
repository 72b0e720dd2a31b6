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
_BETWEEN = ("undecided", "preparing", "backoff")


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
    """The agents and checks that run, what is suspended or between two attempts, and the questions that wait."""
    held = sorted({attempt.task for attempt in state.attempts.values() if attempt.state == "held"})
    working = [task for task in agents_at_work(state) if task not in held]
    rows = [row for row in state.tasks.values() if row.id not in working and row.id not in held]
    checks = [row.id for row in rows if is_checking(state, row)]
    between = [f"{row.id} is {word_of(state, row)}" for row in rows if row.state in _BETWEEN and row.id not in checks]
    counts = [
        (working, "agent is at work", "agents are at work"),
        (checks, "check runs", "checks run"),
        (held, "agent is suspended", "agents are suspended"),
    ]
    lines = [f"{counted(len(tasks), one, more)}: {some(tasks, _NAMED)}" for tasks, one, more in counts if tasks]
    if not working and not held:
        lines.insert(0, "No agent is at work at this moment")
    if between:
        lines.append(some(between, _NAMED))
    if asked := len(state.open_gates()):
        lines.append(f"{counted(asked, 'question waits', 'questions wait')} for you")
    return "\n".join(lines)
