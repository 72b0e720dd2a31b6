"""The themes of the screen. Their colours are of the 256 that most terminals have, so that none is changed by one."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

_DARK = Theme(
    name="unstuck-dark",
    primary="#5fafd7",
    secondary="#5f87af",
    warning="#ffaf5f",
    error="#d75f5f",
    success="#87af5f",
    accent="#af87d7",
    foreground="#dadada",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    boost="#303030",
    dark=True,
    variables={"cursor": "#005f87", "cursor-blurred": "#3a3a3a", "added": "#12301a", "removed": "#3a1418"},
)
_LIGHT = Theme(
    name="unstuck-light",
    primary="#005faf",
    secondary="#5f87af",
    warning="#875f00",
    error="#af0000",
    success="#005f00",
    accent="#8700af",
    foreground="#121212",
    background="#ffffff",
    surface="#eeeeee",
    panel="#dadada",
    boost="#d0d0d0",
    dark=False,
    variables={"cursor": "#afd7ff", "cursor-blurred": "#d7d7ff", "added": "#d7ffd7", "removed": "#ffd7d7"},
)
_CONTRAST = Theme(
    name="unstuck-contrast",
    primary="#5fd7ff",
    secondary="#87d7ff",
    warning="#ffff5f",
    error="#ff8787",
    success="#87ff87",
    accent="#ff87ff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    boost="#303030",
    dark=True,
    variables={"cursor": "#0000d7", "cursor-blurred": "#444444", "added": "#003300", "removed": "#330000"},
)
_PARTS = ("primary", "warning", "error", "success", "accent", "foreground", "background", "surface", "panel", "boost")
GROUNDS = _DARK.variables
"""The backgrounds of selected and changed lines in a theme that has none of its own."""


def themes(chosen: str, colours: Mapping[str, str]) -> dict[str, Theme]:
    """The themes by their names in the settings, without that of the terminal; ``colours`` are those of ``chosen``."""
    found = {}
    for name, theme in (("dark", _DARK), ("light", _LIGHT), ("contrast", _CONTRAST)):
        own = colours if name == chosen else {}
        grounds = {part: own.get(part, colour) for part, colour in theme.variables.items()}
        parts = {part: own.get(part, getattr(theme, part)) for part in _PARTS}
        found[name] = Theme(name=theme.name, dark=theme.dark, variables=grounds, **parts)
    return found
