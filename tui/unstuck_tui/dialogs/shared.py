"""One question for several gates about the same trouble: only what all of them can be answered with. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unstuck.record.state import GateRow, State
from unstuck_tui.dialogs.questions import Option, Question, question_of
from unstuck_tui.keys.actions import spoken

__all__ = ["shared_question"]


def shared_question(state: State, rows: Sequence[GateRow]) -> Question:
    """The question of the first gate, with the choices that all have, and every task that hears the answer."""
    questions = [question_of(state, row) for row in rows]
    first, tasks = questions[0], [row.gate.task for row in rows]
    options = tuple(found for option in first.options if (found := _common(option, questions)) is not None)
    return replace(
        first,
        about=", ".join(tasks),
        title=f"One answer for {len(rows)} questions",
        facts=(("Tasks", ", ".join(tasks)), *first.facts),
        options=options,
        leaving=f"{spoken('dialog.back')} leaves all of them open",
    )


def _common(option: Option, questions: Sequence[Question]) -> Option | None:
    """``option`` where every question has it, and refused where one refuses it."""
    touched = f"in all {len(questions)} tasks" if option.touches else ""
    for question in questions:
        own = next((one for one in question.options if _sense(one) == _sense(option)), None)
        if own is None:
            return None
        if own.refused:
            return replace(option, touches=touched, refused=f"{question.gate.task}: {own.refused}")
    return replace(option, touches=touched)


def _sense(option: Option) -> tuple[object, ...]:
    return option.name, option.choice, option.text, option.takes, option.scope, option.number
