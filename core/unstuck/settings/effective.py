"""Effective settings: the value of each key, and the source that set it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from unstuck.errors import SettingsError
from unstuck.settings.layers import Kind, Layer, layers
from unstuck.settings.loading import MAPPINGS, ONLY_LOWERED, checked, merge
from unstuck.settings.models import Settings
from unstuck.settings.yaml_file import line_of


class Origin(NamedTuple):
    """Source of a value; ``where`` is the file with its line, the variable or the option."""

    kind: Kind = "default"
    where: str = ""


class Checked(NamedTuple):
    """One source that is there, and its ``problem``, empty if there is none."""

    where: str
    problem: str


def effective_rows(
    project: Path | None, user_file: Path, environ: Mapping[str, str], overrides: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a row for each setting. Raises SettingsError."""
    merged: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for layer in layers(project, user_file, environ, overrides):
        values = checked(layer)
        before, given = _leaves(merged), set(_leaves(values))
        merge(merged, layer, values)
        now = _leaves(merged)
        set_by = {key for key in given if layer.trusted or key not in ONLY_LOWERED or before.get(key) != now.get(key)}
        origins |= {key: Origin(layer.kind, _where(layer, key)) for key in set_by}
    return [
        {"key": key, "value": value, "source": origin.kind, "where": origin.where}
        for key, value in _values(Settings.model_validate(merged).model_dump(mode="json"), "")
        for origin in (origins.get(key) or origins.get(key.partition(".")[0]) or Origin(),)
    ]


def checked_sources(project: Path | None, user_file: Path, environ: Mapping[str, str]) -> Iterator[Checked]:
    """Yield every file that exists and every variable that is set, each with its problem."""
    for layer in layers(project, user_file, environ, {}):
        if layer.file is not None and not os.path.lexists(layer.file):
            continue
        try:
            checked(layer)
        except SettingsError as error:
            yield Checked(layer.source, str(error))
        else:
            yield Checked(layer.source, "")


def ignored_values(
    project: Path | None, user_file: Path | None, environ: Mapping[str, str], overrides: Mapping[str, Any]
) -> list[str]:
    """Return a line for each value of the project's files that is too high to count. Raises SettingsError."""
    sources = list(layers(project, user_file, environ, overrides))
    if not any(not layer.trusted and layer.file is not None and os.path.lexists(layer.file) for layer in sources):
        return []
    found: dict[str, str] = {}
    merged: dict[str, Any] = {}
    for layer in sources:
        values = checked(layer)
        asked, given = Settings.model_validate(values), set(_leaves(values))
        merge(merged, layer, values)
        holds = Settings.model_validate(merged)
        for key in given.intersection(ONLY_LOWERED):
            value, limit = attrgetter(key)(asked), attrgetter(key)(holds)
            found.pop(key, None)
            if value != limit:
                higher = "no limit" if value is None else f"{value:g}"
                said = f"{key}: {higher} is ignored, {limit:g} holds: only your own settings can raise it"
                found[key] = f"{said} ({_where(layer, key)})"
    return [found[key] for key in sorted(found)]


def _where(layer: Layer, key: str) -> str:
    if layer.kind == "option":
        return f"--{key.partition('.')[0].replace('_', '-')}"
    line = line_of(layer.file, key) if layer.file is not None else 0
    return f"{layer.source}:{line}" if line else layer.source


def _leaves(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by dotted key."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in MAPPINGS and isinstance(value, Mapping):
            found |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            found[name] = value
    return found


def _values(values: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value and (above or name in MAPPINGS) and above.count(".") == 0:
            yield from _values(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
