"""``unstuck what-if``: recorded runs and sessions under other settings."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import click

from unstuck.errors import UsageError
from unstuck.eventlog.storage.run_store import run_names
from unstuck.history.locations import AGENTS, Source, kept_sessions, sources_in
from unstuck.history.reviews import Problem, Session, Wanted, ended_at_interrupt, reviewed
from unstuck.runs.queries.run_list import find_run
from unstuck.runs.queries.what_if import Comparison, compare_run, compare_sessions, rows
from unstuck.runs.queries.what_if_settings import changed, changes_in
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.settings.models import Settings
from unstuck.text import one_line
from unstuck_tui.cli.common import complain, echo, here, json_option, print_json, project_option
from unstuck_tui.cli.names import judged_settings, run_ids
from unstuck_tui.render.printed.what_if import what_if_lines


@click.command(name="what-if")
@click.argument("runs", nargs=-1, shell_complete=run_ids, metavar="[RUN|FILE]...")
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=judged_settings,
    help="Change this setting; may be given several times.",
)
@click.option("--all", "everything", is_flag=True, help="All runs of this project, and all sessions kept of it.")
@json_option("One JSON object per difference, and one with the total.")
@project_option
def command(runs: tuple[str, ...], given: tuple[str, ...], everything: bool, project: Path, as_json: bool) -> None:
    """Compare recorded runs, and sessions of agents in FILE, under their own settings and under changed ones.

    RUN is an id, the start of an id, or last (the default). Both are judged by today's rules, step by step, in the
    state that the log holds. Later steps of a task are unknown once one differs. Nothing is written.
    """
    place = here(project)
    changes = changes_in(given)
    if everything and runs:
        raise UsageError("--all takes every run and session: leave out the names, or --all")
    found = Comparison()
    files = [Path(name) for name in runs if Path(name).is_file()]
    for one in runs:
        if os.sep in one and Path(one) not in files:
            raise UsageError(f"there is no file {one_line(one)}")
    names = run_names(place.runs) if everything else [find_run(place, one) for one in runs if Path(one) not in files]
    if not runs and not everything:
        names = [find_run(place, "last")]
    for name in names:
        deque(compare_run(place.runs / name, lambda own: changed(own, changes), found), maxlen=0)
    for note in found.notes:
        complain(note)
    sources = [source for file in files for source in sources_in(file, complain)]
    if everything:
        sources += kept_sessions(AGENTS, os.environ, complain)
    if sources:
        own = load_settings(place.root, user_file=default_user_file(), environ=os.environ, overrides={})
        _compare(sources, own, changed(own, changes), place.root if everything else None, found)
    result = list(rows(found, changes))
    if as_json:
        print_json(result)
        return
    for line in what_if_lines(result):
        echo(line)


def _compare(
    sources: Sequence[Source], own: Settings, changed: Settings, project: Path | None, found: Comparison
) -> None:
    with ended_at_interrupt():
        before, after = (
            _reviews(sources, Wanted(project=project, window_size=one.window_size)) for one in (own, changed)
        )
    for source in sources:
        old, new = before.get(source), after.get(source)
        if isinstance(old, Session) and isinstance(new, Session):
            compare_sessions(old, new, found)
        elif isinstance(old, Problem) and old.foreign and project is None:
            raise UsageError(old.reason)
        elif isinstance(old, Problem) and not old.foreign:
            complain(old.reason)


def _reviews(sources: Sequence[Source], wanted: Wanted) -> dict[Source, Session | Problem]:
    return {one.source: one for one in reviewed(sources, wanted, lambda size: None)}
