"""Loading of settings from all sources. Each source is checked alone, so that a problem names it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from unstuck.errors import SettingsError, UsageError
from unstuck.settings.layers import Layer, default_user_file, layers
from unstuck.settings.messages import printable, shown
from unstuck.settings.models import BudgetSettings, Settings, plain_name
from unstuck.settings.screen_settings import SCREEN_NAMES
from unstuck.settings.yaml_file import line_of

MAPPINGS = (
    "failure_handler", "pivot", "timeouts", "timers", "budget", "prices", "prompts", "keys", "check_policy", "memory",
)  # fmt: skip
_LISTS = ("skip_to_ask", "auto_resolve", "patterns", "protected")
_NOT_HERE = "cannot be set by a file of the project, which an agent can edit"
# An agent can edit files of the project, so it must not set these: what counts as done, who is asked, retention,
# delivery of results, recovery.
USERS_ONLY = (
    "unverified", "ask", "timers", "prices", "failover",
    "keep_runs", "keep_days", "keep_bytes", "results", "evaluator", "check_policy",
    "keep_checkpoints", "keep_checkpoint_days", "keep_checkpoint_bytes", "checkpoint_file_limit", "restore_share",
)  # fmt: skip
# Of these such a file may only ask for less: more agents or attempts cost more.
_NEVER_RAISED = ("max_parallel", "pivot.parallel", "failure_handler.max_attempts", "remediation_attempts")
ONLY_LOWERED = (*(f"budget.{name}" for name in BudgetSettings.model_fields), *_NEVER_RAISED)


def load_settings(
    project: Path | None,
    *,
    user_file: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any],
) -> Settings:
    """Defaults < user file < ``.claude/config.yaml`` < ``unstuck.yaml`` < ``UNSTUCK_*`` < ``overrides``.

    Mappings are merged key by key, lists are replaced. Keys of ``overrides`` may be dotted; None means not given. A
    file that is not there is no error; without a ``project`` only what is the user's own counts. Raises SettingsError.
    """
    merged: dict[str, Any] = {}
    for layer in layers(project, user_file, environ, overrides):
        merge(merged, layer, checked(layer))
    return Settings.model_validate(merged)


def given_settings(
    project: Path, given: Settings | Mapping[str, Any] | None, overrides: Mapping[str, Any], environ: Mapping[str, str]
) -> Settings:
    """Return the settings of a run that a program begins. Raises SettingsError, and UsageError for what holds none."""
    if given is not None and not isinstance(given, Settings | Mapping):
        raise UsageError(f"settings must be Settings or a mapping, not {type(given).__name__}")
    for key in given if isinstance(given, Mapping) else ():
        if not isinstance(key, str):
            raise SettingsError("settings", printable(str(key)), "a key must be text")
    if isinstance(given, Settings) and all(value is None for value in overrides.values()):
        return given
    values = given.frozen() if isinstance(given, Settings) else given or {}
    try:
        return load_settings(project, user_file=default_user_file(), environ=environ, overrides={**values, **overrides})
    except SettingsError as error:
        raise (SettingsError("settings", error.key, error.problem) if error.source == "flags" else error) from None


def checked(layer: Layer) -> dict[str, Any]:
    """Return the values of a source under their plain names. Raises SettingsError with the line of the problem."""
    try:
        return _checked(layer)
    except SettingsError as error:
        if layer.file is not None and layer.project is not None and _leads_out(layer.file, layer.project):
            problem = "is a link out of the project, to a file that holds no valid settings"
            raise SettingsError(printable(layer.source), "", problem) from None
        line = line_of(layer.file, error.key) if layer.file is not None else 0
        raise SettingsError(f"{error.source}:{line}", error.key, error.problem) if line else error from None


def _leads_out(file: Path, project: Path) -> bool:
    """Return whether ``file`` stands outside of ``project``: an error must not show what it holds."""
    return not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(project))


def merge(merged: dict[str, Any], layer: Layer, values: dict[str, Any]) -> None:
    """Put the checked ``values`` of a source over those ``merged`` before it."""
    for name in MAPPINGS:
        if name in values:
            values[name] = {**merged.get(name, {}), **values[name]}
    if not layer.trusted and "budget" in values:
        values["budget"] = _lower(merged.get("budget", {}), values["budget"])
    if not layer.trusted:
        _limit(merged, values)
    merged.update(values)


def _limit(merged: Mapping[str, Any], values: dict[str, Any]) -> None:
    """Take out of the ``values`` of a project's file what is more than what holds without it."""
    before, now = Settings.model_validate(merged), Settings.model_validate({**merged, **values})
    for key in _NEVER_RAISED:
        if attrgetter(key)(now) > attrgetter(key)(before):
            above, _, name = key.rpartition(".")
            held, given = (merged.get(above, {}), values[above]) if above else (merged, values)
            del given[name]
            given |= {name: held[name]} if name in held else {}


def _lower(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lower of both limits: a project file, which an agent can edit, never raises a user limit."""
    limits = {name: BudgetSettings.model_validate({name: now[name]}).model_dump()[name] for name in now}
    for name, value in BudgetSettings.model_validate(before).model_dump().items():
        if value is not None and (limits.get(name) is None or limits[name] > value):
            limits[name] = value
    return limits


def _checked(layer: Layer) -> dict[str, Any]:
    source = printable(layer.source)
    values = _plain(source, layer.read())
    for name in USERS_ONLY if not layer.trusted else ():
        if name in values:
            raise SettingsError(source, name, f"{_NOT_HERE}: set it in your own file (`unstuck config path`)")
    for name in SCREEN_NAMES if not layer.own else ():
        if name in values:
            raise SettingsError(source, name, "is a matter of your screen, not of a run: set it in your own settings")
    for name in MAPPINGS:
        if isinstance(values.get(name), dict):
            values[name] = _plain(source, values[name], name)
    prompts = values.get("prompts")
    if isinstance(prompts, dict) and "human" in prompts and not layer.trusted:
        problem = f"{_NOT_HERE}: it tells what a person has said"
        raise SettingsError(source, "prompts.human", problem)
    if values.get("after_quota") == "resume" and not layer.trusted:
        raise SettingsError(source, "after_quota", "may not be `resume` in a repository's file: nothing starts for it")
    handler = values.get("failure_handler")
    if isinstance(handler, dict) and isinstance(handler.get("auto_resolve"), list | tuple):
        handler["auto_resolve"] = [
            _marked(source, position, item, layer.trusted) for position, item in enumerate(handler["auto_resolve"])
        ]
    try:
        Settings.model_validate(values)
    except SettingsError as error:
        raise SettingsError(source, error.key, error.problem) from None
    return values


def _plain(source: str, values: Mapping[Any, Any], above: str = "") -> dict[str, Any]:
    """Return a copy with underscores for hyphens, and without empty mappings and lists."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise SettingsError(source, above, f"keys must be text, not {shown(key)}")
        name = plain_name(key)
        if name in plain:
            raise SettingsError(source, f"{above}.{name}".lstrip("."), "is given twice")
        if value is not None or name not in MAPPINGS + _LISTS:
            plain[name] = value
    return plain


def _marked(source: str, position: int, item: Any, trusted: bool) -> Any:
    if not isinstance(item, dict):
        return item
    if "trusted" in item:
        where = f"failure_handler.auto_resolve.{position}.trusted"
        raise SettingsError(source, where, "cannot be set; it follows from where the rule stands")
    return {**item, "trusted": trusted}
