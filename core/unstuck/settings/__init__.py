"""Settings: models, sources, and limits of project files.

Names are imported on first use, so that paths and durations need no settings models.
"""

from __future__ import annotations

from unstuck.lazy_exports import when_used

_PUBLIC = {
    "unstuck.settings.durations": ("parse_duration",),
    "unstuck.settings.loading": ("default_user_file", "load_settings"),
    "unstuck.settings.models": (
        "DEFAULT_TIMEOUTS", "AutoResolve", "BudgetSettings", "EvaluatorSettings", "FailureHandlerSettings", "KnownWay",
        "Settings", "TimerSettings",
    ),
    "unstuck.settings.paths": ("runtime_dir", "state_dir"),
    "unstuck.settings.screen_settings": ("ScreenSettings",),
}  # fmt: skip
__all__, __getattr__, __dir__ = when_used(__name__, _PUBLIC)
