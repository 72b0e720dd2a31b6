"""Progress of a run and activity of its agents as text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from unstuck.words.amounts import span
from unstuck.words.labels import counted

_BAR = 16
_LEVELS = " ▁▂▃▄▅▆▇█"
_LEAST = 16
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def progress_text(done: int, tasks: int, shown: int, left: float | None) -> str:
    """The number of tasks, how many of them are done, and about how many seconds are left, None if that is unknown.

    ``shown`` is the number of those that a filter leaves.
    """
    if not tasks:
        return "tasks"
    number = f"{shown} of {tasks} tasks" if shown != tasks else counted(tasks, "task")
    if not 0 < done < tasks:
        return number
    full = done * _BAR // tasks
    time = "" if left is None else f" · about {span(left)} left"
    return f"{number} · {'█' * full}{'░' * (_BAR - full)} {done} done{time}"


def spinner(now: float) -> str:
    """The sign of an agent at work; it turns once a second. ``now`` is in seconds."""
    return _SPINNER[int(now) % len(_SPINNER)]


def sparkline(amounts: Sequence[float]) -> str:
    """One cell for each amount in bytes: blank for none, the lowest up to 45, the highest from 23 kB on."""
    levels = (
        min(len(_LEVELS) - 1, int(log2(amount / _LEAST) / 1.5) + 1) if amount >= _LEAST else 0 for amount in amounts
    )
    return "".join(
        _LEVELS[level] if amount <= 0 or level else _LEVELS[1] for amount, level in zip(amounts, levels, strict=True)
    )
