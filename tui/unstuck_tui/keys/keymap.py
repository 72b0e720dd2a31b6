"""The person's own keys for actions: checked, named as Textual does, and free of conflicts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from unstuck_tui.keys.actions import ACTIONS, Action, Area, spoken

_NAMED = frozenset((
    "enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown", "up",
    "down", "left", "right", "comma", *(f"f{number}" for number in range(1, 25)),
))  # fmt: skip
_WITH = re.compile(r"(?:(?:ctrl|shift|alt)\+)*")
_NO_TEXT = re.compile(r"(?:ctrl|alt)\+|f\d")
_TABS: tuple[Area, ...] = ("signatures", "checkpoints", "memory", "cut_off", "deletion", "page")
_SEEN_WITH: Mapping[Area, tuple[Area, ...]] = {
    "table": ("main",), "attention": ("main",), "detail": ("main",), "replay": ("main",),
    "logs": ("log", "detail"), "graph": ("rows", "detail"), "browse": ("rows", "detail", *_TABS),
    "signatures": ("rows", "detail"), "checkpoints": ("rows", "detail"), "memory": ("rows", "detail"),
    "cut_off": ("rows", "detail"), "deletion": ("rows", "detail"), "page": ("rows", "detail"),
    "dialog": ("choices",),
}  # fmt: skip
"""Beside which areas the keys of an area work, and theirs beside it, but for its own and what works everywhere."""
_OFFERED: Mapping[Area, str] = {"question": "123456789", "stuck": "09", "loop": "09"}
"""The keys in a dialog of what comes with the question: an agent's own options, and the answer that worked before."""


class KeysProblem(ValueError):
    """The keys that were set for the action ``id`` are not possible."""

    def __init__(self, id: str, problem: str) -> None:
        self.id = id
        super().__init__(problem)


def check_keys(keys: Mapping[str, str]) -> dict[str, str]:
    """The keys of these actions in Textual's names, with a comma between them. Raises KeysProblem."""
    known = {action.id: action for action in ACTIONS}
    for id in keys:
        if id not in known:
            raise KeysProblem(id, _no_such_action(id, known))
    named = {id: ",".join(_names(id, text)) for id, text in keys.items()}
    for id in named:
        _refuse_conflict(known[id], named)
    return named


def _no_such_action(id: str, known: Mapping[str, Action]) -> str:
    near = get_close_matches(id, known, 1)
    if near:
        return f"no such action; did you mean {near[0]}?"
    areas = sorted({known_id.partition(".")[0] for known_id in known})
    return f"no such action; the ids are in the help ({spoken('app.help')}), such as task.open, and begin with " + (
        ", ".join(areas)
    )


def _names(id: str, text: str) -> Iterator[str]:
    """Each key of ``text`` by Textual's name for it; a comma alone is the comma."""
    for key in [text] if text == "," else [part.strip() for part in text.split(",")]:
        modifiers = _WITH.match(key)
        assert modifiers is not None
        plain = key[modifiers.end() :]
        if plain.lower() in _NAMED:
            yield modifiers[0] + plain.lower()
        elif len(plain) == 1 and plain.isprintable() and plain != " ":
            yield modifiers[0] + _named(plain)
        elif _is_name(plain):
            yield modifiers[0] + plain
        else:
            raise KeysProblem(
                id,
                f"no key is called {key[:40]!r}; allowed are one character, enter, escape, tab, space, backspace, "
                "delete, insert, home, end, pageup, pagedown, up, down, left, right, f1 to f24, these with ctrl+, "
                "shift+ or alt+ before them, and several with a comma between",
            )


def _named(character: str) -> str:
    from unstuck_tui.textual_internals.screens import key_name

    return key_name(character)


def _is_name(key: str) -> bool:
    """True for a sign by its name, such as ``question_mark``."""
    from textual.keys import KEY_NAME_REPLACEMENTS, key_to_character

    return len(key) > 1 and (key in KEY_NAME_REPLACEMENTS.values() or key_to_character(key) is not None)


def _refuse_conflict(action: Action, remapped: Mapping[str, str]) -> None:
    own = remapped[action.id].split(",")
    if action.everywhere and action.area == "app" and (typed := [key for key in own if not _NO_TEXT.match(key)]):
        raise KeysProblem(action.id, f"{typed[0]} is typed in texts, and this works there, too: take one with ctrl+")
    if offered := [key for key in own if key in _OFFERED.get(action.area, "")]:
        raise KeysProblem(action.id, f"{offered[0]} is the key of what a question offers itself already")
    for other in ACTIONS:
        if other.id == action.id or not _meet(action, other):
            continue
        by_default = {*action.keys.split(",")} & {*other.keys.split(",")}  # whatever has the focus comes first
        theirs = remapped.get(other.id, other.keys).split(",")
        shared = [key for key in theirs if key in own and key not in by_default]
        if shared:
            also = "" if other.id in remapped else f"; give {other.id} another one as well"
            raise KeysProblem(action.id, f"{shared[0]} is the key of {other.id} ({other.label}) already{also}")


def _meet(one: Action, other: Action) -> bool:
    """True where the keys of both can work at the same moment. The keys of a replay come before all panes."""
    areas = {one.area, other.area}
    if len(areas) == 1 or any(action.area == "app" and action.everywhere for action in (one, other)):
        return True
    is_dialog = bool(areas & {"dialog", "choices"})
    if any(action.does.startswith("choose(") for action in (one, other)):
        return is_dialog or areas == {"recovery", "standstill"}
    if "app" in areas:
        return not is_dialog and "standstill" not in areas
    theirs = () if other.area == "replay" else _SEEN_WITH.get(other.area, ())
    return other.area in _SEEN_WITH.get(one.area, ()) or one.area in theirs
