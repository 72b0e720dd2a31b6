"""Answers given beforehand: rules from a file and words from a command line, both made into answers.

Plans and rules are read as YAML *nodes* and never as constructed objects: every problem can name its line, and no tag
can make Python build anything.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, cast, get_args

import yaml

from unstuck.contract import Answer, Choice, Gate, GateTypeName
from unstuck.errors import AnswerRefused, PlanError
from unstuck.settings import parse_duration
from unstuck.text import admit, one_line, sanitise

__all__ = [
    "AnswerRule",
    "AnswerRules",
    "Document",
    "Section",
    "is_scalar",
    "load_answers",
    "parse_answer",
    "suggestion",
]

FILE_LIMIT = 2**20
NODE_LIMIT = 250_000
DEPTH_LIMIT = 32

_TAG = "tag:yaml.org,2002:"
_KINDS = {"str": "text", "int": "a number", "float": "a number", "bool": "true or false", "null": "empty"}
_RULE_KEYS = ("gate", "task", "answer", "approach", "text", "number", "scope", "always")
_SCOPES = ("once", "pattern", "task")
_TEXT_CHOICES = ("show_me", "retry")
_NUMBER_CHOICES = ("extend", "choose")


# Answers -------------------------------------------------------------------------------------------------------------


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
    word = number.value if isinstance(number, yaml.ScalarNode) else "" if number is None else _kind(number)
    choice, scope = section.text("answer", required=True), section.text("scope")
    task, always = section.text("task") or "*", section.flag("always") or False
    try:
        answer = _answer(choice or "skip", text=text, number=word, scope=scope)
    except AnswerRefused as error:
        section.wrong("answer", str(error))
        return None
    return AnswerRule(gate=gate, task=task, answer=answer, always=always, line=_line(node))


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


# A document, with lines ----------------------------------------------------------------------------------------------


class Document:
    """One YAML file as nodes, and the problems found in it so far.

    Raises ``PlanError`` at once where nothing can be read: no such file, not UTF-8, too big, not YAML, or built of
    aliases that unfold without reason.
    """

    def __init__(self, path: Path) -> None:
        self.file = str(path)
        self._problems: dict[tuple[int, str], None] = {}
        self.root = self._compose(self._read(path))

    def _read(self, path: Path) -> str:
        try:
            if path.exists() and not path.is_file():
                raise self._refusal("is a directory, not a file" if path.is_dir() else "is not a regular file")
            with path.open("rb") as file:
                raw = file.read(FILE_LIMIT + 1)
            if len(raw) > FILE_LIMIT:
                raise self._refusal("is larger than 1 MiB")
            return raw.decode("utf-8-sig")
        except OSError as error:
            raise self._refusal(f"cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise self._refusal("is not UTF-8 text", line) from None

    def _compose(self, text: str) -> yaml.Node:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            if root is None:
                raise self._refusal("is empty")
            self._measure(root, {})
            return root
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = one_line(error.problem or error.context or "not readable")
            raise self._refusal(f"not YAML: {problem}", mark.line + 1 if mark else 0) from None
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise self._refusal("not YAML: a control character", line) from None
        except RecursionError:
            raise self._refusal("is nested too deeply") from None
        except (ValueError, OverflowError):
            raise self._refusal("not YAML: an escape names no character") from None

    def _measure(self, node: yaml.Node, known: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
        """How many nodes (aliases unfolded) and levels ``node`` has; each node is walked once, so this is linear."""
        if id(node) in known:
            measured = known[id(node)]
            if measured is None:
                raise self._refusal("an alias contains itself", _line(node))
            return measured
        known[id(node)] = None
        children = [self._measure(child, known) for child in _children(node)]
        count, depth = 1 + sum(child[0] for child in children), 1 + max((child[1] for child in children), default=0)
        if count > NODE_LIMIT or depth > DEPTH_LIMIT:
            raise self._refusal("is nested too deeply, or its aliases unfold without end", _line(node))
        known[id(node)] = count, depth
        return count, depth

    def _refusal(self, problem: str, line: int = 0) -> PlanError:
        return PlanError(self.file, line, problem)

    def wrong(self, node: yaml.Node, problem: str) -> None:
        """Note a problem at the node's line."""
        self._problems[_line(node), problem] = None

    def check(self) -> None:
        """Raise ``PlanError`` with the first problem, and how many more there are."""
        if self._problems:
            (line, problem), *more = sorted(self._problems, key=lambda found: found[0])
            raise self._refusal(problem + (f" (and {len(more)} more)" if more else ""), line)

    def items(self, node: yaml.Node, name: str) -> list[yaml.Node]:
        """The members of a list."""
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.wrong(node, f"{name} must be a list, not {_kind(node)}")
        return []

    def pairs(self, node: yaml.Node, name: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Key and value nodes of a mapping by key; what ``<<`` brings in is overridden by what stands there itself."""
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, f"{name} must be a mapping, not {_kind(node)}")
            return {}
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            if is_scalar(key, "merge"):
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    merged = self.pairs(source, "`<<`") | merged
            elif not isinstance(key, yaml.ScalarNode):
                self.wrong(key, f"a key of {name} must be text, not {_kind(key)}")
            elif key.value in own:
                self.wrong(key, f"`{one_line(key.value)}` is given twice")
            else:
                own[key.value] = key, value
        return merged | own

    def plain(self, node: yaml.Node, name: str) -> Any:
        """The node as JSON-able values."""
        if isinstance(node, yaml.MappingNode):
            return {key: self.plain(value, name) for key, (_, value) in self.pairs(node, name).items()}
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, name) for item in node.value]
        kind = node.tag.removeprefix(_TAG)
        if kind not in {"int", "float", "bool", "null"}:
            return node.value
        try:
            value = yaml.safe_load(node.value) if re.fullmatch(r"[\w.+:~-]{0,40}", node.value) else node.value
        except ValueError:
            value = math.nan
        if isinstance(value, float) and not math.isfinite(value):
            self.wrong(node, f"{name} holds a number that is none: {one_line(node.value)}")
        return value if isinstance(value, int | float | None) else node.value


class Section:
    """One mapping of a document; a reader gives None where a key is missing, or wrong and noted."""

    def __init__(self, document: Document, node: yaml.Node, name: str, keys: Sequence[str]) -> None:
        self.document, self.root, self.name = document, node, name
        self.nodes: dict[str, yaml.Node] = {}
        self.unclear = not isinstance(node, yaml.MappingNode)
        for written, (key, value) in document.pairs(node, name).items():
            known = written.replace("-", "_")
            if known not in keys:
                self.unclear = True
                document.wrong(key, f"unknown key `{one_line(written)}` in {name}{suggestion(known, keys)}")
            elif not is_scalar(value, "null"):
                self.nodes[known] = value

    def wrong(self, key: str, problem: str) -> None:
        """Note a problem at the key's value, or at the mapping where the key is missing."""
        # Where a key is misspelt, saying that another one is missing would only distract.
        if key in self.nodes or not self.unclear:
            self.document.wrong(self.nodes.get(key, self.root), problem)

    def text(self, key: str, *, required: bool = False) -> str | None:
        """Text that is not blank."""
        node = self.nodes.get(key)
        if node is None:
            if required:
                self.wrong(key, f"{self.name} needs `{key}`")
        elif not is_scalar(node, "str"):
            hint = "; put it in quotes" if isinstance(node, yaml.ScalarNode) else ""
            self.wrong(key, f"`{key}` must be text, not {_kind(node)}{hint}")
        elif node.value.strip():
            return str(node.value)
        else:
            self.wrong(key, f"`{key}` is blank")
        return None

    def shell(self, key: str) -> str | None:
        """A shell command: what a person reads must be what is run, so nothing invisible may stand in it."""
        value = self.text(key)
        if value is not None and sanitise(value) != value:
            self.wrong(key, f"`{key}` holds control or invisible characters")
        return value

    def flag(self, key: str) -> bool | None:
        """True or false."""
        node = self.nodes.get(key)
        if node is not None and not is_scalar(node, "bool"):
            self.wrong(key, f"`{key}` must be true or false, not {_kind(node)}")
        return None if node is None else str(node.value).lower() in {"true", "yes", "on"}

    def choice(self, key: str, allowed: Sequence[str]) -> Any:
        """One of ``allowed``; a hyphen counts as an underscore."""
        value = self.text(key)
        if value is None or value.replace("-", "_") in allowed:
            return value and value.replace("-", "_")
        self.wrong(key, f"`{key}` is {one_line(value)!r}: allowed are {', '.join(allowed)}")
        return None

    def whole(self, key: str) -> int | None:
        """A whole number from 1."""
        node = self.nodes.get(key)
        if node is None or (is_scalar(node, "int") and re.fullmatch(r"[1-9][0-9]{0,8}", node.value)):
            return None if node is None else int(node.value)
        self.wrong(key, f"`{key}` must be a whole number from 1")
        return None

    def seconds(self, key: str) -> float | None:
        """A duration: a number of seconds, or text such as 15m."""
        node = self.nodes.get(key)
        if node is None:
            return None
        try:
            return parse_duration(node.value if isinstance(node, yaml.ScalarNode) else _kind(node))
        except ValueError as error:
            self.wrong(key, f"`{key}`: {one_line(str(error))}")
            return None


def suggestion(word: str, known: Iterable[str]) -> str:
    """`` (did you mean …?)`` where a known word is near, else the known ones."""
    near = difflib.get_close_matches(word, known := list(known), n=1)
    return f" (did you mean `{near[0]}`?)" if near else f" (known: {', '.join(known[:12]) or 'none'})"


def is_scalar(node: yaml.Node, kind: str) -> bool:
    """Whether the node is a single value of this kind; a tag alone does not make it one."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _TAG + kind


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return _KINDS.get(node.tag.removeprefix(_TAG), "a value with a tag of its own")
