"""Answer rules, and parsing of the words of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast, get_args

from unstuck.contract import Answer, Choice, Gate, Scope
from unstuck.errors import AnswerRefused
from unstuck.escalation.permission_rules import allowed
from unstuck.settings.durations import parse_duration
from unstuck.supervision.gates.gate_types import accept, admitted, call_of
from unstuck.text import one_line
from unstuck.words.did_you_mean import suggestion

_SCOPES = get_args(Scope)
_SCOPED = ("allow", "choose", "continue", "show_me", "retry")
_TEXT_CHOICES = ("show_me", "retry")
_REASON_CHOICES = ("skip", "abandon", "deny")
_NUMBER_CHOICES = ("extend", "choose")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """An answer for the gates that match the patterns ``gate``, ``key`` and ``task``. ``line`` counts from 1.

    ``call`` is a permission rule that allows the call of the gate; empty for any gate.
    """

    answer: Answer
    gate: str = "*"
    key: str = "*"
    task: str = "*"
    call: str = ""
    always: bool = False
    line: int = 0

    def fits(self, gate: Gate) -> bool:
        """Return whether the patterns match the gate and the gate takes the answer."""
        kind = self.gate.replace("-", "_")
        meant = zip((gate.type, gate.key, gate.task), (kind, self.key, self.task), strict=True)
        fits = all(fnmatchcase(value, pattern) for value, pattern in meant) and _takes(gate, self.answer)
        return fits and (not self.call or allowed((self.call,), *call_of(gate)))


class AnswerRules:
    """The rules of one file in order, and those that are used up."""

    def __init__(self, rules: Sequence[AnswerRule] = ()) -> None:
        self.rules = tuple(rules)
        self._used: set[int] = set()

    @property
    def used(self) -> frozenset[int]:
        """Positions, from 0, of the rules that are used up."""
        return frozenset(self._used)

    def mark_used(self, index: int) -> None:
        """Mark a rule as used up, as a resumed run does for earlier answers."""
        if not self.rules[index].always:
            self._used.add(index)

    def match(self, gate: Gate) -> tuple[int, Answer] | None:
        """Return position and answer of the first unused rule that fits, and mark it as used up."""
        for index, rule in enumerate(self.rules):
            if index not in self._used and rule.fits(gate):
                self.mark_used(index)
                return index, rule.answer
        return None


def _takes(gate: Gate, answer: Answer) -> bool:
    """Return whether the gate takes this answer, so that an impossible answer uses no rule up."""
    try:
        accept(gate, answer)
    except AnswerRefused:
        return False
    return True


def parse_answer(choice: str, rest: Sequence[str] = (), *, scope: str | None = None) -> Answer:
    """Return the answer in the words of a command: ``retry use the cache``, ``extend 10m``, ``choose 2``.

    Raises AnswerRefused with one line that names the problem.
    """
    known, words = choice.replace("-", "_"), " ".join(rest).strip()
    if known == "choose":
        number, _, words = words.partition(" ")
        return made_answer(choice, text=words.strip(), number=number, scope=scope)
    takes_number = known in _NUMBER_CHOICES
    return made_answer(choice, text="" if takes_number else words, number=words if takes_number else "", scope=scope)


def made_answer(choice: str, *, text: str, number: str, scope: str | None) -> Answer:
    """Return the answer of these parts. Raises AnswerRefused as :func:`parse_answer` does."""
    known, shown = choice.replace("-", "_"), one_line(choice)
    if known not in get_args(Choice):
        spoken = [name.replace("_", "-") for name in get_args(Choice)]
        raise AnswerRefused(f"no such answer: {shown}{suggestion(choice, spoken)}")
    if text and known not in (*_TEXT_CHOICES, *_REASON_CHOICES, "choose"):
        raise AnswerRefused(f"{shown} takes no text")
    if number and known not in _NUMBER_CHOICES:
        raise AnswerRefused(f"{shown} takes no number")
    said = admitted(text)
    if known == "show_me" and not said.strip():
        raise AnswerRefused(f"{shown} needs the text that the agent is to follow")
    if scope is not None and known not in _SCOPED:
        scoped = ", ".join(name.replace("_", "-") for name in _SCOPED[:-1])
        raise AnswerRefused(f"{shown} takes no scope: only {scoped} and retry do")
    if scope is not None and scope not in _SCOPES:
        raise AnswerRefused(f"no such scope: {one_line(scope)}: allowed are {', '.join(_SCOPES)}")
    return Answer(
        choice=cast(Choice, known),
        text=said,
        number=_number(known, number.strip()) if known in _NUMBER_CHOICES else None,
        scope=cast(Scope, scope or "once"),
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
