"""What a user may set, where it is read from, and what a repository's file may not do."""

from __future__ import annotations

from unstuck.settings.durations import parse_duration
from unstuck.settings.loading import default_user_file, load_settings
from unstuck.settings.models import (
    DEFAULT_TIMEOUTS,
    AutoResolve,
    BudgetSettings,
    EvaluatorSettings,
    FailureHandlerSettings,
    KnownWay,
    Settings,
    TimerSettings,
)
from unstuck.settings.places import runtime_dir, state_dir
from unstuck.settings.screen import ScreenSettings

__all__ = [
    "DEFAULT_TIMEOUTS",
    "AutoResolve",
    "BudgetSettings",
    "EvaluatorSettings",
    "FailureHandlerSettings",
    "KnownWay",
    "ScreenSettings",
    "Settings",
    "TimerSettings",
    "default_user_file",
    "load_settings",
    "parse_duration",
    "runtime_dir",
    "state_dir",
]
