"""The command palette: every action of the registry, by what it is called."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from itertools import islice
from typing import Any, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from unstuck_tui.keys.actions import Action, actions_of, spoken
from unstuck_tui.keys.offers import offered

_LEFT_OUT = ("app.palette", "app.interrupt")
"""Actions that the palette leaves out: itself, and leaving, which has a name of its own."""
_MOVES = (".down", ".up", ".page_down", ".page_up", ".first", ".last", ".left", ".right")
"""Ends of the ids of actions that are found, and not listed: they only move what is looked at."""
_ALSO = {
    "app.clear": "close messages toasts",
    "app.quit": "exit leave stop end close",
    "app.suspend": "background shell stop",
    "browse.checkpoints": "restore undo",
    "browse.deletion": "delete",
    "browse.memory": "approaches answers rules learned",
    "browse.signatures": "failures",
    "browse.what-if": "settings replay simulate compare",
    "app.theme": "theme dark light contrast color",
    "gate.answer": "question reply retry skip abandon",
    "mute.all": "silence notifications off",
    "mute.task": "silence notifications off",
    "output.agent": "log stdout said",
    "output.check": "test log failure",
    "output.prompt": "told instructions guidance",
    "page.changes": "diff files edited",
    "page.ladder": "escalation level next steps",
    "page.timeline": "attempts history story",
    "table.filter": "search find",
    "task.decide": "retry restart stop skip abandon time approach research",
    "task.edit": "takeover",
    "task.hold": "pause stop suspend freeze halt resume continue",
    "task.shell": "takeover terminal",
    "view.copy": "clipboard",
    "view.log": "events history",
    "view.pager": "pager output read whole all",
    "view.plan": "plan dependencies critical path",
}
"""Further words by which an action is found, by its id."""
_TASKS = 20
_Run = Callable[[], Coroutine[Any, Any, Any]]


class ActionCommands(Provider):
    """The actions that are possible on the screen below the palette, and its tasks by their names."""

    async def discover(self) -> Hits:
        for action, run in self._possible():
            if not action.id.endswith(_MOVES):
                yield DiscoveryHit(_name(action), run, help=action.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, action, run in (*((_name(action), action, run) for action, run in self._possible()), *self._tabs()):
            score = matcher.match(f"{name} {action.help} {_ALSO.get(action.id, '')}")
            if score > 0:
                # Names come before help that only mentions the word, and acting before moving.
                score += matcher.match(name) + (query.lower() in _ALSO.get(action.id, "").split())
                yield Hit(score, matcher.highlight(name), run, help=action.help)
        words = query.lower()
        named = (task for task in getattr(self.screen, "tasks", ()) if words in task.lower())
        for task in islice(named, _TASKS):
            text = f"Select task {task}"
            yield Hit(1 + matcher.match(text), matcher.highlight(text), partial(cast(Any, self.screen).select, task))

    def _possible(self) -> list[tuple[Action, _Run]]:
        return [
            (action, partial(self.app.run_action, action.does, target))
            for action, target in offered(self.screen)
            if action.id not in _LEFT_OUT
        ]

    def _tabs(self) -> Iterator[tuple[str, Action, _Run]]:
        """The tabs of Browse, where its own keys lead nowhere yet."""
        if "main" in getattr(self.screen, "OWN", ()):
            for place, action in enumerate(one for one in actions_of("browse") if one.does.startswith("turn_to")):
                name = f"Browse {action.label}  ({spoken('view.browse')} {spoken(action.id)})"
                yield name, action, partial(self.app.run_action, f"browse({place})", self.screen)


def _name(action: Action) -> str:
    """The action in plain words, with its first key."""
    return f"{action.label[:1].upper()}{action.label[1:]}  ({spoken(action.id)})"
