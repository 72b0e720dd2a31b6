"""Answers given beforehand, by rules, and what the words of an answer mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, cast, get_args

from unstuck.contract import Answer, Choice, Gate
from unstuck.errors import AnswerRefused
from unstuck.settings.durations import parse_duration
from unstuck.supervision.gates.gate_types import accept, admitted
from unstuck.text import one_line
from unstuck.words.did_you_mean import suggestion

__all__ = ["AnswerRule", "AnswerRules", "made_answer", "parse_answer"]

_SCOPES = ("once", "pattern", "task")
_TEXT_CHOICES = ("show_me", "retry")
_REASON_CHOICES = ("skip", "abandon", "deny")
_NUMBER_CHOICES = ("extend", "choose")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """Which gates a rule is for (``gate``, ``key`` and ``task`` are patterns), and what it answers.

    ``line`` counts from 1.
    """

    answer: Answer
    gate: str = "*"
    key: str = "*"
    task: str = "*"
    always: bool = False
    line: int = 0

    def fits(self, gate: Gate) -> bool:
        """Whether this rule may answer the gate: the patterns match and the gate takes the answer."""
        kind = self.gate.replace("-", "_")
        meant = zip((gate.type, gate.key, gate.task), (kind, self.key, self.task), strict=True)
        return all(fnmatchcase(value, pattern) for value, pattern in meant) and _takes(gate, self.answer)


class AnswerRules:
    """The rules of one file, in its order, and which of them are used up."""

    def __init__(self, rules: Sequence[AnswerRule] = ()) -> None:
        self.rules = tuple(rules)
        self._used: set[int] = set()

    @property
    def used(self) -> frozenset[int]:
        """The positions, from 0, of the rules that will not answer again."""
        return frozenset(self._used)

    def mark_used(self, index: int) -> None:
        """Use up a rule without asking it, as a run that goes on does for what it was told before."""
        if not self.rules[index].always:
            self._used.add(index)

    def match(self, gate: Gate) -> tuple[int, Answer] | None:
        """The first rule that fits and is not used up: its position and its answer. It is then used up."""
        for index, rule in enumerate(self.rules):
            if index not in self._used and rule.fits(gate):
                self.mark_used(index)
                return index, rule.answer
        return None


def _takes(gate: Gate, answer: Answer) -> bool:
    """Whether a person could give this answer: the fifth of two options is no answer, and uses no rule up."""
    try:
        accept(gate, answer)
    except AnswerRefused:
        return False
    return True


def parse_answer(choice: str, rest: Sequence[str] = (), *, scope: str | None = None) -> Answer:
    """The answer that the words of a command mean: ``retry use the cache``, ``extend 10m``, ``choose 2``.

    Raises ``AnswerRefused`` with one line that says what is missing or too much.
    """
    known, words = choice.replace("-", "_"), " ".join(rest).strip()
    if known == "choose":
        number, _, words = words.partition(" ")
        return made_answer(choice, text=words.strip(), number=number, scope=scope)
    takes_number = known in _NUMBER_CHOICES
    return made_answer(choice, text="" if takes_number else words, number=words if takes_number else "", scope=scope)


def made_answer(choice: str, *, text: str, number: str, scope: str | None) -> Answer:
    """The answer that these four come to; raises ``AnswerRefused`` as :func:`parse_answer` does."""
    known, shown = choice.replace("-", "_"), one_line(choice)
    if known not in get_args(Choice):
        raise AnswerRefused(f"no such answer: {shown}{suggestion(choice, _spoken(get_args(Choice)))}")
    if text and known not in (*_TEXT_CHOICES, *_REASON_CHOICES, "choose"):
        raise AnswerRefused(f"{shown} takes no text")
    if number and known not in _NUMBER_CHOICES:
        raise AnswerRefused(f"{shown} takes no number")
    said = admitted(text)
    if known == "show_me" and not said.strip():
        raise AnswerRefused(f"{shown} needs the text that the agent is to follow")
    if scope is not None and known not in ("continue", *_TEXT_CHOICES):
        raise AnswerRefused(f"{shown} takes no scope: only continue, show-me and retry do")
    if scope is not None and scope not in _SCOPES:
        raise AnswerRefused(f"no such scope: {one_line(scope)}: allowed are {', '.join(_SCOPES)}")
    return Answer(
        choice=cast(Choice, known),
        text=said,
        number=_number(known, number.strip()) if known in _NUMBER_CHOICES else None,
        scope=cast(Literal["once", "pattern", "task"], scope or "once"),
    )


def _number(choice: str, written: str) -> float:
    if choice == "choose":
        if not re.fullmatch(r"[1-9][0-9]{0,5}", written):
            raise AnswerRefused("choose needs the number of an option, from 1")
        return float(written)
    if not written:
        raise AnswerRefused("extend needs a duration, such as 15m")
    try:
        return parse_duration(written)
    except ValueError as error:
        raise AnswerRefused(f"extend: {one_line(str(error))}") from None


def _spoken(names: Iterable[str]) -> list[str]:
    return [name.replace("_", "-") for name in names]
