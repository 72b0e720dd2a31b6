"""The command of a run without a plan file, checked. Light: a screen shows its task before anything else is loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import UsageError
from unstuck.settings.durations import parse_duration
from unstuck.text import is_text

TASK = "task"
"""Id of the one task."""


class OneCommand(NamedTuple):
    """An agent's ``command``, its name, and its task. ``timeout_s`` is None for the time limit of its type."""

    command: tuple[str, ...]
    agent: str
    task: str
    verify: str | None
    agent_type: str
    timeout_s: float | None


def one_command(
    command: Sequence[str],
    *,
    task: str | None = None,
    verify: str | None = None,
    agent_type: str | None = None,
    timeout: str | float | None = None,
    name: str = "",
) -> OneCommand:
    """Return what is run of one command, by an agent named ``name`` or after its program.

    ``timeout`` is a duration as text or seconds. Raises UsageError for a missing command or a wrong duration.
    """
    if not command or not command[0].strip():
        raise UsageError("no command: name the agent's program after `--`")
    if not all(map(is_text, (*command, verify or "", agent_type or ""))):
        raise UsageError("the agent's command and its check must be UTF-8 text: put other bytes into a script")
    try:
        timeout_s = None if timeout is None else parse_duration(str(timeout))
    except ValueError as error:
        raise UsageError(f"--timeout: {error}") from None
    agent = re.sub(r"[^A-Za-z0-9._:-]", "-", name or Path(command[0]).name).lstrip("._-")[:64] or "agent"
    return OneCommand(tuple(command), agent, task or "", verify or None, agent_type or "default", timeout_s)
