"""``unstuck demo``: the rehearsal, with scripted agents in a generated project."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import click

from unstuck.errors import UsageError
from unstuck.runs.run import RunOptions
from unstuck.runs.run_end import RunEnd, end_of_run
from unstuck.supervision.run.finish import RunResult
from unstuck.testing import Part, Rehearsal, curated, load_scenario, scenario_names
from unstuck.workspace.project import locate
from unstuck_tui.cli.common import echo_table, entitle_process, json_option, print_json
from unstuck_tui.cli.names import scenarios
from unstuck_tui.cli.output import Output, answers_in, screen

_GONE_ON_WITH = ("needs_person", "interrupted", "halted")


@click.command(name="demo")
@click.option(
    "--scenario",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=scenarios,
    help="Run only this scenario, or the one in a file.",
)
@click.option("--list", "wants_list", is_flag=True, help="List the scenarios.")
@click.option(
    "--speed",
    type=click.FloatRange(0.1, 100),
    default=1.0,
    help="Speed up the agents and their time limits by this factor.",
)
@click.option(
    "--answers", metavar="FILE", type=click.Path(path_type=Path), help="Answer questions with the rules in FILE."
)
@click.option("--keep", metavar="DIR", type=click.Path(path_type=Path), help="Create the project in DIR and keep it.")
@click.option(
    "--headless", is_flag=True, help="No screen: print one line per event; an unanswered question pauses the run."
)
@click.option("--plain", is_flag=True, help="Print lines for screen readers and logs: words instead of symbols.")
@json_option("One JSON object per event; the last line is the result.")
@click.pass_context
def command(ctx: click.Context, /, names: tuple[str, ...], wants_list: bool, **options: Any) -> None:
    """Run a demo: scripted agents, a real repository, real failures. No model, key or network.

    About ten tasks run for a minute or two. Most recover on their own; one asks, one hangs, and one is stuck: answer
    as you like.
    """
    if wants_list:
        _list(as_json=options["as_json"])
        return
    if isnan(options["speed"]):
        raise UsageError("--speed is a number from 0.1 to 100")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--scenario {twice} is given twice")
    cast = [Part(_task_of(name), load_scenario(name)) for name in names] or list(curated())
    ctx.exit(asyncio.run(_demo(cast, options)).exit_code)


def _list(*, as_json: bool) -> None:
    rows = [{"scenario": name, "about": load_scenario(name).about} for name in scenario_names()]
    if as_json:
        print_json(rows)
        return
    echo_table(("SCENARIO", "ABOUT"), ((row["scenario"], row["about"]) for row in rows))


def _task_of(name: str) -> str:
    return Path(name).stem if "/" in name or name.endswith((".yaml", ".yml")) else name


async def _demo(cast: list[Part], options: dict[str, Any]) -> RunResult:
    entitle_process("demo")
    kept: Path | None = options["keep"]
    answers = answers_in(options["answers"])
    directory = kept or Path(tempfile.mkdtemp(prefix="unstuck-demo-"))
    try:
        rehearsal = Rehearsal.prepare(cast, directory, speed=options["speed"])
    except BaseException:
        if kept is None:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    output = Output(as_json=options["as_json"], plain=options["plain"] and not options["as_json"])
    run_options = RunOptions(
        answers=answers,
        listener=output.show,
        started=output.started,
        notice=output.notice,
        beside=screen(options, os.environ, output),
    )
    result: RunResult | None = None
    found = RunEnd()
    try:
        result = await rehearsal.run(run_options)
        found = await end_of_run(await locate(rehearsal.project), output.run)
    finally:
        is_kept = kept is not None or (result is not None and result.exit_reason in _GONE_ON_WITH)
        if not is_kept:
            rehearsal.discard()
    # The branch is in the demo's own project, where nobody merges anything who has not asked to keep it.
    output.end(result, found if is_kept else replace(found, changes=None), names_branch=kept is not None)
    if is_kept and not options["as_json"]:
        output.say("  replay it with: unstuck replay last")
        output.say(f"the project is in {shlex.quote(str(rehearsal.project))}: run these commands there")
    return result
