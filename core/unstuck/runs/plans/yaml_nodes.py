"""YAML documents as nodes: every problem names its line, and no tag constructs a Python object."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from unstuck.errors import PlanError
from unstuck.settings.durations import parse_duration
from unstuck.text import one_line, sanitise
from unstuck.words.did_you_mean import suggestion

FILE_LIMIT = 2**20
NODE_LIMIT = 250_000
DEPTH_LIMIT = 32

_TAG = "tag:yaml.org,2002:"
_KINDS = {"str": "text", "int": "a number", "float": "a number", "bool": "true or false", "null": "empty"}


class Document:
    """One YAML file as nodes, and the problems found in it so far.

    Raises PlanError for a file that cannot be read: missing, not UTF-8, too large, not YAML, or with aliases that
    unfold into too many nodes.
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
        """Return the number of nodes (aliases unfolded) and levels of ``node`` in linear time."""
        if id(node) in known:
            measured = known[id(node)]
            if measured is None:
                raise self._refusal("an alias contains itself", line_of(node))
            return measured
        known[id(node)] = None
        children = [self._measure(child, known) for child in _children(node)]
        count, depth = 1 + sum(child[0] for child in children), 1 + max((child[1] for child in children), default=0)
        if count > NODE_LIMIT or depth > DEPTH_LIMIT:
            raise self._refusal("is nested too deeply, or its aliases unfold without end", line_of(node))
        known[id(node)] = count, depth
        return count, depth

    def _refusal(self, problem: str, line: int = 0) -> PlanError:
        return PlanError(self.file, line, problem)

    def wrong(self, node: yaml.Node, problem: str) -> None:
        """Note a problem at the node's line."""
        self._problems[line_of(node), problem] = None

    def check(self) -> None:
        """Raise PlanError with the first problem and the number of others."""
        if self._problems:
            (line, problem), *more = sorted(self._problems, key=lambda found: found[0])
            raise self._refusal(problem + (f" (and {len(more)} more)" if more else ""), line)

    def items(self, node: yaml.Node, name: str) -> list[yaml.Node]:
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.wrong(node, f"{name} must be a list, not {kind_of(node)}")
        return []

    def pairs(self, node: yaml.Node, name: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return key and value nodes of a mapping by key. Own keys override those from ``<<``."""
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, f"{name} must be a mapping, not {kind_of(node)}")
            return {}
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            if is_scalar(key, "merge"):
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    merged = self.pairs(source, "`<<`") | merged
            elif not isinstance(key, yaml.ScalarNode):
                self.wrong(key, f"a key of {name} must be text, not {kind_of(key)}")
            elif key.value in own:
                self.wrong(key, f"`{one_line(key.value)}` is given twice")
            else:
                own[key.value] = key, value
        return merged | own

    def plain(self, node: yaml.Node, name: str) -> Any:
        """Return the node as JSON-able values."""
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


OLD_KEYS = {"verify": "check", "shared_verify": "shared_check"}
"""Old names of keys, which are accepted until version 1.0."""


class Section:
    """One mapping of a document. A getter returns None for a missing key, or a wrong one, which is noted."""

    def __init__(self, document: Document, node: yaml.Node, name: str, keys: Collection[str]) -> None:
        self.document, self.root, self.name = document, node, name
        self.nodes: dict[str, yaml.Node] = {}
        self._written: dict[str, str] = {}
        self.unclear = not isinstance(node, yaml.MappingNode)
        for written, (key, value) in document.pairs(node, name).items():
            known = written.replace("-", "_")
            known = known if known in keys else OLD_KEYS.get(known, known)
            if known in self.nodes:
                document.wrong(key, f"`{one_line(written)}` in {name} is another name of `{known}`: leave one out")
            elif known not in keys:
                self.unclear = True
                document.wrong(key, f"unknown key `{one_line(written)}` in {name}{suggestion(known, keys)}")
            elif not is_scalar(value, "null"):
                self.nodes[known] = value
                self._written[known] = known if written.replace("-", "_") == known else one_line(written)

    def wrong(self, key: str, problem: str) -> None:
        """Note a problem at the key's value, or at the mapping where the key is missing."""
        # After a misspelt key, a message about a missing key would mislead.
        if key in self.nodes or not self.unclear:
            self.document.wrong(self.nodes.get(key, self.root), problem)

    def text(self, key: str, *, required: bool = False) -> str | None:
        """Return text that is not blank."""
        node = self.nodes.get(key)
        if node is None:
            if required:
                self.wrong(key, f"{self.name} needs `{key}`")
        elif not is_scalar(node, "str"):
            hint = "; put it in quotes" if isinstance(node, yaml.ScalarNode) else ""
            self.wrong(key, f"`{self._written[key]}` must be text, not {kind_of(node)}{hint}")
        elif node.value.strip():
            return str(node.value)
        else:
            self.wrong(key, f"`{self._written[key]}` is blank")
        return None

    def shell(self, key: str) -> str | None:
        """Return a shell command. Invisible characters are refused, so that a person reads what runs."""
        value = self.text(key)
        if value is not None and sanitise(value) != value:
            self.wrong(key, f"`{self._written[key]}` holds control or invisible characters")
        return value

    def flag(self, key: str) -> bool | None:
        node = self.nodes.get(key)
        if node is not None and not is_scalar(node, "bool"):
            self.wrong(key, f"`{key}` must be true or false, not {kind_of(node)}")
        return None if node is None else str(node.value).lower() in {"true", "yes", "on"}

    def choice(self, key: str, allowed: Sequence[str]) -> Any:
        """Return one of ``allowed``; a hyphen counts as an underscore."""
        value = self.text(key)
        if value is None or value.replace("-", "_") in allowed:
            return value and value.replace("-", "_")
        self.wrong(key, f"`{key}` is {one_line(value)!r}: allowed are {', '.join(allowed)}")
        return None

    def whole(self, key: str) -> int | None:
        """Return a whole number from 1."""
        node = self.nodes.get(key)
        if node is None or (is_scalar(node, "int") and re.fullmatch(r"[1-9][0-9]{0,8}", node.value)):
            return None if node is None else int(node.value)
        self.wrong(key, f"`{key}` must be a whole number from 1")
        return None

    def seconds(self, key: str) -> float | None:
        """Return a duration in seconds, given as a number or as text such as 15m."""
        node = self.nodes.get(key)
        if node is None:
            return None
        try:
            return parse_duration(node.value if isinstance(node, yaml.ScalarNode) else kind_of(node))
        except ValueError as error:
            self.wrong(key, f"`{key}`: {one_line(str(error))}")
            return None


def is_scalar(node: yaml.Node, kind: str) -> bool:
    """Return whether the node is a scalar of this kind; a tag alone is not enough."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _TAG + kind


def line_of(node: yaml.Node) -> int:
    """Return the line, from 1, on which the node begins."""
    return int(node.start_mark.line) + 1


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def kind_of(node: yaml.Node) -> str:
    """Return the kind of the node, in words for a message."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return _KINDS.get(node.tag.removeprefix(_TAG), "a value with a tag of its own")
