"""Reader of answer rule files. Every problem names its line."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import get_args

import yaml

from unstuck.contract import GateTypeName
from unstuck.errors import AnswerRefused
from unstuck.runs.answers.answer_rules import AnswerRule, AnswerRules, made_answer
from unstuck.runs.plans.yaml_nodes import Document, Section, kind_of, line_of
from unstuck.supervision.gates.gate_types import CHOICES
from unstuck.text import one_line
from unstuck.words.did_you_mean import suggestion

_RULE_KEYS = ("gate", "key", "task", "call", "answer", "approach", "text", "number", "scope", "always")


def load_answers(path: Path) -> AnswerRules:
    """Return the answer rules in a file. Raises PlanError with the file and the line of the first problem."""
    document = Document(path)
    rules = [_rule(document, node) for node in document.items(document.root, "a file of answers")]
    document.check()
    return AnswerRules([rule for rule in rules if rule])


def _rule(document: Document, node: yaml.Node) -> AnswerRule | None:
    section = Section(document, node, "a rule", _RULE_KEYS)
    gate = section.text("gate") or "*"
    meant = fnmatch.filter(get_args(GateTypeName), gate.replace("-", "_"))
    if not meant:
        section.wrong("gate", f"no question is called `{one_line(gate)}`{suggestion(gate, get_args(GateTypeName))}")
    if "approach" in section.nodes and "text" in section.nodes:
        section.wrong("text", "`approach` and `text` are the same: give one of them")
    text = section.text("approach") or section.text("text") or ""
    number = section.nodes.get("number")
    word = number.value if isinstance(number, yaml.ScalarNode) else "" if number is None else kind_of(number)
    choice, scope = section.text("answer", required=True), section.text("scope")
    task, always = section.text("task") or "*", section.flag("always") or False
    call = section.text("call") or ""
    key = section.text("key") or "*"
    try:
        answer = made_answer(choice or "skip", text=text, number=word, scope=scope)
    except AnswerRefused as error:
        section.wrong("answer", str(error))
        return None
    taken = dict.fromkeys(choice for name in meant for choice in CHOICES[name])
    if meant and answer.choice not in taken:
        section.wrong("answer", f"`{one_line(gate)}` takes no `{answer.choice}`: only {', '.join(taken)}")
    return AnswerRule(gate=gate, key=key, task=task, call=call, answer=answer, always=always, line=line_of(node))
