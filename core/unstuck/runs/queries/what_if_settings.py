"""Settings that a replay can judge, and their changes as they are given to a command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from unstuck.errors import SettingsError, UsageError
from unstuck.settings.layers import layers
from unstuck.settings.loading import checked, merge
from unstuck.settings.models import FailureHandlerSettings, Settings, plain_name
from unstuck.settings.yaml_file import read_value
from unstuck.text import one_line
from unstuck.words.did_you_mean import suggestion

JUDGED = (
    *(f"failure_handler.{name}" for name in FailureHandlerSettings.model_fields),
    "task_failure_limit", "window_size", "ask", "outage_limit", "after_quota", "failover", "pivot.parallel",
)  # fmt: skip
"""Settings that decisions and alarms depend on. Any other needs a clock, an agent or a check."""
_BY_NAME = {name: name for name in JUDGED} | {name.rpartition(".")[2]: name for name in JUDGED}


def changes_in(given: Iterable[str]) -> dict[str, Any]:
    """Return the settings in texts such as ``max_retries=2`` by their full names. Raises UsageError, SettingsError."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise UsageError(f"--set: {one_line(text, 60)!r} is not NAME=VALUE, such as max_retries=2")
        found[_full_name(plain_name(name))] = read_value(value, "--set") if value.startswith(("[", "{")) else value
    changed(Settings(), found)
    return found


def _full_name(name: str) -> str:
    if name in _BY_NAME:
        return _BY_NAME[name]
    shown = one_line(name, 60)
    if name.partition(".")[0] in Settings.model_fields:
        judged = ", ".join(one.rpartition(".")[2] for one in JUDGED)
        raise UsageError(f"--set: a replay cannot judge {shown}; it judges {judged}")
    raise UsageError(f"--set: there is no setting {shown}{suggestion(name, _BY_NAME)}")


def judged_values(settings: Settings) -> Iterator[str]:
    """Yield each judged setting as it would be given: ``max_retries=3``."""
    for name in JUDGED:
        yield one_line(f"{name.rpartition('.')[2]}={value_text(attrgetter(name)(settings))}", 60)


def value_text(value: object) -> str:
    """Return the value of a setting as it would be given."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def recorded(frozen: Mapping[str, Any]) -> Settings:
    """Return the judged part of the settings in an event log. Raises SettingsError."""
    judged = {name.partition(".")[0] for name in JUDGED}
    return Settings.thaw({name: value for name, value in frozen.items() if name in judged})


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return ``settings`` with ``changes`` by full names. Raises SettingsError."""
    values = settings.frozen()
    for layer in layers(None, None, {}, changes):
        try:
            merge(values, layer, checked(layer))
        except SettingsError as error:
            raise SettingsError("--set", error.key, error.problem) from None
    return Settings.thaw(values)
