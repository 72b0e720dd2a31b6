"""The keys of the screen, from the registry of actions."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generator.markdown import code, table

from unstuck_tui.keys.actions import ACTIONS, AREA_NAMES, Area, actions_of, keys_of

__all__ = ["keys"]

_DIALOGS: dict[Area, str] = {
    "dialog": "Every dialog",
    "choices": "Choices of a dialog",
    "stuck": "Question: stuck",
    "loop": "Question: loop detected",
    "timeout": "Question: timeout",
    "question": "Question of an agent",
    "permission": "Question: permission",
    "remediation": "Question: baseline",
    "integration": "Question: integration",
    "budget": "Question: budget",
    "room": "Question: disk",
    "decide": "Decide about a task",
    "hands": "Back from editing by hand",
    "compare": "Runs to compare",
    "confirm": "Confirmation",
    "quit": "Leave the screen",
}


def keys() -> str:
    """One table for each area of the screen."""
    return "\n\n".join(_areas())


def _areas() -> Iterator[str]:
    names = {**AREA_NAMES, **_DIALOGS}
    for area in dict.fromkeys(action.area for action in ACTIONS):
        actions = actions_of(area)
        rows = zip(keys_of(actions), actions, strict=True)
        yield f"## {names[area]} {{ #{area} }}"
        yield table(
            ("key", "action", "id"),
            [(" ".join(map(code, pressed.split())), told, code(action.id)) for (pressed, told), action in rows],
        )
