"""A change of an agent's settings: shown, agreed to, and done."""

from __future__ import annotations

import sys

import click

from unstuck.agents.config.config_installer import Change
from unstuck.errors import UsageError
from unstuck.text import sanitise
from unstuck_tui.cli.common import echo


def applied(change: Change, otherwise: str, yes: bool) -> bool:
    """Show the change, ask at a terminal, and do it; False where there is nothing to do."""
    if change.is_empty:
        echo(otherwise)
        return False
    for line in change.diff():
        echo(sanitise(line))
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("no terminal to confirm at: add --yes")
        if not click.confirm("Change it so?"):
            raise click.Abort
    change.apply()
    kept = f"; what was there is kept in {change.backup}" if change.backup.exists() else ""
    echo(f"{change.path} {'removed' if change.after is None else 'written'}{kept}")
    return True
