"""Loading of what a run needs, while a screen shows what is known of it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable
from importlib import import_module

SHOWING = (
    "pydantic.fields",
    "unstuck.contract",
    "unstuck.eventlog.state",
    "unstuck.eventlog.events",
    "unstuck.eventlog.envelope",
    "unstuck.words.narration",
    "unstuck.runs.view.run_view",
    "unstuck_tui.runs.tracker",
    "unstuck_tui.widgets.detail",
    "unstuck_tui.control.takeover",
    "unstuck_tui.control.question_controller",
    "unstuck_tui.notifications.notifier",
    "unstuck_tui.screens.main",
)
"""Modules that the main screen needs, each of which loads quickly once those before it are there."""
WORKING = (
    "unstuck.settings.loading",
    "unstuck.eventlog.log.journal",
    "unstuck.processes",
    "unstuck.supervision.context.context",
    "unstuck.supervision.checks.check",
    "unstuck.workspace.worktrees.worktrees",
    "unstuck.supervision.run.supervisor",
    "unstuck.runs.view.local_run",
    "unstuck.runs.run",
)
"""Modules that the beginning of a run needs."""


async def load(modules: Iterable[str], is_over: Callable[[], bool]) -> None:
    """Import ``modules`` one by one, so that a key is seen between two of them, until ``is_over``."""
    # What modules are made of is no garbage: to look for some in it takes a sixth of the time.
    gc.disable()
    try:
        for name in modules:
            if is_over():
                break
            import_module(name)
            await asyncio.sleep(0)
    finally:
        gc.freeze()
        gc.enable()
