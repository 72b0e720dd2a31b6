"""A change of an agent's settings: shown, agreed to, and done."""

from __future__ import annotations

import sys

import click

from unstuck.agents.config.config_installer import Change
from unstuck.errors import UsageError
from unstuck.text import one_line
from unstuck_tui.cli.common import echo, print_json


def applied(change: Change, otherwise: str, yes: bool, *, as_json: bool = False) -> bool:
    """Show the change, ask at a terminal, and do it; True where there is more to say of it."""
    if as_json:
        return _applied_as_row(change, yes)
    if change.is_empty:
        echo(otherwise)
        return False
    for line in change.diff():
        echo(line, painted=False)
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("no terminal to confirm at: add --yes")
        if not click.confirm(f"{'Remove' if change.after is None else 'Write'} {one_line(str(change.path))}?"):
            raise click.Abort
    change.apply()
    kept = (
        f"; what was there is kept in {change.backup}" if change.before is not None and change.backup.exists() else ""
    )
    echo(f"{change.path} {'removed' if change.after is None else 'written'}{kept}")
    return True


def _applied_as_row(change: Change, yes: bool) -> bool:
    if not change.is_empty:
        if not yes:
            raise UsageError("nobody is asked beside --json: add --yes")
        change.apply()
    backup = str(change.backup) if change.backup.exists() else ""
    print_json([{"path": str(change.path), "changed": not change.is_empty, "backup": backup}])
    return False
