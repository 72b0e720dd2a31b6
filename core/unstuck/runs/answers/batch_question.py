"""Questions about several tasks: one answer for several gates, and a decision that no question asks for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unstuck.contract import Answer, Choice, Gate
from unstuck.eventlog.state import GateRow, State
from unstuck.runs.answers.question import AnswerOption, Jump, Question, Takes, question_of
from unstuck.supervision.intervention.allowed import RESUMED, RUNGS, why_not
from unstuck.text import one_line
from unstuck.words.choices import CHOICE_WORDS
from unstuck.words.labels import named, some, word_of

_NAMED = 6
_CHOICES: tuple[Choice, ...] = ("extend", "show_me", "retry", "continue", "skip", "abandon")
_TAKES: dict[str, Takes] = {"extend": "duration", "show_me": "lines", "retry": "line"}


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
        leaving="leaves all of them open",
    )


def _common(option: AnswerOption, questions: Sequence[Question]) -> AnswerOption | None:
    """``option`` where every question has it, and refused where one refuses it."""
    touched = f"In all {len(questions)} tasks." if option.touches else ""
    for question in questions:
        own = next((one for one in question.options if _sense(one) == _sense(option)), None)
        if own is None:
            return None
        if own.refused:
            return replace(option, touches=touched, refused=f"{own.refused} ({question.gate.task})")
    return replace(option, touches=touched)


def _sense(option: AnswerOption) -> tuple[object, ...]:
    return option.name, option.choice, option.text, option.takes, option.scope, option.number


def decision_question(state: State, tasks: Sequence[str]) -> Question:
    """The question what becomes of ``tasks``; it stands in no record, only its answers do.

    What none of them can be told is refused, with the reason; where they have several, with whose it is.
    """
    # A time-out takes all of these; what each task really waits for decides whether it can be.
    gate = Gate(id="", type="timeout", task="", key="", context={}, choices=_CHOICES, attempt="live")
    shown = [f"{one_line(task)} ({word_of(state, state.tasks[task])})" for task in tasks]
    return Question(
        gate=gate,
        about=", ".join(map(one_line, tasks)),
        title=f"Decide about {one_line(tasks[0]) if len(tasks) == 1 else f'{len(tasks)} tasks'}",
        problem=some(shown, _NAMED),
        where="",
        facts=(),
        options=tuple(_options(state, tasks)),
        leaving="changes nothing",
    )


def again_words(state: State, tasks: Sequence[str], run: str) -> str:
    """Return in a line how ``tasks`` are worked again that have all ended; empty where one has not."""
    rows = [state.tasks[task] for task in tasks]
    if state.run.kind == "watch" or any(row.state != "ended" for row in rows):
        return ""
    if all(row.status in RESUMED for row in rows):
        return f"Once this run is over, `unstuck run --resume {run}` works {'it' if len(rows) == 1 else 'them'} again."
    return "What has succeeded or was abandoned is worked again by a new run only."


def _options(state: State, tasks: Sequence[str]) -> list[AnswerOption]:
    options = []
    for words in CHOICE_WORDS["decide"]:
        level = next((rung for rung in RUNGS if rung == words.name), None)
        choice: Choice = next((one for one in _CHOICES if one == words.name), "stop")
        reasons = [why_not(state, state.tasks[task], level or choice) for task in tasks]  # type: ignore[arg-type]
        fits = sum(not reason for reason in reasons)
        options.append(
            AnswerOption(
                name=words.name,
                key=words.key,
                label=words.label,
                touches=words.effect if fits == len(tasks) else f"{words.effect} For {fits} of {len(tasks)} tasks.",
                choice=choice,
                takes=_TAKES.get(words.name, ""),
                refused="" if fits else f"not possible: {_reason(tasks, reasons)}",
                jump=level,
                words=f"decide.{words.name}",
            )
        )
    return options


def _reason(tasks: Sequence[str], reasons: Sequence[str]) -> str:
    """The reason why it is possible for none of ``tasks``: each one with the first task that has it."""
    first: dict[str, str] = {}
    for task, reason in zip(tasks, reasons, strict=True):
        first.setdefault(reason, task)
    if len(first) == 1:
        return reasons[0]
    return "; ".join(f"{one_line(task)}: {reason}" for reason, task in first.items())


def decision_outcome(decided: Answer | Jump, done: Sequence[str], refused: Sequence[tuple[str, str]]) -> str:
    """The outcome of ``decided``, in a line or two."""
    if isinstance(decided, Jump):
        spoken = {"first": "begin again", "human": "ask"}.get(decided.level, decided.level)
    else:
        spoken = decided.choice.replace("_", " ")
    text = f"{spoken}: {some([one_line(task) for task in done], _NAMED) or 'nothing was done'}"
    return "\n".join([text, *(named(one_line(task), one_line(why, 200)) for task, why in refused[:_NAMED])])
