"""The actions that do something on a screen now: the palette and the help offer no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.actions import parse

from unstuck_tui.keys.actions import ACTIONS, Action

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.screen import Screen


def offered(screen: Screen[object]) -> Iterator[tuple[Action, DOMNode]]:
    """The possible actions of ``screen``, each with the part of it that does it."""
    for action in ACTIONS:
        if (target := _target(screen, action)) is not None and _is_possible(screen, action, target):
            yield action, target


def _is_possible(screen: Screen[object], action: Action, target: DOMNode) -> bool:
    """True where it would do something: each tab has its own actions."""
    namespace, name, parameters = parse(action.does)
    node = {"screen": screen, "app": screen.app}.get(namespace, target)
    return bool(node.check_action(name, parameters))


def _target(screen: Screen[object], action: Action) -> DOMNode | None:
    if action.area == "app":
        return screen.app
    if action.area in getattr(screen, "OWN", ()):
        return screen
    if action.area == "detail":
        return screen.focused if getattr(screen.focused, "AREA", "") == "detail" else None
    return next((node for node in screen.query("*") if getattr(node, "AREA", "") == action.area), None)
