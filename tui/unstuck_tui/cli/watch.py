"""``unstuck watch``: the screen alongside agents that run in their own terminals and tell us through their hooks."""

from __future__ import annotations

import asyncio
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unstuck.settings.layers import default_user_file
from unstuck.text import one_line
from unstuck_tui.cli.attached import attach
from unstuck_tui.cli.common import (
    budget_option,
    check_option,
    entitle_process,
    json_option,
    limits_in,
    live_here,
    located,
    project_option,
    web_option,
)
from unstuck_tui.cli.output import Output, answers_in, opened, page_of, screen

if TYPE_CHECKING:
    from unstuck.eventlog.storage.lock import Holder
    from unstuck.runs.answers.answer_rules import AnswerRules
    from unstuck.runs.run import Served
    from unstuck.settings.models import Settings
    from unstuck.supervision.run.supervisor import Supervisor
    from unstuck.workspace.project import Project
    from unstuck_tui.app.host import ScreenHost
    from unstuck_tui.render.tasks.opening import Opening


@click.command(name="watch")
@check_option("Check that decides when a session's work is done.")
@click.option(
    "--answers", metavar="FILE", type=click.Path(path_type=Path), help="Answer questions with the rules in FILE."
)
@budget_option
@click.option(
    "--host", "hosts", metavar="HOST", multiple=True, help="Show the runs of HOST, over ssh; repeat it for several."
)
@click.option(
    "--ssh-command", default="", metavar="CMD", help="With --host: program in the place of ssh, such as `ssh -p 2222`."
)
@click.option("--fleet", is_flag=True, help="Show the runs of all hosts of the fleet; see `unstuck fleet`.")
@click.option("--sessions", is_flag=True, help="Supervise sessions even if a run is live; the run continues.")
@click.option("--headless", is_flag=True, help="No screen: print one line per event.")
@web_option
@click.option("--plain", is_flag=True, help="Print lines for screen readers and logs: words instead of symbols.")
@json_option("One JSON object per event; the last line is the result.")
@project_option
@click.pass_context
def command(ctx: click.Context, /, verify: str | None, project: Path, **options: Any) -> None:
    """Supervise agents that run in other terminals in this project, until you leave.

    If a run is live here already, this is an attached screen: it shows that run and takes answers for it. Leaving it
    changes nothing. With --sessions it supervises sessions beside that run.

    Each of their sessions is a task. Install their hooks with `unstuck hooks install AGENT`.

    With --host it shows all your runs on other machines in one list, and takes answers for them. Unstuck has to be
    installed there. With --fleet it does so for the machines that have joined your fleet.
    """
    if options["hosts"] or options["ssh_command"] or options["fleet"]:
        from unstuck_tui.cli.fleet_watch import watch_hosts

        ctx.exit(asyncio.run(watch_hosts(options, ["check"] if verify else [])))
    ctx.exit(asyncio.run(_watch(project, verify, options)))


async def _watch(directory: Path, verify: str | None, options: dict[str, Any]) -> int:
    """Watch, or show the run that is live here. Returns the exit code."""
    output = Output(as_json=options["as_json"], plain=options["plain"] and not options["as_json"])
    place, limits = await located(directory), limits_in(options["budget"])
    given = [name for name in ("answers", "budget", "web") if options[name]] + (["check"] if verify else [])
    if live := _live(place, sessions=options["sessions"]):
        return (await attach(place, live[0], output, options, given)).exit_code
    rules, page = answers_in(options["answers"]), page_of(options, place, output)
    beside = screen(options, os.environ, output)
    async with opened(beside, place, page, lambda: _known(place)) as is_there:
        if not is_there:
            return 130
        return await _watched(place, _settings(place, limits), verify, rules, output, options, beside, page)


def _known(place: Project) -> Opening:
    from unstuck_tui.render.tasks.opening import Opening

    return Opening(one_line(place.root.name), kind="watch")


def _live(place: Project, *, sessions: bool) -> list[Holder]:
    """Return the processes that work here; with ``sessions`` those that a watch cannot stand beside."""
    live = live_here(place)
    if not (live and sessions):
        return live
    from unstuck.eventlog.log.load_state import is_watch

    return [one for one in live if one.host or is_watch(place.runs / one.run)]


def _settings(place: Project, limits: dict[str, str]) -> Settings:
    from unstuck.settings.loading import load_settings

    return load_settings(place.root, user_file=default_user_file(), environ=os.environ, overrides=limits)


async def _watched(
    place: Project,
    settings: Settings,
    verify: str | None,
    rules: AnswerRules | None,
    output: Output,
    options: dict[str, Any],
    beside: ScreenHost | None,
    page: Served | None,
) -> int:
    """Watch until it is left. Returns the exit code."""
    from unstuck.runs.run import reached, signals_heard
    from unstuck.runs.watch import watch
    from unstuck.supervision.run.finish import result_of

    entitle_process("watch")
    async with watch(
        place,
        settings,
        verify=verify,
        policy=(lambda state: rules.match) if rules is not None else None,
        listener=output.show,
        warn=output.warn,
    ) as supervisor:
        output.started(supervisor.run)
        supervisor.room.notice = output.notice
        if beside is None and not options["as_json"]:
            output.say("watching; press ctrl+c to stop")
        with signals_heard(supervisor, beside):
            shown = beside.attached(supervisor) if beside is not None else nullcontext()
            async with reached(supervisor, page), shown:
                await _until_left(supervisor, beside)
    core = supervisor.core
    result = result_of(core.head, accept_unverified=core.accept_unverified)
    await output.finish(result, place)
    return result.exit_code


async def _until_left(supervisor: Supervisor, beside: ScreenHost | None) -> None:
    """Until the run is stopped, its window is closed, or its screen while no agent works."""
    from unstuck.supervision.context.signals import Subject

    core = supervisor.core
    while core.head.run.state not in ("draining", "ended") and not supervisor.left:
        if beside is not None and not core.person and not any(row.is_live for row in core.head.attempts.values()):
            return
        await core.signals.next(Subject.WATCH).wait()
