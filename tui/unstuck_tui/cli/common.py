"""Shared by the commands: the project, options, and rows for people or for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from unstuck.errors import UnstuckError, UsageError
from unstuck.text import sanitise

if TYPE_CHECKING:
    from unstuck.eventlog.storage.lock import Holder
    from unstuck.workspace.project import Project

_Command = TypeVar("_Command", bound=Callable[..., Any])

_TIME = re.compile(r"\d{1,2}:\d\d")
_DAY_S = 86_400
_LIMITS = ("tokens", "cost", "time", "task_tokens", "task_cost", "attempt_tokens", "attempt_cost")
project_option = click.option(
    "--project", "-C", type=click.Path(path_type=Path), default=Path(), help="Use the project in this directory."
)

budget_option = click.option(
    "--budget", metavar="LIMITS", help="Budget of the run, such as tokens=200000,cost=5,time=2h."
)


def _one_check(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    if len(given) > 1:
        raise UsageError("--check is given twice (--verify is its old name): leave one out")
    return given[0] if given else None


def check_option(meaning: str) -> Callable[[_Command], _Command]:
    """The option ``--check``, also under its old name."""
    return click.option(
        "--check", "--verify", "verify", metavar="CMD", multiple=True, callback=_one_check, help=meaning
    )


scope_option = click.option(
    "--here",
    "scope",
    flag_value="project",
    default="home",
    help="Restrict to this project, instead of your whole account.",
)
yes_option = click.option("--yes", is_flag=True, help="Change the file without confirmation.")

web_option = click.option(
    "--web", "web", is_flag=True, help="Serve the run as a page as well, and print the link to it; see `unstuck web`."
)

ask_option = click.option(
    "--ask", type=click.Choice(["always", "never"]), help="never: stop the run instead of asking a person."
)
parallel_option = click.option(
    "--max-parallel", type=click.IntRange(1, 64), help="Maximum number of tasks at work at the same time."
)


def _colour(ctx: click.Context, _: click.Parameter, wanted: str | None) -> None:
    if wanted in ("always", "never"):
        ctx.color = wanted == "always"


_colour_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    expose_value=False,
    callback=_colour,
    help="Colour the output; auto does it on a terminal, unless NO_COLOR is set.",
)


def json_option(meaning: str) -> Callable[[_Command], _Command]:
    """The options for the form of what is printed: ``--json`` and ``--color``."""
    return lambda command: click.option("--json", "as_json", is_flag=True, help=meaning)(_colour_option(command))


def overrides_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the options of a run set. Raises UsageError."""
    return {name: options[name] for name in ("max_parallel", "ask") if options[name]} | limits_in(options["budget"])


def here(directory: Path, *, writes: bool = False, links: bool = False) -> Project:
    """Return :func:`located` to a command that is not asynchronous."""
    from unstuck.workspace import project  # a help needs no project

    place = project.located(directory, links=links)
    if _may_hold_half(place):
        import asyncio

        asyncio.run(_settle(place, writes=writes))
    return place


async def located(directory: Path, *, writes: bool = True, links: bool = False) -> Project:
    """Return the project around ``directory``, without half a delivery of a killed run if the command ``writes``.

    Otherwise one line says that there is one. Raises ProjectError, and RecordError as :func:`locate` does.
    """
    from unstuck.workspace import project

    place = project.located(directory, links=links)
    if _may_hold_half(place):
        await _settle(place, writes=writes)
    return place


def _may_hold_half(place: Project) -> bool:
    from unstuck.workspace.git.repository import DELIVERY

    return place.repository is not None and (place.repository.common / "unstuck" / DELIVERY).exists()


async def _settle(place: Project, *, writes: bool) -> None:
    from unstuck.supervision.run.delivery import cut_deliveries, settle_deliveries

    for line in await settle_deliveries(place) if writes else ():
        complain(line)
    for run in () if writes else await cut_deliveries(place):
        complain(
            f"run {run} was killed while it brought in its results, so your files may hold half of them: "
            "the next command that writes puts this right"
        )


def is_free(place: Project) -> bool:
    """True where a run can begin, as far as that can be seen at once: no screen opens only to close with an error."""
    home = place.home
    while not home.exists():
        home = home.parent
    return os.access(home, os.W_OK) and not live_here(place)


