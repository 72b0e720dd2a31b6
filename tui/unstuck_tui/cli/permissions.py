"""``unstuck permissions``: what agents may do because of your answers, and taking it back."""

from __future__ import annotations

import os
from pathlib import Path

import click

from unstuck.runs.answers.permissions import permission_rows, revoke
from unstuck.text import one_line
from unstuck_tui.cli.common import echo, here, json_option, print_json, project_option
from unstuck_tui.cli.names import permissions

_json_option = json_option("One JSON object a line.")


@click.group(name="permissions")
def command() -> None:
    """List or revoke what you have allowed agents to do: for a task, for the last run, or for always."""


@command.command(name="list")
@_json_option
@project_option
def list_(project: Path, as_json: bool) -> None:
    """List the permissions in force."""
    rows = permission_rows(here(project))
    if as_json:
        print_json(rows)
        return
    for row in rows:
        where = (
            "always"
            if row["scope"] == "always"
            else f"{row['scope']} {row['task' if row['scope'] == 'task' else 'run']}"
        )
        echo(f"{one_line(row['rule'], 100):<30}  {where:<24}  {row['gate']}".rstrip())
    if not rows:
        echo("nothing is allowed here beyond what the agents' own settings allow")


@command.command(name="revoke")
@click.argument("rule", shell_complete=permissions)
@_json_option
@project_option
def revoke_(rule: str, project: Path, as_json: bool) -> None:
    """Revoke the permission RULE, such as "make test *". A live run asks again from now on."""
    gone = revoke(here(project), rule, dict(os.environ))
    if as_json:
        print_json(gone)
        return
    for row in gone:
        echo(f"revoked: {one_line(row['rule'], 100)} ({row['scope']})")
