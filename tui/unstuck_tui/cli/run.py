"""``unstuck run``: a plan, or one command after ``--``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unstuck.agents.command.presets import KNOWN, preset_command
from unstuck.errors import UsageError
from unstuck_tui.cli.common import (
    ask_option,
    budget_option,
    check_option,
    json_option,
    parallel_option,
    project_option,
    web_option,
)
from unstuck_tui.cli.names import agents, files, recoveries, run_ids


class _Run(click.Command):
    """Remembers whether ``--`` stood on the command line: what follows it is the agent's command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["agent"] = "--" in args
        ctx.meta["after"] = len(args) - args.index("--") - 1 if "--" in args else 0
        return super().parse_args(ctx, args)


@click.command(cls=_Run, name="run")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="PLAN | TASK | -- AGENT...")
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=agents,
    help=f"Give TASK to a known agent: {', '.join(KNOWN)}. Put its own arguments after --.",
)
@click.option("--task", help="Task for the agent (one command).")
@check_option("Check that decides when the task is done (one command).")
@click.option("--agent-type", metavar="TYPE", help="Type of agent, which sets its time limit (one command).")
@click.option("--timeout", metavar="DURATION", help="Time limit of an attempt, such as 15m (one command).")
@click.option(
    "--answers", metavar="FILE", type=click.Path(path_type=Path), help="Answer questions with the rules in FILE."
)
@click.option(
    "--resume", metavar="RUN", shell_complete=run_ids, help="Resume a run: its id, the start of its id, or last."
)
@click.option(
    "--recover",
    metavar="TASK=CHOICE",
    shell_complete=recoveries,
    multiple=True,
    help="With --resume: how an interrupted task continues: continue, retry, done, skip, abandon, adopt or stop.",
)
@click.option("--fleet", "fleet", is_flag=True, help="Have hosts of the fleet work the tasks of the plan.")
@click.option("--via", metavar="REMOTE", help="With --fleet: git remote through which files travel, or `bundle`.")
@click.option(
    "--lease", metavar="DURATION", help="With --fleet: time without a sign of a host after which its claims end; 30s."
)
@parallel_option
@ask_option
@budget_option
@click.option("--direct", is_flag=True, help="Direct mode: retry, then ask.")
@click.option(
    "--headless", is_flag=True, help="No screen: print one line per event; an unanswered question pauses the run."
)
@web_option
@click.option("--plain", is_flag=True, help="Print lines for screen readers and logs: words instead of symbols.")
@json_option("One JSON object per event; the last line is the result.")
@project_option
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], project: Path, **options: Any) -> None:
    """Run a plan, a task or one command after --, until it is done or needs you.

    A known agent takes a task; any other program is named after --.
    """
    if options["agent"] and not options["resume"]:
        words = _preset(words, ctx.meta.get("after", 0), options)
    import asyncio

    from unstuck_tui.cli.run_execution import execute

    ctx.exit(asyncio.run(execute(words, project, bool(ctx.meta.get("agent") or options["agent"]), options)))


def _preset(words: tuple[str, ...], after: int, options: dict[str, Any]) -> tuple[str, ...]:
    """The command of a known agent, whose task stands before ``--`` and more arguments behind it."""
    before, more = words[: len(words) - after], words[len(words) - after :]
    if len(before) > 1 or (before and options["task"]):
        raise UsageError("--agent takes one task: put it into quotes")
    command = preset_command(options["agent"], more)
    options["task"] = before[0] if before else options["task"]
    if not (options["task"] or "").strip():
        raise UsageError(f'--agent wants a task: unstuck run --check CMD --agent {options["agent"]} "TASK"')
    return command


def resumed(run: str, directory: Path) -> int:
    """Resume ``run`` with a screen, where nothing begins before the person says so; its exit code."""
    import asyncio

    from unstuck_tui.cli.run_execution import execute

    options = command.make_context("run", ["--resume", run]).params
    return asyncio.run(execute((), directory, False, options, hold=True))
