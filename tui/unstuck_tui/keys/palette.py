"""The command palette: every action of the registry, by what it is called."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from textual.actions import parse
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode

from unstuck_tui.keys.actions import ACTIONS, Action

_LEFT_OUT = ("app.palette", "app.interrupt")
"""Actions that the palette leaves out: itself, and leaving, which has a name of its own."""


class ActionCommands(Provider):
    """The actions that are possible on the screen below the palette."""

    async def discover(self) -> Hits:
        for action, run in self._possible():
            yield DiscoveryHit(_name(action), run, help=action.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, run in self._possible():
            score = matcher.match(f"{_name(action)} {action.help}")
            if score > 0:
                score += matcher.match(_name(action))  # what is called so comes before what only speaks of it
                yield Hit(score, matcher.highlight(_name(action)), run, help=action.help)

    def _possible(self) -> list[tuple[Action, Callable[[], Coroutine[Any, Any, Any]]]]:
        return [
            (action, partial(self.app.run_action, action.does, target))
            for action in ACTIONS
            if action.id not in _LEFT_OUT
            and (target := self._target(action)) is not None
            and self._is_possible(action, target)
        ]

    def _is_possible(self, action: Action, target: DOMNode) -> bool:
        """True where it would do something: each tab has its own actions."""
        namespace, name, parameters = parse(action.does)
        node = {"screen": self.screen, "app": self.app}.get(namespace, target)
        return bool(node.check_action(name, parameters))

    def _target(self, action: Action) -> DOMNode | None:
        if action.area == "app":
            return self.app
        if action.area in getattr(self.screen, "OWN", ()):
            return self.screen
        if action.area == "detail":
            return self.focused if getattr(self.focused, "AREA", "") == "detail" else None
        return next((node for node in self.screen.query("*") if getattr(node, "AREA", "") == action.area), None)


def _name(action: Action) -> str:
    area, _, _ = action.id.partition(".")
    return f"{area}: {action.label}"
