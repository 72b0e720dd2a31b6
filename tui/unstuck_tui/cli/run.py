"""``unstuck run``: a plan, or one command after ``--``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from unstuck.agents.prompting import stated_task
from unstuck.errors import UsageError
from unstuck.record.envelope import Record
from unstuck.record.events import ResultIntegrated, RunParked
from unstuck.runs.answers import load_answers
from unstuck.runs.plan import Plan, load_plan, one_task_plan
from unstuck.runs.running import Beside, RunOptions, find_run, resume_run, start_run
from unstuck.supervision.coordinator import RunResult
from unstuck.supervision.supervisor import Project, locate
from unstuck_tui.cli.common import complain, echo, project_option
from unstuck_tui.cli.streams import can_show, discard
from unstuck_tui.render.lines import lines_of, no_room, summary

__all__ = ["command"]


class _Run(click.Command):
    """Remembers whether ``--`` stood on the command line: what follows it is the agent's command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["agent"] = "--" in args
        if "--" in args and args.index("--") > 0:
            before = args[: args.index("--")]
            ctx.meta["before"] = before
        return super().parse_args(ctx, args)


@click.command(cls=_Run, name="run")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="PLAN | -- AGENT…")
@click.option("--task", help="What the agent is to do (one command).")
@click.option("--verify", metavar="CMD", help="The check that decides whether the task is done (one command).")
@click.option("--agent-type", metavar="TYPE", help="The kind of agent: its time limit depends on it (one command).")
@click.option("--timeout", metavar="DURATION", help="The time limit of an attempt, such as 15m (one command).")
@click.option("--answers", metavar="FILE", type=click.Path(path_type=Path), help="Answer gates by the rules in FILE.")
@click.option("--resume", metavar="RUN", help="Go on with a run: its id, the beginning of it, or last.")
@click.option("--max-parallel", type=click.IntRange(1, 64), help="How many tasks may be worked at once.")
@click.option("--ask", type=click.Choice(["always", "never"]), help="never: halt where a person would be asked.")
@click.option("--direct", is_flag=True, help="Direct mode: retry, then ask.")
@click.option("--headless", is_flag=True, help="No screen: one line per event; gates that nobody answers park the run.")
@click.option("--plain", is_flag=True, help="One line per event.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per event; the last line is the result.")
@project_option
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], project: Path, **options: Any) -> None:
    """Run a plan of tasks, or one command after --, until it is done or needs you.

    unstuck run plan.yaml

    unstuck run --verify "pytest -q" -- claude -p "fix the tests"
    """
    result = asyncio.run(_run(words, project, bool(ctx.meta.get("agent")), options))
    ctx.exit(result.exit_code)


async def _run(words: tuple[str, ...], directory: Path, has_agent: bool, options: dict[str, Any]) -> RunResult:
    place = await locate(directory)
    output = _Output(as_json=options["as_json"])
    overrides: dict[str, Any] = {}
    if options["max_parallel"]:
        overrides["max_parallel"] = options["max_parallel"]
    if options["ask"]:
        overrides["ask"] = options["ask"]
    environ = dict(os.environ)
    run_options = RunOptions(
        overrides=overrides,
        answers=load_answers(options["answers"]) if options["answers"] else None,
        listener=output.show,
        started=output.started,
        notice=output.notice,
        beside=_screen(options, environ, output),
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
    output.finish(result)
    return result


def _screen(options: dict[str, Any], environ: dict[str, str], output: _Output) -> Beside | None:
    """The screen, where one is wanted and there is a terminal to show it on."""
    if options["headless"] or options["plain"] or options["as_json"] or not can_show(environ):
        return None
    from unstuck_tui.showing import Showing

    return Showing(output)


def _refuse_with_resume(words: tuple[str, ...], options: dict[str, Any]) -> None:
    given = [f"--{name.replace('_', '-')}" for name in ("task", "verify", "agent_type", "timeout") if options[name]]
    if words or given:
        raise UsageError(f"--resume takes the plan from the run; leave out {', '.join([*words[:1], *given])}")


async def _plan(
    words: tuple[str, ...], has_agent: bool, place: Project, options: dict[str, Any]
) -> tuple[Plan, Project]:
    if has_agent:
        if not words:
            raise UsageError("nothing stands after --: unstuck run --verify CMD -- AGENT…")
        plan = one_task_plan(
            words,
            task=options["task"] or stated_task(words),
            verify=options["verify"],
            agent_type=options["agent_type"],
            timeout=options["timeout"],
            project=None,
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
    plan = load_plan(Path(words[0]), parallel_worktrees=place.repository is not None)
    if plan.project is not None:
        place = await locate(plan.project)
        plan = load_plan(Path(words[0]), parallel_worktrees=place.repository is not None)
    return plan, place


def _direct(plan: Plan) -> Plan:
    from dataclasses import replace

    return replace(plan, tasks={name: replace(task, mode="direct") for name, task in plan.tasks.items()})


class _Output:
    """Prints a run as it goes; ``is_quiet`` while a screen shows it.

    A reader that goes away takes nothing with it: the run goes on, unseen.
    """

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._run = ""
        self._gone = False
        self.is_quiet = False
        self._branch = ""
        self._gates: tuple[str, ...] = ()

    def started(self, run: str) -> None:
        self._run = run

    def notice(self, problem: str, gate: str) -> None:
        """Say what no record can say: that there is no room for records. Rows stay rows, so beside them it is said."""
        line = no_room(problem, gate) if problem else "there is room on the disk again: the agents go on"
        if not self._as_json:
            self._print(line)
        elif not self.is_quiet:
            complain(line)

    def show(self, record: Record) -> None:
        if self._as_json:
            self._print(json.dumps(record.as_dict(), ensure_ascii=True))
            return
        for line in lines_of(record):
            self._print(line)
        if isinstance(record.event, ResultIntegrated) and record.event.commit != "none":
            self._branch = f"unstuck/{self._run}/_run"
        elif isinstance(record.event, RunParked):
            self._gates = record.event.gates

    def finish(self, result: RunResult) -> None:
        if self._as_json:
            row = {"run": self._run, "exit_reason": result.exit_reason, "exit_code": result.exit_code}
            self._print(json.dumps(row))
            return
        for line in summary(self._run, result.exit_reason, gates=self._gates, branch=self._branch):
            self._print(line)

    def _print(self, line: str) -> None:
        if self._gone or self.is_quiet:
            return
        try:
            echo(line)
        except OSError:
            self._gone = True
            discard(sys.stdout)
