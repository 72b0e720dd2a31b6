"""``unstuck doctor``: the installation, its problems, and the locations of its files."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from unstuck_tui.cli.common import echo, json_option, print_json, project_option

_LEAST = (60, 16)
# In `--json` these keep the names that they had.
_LABELS = {"record": "event logs", "takes": "disk use"}


@click.command(name="doctor")
@json_option("One JSON object per row.")
@project_option
@click.pass_context
def command(ctx: click.Context, project: Path, as_json: bool) -> None:
    """Check the installation; report problems and file locations. Exits with 1 if there are problems."""
    rows = asyncio.run(_rows(project, dict(os.environ)))
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            mend = f"\n      → {row['mend']}" if row["mend"] else ""
            echo(f"{'ok ' if row['ok'] else '!! '} {_LABELS.get(row['what'], row['what']):<12} {row['value']}{mend}")
    ctx.exit(0 if all(row["ok"] for row in rows) else 1)


async def _rows(directory: Path, environ: dict[str, str]) -> list[dict[str, Any]]:
    from unstuck.runs.doctor.check_up import check_up
    from unstuck.workspace.project import locate

    place = await locate(directory, links=True)
    found = [finding._asdict() async for finding in check_up(place, environ)]
    return [*found[:3], terminal(environ), *found[3:]]


def terminal(environ: Mapping[str, str]) -> dict[str, Any]:
    """The terminal as the screen would find it: cells, colours, encoding."""
    name, size = environ.get("TERM", ""), shutil.get_terminal_size()
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    there = all(os.isatty(stream) for stream in range(3))
    parts = [name or "TERM is not set", f"{size.columns} by {size.lines} cells", f"{_colours(environ)}", encoding]
    row = {"what": "terminal", "value": ", ".join(parts), "ok": True, "mend": ""}
    if not there:
        return row | {"value": f"none on the standard streams: lines instead of a screen ({row['value']})"}
    if name in ("", "dumb"):
        return row | {"ok": False, "mend": "export TERM=xterm-256color (lines are printed until then)"}
    if "utf" not in encoding:
        return row | {"ok": False, "mend": "export LC_ALL=C.UTF-8"}
    if size.columns < _LEAST[0] or size.lines < _LEAST[1]:
        return row | {"ok": False, "mend": f"make it {_LEAST[0]} by {_LEAST[1]} cells or larger"}
    return row


def _colours(environ: Mapping[str, str]) -> str:
    """The colours that the terminal claims to have; NO_COLOR is heeded."""
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256" in environ.get("TERM", "") else "16 colours"
