"""``unstuck config``: the settings that hold, and the files that set them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from unstuck.errors import SettingsError, UsageError
from unstuck.settings.effective import Checked, checked_sources, effective_rows, ignored_values
from unstuck.settings.layers import default_user_file, project_file
from unstuck.settings.models import plain_name
from unstuck.text import one_line
from unstuck.words.did_you_mean import near
from unstuck_tui.cli.common import (
    ask_option,
    budget_option,
    complain,
    echo,
    echo_table,
    here,
    json_option,
    overrides_of,
    parallel_option,
    print_json,
    project_option,
    scope_option,
)
from unstuck_tui.cli.names import settings


@click.group(name="config")
def command() -> None:
    """Show, edit and validate your settings."""


@command.command()
@click.argument("key", required=False, default="", shell_complete=settings)
@parallel_option
@ask_option
@budget_option
@json_option("One JSON object per setting.")
@project_option
def show(key: str, project: Path, as_json: bool, **options: Any) -> None:
    """Show the effective settings and their sources.

    KEY limits them to one, or to those that begin with it. A later source wins: default, user (your own file),
    project, environment, option. The options are those of `unstuck run`. A plan can set more.
    """
    rows = effective_rows(here(project).root, default_user_file(), os.environ, overrides_of(options))
    rows = _wanted(rows, key)
    if as_json:
        print_json(rows)
        return
    shown = ((row["key"], _shown(row["value"]), f"{row['source']}  {one_line(row['where'])}") for row in rows)
    echo_table(("KEY", "VALUE", "SOURCE"), shown)


def _wanted(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    name = plain_name(key)
    found = [row for row in rows if not name or row["key"] == name or row["key"].startswith(f"{name}.")]
    if not found:
        raise UsageError(f"there is no setting {one_line(key)}{near(name, [row['key'] for row in rows])}")
    return found


def _shown(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 60)


@command.command()
@scope_option
@json_option("One JSON object.")
@project_option
def path(scope: str, project: Path, as_json: bool) -> None:
    """Print the path of your settings file."""
    file = _file(scope, project)
    if as_json:
        print_json([{"path": str(file), "exists": file.exists()}])
    else:
        echo(str(file))


@command.command()
@scope_option
@project_option
def edit(scope: str, project: Path) -> None:
    """Open your settings file in $VISUAL or $EDITOR, then validate it."""
    file = _file(scope, project)
    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR") or sys.stdin.isatty()):
        raise UsageError(f"an editor needs a terminal, or $VISUAL: edit {file}")
    file.parent.mkdir(parents=True, exist_ok=True)
    click.edit(filename=str(file))
    problem = next((one.problem for one in _checked(project) if one.where == str(file)), "")
    if problem:
        raise UsageError(problem)


@command.command()
@json_option("One JSON object per source.")
@project_option
@click.pass_context
def validate(ctx: click.Context, project: Path, as_json: bool) -> None:
    """Check every source of settings: files and variables. Exits with 2 if a value is wrong."""
    found = _checked(project)
    is_valid = not any(one.problem for one in found)
    if as_json:
        print_json({"where": one.where, "ok": not one.problem, "problem": one.problem} for one in found)
    else:
        for one in found:
            if one.problem:
                complain(one.problem)
            else:
                echo(f"ok   {one.where}")
        for said in ignored_values(here(project).root, default_user_file(), os.environ, {}) if is_valid else ():
            complain(said)
        if not found:
            echo("no settings are set: every value is the default")
    ctx.exit(0 if is_valid else 2)


def _file(scope: str, project: Path) -> Path:
    return project_file(here(project).root) if scope == "project" else default_user_file()


def _checked(project: Path) -> list[Checked]:
    """Every source with its problem; what the keys of the screen may be is the screen's to say."""
    from unstuck_tui.keys.preferences import preferences

    found = list(checked_sources(here(project).root, default_user_file(), os.environ))
    environments: list[Mapping[str, str]] = [{}] if any(one.problem for one in found) else [{}, os.environ]
    for environ in environments:
        try:
            preferences(environ)
        except SettingsError as error:
            found = [
                Checked(one.where, str(error)) if not one.problem and error.source.startswith(one.where) else one
                for one in found
            ]
    return found
