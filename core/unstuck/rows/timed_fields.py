"""Fields of a run's rows that change without a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_AT_WORK = ("running", "blocked", "draining")


def state_now(recorded: str, is_live: Callable[[], bool]) -> str:
    """Return the state of a run whose log says ``recorded``: ``interrupted`` if no process works it any more."""
    return "interrupted" if recorded in _AT_WORK and not is_live() else recorded


def count_down(wait: dict[str, Any], seconds: float) -> None:
    """Take ``seconds`` off the rest of a task's ``wait`` for a service; one for a host has no end that is known."""
    if "left" not in wait:
        return
    left = max(0.0, wait["left"] - max(0.0, seconds))
    if "asks_in" in wait:
        wait["asks_in"] = round(wait["asks_in"] - wait["left"] + left, 1)
    wait["left"] = round(left, 1)
