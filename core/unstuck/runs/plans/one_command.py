"""The command of a run without a plan file, checked. Light: a screen shows its task before anything else is loaded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import UsageError
from unstuck.settings.durations import parse_duration
from unstuck.supervision.checks.check_command import missing_program
from unstuck.text import is_text, one_line

TASK = "task"
"""Id of the one task."""


class OneCommand(NamedTuple):
    """The agent's name, and the time limit of its attempts in seconds, None for that of its type."""

    agent: str
    timeout_s: float | None


def one_command(
    command: Sequence[str], *, verify: str | None, agent_type: str | None, timeout: str | float | None, name: str = ""
) -> OneCommand:
    """Return what a plan of one command needs. Raises UsageError for a missing command or a wrong duration."""
    if not command or not command[0].strip():
        raise UsageError("no command: name the agent's program after `--`")
    if not all(map(is_text, (*command, verify or "", agent_type or ""))):
        raise UsageError("the agent's command and its check must be UTF-8 text: put other bytes into a script")
    try:
        timeout_s = None if timeout is None else parse_duration(str(timeout))
    except ValueError as error:
        raise UsageError(f"--timeout: {error}") from None
    program = re.sub(r"[^A-Za-z0-9._:-]", "-", name or Path(command[0]).name).lstrip("._-")[:64] or "agent"
    return OneCommand(program, timeout_s)


def require_check(check: str, environ: Mapping[str, str]) -> None:
    """Raise UsageError if the program of ``check`` is missing."""
    path = environ.get("PATH")
    if missing := missing_program(check, lambda name: shutil.which(name, path=path) is not None):
        raise UsageError(
            f"the check's program {missing} was not found: {one_line(check, 200)} "
            "(install it, or activate the environment that has it)"
        )
