"""Shared by the commands: the project, options, and rows for people or for programs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import click

from unstuck.errors import UsageError
from unstuck.workspace.git.repository import DELIVERY
from unstuck.workspace.project import Project, locate

project_option = click.option(
    "--project", "-C", type=click.Path(path_type=Path), default=Path(), help="Use the project in this directory."
)

budget_option = click.option(
    "--budget", metavar="LIMITS", help="Budget of the run, such as tokens=200000,cost=5,time=2h."
)

scope_option = click.option(
    "--here",
    "scope",
    flag_value="project",
    default="home",
    help="Restrict to this project, instead of your whole account.",
)
yes_option = click.option("--yes", is_flag=True, help="Change the file without confirmation.")


def here(directory: Path, *, writes: bool = False, links: bool = False) -> Project:
    """Return :func:`located` to a command that is not asynchronous."""
    return asyncio.run(located(directory, writes=writes, links=links))


async def located(directory: Path, *, writes: bool = True, links: bool = False) -> Project:
    """Return the project around ``directory``, without half a delivery of a killed run if the command ``writes``.

    Otherwise one line says that there is one. Raises ProjectError, and RecordError as :func:`locate` does.
    """
    place = await locate(directory, links=links)
    if place.repository is not None and (place.repository.common / "unstuck" / DELIVERY).exists():
        from unstuck.supervision.run.delivery import cut_deliveries, settle_deliveries

        for line in await settle_deliveries(place) if writes else ():
            complain(line)
        for run in () if writes else await cut_deliveries(place):
            complain(
                f"run {run} was killed while it brought in its results, so your files may hold half of them: "
                "the next command that writes puts this right"
            )
    return place


def echo(line: str) -> None:
    """One line for people; what the terminal's encoding lacks becomes a question mark."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    click.echo(line.encode(encoding, "replace").decode(encoding))


def complain(line: str) -> None:
    """One line on standard error, whose reader may be gone."""
    with suppress(OSError):
        click.echo(f"unstuck: {line}", err=True)


def print_json(rows: Iterable[dict[str, Any]]) -> None:
    """One JSON object a line."""
    for row in rows:
        click.echo(json.dumps(row, ensure_ascii=True))


def limits_in(text: str | None) -> dict[str, str]:
    """``tokens=200000,cost=5,time=2h`` as settings; what the values may be is theirs to say. Raises UsageError."""
    limits = {}
    for part in filter(None, (part.strip() for part in (text or "").split(","))):
        name, _, value = part.partition("=")
        if name.strip() not in ("tokens", "cost", "time") or not value.strip():
            raise UsageError(f"--budget: {part!r} is not one of tokens=N, cost=N, time=DURATION")
        limits[f"budget.{name.strip()}"] = value.strip()
    return limits


def end_with_status(ctx: click.Context, rows: Sequence[dict[str, Any]], as_json: bool) -> NoReturn:
    """Print a row per settings file of an agent, and exit with 1 unless all of them are ok."""
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            sign = "ok " if row["ok"] else "!! "
            echo(f"{sign} {row['agent']:<7} {row['scope']:<8} {row['state']:<10} {row['note']}")
    ctx.exit(0 if all(row["ok"] for row in rows) else 1)


def moment_of(said: str) -> float:
    """A time as seconds since 1970; without a zone it is the one here. Raises UsageError."""
    from unstuck.clock import SystemClock
    from unstuck.settings.durations import parse_duration

    now = SystemClock().now()
    try:
        return now - parse_duration(said)
    except ValueError:
        pass
    today = datetime.fromtimestamp(now).astimezone().date().isoformat()
    try:
        return datetime.fromisoformat(said if "-" in said else f"{today}T{said}").timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"--since: {said!r} is no time such as 10m (ago), 14:30 or 2026-11-22T14:30") from None
