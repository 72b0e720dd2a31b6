"""Settings of the screen. They are no part of a run and of its log. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from unstuck.settings.messages import shown

_MOST_KEYS = 500
_MOST_WORDS = 100
_LONGEST = 1_000
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
COLOURS = (
    "accent", "added", "background", "boost", "cursor", "cursor-blurred", "error", "foreground", "panel", "primary",
    "removed", "success", "surface", "warning",
)  # fmt: skip
"""The names of the colours of a theme."""


def _switch(value: object) -> object:
    """YAML reads ``on`` and ``off`` as yes and no."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value.strip().lower() if isinstance(value, str) else value


def _whether(value: object) -> bool:
    switched = {"on": True, "true": True, "off": False, "false": False}.get(str(_switch(value)))
    if switched is None:
        raise ValueError(f"must be on or off, not {shown(value)}")
    return switched


def _command(value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list | tuple) else ()
    if not all(isinstance(word, str) and len(word) <= _LONGEST and "\0" not in word for word in words):
        raise ValueError("must be a list of words: the program, then its arguments")
    if len(words) > _MOST_WORDS or not isinstance(value, list | tuple) or (words and not words[0].strip()):
        raise ValueError(f"must be a list such as [notify-send, unstuck], not {shown(value)}")
    return tuple(words)


def _keys(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > _MOST_KEYS:
        raise ValueError(f'must be a mapping of actions to keys such as {{task.open: "o"}}, not {shown(value)}')
    for name, keys in value.items():
        if not isinstance(name, str) or not isinstance(keys, str | int) or isinstance(keys, bool):
            raise ValueError(
                f'must name a key in quotes for each action, such as {{task.open: "o"}}, not {shown(keys)}'
            )
    return {str(name): str(keys) for name, keys in value.items()}


def _colours(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f'must be a mapping of names to colours such as {{primary: "#5fafd7"}}, not {shown(value)}')
    for name, colour in value.items():
        if name not in COLOURS:
            raise ValueError(f"has no colour {shown(name)}: the names are {', '.join(COLOURS)}")
        if not isinstance(colour, str) or not _COLOUR.fullmatch(colour):
            raise ValueError(f'must give {name} a colour in quotes such as "#5fafd7", not {shown(colour)}')
    return {str(name): str(colour) for name, colour in value.items()}


class ScreenSettings(BaseModel):
    """Screen, keys and notifications; only the user's own settings hold for them."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    notify: Annotated[Literal["off", "bell", "osc9", "osc99", "osc777", "command"], BeforeValidator(_switch)] = "bell"
    """Kind of notification while the terminal has no focus."""
    notify_command: Annotated[tuple[str, ...], BeforeValidator(_command)] = ()
    """Program that receives a notification, and its arguments: ``[notify-send, unstuck]``. ``{link}`` is the page."""
    title: Annotated[bool, BeforeValidator(_whether)] = True
    """Show in the terminal title what needs you."""
    theme: Annotated[Literal["dark", "light", "contrast", "ansi"], BeforeValidator(_switch)] = "dark"
    """Colours of the screen. ``ansi`` uses only the terminal's own 16 colours."""
    colours: Annotated[Mapping[str, str], BeforeValidator(_colours)] = Field(default_factory=dict)
    """Your own colours in the theme, such as ``{primary: "#5fafd7"}``; text stays readable on them."""
    dialogs: Annotated[Literal["pop", "list"], BeforeValidator(_switch)] = "pop"
    """``list`` keeps every question in the list until you open it."""
    keys: Annotated[Mapping[str, str], BeforeValidator(_keys)] = Field(default_factory=dict)
    """Other keys for actions: action id, then key."""


SCREEN_NAMES = tuple(ScreenSettings.model_fields)
"""The names of these settings."""
