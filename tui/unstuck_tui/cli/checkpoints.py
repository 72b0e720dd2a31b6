"""``unstuck checkpoints``: list, create, compare and restore checkpoints."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unstuck.clock import SystemClock
from unstuck.errors import UsageError
from unstuck.runs.checkpoint_commands import change_row, checkpoint_row, full_row, nobody_at_work, saved_as, store_of
from unstuck.text import one_line
from unstuck.words.amounts import ago, sized
from unstuck.words.labels import checkpoint_reason
from unstuck.words.story import PLANNED, plan_text, under_way_text
from unstuck.workspace.checkpoints.manager import (
    CheckpointStore,
    Plan,
    Restored,
    belongs,
    find_checkpoints,
    last_restored,
)
from unstuck.workspace.project import Project
from unstuck_tui.cli.common import echo, echo_table, here, json_option, print_json, project_option
from unstuck_tui.cli.names import checkpoints

if TYPE_CHECKING:
    from unstuck.settings.models import Settings

_json_option = json_option("One JSON object a line.")
_file_option = click.option("--file", "paths", multiple=True, metavar="PATH", help="Restrict to this file or folder.")
_yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
_NAMED = 200


@click.group(name="checkpoints")
def command() -> None:
    """List, create, compare and restore checkpoints."""


@command.command(name="list")
@_json_option
@project_option
def list_(project: Path, as_json: bool) -> None:
    """List the checkpoints, oldest first. Those of worktrees are included."""
    place = here(project)
    found = asyncio.run(find_checkpoints(place.home, place.repository))
    rows = [checkpoint_row(checkpoint) for checkpoint in found]
    if as_json:
        print_json(rows)
        return
    now = SystemClock().now()
    echo_table(
        ("CHECKPOINT", "SAVED", "FILES", "TASK", "REASON"),
        (
            (r["id"], ago(r["created"], now), str(r["files"]), r["task"], f"{checkpoint_reason(r['reason'])}{_gaps(r)}")
            for r in rows
        ),
    )
    if not rows:
        echo("no checkpoints here yet")
    _say_cut_off(place)


@command.command(name="create")
@click.option("--reason", "-m", default="on request", help="Reason shown in the list.")
@click.option("--yes", is_flag=True, help="Allow a home directory or a very large folder, from now on.")
@_json_option
@project_option
def create(project: Path, reason: str, yes: bool, as_json: bool) -> None:
    """Save the current files. Nothing is saved if nothing changed since the last checkpoint."""
    place = here(project, writes=True)
    store = store_of(place, place.root, _settings(place))
    saved = asyncio.run(store.create(one_line(reason), run="manual", yes=yes))
    row = checkpoint_row(saved) | {"new": saved.is_new}
    if as_json:
        print_json([row])
        return
    echo(f"{saved.id}  {saved.files} files{_gaps(row)}" if saved.is_new else f"{saved.id}  nothing has changed since")
    for entry in saved.left_out[:_NAMED]:
        echo(f"  not covered: {one_line(entry.path)} ({entry.reason})")


@command.command(name="show")
@click.argument("id", shell_complete=checkpoints)
@_json_option
@project_option
def show(id: str, project: Path, as_json: bool) -> None:
    """Show one checkpoint. Lists the files in it, the files left out, and the changes before it."""
    place = here(project)
    saved = asyncio.run(saved_as(place, id))
    is_ours = belongs(saved.root, place.home, place.repository)
    changes = asyncio.run(store_of(place, saved.root, _settings(place)).contents(id)) if is_ours else ()
    row = full_row(saved, changes)
    if as_json:
        print_json([row])
        return
    echo(f"{row['id']}  {row['created']}  {checkpoint_reason(row['reason'])}")
    echo(f"  worktree  {row['tree']}")
    if row["task"]:
        echo(f"  task     {row['task']} (run {row['run']})")
    echo(f"  covers   {row['files']} files")
    for entry in saved.left_out[:_NAMED]:
        echo(f"  without  {one_line(entry.path)} ({entry.reason})")
    for name in row["ignored_names"][:_NAMED]:
        echo(f"  without  {name} (ignored)")
    if row["ignored"] > len(row["ignored_names"][:_NAMED]):
        echo(f"  without  {row['ignored']} ignored files and folders in all")
    _print_changes(row["changes"])


@command.command(name="diff")
@click.argument("id", shell_complete=checkpoints)
@click.argument("other", required=False, shell_complete=checkpoints)
@_file_option
@_json_option
@project_option
def diff(id: str, other: str | None, project: Path, paths: tuple[str, ...], as_json: bool) -> None:
    """Show the changes since checkpoint ID, or from ID to OTHER."""
    store = _store(here(project), id, gone=other is not None)
    if as_json:
        changes = asyncio.run(store.changed(id, other, paths=paths))
        print_json(change_row(change) for change in changes)
        return
    for line in asyncio.run(store.diff(id, other, paths=paths)).splitlines():
        echo(line, painted=False)


@command.command(name="restore")
@click.argument("id", shell_complete=checkpoints)
@_file_option
@_yes_option
@_json_option
@project_option
def restore(id: str, project: Path, paths: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Restore the files of checkpoint ID. Shows the plan, asks, saves the current files, then restores.

    Ignored files, other repositories and files that no checkpoint holds stay as they are. `unstuck checkpoints undo`
    undoes the restore.
    """
    place = here(project, writes=True)
    saved = asyncio.run(saved_as(place, id))
    store = store_of(place, saved.root, _settings(place))
    with nobody_at_work(place, saved.root):
        plan = asyncio.run(store.plan(id, paths=paths))
        if _agreed(plan, saved.root, _settings(place), yes, as_json):
            _report(asyncio.run(store.restore(id, run="manual", paths=paths, plan=plan)), as_json)


