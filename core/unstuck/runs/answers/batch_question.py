"""Questions about several tasks: one answer for several gates, and a decision that no question asks for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from unstuck.contract import Answer, Choice, Gate
from unstuck.eventlog.state import GateRow, State, TaskRow
from unstuck.runs.answers.question import AnswerOption, Jump, Question, Takes, question_of
from unstuck.supervision.intervention.allowed import RESUMED, RUNGS, Wish, why_not
from unstuck.text import one_line
from unstuck.words.choices import CHOICE_WORDS
from unstuck.words.labels import named, some, word_of

_NAMED = 6
_CHOICES: tuple[Choice, ...] = ("extend", "show_me", "retry", "continue", "skip", "abandon")
_TAKES: dict[str, Takes] = {"extend": "duration", "show_me": "lines", "retry": "line"}
_WISHES = tuple(cast(Wish, words.name) for words in CHOICE_WORDS["decide"])
"""All that can be decided about a task without a question: a choice, or the next escalation level."""


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


def why_no_decision(state: State, tasks: Sequence[str], run: str) -> str:
    """Return why nothing can be decided about ``tasks``, and how they are worked again; empty where something can."""
    rows = [state.tasks[task] for task in tasks]
    if any(not why_not(state, row, wish) for row in rows for wish in _WISHES):
        return ""
    question = decision_question(state, tasks)
    said = dict.fromkeys(named(question.about, option.refused) for option in question.options)
    return "\n".join(filter(None, (*said, again_words(state, rows, run))))


def why_no_hold(state: State, tasks: Sequence[str]) -> str:
    """Return why none of ``tasks`` can be held; empty where one can."""
    reasons = []
    for task in tasks:
        if not (reason := why_not(state, state.tasks[task], "hold")):
            return ""
        reasons.append(reason)
    return named(one_line(tasks[0]), reasons[0]) if len(tasks) == 1 else _reason(tasks, reasons)


def over_words(state: State, run: str) -> str:
    """Return in a line why nothing can be changed in a run without a process; empty where it has one."""
    resumes = f"`unstuck run --resume {run}`"
    if state.run.state == "parked":
        return f"The run is paused: `unstuck answer` takes answers, and {resumes} resumes it."
    if state.run.state != "ended":
        return ""
    more = "" if state.run.kind == "watch" or state.run.exit_code == 0 else f" {resumes} works what is left."
    return f"The run is over.{more}"


def again_words(state: State, rows: Sequence[TaskRow], run: str) -> str:
    """Return in a line how the tasks in ``rows`` are worked again that have all ended; empty where one has not."""
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
        reasons = [why_not(state, state.tasks[task], cast(Wish, words.name)) for task in tasks]
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