def live_here(place: Project) -> list[Holder]:
    """Return the processes that work here: that of a run, then that of a watch."""
    from unstuck.eventlog.storage.lock import read_holders

    if not read_holders(place.home):
        return []
    from unstuck.runs.queries.run_list import live_runs  # loads what most first frames do not wait for

    return live_runs(place)


def entitle_process(command: str) -> None:
    """Show ``unstuck`` and the name of this command as the command line of this process, before any agent works."""
    from unstuck.processes.process_title import show_as  # loads what a first frame does not wait for

    show_as(f"unstuck {command}")


def echo(line: str, *, painted: bool = True) -> None:
    """One line for people, its signs in colour. Nothing in it steers the terminal, wherever it came from."""
    from unstuck_tui.render.printed.columns import paint  # a screen needs none

    line = sanitise(line)
    # click writes UTF-8 of its own accord where the stream is ASCII, unless the stream is named.
    click.echo(paint(line) if painted else line, file=sys.stdout)


def echo_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of text below their head."""
    from unstuck_tui.render.printed.columns import columns

    for line in columns(head, list(rows)):
        echo(line)


def complain(line: str) -> None:
    """One line on standard error, whose reader may be gone."""
    with suppress(OSError):
        click.echo(f"unstuck: {sanitise(line)}", file=sys.stderr)


def print_json(rows: Iterable[dict[str, Any]]) -> None:
    """One JSON object a line."""
    for row in rows:
        click.echo(json.dumps(row, ensure_ascii=True))


def limits_in(text: str | None) -> dict[str, str]:
    """``tokens=200000,cost=5,time=2h`` as settings; what the values may be is theirs to say. Raises UsageError."""
    limits = {}
    for part in filter(None, (part.strip() for part in (text or "").split(","))):
        name, _, value = part.partition("=")
        if name.strip() not in _LIMITS or not value.strip():
            raise UsageError(f"--budget: {part!r} is not one of {', '.join(_LIMITS)}, such as cost=5 or time=2h")
        limits[f"budget.{name.strip()}"] = value.strip()
    return limits


def end_with_status(ctx: click.Context, rows: Sequence[dict[str, Any]], as_json: bool) -> NoReturn:
    """Print a row per settings file of an agent, and exit with 1 unless all of them are ok."""
    if as_json:
        print_json(rows)
    else:
        shown = [("ok" if r["ok"] else "!!", r["agent"], r["scope"], r["state"], r["note"]) for r in rows]
        echo_table(("", "AGENT", "SCOPE", "STATE", "NOTE"), shown)
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
    try:
        if not _TIME.match(said):
            return datetime.fromisoformat(said).timestamp()
        here = datetime.fromisoformat(f"1970-01-02T{said}").tzinfo
        today = datetime.fromtimestamp(now).astimezone(here).date().isoformat()
        moment = datetime.fromisoformat(f"{today}T{said}").timestamp()
        return moment if moment <= now else moment - _DAY_S  # it is past midnight
    except (ValueError, OverflowError):
        raise UsageError(f"--since: {said!r} is no time such as 10m (ago), 14:30 or 2026-11-22T14:30") from None


def agents_here(environ: Mapping[str, str]) -> list[tuple[int, float]]:
    """Return the agents of the live runs of this user on this machine, by process id and start."""
    from unstuck.eventlog.log.load_state import live_agents
    from unstuck.eventlog.storage.project_list import listed_homes
    from unstuck.settings.paths import state_dir
    from unstuck.workspace.project import located

    homes = listed_homes(state_dir(environ))
    with suppress(UnstuckError):  # an agent has no variables of ours, so the list may be another one
        homes.append(located(Path()).home)
    return [agent for home in homes for agent in live_agents(home)]


@contextmanager
def progress(total: int, label: str, *, least: int = 1) -> Iterator[Callable[[int], None]]:
    """Show a progress bar over ``total`` bytes, if a person can see it and there are ``least`` so many."""
    if total < least or sys.stderr is None or not sys.stderr.isatty():
        yield lambda size: None
        return
    with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
        yield bar.update
