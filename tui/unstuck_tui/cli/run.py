"""``unstuck run``: a plan, or one command after ``--``."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import click

from unstuck.agents.command.presets import KNOWN, preset_command
from unstuck.agents.command.prompt_delivery import stated_task
from unstuck.errors import UsageError
from unstuck.runs.plans.plan import Plan, one_task_plan
from unstuck.runs.queries.run_list import find_run
from unstuck.runs.recovery_choices import chosen_in
from unstuck.runs.run import RunOptions, resume_run, start_run
from unstuck.supervision.run.coordinator import RunResult
from unstuck.text import one_line
from unstuck.workspace.project import Project
from unstuck_tui.cli.common import budget_option, complain, limits_in, located, project_option
from unstuck_tui.cli.names import agents, run_ids
from unstuck_tui.cli.output import Output, answers_in, screen


class _Run(click.Command):
    """Remembers whether ``--`` stood on the command line: what follows it is the agent's command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["agent"] = "--" in args
        ctx.meta["after"] = len(args) - args.index("--") - 1 if "--" in args else 0
        return super().parse_args(ctx, args)


@click.command(cls=_Run, name="run")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="PLAN | TASK | -- AGENT…")
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=agents,
    help=f"Give TASK to a known agent: {', '.join(KNOWN)}. Put its own arguments after --.",
)
@click.option("--task", help="Task for the agent (one command).")
@click.option(
    "--check", "--verify", "verify", metavar="CMD", help="Check that decides when the task is done (one command)."
)
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
    multiple=True,
    help="With --resume: how an interrupted task continues: continue, retry, done, skip, abandon, adopt or stop.",
)
@click.option("--max-parallel", type=click.IntRange(1, 64), help="Maximum number of tasks at work at the same time.")
@click.option("--ask", type=click.Choice(["always", "never"]), help="never: stop the run instead of asking a person.")
@budget_option
@click.option("--direct", is_flag=True, help="Direct mode: retry, then ask.")
@click.option(
    "--headless", is_flag=True, help="No screen: print one line per event; an unanswered question pauses the run."
)
@click.option("--plain", is_flag=True, help="Print lines for screen readers and logs: words instead of symbols.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per event; the last line is the result.")
@project_option
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], project: Path, **options: Any) -> None:
    """Run a plan, a task or one command after --, until it is done or needs you.

    A known agent takes a task; any other program is named after --.
    """
    if options["agent"] and not options["resume"]:
        words = _preset(words, ctx.meta.get("after", 0), options)
    result = asyncio.run(_run(words, project, bool(ctx.meta.get("agent") or options["agent"]), options))
    ctx.exit(result.exit_code)


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


async def go_on(run: str, directory: Path) -> RunResult:
    """Resume ``run`` with a screen; nothing begins before the person says so."""
    options = command.make_context("run", ["--resume", run]).params
    return await _run((), directory, False, options, hold=True)


async def _run(
    words: tuple[str, ...], directory: Path, has_agent: bool, options: dict[str, Any], *, hold: bool = False
) -> RunResult:
    place = await located(directory)
    output = Output(as_json=options["as_json"], plain=options["plain"] and not options["as_json"])
    overrides: dict[str, Any] = {}
    if options["max_parallel"]:
        overrides["max_parallel"] = options["max_parallel"]
    if options["ask"]:
        overrides["ask"] = options["ask"]
    overrides.update(limits_in(options["budget"]))
    if options["recover"] and not options["resume"]:
        raise UsageError("--recover needs --resume: it decides how interrupted tasks continue")
    environ = dict(os.environ)
    run_options = RunOptions(
        overrides=overrides,
        answers=answers_in(options["answers"]),
        listener=output.show,
        started=output.started,
        notice=output.notice,
        warn=complain,
        beside=screen(options, environ, output),
        chosen=chosen_in(options["recover"]),
        hold=hold,
        environ=environ,
    )
    if options["resume"]:
        _refuse_with_resume(words, options)
        run = find_run(place, options["resume"])
        output.started(run)
        result = await resume_run(run, place, run_options)
    else:
        plan, place = await _plan(words, has_agent, place, options)
        kind = "command" if has_agent else "plan"
        result = await start_run(plan, place, run_options, kind=kind)  # type: ignore[arg-type]
    await output.finish(result, place)
    return result


def _refuse_with_resume(words: tuple[str, ...], options: dict[str, Any]) -> None:
    given = [
        f"--{name.replace('_', '-')}" for name in ("agent", "task", "verify", "agent_type", "timeout") if options[name]
    ]
    if words or given:
        raise UsageError(f"--resume takes the plan from the run; leave out {', '.join([*words[:1], *given])}")


async def _plan(
    words: tuple[str, ...], has_agent: bool, place: Project, options: dict[str, Any]
) -> tuple[Plan, Project]:
    if has_agent:
        if not words:
            raise UsageError("missing agent command after --: unstuck run --check CMD -- AGENT…")
        plan = one_task_plan(
            words,
            task=options["task"] or stated_task(words),
            verify=options["verify"],
            agent_type=options["agent_type"],
            timeout=options["timeout"],
            project=None,
            name=options["agent"] or "",
        )
    else:
        plan, place = await _from_file(words, place, options)
    return (_direct(plan) if options["direct"] else plan), place


async def _from_file(words: tuple[str, ...], place: Project, options: dict[str, Any]) -> tuple[Plan, Project]:
    if len(words) != 1:
        raise UsageError("give a plan (unstuck run plan.yaml) or a command after -- (unstuck run -- AGENT…)")
    only = [f"--{name.replace('_', '-')}" for name in ("task", "verify", "agent_type", "timeout") if options[name]]
    if only:
        raise UsageError(f"{', '.join(only)} goes with one command after --; a plan says it itself")
    if " " in words[0].strip() and not Path(words[0]).exists():
        task = one_line(words[0], 60)
        cure = f'unstuck run --check CMD --agent claude "{task}"'
        raise UsageError(f"there is no plan file `{task}`. To give an agent this task: {cure}")
    from unstuck.runs.plans.plan_file import load_plan

    plan = load_plan(Path(words[0]), parallel_worktrees=place.repository is not None)
    if plan.project is not None:
        place = await located(plan.project)
        plan = load_plan(Path(words[0]), parallel_worktrees=place.repository is not None)
    return plan, place


def _direct(plan: Plan) -> Plan:
    from dataclasses import replace

    return replace(plan, tasks={name: replace(task, mode="direct") for name, task in plan.tasks.items()})
