"""``unstuck delete``: a run, or all that is ours in a project; what would go first, then a typed yes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click

from unstuck.errors import UnstuckError, UsageError
from unstuck.runs.deletion.execute import Destroyed, destroy, refuse
from unstuck.runs.deletion.inventory import Inventory
from unstuck.runs.deletion.plan import find_deletable, take_stock
from unstuck_tui.cli.common import echo, here, json_option, print_json
from unstuck_tui.cli.names import run_ids
from unstuck_tui.render.printed.deletion import inventory_lines, receipt_lines


@click.command(name="delete")
@click.argument("run", required=False, shell_complete=run_ids)
@click.option(
    "--all", "--project", "whole", is_flag=True, help="Delete all data of unstuck in this project, its hooks included."
)
@click.option("--yes", "typed", metavar="NAME", help="Confirm with the id of the run, or the name of the project.")
@click.option("--lose-work", is_flag=True, help="Confirm the loss of work that exists nowhere else.")
@json_option("Print one JSON object per item, then the result.")
@click.option("-C", "directory", type=click.Path(path_type=Path), default=Path(), help="Work in this directory.")
def command(run: str | None, whole: bool, typed: str | None, lose_work: bool, as_json: bool, directory: Path) -> None:
    """Delete RUN, or with --all all data of unstuck in this project.

    Shows what would be removed, with counts and sizes, and asks for the name. Ends processes with a stop report. Work
    that exists nowhere else is listed and needs its own confirmation. Your files, index, branches, stash and settings
    stay as they are. Afterwards a search shows that nothing is left.
    """
    if whole and run:
        raise UsageError("--all deletes everything and takes no run; use -C for another directory")
    if not whole and not run:
        raise UsageError("name a run (unstuck delete RUN), or delete everything (unstuck delete --all)")
    place, environ = here(directory, writes=True, links=True), dict(os.environ)
    name = "" if whole else asyncio.run(find_deletable(place, environ, run or ""))
    inventory = asyncio.run(take_stock(place, environ, name)).inventory
    if as_json:
        print_json(_rows(inventory))
    else:
        for line in inventory_lines(inventory):
            echo(line)
    if not inventory.items:
        return
    lose = _agreed(inventory, environ, typed, lose_work, as_json)
    _report(asyncio.run(destroy(place, environ, inventory, lose=lose)), as_json)


def _agreed(inventory: Inventory, environ: dict[str, str], typed: str | None, lose: bool, as_json: bool) -> bool:
    """Take the typed name, and the yes to lose what exists nowhere else. Raises UsageError without them."""
    may_ask = typed is None and not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    refuse(inventory, environ, lose=lose or may_ask)
    if may_ask:
        if inventory.holding and not lose:
            text = click.prompt("Some of this work exists nowhere else. Type lose to delete it", default="no")
            if text.strip().lower() != "lose":
                raise UsageError("nothing was deleted")
            lose = True
        typed = click.prompt(f"Type {inventory.name} to delete it", default="", show_default=False)
    if typed is None:
        raise UsageError(f"nothing was deleted: this needs the name typed, or --yes {inventory.name}")
    if typed.strip() != inventory.name:
        raise UsageError(f"nothing was deleted: that is not {inventory.name}")
    return lose


def _rows(inventory: Inventory) -> list[dict[str, Any]]:
    gone = [{"goes": item.kind, **item.model_dump(exclude={"kind"})} for item in inventory.items]
    stays = [{"stays": one.name, "reason": one.reason} for one in inventory.stays]
    return gone + stays + [{"blocked": reason} for reason in inventory.blocked]


def _report(done: Destroyed, as_json: bool) -> None:
    if as_json:
        ended = [{"pid": pid, "start": start, "how": how} for pid, start, how in done.receipt.ended]
        print_json([{"deleted": done.inventory.name, "ended": ended, "left": list(done.left)}])
    else:
        for line in receipt_lines(done):
            echo(line)
    if done.left:
        raise UnstuckError(f"{len(done.left)} left, which should be gone: {'; '.join(done.left[:5])}")
