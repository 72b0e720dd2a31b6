"""Editor of single members of a JSON text; every other byte stays. Pure.

Comments and trailing commas are accepted, because agents allow them in their settings.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_DECODER = json.JSONDecoder()
_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)


@dataclass(slots=True, eq=False)
class Node:
    """A value at ``text[start:end]``; a member of an object begins at its key (``begin``)."""

    kind: Literal["object", "array", "scalar"]
    value: Any
    begin: int
    start: int
    end: int = 0
    children: list[Node] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def member(self, name: str) -> Node | None:
        """Return the member called ``name``; the last of several, like other JSON parsers."""
        found = [child for key, child in zip(self.names, self.children, strict=False) if key == name]
        return found[-1] if found else None


def parse(text: str) -> Node:
    """Return the document. Raises ValueError with the line of an error."""
    try:
        node = _value(text, _skip(text, 0))
    except (IndexError, RecursionError):
        raise ValueError("it ends too early or is nested too deeply") from None
    if (end := _skip(text, node.end)) != len(text):
        raise _wrong(text, end)
    return node


def append(text: str, container: Node, element: str) -> str:
    """Return ``text`` with ``element`` (for an object ``"name": value``) as the last child of ``container``."""
    if container.children:
        last = container.children[-1]
        return f"{text[: last.end]},{_before_first(text, container)}{element}{text[last.end :]}"
    inside, rest = container.start + 1, text[container.start + 1 :]
    if "\n" not in text.strip() and text.strip() not in ("{}", "[]"):
        return f"{text[:inside]}{element}{rest}"
    indent = _indent_of(text, container.begin)
    closing = "" if rest[: container.end - inside - 1].count("\n") else f"\n{indent}"
    found = _INDENTED.search(text)
    unit = found[1] if found else "  "
    return f"{text[:inside]}\n{indent}{unit}{element}{closing}{rest}"


def cut(text: str, container: Node, index: int) -> str:
    """Return ``text`` without the child at ``index``; an emptied container keeps no blanks or comments."""
    child = container.children[index]
    if len(container.children) == 1:
        return f"{text[: container.start + 1]}{text[container.end - 1 :]}"
    if index:
        return f"{text[: container.children[index - 1].end]}{text[child.end :]}"
    return f"{text[: child.begin]}{text[container.children[1].begin :]}"


def _value(text: str, at: int) -> Node:
    if text[at] not in "{[":
        try:
            value, end = _DECODER.raw_decode(text, at)
        except ValueError:
            raise _wrong(text, at) from None
        return Node("scalar", value, at, at, end)
    is_object = text[at] == "{"
    node = Node("object" if is_object else "array", {} if is_object else [], at, at)
    at = _skip(text, at + 1)
    while text[at] != ("}" if is_object else "]"):
        begin = at
        if is_object:
            name, at = _name(text, at)
            node.names.append(name)
        child = _value(text, at)
        child.begin = begin
        node.children.append(child)
        if is_object:
            node.value[name] = child.value
        else:
            node.value.append(child.value)
        at = _skip(text, child.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] not in "}]":
            raise _wrong(text, at)
    node.end = at + 1
    return node


def _name(text: str, at: int) -> tuple[str, int]:
    try:
        name, at = _DECODER.raw_decode(text, at)
    except ValueError:
        raise _wrong(text, at) from None
    at = _skip(text, at)
    if not isinstance(name, str) or text[at] != ":":
        raise _wrong(text, at)
    return name, _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _before_first(text: str, container: Node) -> str:
    """Return the separator of the children: the text before the first one, without comments."""
    between = text[container.start + 1 : container.children[0].begin]
    blank = re.sub(r"//[^\n]*|/\*.*?\*/", "", between, flags=re.DOTALL)
    return f"\n{blank.rpartition(chr(10))[2]}" if "\n" in blank else " "


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _wrong(text: str, at: int) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, at) + 1} is no JSON")
