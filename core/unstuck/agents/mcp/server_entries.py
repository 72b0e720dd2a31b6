"""Entry of the MCP server in an agent's settings, JSON or TOML: found, installed and removed. Pure.

Every other byte stays.
"""

from __future__ import annotations

import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from unstuck.agents.config.json_edit import Node, append, cut, parse

PROGRAM = "unstuck"
_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_COMMENTS = re.compile(r"^[ \t]*#[^\n]*(?:\n[ \t]*(?:#[^\n]*)?\r?)*\Z", re.MULTILINE)


def _is_ours(entry: Any) -> bool:
    """Return whether an entry starts the server of unstuck."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("command"), str):
        return False
    args = entry.get("args")
    return PurePath(entry["command"]).name == PROGRAM and isinstance(args, list) and args[:1] == ["mcp"]


def _require_free(found: Any, name: str) -> None:
    """Raise ValueError if another server has the name."""
    if found is not None and not _is_ours(found):
        raise ValueError(f"it has another server of the name {name}")


@dataclass(frozen=True, slots=True)
class _Entry(ABC):
    """Entry of unstuck in a settings file. ``path`` has its names from the top down."""

    path: tuple[str, ...]

    def find(self, text: str) -> dict[str, Any] | None:
        """Return the entry in ``text``. Raises ValueError for a text that cannot be parsed."""
        found = self._named(text)
        return dict(found) if _is_ours(found) else None

    @abstractmethod
    def _named(self, text: str) -> Any:
        """Return the value at the entry's path, if any."""


@dataclass(frozen=True, slots=True)
class JsonEntry(_Entry):
    """Entry as a member of nested objects."""

    def put(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return ``text`` with ``entry`` in place of an earlier one. Raises ValueError if it has no place."""
        _require_free(self._named(text), self.path[-1])
        if text and self.find(text) == entry:
            return text
        text = self.without(text, text) if text else "{}\n"
        nodes = self._nodes(parse(text))
        missing = self.path[len(nodes) - 1 :]
        if nodes[-1].kind != "object":
            raise ValueError(f"its {missing[0]} would have to be in an object")
        element = json.dumps(entry)
        for name in reversed(missing[1:]):
            element = f"{{{json.dumps(name)}: {element}}}"
        return append(text, nodes[-1], f"{json.dumps(missing[0])}: {element}")

    def without(self, text: str, keep: str) -> str:
        """Return ``text`` without the entry and the objects it leaves empty, unless ``keep`` has those."""
        if self.find(text) is None:
            return text
        kept = len(self._nodes(parse(keep))) - 1 if keep else 0
        nodes = self._nodes(parse(text))
        for depth in range(len(self.path) - 1, -1, -1):
            container, child = nodes[depth], nodes[depth + 1]
            if depth + 1 < len(self.path) and (len(child.children) != 1 or depth < kept):
                break
            out = container, container.children.index(child)
        return cut(text, *out)

    def _named(self, text: str) -> Any:
        """Return the value at the entry's path, if any."""
        nodes = self._nodes(parse(text or "{}"))
        return nodes[-1].value if len(nodes) > len(self.path) else None

    def _nodes(self, top: Node) -> list[Node]:
        """Return the existing objects on the path, from the top."""
        nodes = [top]
        for name in self.path:
            child = nodes[-1].member(name) if nodes[-1].kind == "object" else None
            if child is None:
                break
            nodes.append(child)
        return nodes


@dataclass(frozen=True, slots=True)
class TomlEntry(_Entry):
    """Entry as a table at the end of the file."""

    def put(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return ``text`` with ``entry`` in place of an earlier one. Raises ValueError if it has no place."""
        _require_free(self._named(text), self.path[-1])
        if self.find(text) == entry:
            return text
        text = self.without(text, "")
        lines = [f"[{'.'.join(self.path)}]", *(f"{name} = {json.dumps(value)}" for name, value in entry.items())]
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        text = f"{text}{gap}" + "\n".join(lines) + "\n"
        try:
            if self.find(text) == entry:
                return text
        except ValueError:
            pass
        raise ValueError(f"its {self.path[0]} are not written as tables")

    def without(self, text: str, keep: str) -> str:
        """Return ``text`` without the table, its subtables, and the blank line before it."""
        if self.find(text) is None:
            return text
        rest = text
        while (found := self._table(rest)) is not None:
            start, end, own = found
            before = rest[:start]
            before = before[:-1] if own and before.endswith("\n\n") else before
            rest = before + rest[end:]
        wanted, left = _parsed(text), _parsed(rest)
        del wanted[self.path[0]][self.path[1]]
        left.setdefault(self.path[0], {})  # the removed table may have been the only one
        if left != wanted:
            raise ValueError(f"{'.'.join(self.path)} is not written as a table: take it out by hand")
        return rest

    def _named(self, text: str) -> Any:
        """Return the value at the entry's path, if any."""
        found: Any = _parsed(text)
        for name in self.path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def _table(self, text: str) -> tuple[int, int, bool] | None:
        """Return start and end of the first table or subtable of the entry, and whether it is the table itself.

        Comments before the next table belong to that table.
        """
        names = r"[ \t]*\.[ \t]*".join(rf"(?:{name}|\"{name}\"|'{name}')" for name in map(re.escape, self.path))
        found = re.search(rf"^[ \t]*\[[ \t]*{names}[ \t]*([.\]]).*\n?", text, re.MULTILINE)
        if found is None:
            return None
        after = _HEADER.search(text, found.end())
        end = after.start() if after else len(text)
        comments = _COMMENTS.search(text[:end], found.end())
        return found.start(), comments.start() if comments else end, found[1] == "]"


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is no TOML ({error})") from None
