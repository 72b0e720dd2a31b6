"""The person's settings of the screen, read and checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unstuck.errors import SettingsError
from unstuck.settings.layers import default_user_file, nothing_set
from unstuck_tui.keys.actions import remap

if TYPE_CHECKING:
    from unstuck.settings.screen_settings import ScreenSettings


def preferences(environ: Mapping[str, str], user_file: Path | None = None) -> ScreenSettings | None:
    """The screen's settings from the person's own file and environment; their keys hold from now on.

    None where nothing is set: loading the defaults takes longer than drawing a frame.

    Raises SettingsError, with the file and line, also for an action or a key that there is not.
    """
    file = user_file or default_user_file()
    if nothing_set(None, file, environ, {}):
        remap({})
        return None
    from unstuck.settings.loading import load_settings
    from unstuck_tui.keys.keymap import KeysProblem, check_keys

    settings = load_settings(None, user_file=file, environ=environ, overrides={})
    try:
        keys = check_keys(settings.keys)
    except KeysProblem as problem:
        raise SettingsError(_source(problem.id, file, environ), f"keys.{problem.id}", str(problem)) from None
    remap(keys)
    return settings.model_copy(update={"keys": keys})


def _source(id: str, file: Path, environ: Mapping[str, str]) -> str:
    """The file and line, or variable, that sets the keys of the action ``id``."""
    from unstuck.settings.yaml_file import line_of

    if id in environ.get("UNSTUCK_KEYS", ""):
        return "UNSTUCK_KEYS"
    line = line_of(file, ("keys", id))
    return f"{file}:{line}" if line else str(file)
