"""Answers given beforehand: rules from a file and words from a command line, both made into answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, cast, get_args

import yaml

from unstuck.contract import Answer, Choice, Gate, GateTypeName
from unstuck.errors import AnswerRefused
from unstuck.runs.document import Document, Section, kind_of, line_of, suggestion
from unstuck.settings import parse_duration
from unstuck.text import admit, one_line

__all__ = ["AnswerRule", "AnswerRules", "load_answers", "parse_answer"]

_RULE_KEYS = ("gate", "task", "answer", "approach", "text", "number", "scope", "always")
_SCOPES = ("once", "pattern", "task")
_TEXT_CHOICES = ("show_me", "retry")
_NUMBER_CHOICES = ("extend", "choose")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """Which gates a rule is for (``gate`` and ``task`` are patterns), and what it answers; ``line`` counts from 1."""

    answer: Answer
    gate: str = "*"
    task: str = "*"
    always: bool = False
    line: int = 0

    def fits(self, gate: Gate) -> bool:
        """Whether this rule may answer the gate: the patterns match and the gate offers the choice."""
        kind = self.gate.replace("-", "_")
        offered = {choice.replace("-", "_") for choice in gate.choices}
        return fnmatchcase(gate.type, kind) and fnmatchcase(gate.task, self.task) and self.answer.choice in offered


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


def load_answers(path: Path) -> AnswerRules:
    """Read answer rules; raises ``PlanError`` with the file and the line of the first problem."""
    document = Document(path)
    rules = [_rule(document, node) for node in document.items(document.root, "a file of answers")]
    document.check()
    return AnswerRules([rule for rule in rules if rule])


def _rule(document: Document, node: yaml.Node) -> AnswerRule | None:
    section = Section(document, node, "a rule", _RULE_KEYS)
    gate = section.text("gate") or "*"
    if not any(fnmatchcase(name, gate.replace("-", "_")) for name in get_args(GateTypeName)):
        section.wrong("gate", f"no gate is called `{one_line(gate)}`{suggestion(gate, get_args(GateTypeName))}")
    if "approach" in section.nodes and "text" in section.nodes:
        section.wrong("text", "`approach` and `text` are the same: give one of them")
    text = section.text("approach") or section.text("text") or ""
    number = section.nodes.get("number")
    word = number.value if isinstance(number, yaml.ScalarNode) else "" if number is None else kind_of(number)
    choice, scope = section.text("answer", required=True), section.text("scope")
    task, always = section.text("task") or "*", section.flag("always") or False
    try:
        answer = _answer(choice or "skip", text=text, number=word, scope=scope)
    except AnswerRefused as error:
        section.wrong("answer", str(error))
        return None
    return AnswerRule(gate=gate, task=task, answer=answer, always=always, line=line_of(node))


def parse_answer(choice: str, rest: Sequence[str] = (), *, scope: str | None = None) -> Answer:
    """The answer that the words of a command mean: ``retry use the cache``, ``extend 10m``, ``choose 2``.

    Raises ``AnswerRefused`` with one line that says what is missing or too much.
    """
    words = " ".join(rest).strip()
    takes_number = choice.replace("-", "_") in _NUMBER_CHOICES
    return _answer(choice, text="" if takes_number else words, number=words if takes_number else "", scope=scope)


def _answer(choice: str, *, text: str, number: str, scope: str | None) -> Answer:
    known, shown = choice.replace("-", "_"), one_line(choice)
    if known not in get_args(Choice):
        raise AnswerRefused(f"no such answer: {shown}{suggestion(choice, _spoken(get_args(Choice)))}")
    if text and known not in _TEXT_CHOICES:
        raise AnswerRefused(f"{shown} takes no text")
    if number and known not in _NUMBER_CHOICES:
        raise AnswerRefused(f"{shown} takes no number")
    said = admit(text)
    if known == "show_me" and not said.strip():
        raise AnswerRefused(f"{shown} needs the text that the agent is to follow")
    if scope is not None and known != "continue":
        raise AnswerRefused(f"{shown} takes no scope: only continue does")
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