@command.command(name="undo")
@_yes_option
@_json_option
@project_option
def undo(project: Path, yes: bool, as_json: bool) -> None:
    """Undo the last restore. An undo can be undone, too."""
    place = here(project, writes=True)
    root = asyncio.run(last_restored(place.home, place.repository))
    if root is None:
        raise UsageError("there is no restore to undo in this project")
    store = store_of(place, root, _settings(place))
    last = store.last_restore()
    if last is None:
        raise UsageError("there is no restore to undo in this project")
    with nobody_at_work(place, root):
        plan = asyncio.run(store.plan(last.safety, paths=last.paths))
        if _agreed(plan, root, _settings(place), yes, as_json):
            _report(asyncio.run(store.undo(run="manual", plan=plan)), as_json)


def _settings(place: Project) -> Settings:
    from unstuck.settings.layers import default_user_file
    from unstuck.settings.loading import load_settings  # a list needs none

    return load_settings(place.root, user_file=default_user_file(), environ=dict(os.environ), overrides={})


def _store(place: Project, id: str, *, gone: bool = False) -> CheckpointStore:
    return store_of(place, asyncio.run(saved_as(place, id)).root, _settings(place), gone=gone)


def _gaps(row: dict[str, Any]) -> str:
    """The gaps of its coverage, in a few words."""
    parts = [f"{len(row['not_covered'])} left out"] if row["not_covered"] else []
    parts += [f"{row['ignored']} ignored"] if row["ignored"] else []
    return f"  ({', '.join(parts)})" if parts else ""


def _say_cut_off(place: Project) -> None:
    """Report a restore that was killed, until it is finished or undone."""
    root = asyncio.run(last_restored(place.home, place.repository))
    if root is None:
        return
    from unstuck.settings.models import Settings

    last = store_of(place, root, Settings()).last_restore()
    if last is not None and not last.done:
        echo(f"! a restore to {last.target} was interrupted: `unstuck checkpoints restore {last.target}` completes it,")
        echo("  `unstuck checkpoints undo` undoes it")


def _agreed(plan: Plan, root: Path, settings: Settings, yes: bool, as_json: bool) -> bool:
    """Show the plan and get a yes: a typed one where it takes more than its share of the tree."""
    rows = [change_row(change, PLANNED) for change in plan.changes]
    if as_json:
        print_json(rows)
    else:
        echo(plan_text(plan.checkpoint, one_line(str(root)), [row["status"] for row in rows]))
        _print_changes(rows)
        if plan.under_way:
            echo(f"  {under_way_text(plan.under_way)}")
    if not plan.changes:
        return True
    if yes:
        return True
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("nothing was changed: confirm at a terminal, or add --yes")
    if plan.is_within(settings.restore_share):
        return click.confirm("Restore them?")
    text = click.prompt(f"Those are many of {plan.files} files. Type yes to restore them", default="no")
    return bool(text.strip().lower() == "yes")


def _print_changes(rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    for row in rows[:_NAMED]:
        sizes = " → ".join(sized(size) for size in (row["before"], row["after"]) if size is not None)
        echo(f"  {row['status']:<10} {row['path']} ({sizes})")
    if len(rows) > _NAMED:
        echo(f"  and {len(rows) - _NAMED} more")


def _report(done: Restored, as_json: bool) -> None:
    if as_json:
        print_json([{"safety": done.safety.id, "changed": len(done.changes)}])
    elif done.changes:
        echo(f"done; the previous files are saved as {done.safety.id}: `unstuck checkpoints undo` undoes it")
    else:
        echo("nothing to do")
