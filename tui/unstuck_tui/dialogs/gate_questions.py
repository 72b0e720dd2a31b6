"""The question of a gate: its problem, the facts, and the effect of each choice. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from unstuck.contract import HELD, Answer, Choice, Gate
from unstuck.errors import AnswerRefused
from unstuck.eventlog.state import GateRow, State
from unstuck.supervision.gates.gate_types import effect_of
from unstuck.supervision.outcome.consequences import fallout
from unstuck.text import one_line
from unstuck.words.questions import (
    answered_on,
    each,
    meanwhile,
    own_effect,
    question_facts,
    question_problem,
    question_title,
    said,
    spoken_choice,
    why_not,
)
from unstuck_tui.dialogs.questions import AnswerOption, Question, Scope, Takes
from unstuck_tui.keys.actions import Area, actions_of, keys_now, spoken

_AREAS: dict[str, Area] = {"loop_detected": "loop", "disk": "integration"}
_TOLD = ("stuck", "loop_detected", "timeout", "question")
"""The gates whose retry can carry words to the agent."""
_VARIED = ("recovery", "question")
"""The gates that do not all take the same."""
_AMOUNTS: dict[str, Takes] = {"tokens": "tokens", "cost": "cost"}
"""The unit of an extension of each budget other than time."""
_NOT_HERE = "not possible here: this question does not take it"


def question_of(state: State, row: GateRow) -> Question:
    """The question that ``row`` asks, with what its answers would touch as things stand in ``state``."""
    gate = row.gate
    return Question(
        gate=gate,
        about=gate.task,
        title=question_title(gate),
        problem=question_problem(gate),
        where=one_line(str(gate.context.get("location") or "")),
        facts=tuple((label, text) for label, text in question_facts(state, row) if text),
        options=tuple(_options(state, row)),
        leaving=f"{spoken('dialog.back')} leaves it open: {meanwhile(gate)}",
    )


# --- what can be done ------------------------------------------------------------------------------------------------


def _options(state: State, row: GateRow) -> Iterable[AnswerOption]:
    gate = row.gate
    if gate.type == "question":
        yield from _offered(gate)
    yield from _learnt(gate)
    for action in actions_of(_area(gate)):
        name = action.id.partition(".")[2]
        choice, scope = _meaning(name)
        if gate.type in _VARIED and choice not in gate.choices and not why_not(gate, choice):
            continue  # an agent that is still at work is another question than one that is not
        yield AnswerOption(
            name=name,
            key=spoken(action.id),
            keys=keys_now(action),
            label=action.label,
            touches=_touches(state, row, name) or own_effect(gate, name) or action.help,
            choice=choice,
            scope=scope,
            takes=_takes(gate, choice),
            refused=_refused(gate, choice, scope),
        )


def _offered(gate: Gate) -> Iterable[AnswerOption]:
    """The options that came with a question; those after the ninth have no key and are chosen by cursor."""
    for number, option in enumerate(each(gate.context.get("options"), limit=300), 1):
        key = str(number) if number < 10 else ""
        takes_command = gate.context.get("text_for") == number
        yield AnswerOption(
            name=f"option_{number}",
            key=key,
            keys=key,
            label=option,
            touches="",
            choice="choose",
            number=float(number),
            takes="command" if takes_command else "",
            text=said(gate.context.get("suggested") or gate.context.get("check")) if takes_command else "",
        )


def _learnt(gate: Gate) -> Iterable[AnswerOption]:
    """The earlier answer to this very failure, if it helped: once more, or as a rule from now on."""
    before = gate.context.get("learnt")
    if not isinstance(before, dict) or before.get("outcome") != "worked":
        return
    choice, text = str(before.get("choice")), said(before.get("text"))
    if choice not in ("show_me", "retry") or choice not in gate.choices or not text:
        return
    again: Choice = "show_me" if choice == "show_me" else "retry"
    touches = f"{spoken_choice(choice)}: {one_line(text, 200)}"
    yield AnswerOption(
        name="as_before",
        key="0",
        keys="0",
        label=f"As on {answered_on(before)}: it worked",
        touches=touches,
        choice=again,
        text=text,
    )
    yield AnswerOption(
        name="always",
        key="9",
        keys="9",
        label="The same, and from now on",
        touches="applied without asking when this failure returns, as long as it helps",
        choice=again,
        text=text,
        scope="pattern",
    )


def _area(gate: Gate) -> Area:
    if gate.type == "disk" and not gate.task:
        return "room"
    found: dict[str, Area] = {area: area for area in get_args(Area)}
    return _AREAS.get(gate.type) or found[gate.type]


def _meaning(name: str) -> tuple[Choice, Scope]:
    choice, _, scope = name.partition("__")
    known: dict[str, Choice] = {word: word for word in get_args(Choice)}
    scopes: dict[str, Scope] = {word: word for word in get_args(Scope)}
    return known[choice], scopes.get(scope, "once")


def _takes(gate: Gate, choice: Choice) -> Takes:
    if choice == "show_me":
        return "lines"
    if choice == "extend":
        return _AMOUNTS.get(gate.key, "duration") if gate.type == "budget" else "duration"
    if choice == "deny" and gate.attempt:
        return "reason"
    return "line" if choice == "retry" and gate.type in _TOLD else ""


def _refused(gate: Gate, choice: Choice, scope: Scope) -> str:
    if choice not in gate.choices:
        return f"not possible: {why_not(gate, choice)}" if why_not(gate, choice) else _NOT_HERE
    if scope == "pattern" and not gate.context.get("error_signature"):
        return "not possible here: no pattern is known for this loop"
    try:
        effect_of(gate, Answer(choice=choice))
    except AnswerRefused as error:
        return f"not possible: {one_line(str(error))}"
    return ""


def _touches(state: State, row: GateRow, name: str) -> str:
    """The effect of a choice on the task, its files and the tasks that need it; empty: the same everywhere."""
    gate = row.gate
    task = state.tasks.get(gate.task)
    if task is None:
        return ""
    files = "in its own worktree" if task.task.isolation == "worktree" else "in the project directory"
    checkpoint = one_line(str(gate.context.get("checkpoint") or ""))
    keeps = f"; {checkpoint} keeps the files" if checkpoint else ""
    match name:
        case "skip":
            return f"{fallout(state, gate.task)}; you are asked again when you resume"
        case "abandon":
            saved = f" and in {checkpoint}" if checkpoint else ""
            return f"no result; {fallout(state, gate.task)}; its files stay {files}{saved}"
        case "continue" if gate.key == HELD:
            return "the agent continues"
        case "deny" if gate.attempt:
            return "you may give a reason; the agent is told"
        case "show_me" if gate.attempt:
            return "the agent gets what you write at its next step or attempt"
        case "show_me":
            return f"the agent follows what you write{keeps}"
        case "retry" if gate.type == "timeout":
            return "the agent restarts with your approach, on the files as they are"
        case "retry" if gate.type in _TOLD and gate.attempt:
            return "the agent gets it at its next step; its next attempt starts with your approach"
        case "retry" if gate.type in _TOLD:
            return f"a new session starts with your approach{keeps}"
    return ""
