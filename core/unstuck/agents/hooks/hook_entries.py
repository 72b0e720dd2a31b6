"""Hook entries of unstuck in an agent's settings: found, installed and removed. Pure; every other byte stays."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from unstuck.agents.config.json_edit import Node, append, cut, parse

FORWARDER = "unstuck-hook"


def entries(text: str) -> dict[str, list[Any]]:
    """Return the handlers of unstuck in ``text`` by event. Raises ValueError for invalid JSON."""
    hooks = _hooks(parse(text or "{}"))
    found: dict[str, list[Any]] = {}
    for name, event in zip(hooks.names, hooks.children, strict=False) if hooks else ():
        for group in event.children:
            found.setdefault(name, []).extend(handler.value for handler in _handlers(group) if is_ours(handler.value))
    return {name: handlers for name, handlers in found.items() if handlers}


def with_entries(text: str, groups: Mapping[str, Mapping[str, Any]]) -> str:
    """Return ``text`` with one group for each event of ``groups``, in place of earlier entries of unstuck.

    A repetition changes nothing. Raises ValueError if ``text`` or its ``hooks`` are not JSON objects.
    """
    wanted = {name: list(group["hooks"]) for name, group in groups.items()}
    if text and entries(text) == wanted:
        return text
    text = without_entries(text, keep=text) if text else "{}\n"
    for name, group in groups.items():
        top = parse(text)
        if top.kind != "object":
            raise ValueError("it is no JSON object")
        hooks = _hooks(top)
        if hooks is None:
            text = append(text, top, '"hooks": {}')
            hooks = _hooks(parse(text))
        assert hooks is not None
        if hooks.member(name) is None:
            text = append(text, hooks, f"{json.dumps(name)}: []")
            hooks = _hooks(parse(text))
        event = hooks.member(name) if hooks else None
        if event is None or event.kind != "array":
            raise ValueError(f"its hooks for {name} are no list")
        text = append(text, event, json.dumps(group)) if event.children else _filled(text, event, json.dumps(group))
    return text


def without_entries(text: str, keep: str = "") -> str:
    """Return ``text`` without entries of unstuck and the containers they leave empty, unless ``keep`` has those."""
    if not entries(text):
        return text
    kept = parse(keep) if keep else None
    while (found := _ours(parse(text), kept)) is not None:
        container, index = found
        text = cut(text, container, index)
    return text


def _hooks(top: Node) -> Node | None:
    hooks = top.member("hooks") if top.kind == "object" else None
    if hooks is not None and hooks.kind != "object":
        raise ValueError("its hooks are no JSON object")
    return hooks


def _handlers(group: Node) -> list[Node]:
    inner = group.member("hooks") if group.kind == "object" else None
    return inner.children if inner is not None else []


def is_ours(handler: Any) -> bool:
    """Return whether a handler calls the forwarder of unstuck."""
    command = handler.get("command") if isinstance(handler, dict) else None
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    called = words[3:4] if words[:3] == ["[", "!", "-x"] else words[:2]
    return any(PurePath(word).name == FORWARDER for word in called)


def _ours(top: Node, kept: Node | None) -> tuple[Node, int] | None:
    """Return the next child to remove: a handler, the group it leaves empty, its event, or ``hooks`` itself."""
    hooks = _hooks(top)
    if hooks is None:
        return None
    before = _hooks(kept) if kept is not None else None
    for place, (name, event) in enumerate(zip(hooks.names, hooks.children, strict=True)):
        for number, group in enumerate(event.children):
            inner = group.member("hooks") if group.kind == "object" else None
            ours = [at for at, handler in enumerate(_handlers(group)) if is_ours(handler.value)]
            if inner is not None and ours:
                return (event, number) if len(inner.children) == len(ours) else (inner, ours[-1])
        if event.kind == "array" and not event.children and (before is None or before.member(name) is None):
            return hooks, place
    if not hooks.children and before is None:
        return top, top.children.index(hooks)  # the last of two, like other JSON parsers
    return None


def _filled(text: str, event: Node, element: str) -> str:
    """Return ``text`` with an event's first group on the event's own line, which keeps the file short."""
    return f"{text[: event.start + 1]}{element}{text[event.start + 1 :]}"


class HookEditor:
    """Editor of the hook entries in a settings file."""

    find = staticmethod(entries)
    put = staticmethod(with_entries)
    without = staticmethod(without_entries)
