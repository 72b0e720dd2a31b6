"""``unstuck truth``: what agents claimed, beside what their checks found."""

from __future__ import annotations

import os
from pathlib import Path

import click

from unstuck.eventlog.storage.project_list import listed_homes
from unstuck.runs.queries.truth import truth_of
from unstuck.settings.paths import state_dir
from unstuck_tui.cli.common import complain, echo, here, json_option, print_json, project_option
from unstuck_tui.render.printed.truth import truth_lines


@click.command(name="truth")
@click.option("--all", "everywhere", is_flag=True, help="Count the runs of all your projects.")
@json_option("One JSON object per agent and model.")
@project_option
def command(project: Path, everywhere: bool, as_json: bool) -> None:
    """Compare what agents claimed with what their checks found, by agent and model, over all runs of this project.

    A claim is an explicit signal, else it is read from the agent's last message. A false claim says done although the
    check failed.
    """
    place = here(project)
    homes = {place.home, *((*place.others, *listed_homes(state_dir(os.environ))) if everywhere else ())}
    rows = truth_of([home / "runs" for home in sorted(homes)], complain)
    if as_json:
        print_json(rows)
        return
    if not rows:
        where = "in any of your projects" if everywhere else "here"
        echo(f"no attempts {where} yet: start one with `unstuck run --check CMD -- AGENT…`")
        return
    for line in truth_lines(rows):
        echo(line)
