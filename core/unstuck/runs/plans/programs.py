"""Programs of a run, looked for before it starts. Light: a screen shows its tasks before anything else is loaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from unstuck.agents.command.presets import require_agent
from unstuck.errors import UsageError
from unstuck.supervision.checks.check_command import missing_program
from unstuck.text import one_line


def require_programs(
    agents: Iterable[Sequence[str]], checks: Iterable[str], directory: Path, environ: Mapping[str, str]
) -> None:
    """Raise UsageError if the command of an agent cannot be started, or the program of a check is missing."""
    for command in agents:
        require_agent(command, directory, environ)
    path = environ.get("PATH")
    for check in checks:
        if missing := missing_program(check, lambda name: shutil.which(name, path=path) is not None):
            raise UsageError(
                f"the check's program {missing} was not found: {one_line(check, 200)} "
                "(install it, or activate the environment that has it)"
            )
