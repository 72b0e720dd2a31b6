"""Settings from all their sources, the later ones over the earlier, each checked by itself so that it can be named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from unstuck.errors import SettingsError
from unstuck.settings.messages import printable, settings_error, shown
from unstuck.settings.models import BudgetSettings, Settings, plain_name
from unstuck.settings.regex_safety import runs_away
from unstuck.settings.screen_settings import SCREEN_NAMES
from unstuck.settings.yaml_file import line_of, read_mapping, read_value

__all__ = ["USERS_ONLY", "default_user_file", "load_settings"]

_PREFIX = "UNSTUCK_"
# What the supervisor tells its agents, where its own places lie, and how many rounds the project's tests run.
_OUR_OWN = {"TASK", "ATTEMPT", "PROMPT_FILE", "LEVEL", "STATE_DIR", "RUNTIME_DIR", "SOCKET", "PROCESS"}
_NO_SETTINGS = _OUR_OWN | {"KILLS", "TREES", "EVENTS", "BENCH_EVENTS"}
_MAPPINGS = ("failure_handler", "timeouts", "timers", "budget", "prompts", "keys")
_LISTS = ("skip_to_ask", "auto_resolve", "patterns")
# What is kept of the record and of saved files, what reaches the user's branch, and who judges a run that was cut off
# is not for the one whose doings they are.
USERS_ONLY = (
    "keep_runs", "keep_days", "keep_bytes", "results", "evaluator",
    "keep_checkpoints", "keep_checkpoint_days", "keep_checkpoint_bytes", "checkpoint_file_limit", "restore_share",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Layer:
    """What one source says; ``trusted`` where only the user can have written it, not an agent.

    ``own``: it holds for the user in every project, not for one run.
    """

    source: str
    values: dict[str, Any]
    trusted: bool
    file: Path | None = None
    own: bool = False


def default_user_file() -> Path:
    """The user's own settings, whether or not the file is there."""
    from platformdirs import user_config_path

    return user_config_path("unstuck") / "config.yaml"


def load_settings(
    project: Path | None,
    *,
    user_file: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any],
    override_source: str = "flags",
) -> Settings:
    """Defaults < user file < ``.claude/config.yaml`` < ``unstuck.yaml`` < ``UNSTUCK_*`` < ``overrides``.

    Mappings are merged key by key, lists are replaced. Keys of ``overrides`` may be dotted; None means not given, and
    ``override_source`` is what they are called in messages. A file that is not there is no error; without a ``project``
    only what is the user's own counts. Raises SettingsError.
    """
    merged: dict[str, Any] = {}
    for layer in _layers(project, user_file, environ, overrides, override_source):
        try:
            values = _checked(layer)
        except SettingsError as error:
            line = line_of(layer.file, error.key) if layer.file is not None else 0
            raise SettingsError(f"{error.source}:{line}", error.key, error.problem) if line else error from None
        for name in _MAPPINGS:
            if name in values:
                values[name] = {**merged.get(name, {}), **values[name]}
        if not layer.trusted and "budget" in values:
            values["budget"] = _lower(merged.get("budget", {}), values["budget"])
        merged.update(values)
    return Settings.model_validate(merged)


def _lower(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """A repository's file may lower what the user allows, and never raise it: an agent can edit the file."""
    limits = {name: BudgetSettings.model_validate({name: now[name]}).model_dump()[name] for name in now}
    for name, value in BudgetSettings.model_validate(before).model_dump().items():
        if value is not None and (limits.get(name) is None or limits[name] > value):
            limits[name] = value
    return limits


def _layers(
    project: Path | None,
    user_file: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any],
    override_source: str,
) -> Iterator[_Layer]:
    if user_file is not None:
        yield _Layer(str(user_file), read_mapping(user_file), trusted=True, file=user_file, own=True)
    if project is not None:
        shared = project / ".claude" / "config.yaml"
        ours = {name: value for name, value in read_mapping(shared).items() if name == "failure_handler"}
        yield _Layer(str(shared), ours, trusted=False, file=shared)
        own = project / "unstuck.yaml"
        yield _Layer(str(own), read_mapping(own), trusted=False, file=own)
    for variable in sorted(environ):
        key = variable.removeprefix(_PREFIX)
        if variable.startswith(_PREFIX) and key not in _NO_SETTINGS and environ[variable].strip():
            value = _value(environ[variable].strip(), variable)
            yield _Layer(variable, _nested(key.lower().split("__"), value), trusted=True, own=True)
    for dotted, value in overrides.items():
        if value is not None:
            yield _Layer(override_source, _nested(dotted.split("."), value), trusted=True)


def _value(text: str, variable: str) -> Any:
    """Lists and mappings may be given in a variable as YAML; everything else is checked as the text it is."""
    return read_value(text, variable) if text.startswith(("[", "{")) else text


def _nested(path: list[str], value: Any) -> dict[str, Any]:
    """``value`` under the keys of ``path``."""
    for key in reversed(path):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested


def _checked(layer: _Layer) -> dict[str, Any]:
    """The layer's values under their plain names, marked with where they come from."""
    source = printable(layer.source)
    values = _plain(source, layer.values)
    for name in USERS_ONLY if not layer.trusted else ():
        if name in values:
            raise SettingsError(source, name, "cannot be set by a file of the project, which an agent can edit")
    for name in SCREEN_NAMES if not layer.own else ():
        if name in values:
            raise SettingsError(source, name, "is a matter of your screen, not of a run: set it in your own settings")
    for name in _MAPPINGS:
        if isinstance(values.get(name), dict):
            values[name] = _plain(source, values[name], name)
    if values.get("timers") and not layer.trusted:
        raise SettingsError(
            source, "timers", "may not be set by a repository's file: no question answers itself for it"
        )
    if values.get("after_quota") == "resume" and not layer.trusted:
        raise SettingsError(source, "after_quota", "may not be `resume` in a repository's file: nothing starts for it")
    handler = values.get("failure_handler")
    if isinstance(handler, dict) and isinstance(handler.get("auto_resolve"), list | tuple):
        handler["auto_resolve"] = [
            _marked(source, position, item, layer.trusted) for position, item in enumerate(handler["auto_resolve"])
        ]
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        raise settings_error(source, error, Settings) from None
    if not layer.trusted:
        _refuse_endless(source, handler if isinstance(handler, dict) else {})
    return values


def _refuse_endless(source: str, handler: Mapping[str, Any]) -> None:
    """What an agent can write must not hold the supervisor up."""
    for name in _LISTS:
        for position, item in enumerate(handler.get(name) or ()):
            pattern = item["pattern"] if isinstance(item, dict) else item
            if runs_away(pattern):
                problem = f"repeats too much for a file of the project, which an agent can edit: {shown(pattern)}"
                raise SettingsError(source, f"failure_handler.{name}.{position}", problem)


def _plain(source: str, values: Mapping[Any, Any], above: str = "") -> dict[str, Any]:
    """A copy with underscores for hyphens, and without mappings and lists that were left empty."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise SettingsError(source, above, f"keys must be text, not {shown(key)}")
        name = plain_name(key)
        if name in plain:
            raise SettingsError(source, f"{above}.{name}".lstrip("."), "is given twice")
        if value is not None or name not in _MAPPINGS + _LISTS:
            plain[name] = value
    return plain


def _marked(source: str, position: int, item: Any, trusted: bool) -> Any:
    if not isinstance(item, dict):
        return item
    if "trusted" in item:
        where = f"failure_handler.auto_resolve.{position}.trusted"
        raise SettingsError(source, where, "cannot be set; it follows from where the rule stands")
    return {**item, "trusted": trusted}
