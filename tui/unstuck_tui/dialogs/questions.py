"""Questions to a person and what can be answered: the values that dialogs show and return. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstuck.contract import ANSWER_LIMIT, Answer, Choice, Gate
from unstuck.errors import AnswerRefused
from unstuck.settings.durations import parse_duration
from unstuck.supervision.gates.gate_types import accept
from unstuck.supervision.intervention.allowed import NextRung
from unstuck.text import admit, one_line

Program = Literal["shell", "editor"]
Takes = Literal["", "lines", "line", "reason", "duration", "tokens", "cost", "command"]
Scope = Literal["once", "pattern", "task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A choice by its ``name``: its ``key`` as people write it, its effect ``touches``; ``refused``: why not."""

    name: str
    key: str
    label: str
    touches: str
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOption(Option):
    """A choice that makes an answer, with its own ``text`` or the one it ``takes``, or a ``jump`` to another level.

    ``keys`` are those that choose it, with a comma between.
    """

    keys: str
    choice: Choice
    text: str = ""
    takes: Takes = ""
    scope: Scope = "once"
    number: float | None = None
    jump: NextRung | None = None


@dataclass(frozen=True, slots=True)
class Jump:
    """The escalation level that a person wants next."""

    level: NextRung


@dataclass(frozen=True, slots=True)
class ByHand:
    """The wish to do it by hand, in this program."""

    program: Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A gate as a person reads it. ``facts`` are pairs of a label and a text, ``about`` the tasks it is about."""

    gate: Gate
    about: str
    title: str
    problem: str
    where: str
    facts: tuple[tuple[str, str], ...]
    options: tuple[AnswerOption, ...]
    leaving: str


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
    if len(text) > ANSWER_LIMIT:
        raise AnswerRefused(f"An answer has at most {ANSWER_LIMIT:,} characters; this one has {len(text):,}.")
    number = option.number
    written = option.takes in ("lines", "line", "reason", "command")
    message = admit(text.strip() if written else option.text)
    if option.takes == "duration":
        try:
            number = parse_duration(text.strip())
        except ValueError as error:
            raise AnswerRefused(one_line(str(error))) from None
    elif option.takes in ("tokens", "cost"):
        number = _amount(text)
    if option.choice == "show_me" and not message:
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
