"""The question of a gate: its problem, the facts, and the effect of each choice. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from unstuck.contract import HELD, Answer, Choice, Gate, Scope
from unstuck.errors import AnswerRefused
from unstuck.eventlog.state import GateRow, State
from unstuck.settings.durations import parse_duration
from unstuck.supervision.gates.gate_types import accept, admitted, effect_of
from unstuck.supervision.intervention.allowed import NextRung
from unstuck.supervision.outcome.consequences import fallout
from unstuck.text import one_line
from unstuck.words.choices import BY_AGENT, CHOICE_WORDS, group_of
from unstuck.words.excerpt import ExcerptLine, failure_excerpt
from unstuck.words.questions import (
    answered_on,
    each,
    meanwhile,
    own_effect,
    question_facts,
    question_place,
    question_problem,
    question_title,
    said,
    sentence,
    spoken_choice,
    why_not,
)

Takes = Literal["", "lines", "line", "reason", "duration", "tokens", "cost", "command"]

_TOLD = ("stuck", "loop_detected", "timeout", "question")
"""The gates whose retry can carry words to the agent."""
_FAILED = ("stuck", "loop_detected")
"""The gates that are about a failure."""
_VARIED = ("recovery", "question")
"""The gates that do not all take the same."""
_AMOUNTS: dict[str, Takes] = {"tokens": "tokens", "cost": "cost"}
"""The unit of an extension of each budget other than time."""
_NOT_HERE = "not possible: this question does not take it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A choice by its ``name``: its ``key``, its effect ``touches``; ``refused``: why not."""

    name: str
    key: str
    label: str
    touches: str
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOption(Option):
    """A choice that makes an answer, with its own ``text`` or the one it ``takes``, or a ``jump`` to another level.

    ``words`` is the id of its words, such as ``stuck.retry``; empty for a choice that came with the question.
    """

    choice: Choice
    text: str = ""
    takes: Takes = ""
    scope: Scope = "once"
    number: float | None = None
    jump: NextRung | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Jump:
    """The escalation level that a person wants next."""

    level: NextRung


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A gate as a person reads it. ``facts`` are pairs of a label and a text, ``about`` the tasks it is about.

    ``excerpt`` are the lines around the failure, of the code where they are known, else of what the check printed.
    """

    gate: Gate
    about: str
    title: str
    problem: str
    where: str
    facts: tuple[tuple[str, str], ...]
    options: tuple[AnswerOption, ...]
    leaving: str
    excerpt: tuple[ExcerptLine, ...] = ()


def question_of(state: State, row: GateRow) -> Question:
    """The question that ``row`` asks, with what its answers would touch as things stand in ``state``."""
    gate = row.gate
    return Question(
        gate=gate,
        about=gate.task,
        title=question_title(gate),
        problem=question_problem(gate),
        where=question_place(state, gate),
        facts=tuple((label, text) for label, text in question_facts(state, row) if text),
        options=tuple(_options(state, row)),
        leaving=f"leaves it open: {meanwhile(state, gate)}",
        excerpt=failure_excerpt(state.tasks.get(gate.task)) if gate.type in _FAILED else (),
    )


def question_text(question: Question) -> str:
    """The question with its facts and choices, as text."""
    place = f"  {question.where}" if question.where else ""
    lines = [question.title, f"{question.problem}{place}"]
    lines += [f"{label}: {text}" for label, text in question.facts]
    lines += [f"{option.key or '-'} {option.label}" for option in question.options if not option.refused]
    return "\n".join(line for line in lines if line.strip())


def to_answer(gate: Gate, option: AnswerOption, text: str) -> Answer:
    """The answer that ``option`` and what was typed for it make. Raises AnswerRefused with a line for the person."""
    if option.refused:
        raise AnswerRefused(option.refused)
    number = option.number
    written = option.takes in ("lines", "line", "reason", "command")
    message = admitted(text.strip() if written else option.text)
    if option.takes == "duration":
        try:
            number = parse_duration(text.strip())
        except ValueError as error:
            raise AnswerRefused(one_line(str(error))) from None
    elif option.takes in ("tokens", "cost"):
        number = _amount(text)
    if option.takes == "lines" and not message:
        raise AnswerRefused("Write what the agent is to do first.")
    answer = Answer(choice=option.choice, text=message, number=number, scope=option.scope)
    accept(gate, answer)
    return answer


def _amount(text: str) -> float:
    """A typed number of tokens or dollars. Raises AnswerRefused."""
    try:
        return float(text.strip().removeprefix("$").replace(",", ""))
    except ValueError:
        raise AnswerRefused(f"{one_line(text, 40) or 'nothing'} is not a number; write one such as 50000") from None


# --- what can be done ------------------------------------------------------------------------------------------------


def _options(state: State, row: GateRow) -> Iterable[AnswerOption]:
    gate = row.gate
    if gate.type == "question":
        yield from _offered(gate)
    yield from _learnt(gate)
    group = group_of(gate)
    for words in CHOICE_WORDS[group]:
        choice, scope = _meaning(words.name)
        if gate.type in _VARIED and choice not in gate.choices and not why_not(gate, choice):
            continue  # an agent that is still at work is another question than one that is not
        if words.name == BY_AGENT and (gate.type != "integration" or not gate.task):
            continue  # no agent has worked in what has to be resolved
        rules = each(gate.context.get("rules"), limit=300)
        if choice == "allow" and scope != "once" and not rules:
            continue
        allows = f"`{'`, `'.join(rules)}`: " if choice == "allow" and scope != "once" else ""
        yield AnswerOption(
            name=words.name,
            key=words.key,
            label=words.label,
            touches=_touches(state, row, words.name) or sentence(own_effect(gate, words.name)) or allows + words.effect,
            choice=choice,
            scope=scope,
            takes="lines" if words.name == BY_AGENT else _takes(gate, choice),
            refused=_refused(gate, choice, scope),
            words=f"{group}.{words.name}",
        )


def _offered(gate: Gate) -> Iterable[AnswerOption]:
    """The options that came with a question; those after the ninth have no key and are chosen by cursor."""
    for number, option in enumerate(each(gate.context.get("options"), limit=300), 1):
        takes_command = gate.context.get("text_for") == number
        yield AnswerOption(
            name=f"option_{number}",
            key=str(number) if number < 10 else "",
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
        label=f"As on {answered_on(before)}: it worked",
        touches=touches,
        choice=again,
        text=text,
    )
    evidence = f"Offered as a rule: {one_line(str(before['evidence']), 80)}. " if before.get("evidence") else ""
    yield AnswerOption(
        name="always",
        key="9",
        label="The same, and from now on",
        touches=f"{evidence}Applied without asking when this failure returns, as long as it helps.",
        choice=again,
        text=text,
        scope="pattern",
    )


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
        return "not possible: no pattern is known for this loop"
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
    match name:
        case "skip":
            return f"You are asked again when you resume; {fallout(state, gate.task)}."
        case "abandon":
            return f"No result; {fallout(state, gate.task)}. Its files stay {files}."
        case "continue" if gate.key == HELD:
            return "The agent continues."
        case "deny" if gate.attempt:
            return "You may give a reason; the agent gets it."
        case "show_me" if gate.attempt:
            return "The agent gets what you write at its next step or attempt."
        case "show_me":
            return "The agent follows what you write."
        case "retry" if gate.type == "timeout":
            return "The agent restarts with your approach, on the files as they are."
        case "retry" if gate.type in _TOLD and gate.attempt:
            return "The agent gets it at its next step; its next attempt starts with your approach."
        case "retry" if gate.type in _TOLD:
            return "A new session starts with your approach."
    return ""
