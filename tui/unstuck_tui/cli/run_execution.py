"""Execution of ``unstuck run``: options and words become a plan, which is run or resumed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unstuck.errors import UsageError
from unstuck.text import one_line
from unstuck_tui.cli.attached import known_run
from unstuck_tui.cli.common import entitle_process, located, overrides_of, progress
from unstuck_tui.cli.output import Output, answers_in, opened, page_of, screen

if TYPE_CHECKING:
    from unstuck.fleet.shared_plan.placement import Placement
    from unstuck.runs.plans.one_command import OneCommand
    from unstuck.runs.plans.plan import Plan
    from unstuck.runs.run import RunOptions
    from unstuck.supervision.run.finish import RunResult
    from unstuck.workspace.project import Project
    from unstuck_tui.render.tasks.opening import Opening

_OFFERED = 64
_LONG_LOG = 32 * 1024 * 1024
"""Bytes of an event log whose reading takes a person's time."""
_OF_ONE_COMMAND = {"task": "--task", "verify": "--check", "agent_type": "--agent-type", "timeout": "--timeout"}


class _Asked(NamedTuple):
    """The run that the command line asks for: its project, what a screen can show of it at once, and its beginning."""

    place: Project
    known: Callable[[], Opening | None]
    begin: Callable[[RunOptions], Awaitable[RunResult]]


async def execute(
    words: tuple[str, ...], directory: Path, has_agent: bool, options: dict[str, Any], *, hold: bool = False
) -> int:
    """Run or resume what the command line says; with ``hold`` nothing begins before a person says so.

    Returns the exit code.
    """
    place = await located(directory)
    output = Output(as_json=options["as_json"], plain=options["plain"] and not options["as_json"])
    overrides = overrides_of(options)
    if options["recover"] and not options["resume"]:
        raise UsageError("--recover needs --resume: it decides how interrupted tasks continue")
    environ = dict(os.environ)
    placed = _placed(options, overrides, output)
    output.how = "--fleet " if placed is not None else ""
    beside = screen(options, environ, output)
    answers = answers_in(options["answers"])
    if options["resume"]:
        asked = await _resumed(words, place, options, placed, output)
    elif has_agent and placed is None:
        asked = _one_command(words, place, options)
    else:
        asked = await _planned(words, has_agent, place, options, placed, overrides)
    page = page_of(options, asked.place, output)
    async with opened(beside, asked.place, page, asked.known) as is_there:
        if not is_there:
            return 130
        from unstuck.runs.run import RunOptions

        entitle_process("run")
        result = await asked.begin(
            RunOptions(
                overrides=overrides,
                answers=answers,
                listener=output.show,
                started=output.started,
                notice=output.notice,
                warn=output.warn,
                beside=beside,
                served=page,
                placed=None if placed is None else placed.placed,
                chosen=_chosen(options["recover"]),
                hold=hold,
                environ=environ,
                reading=lambda size: progress(size, "reading the event log", least=_LONG_LOG),
            )
        )
    await output.finish(result, asked.place)
    return result.exit_code


def _one_command(words: tuple[str, ...], place: Project, options: dict[str, Any]) -> _Asked:
    """Return the run of one command here. Raises UsageError for what cannot begin, before there is a screen."""
    from unstuck.runs.plans.one_command import TASK
    from unstuck.runs.plans.programs import require_programs

    command = _command(words, options)
    require_programs([command.command], [command.verify] if command.verify else [], place.directory, os.environ)

    def known() -> Opening:
        from unstuck_tui.render.tasks.opening import opening_of_tasks

        return opening_of_tasks(one_line(place.root.name), [(TASK, command.agent, ())])

    async def begin(run_options: RunOptions) -> RunResult:
        from unstuck.runs.plans.plan import one_task_plan
        from unstuck.runs.run import start_run

        plan = one_task_plan(command)
        return await start_run(_direct(plan) if options["direct"] else plan, place, run_options, kind="command")

    return _Asked(place, known, begin)


async def _planned(
    words: tuple[str, ...],
    has_agent: bool,
    place: Project,
    options: dict[str, Any],
    placed: Placement | None,
    overrides: dict[str, Any],
) -> _Asked:
    """Return the run of a plan. Raises UsageError and PlanError for what cannot begin, before there is a screen."""
    from unstuck.runs.plans.plan import one_task_plan
    from unstuck.runs.plans.programs import require_programs

    if has_agent:
        plan = one_task_plan(_command(words, options))
    else:
        plan, place = await _from_file(words, place, options)
    plan = _direct(plan) if options["direct"] else plan
    if placed is not None:
        plan = _apart(plan, overrides)
        await placed.require(plan, place)
    # Agents of hosts need not be here, and a setup may still install what a check needs.
    agents, checks = plan.commands() if placed is None else [], [] if plan.setup else plan.checks()
    require_programs(agents, checks, place.directory, os.environ)

    def known() -> Opening:
        from unstuck_tui.render.tasks.opening import opening_of_tasks

        tasks = [planned.task for planned in plan.tasks.values()]
        return opening_of_tasks(one_line(place.root.name), [(task.id, task.agent, task.needs) for task in tasks])

    async def begin(run_options: RunOptions) -> RunResult:
        from unstuck.runs.run import start_run

        return await start_run(plan, place, run_options, kind="command" if has_agent else "plan")

    return _Asked(place, known, begin)


async def _resumed(
    words: tuple[str, ...], place: Project, options: dict[str, Any], placed: Placement | None, output: Output
) -> _Asked:
    """Return the rest of a run. Raises UsageError for options that it does not take."""
    from unstuck.eventlog.log.load_state import LOG_NAME
    from unstuck.runs.queries.run_list import find_run

    _refuse_with_resume(words, options)
    if placed is not None:
        await _bring_here(options["resume"], place, placed)
    run = find_run(place, options["resume"])
    output.started(run)

    def known() -> Opening | None:
        log = place.runs / run / LOG_NAME
        if not log.is_file() or log.stat().st_size >= _LONG_LOG:  # which is read with a bar that says how far
            return None
        found = known_run(place, run, one_line(place.root.name), is_live=lambda: False)
        return found if found is not None and found.state != "ended" else None

    async def begin(run_options: RunOptions) -> RunResult:
        from unstuck.runs.run import resume_run

        return await resume_run(run, place, run_options)

    return _Asked(place, known, begin)


def _placed(options: dict[str, Any], overrides: dict[str, Any], output: Output) -> Placement | None:
    """Return where the tasks are worked, with ``--fleet``. Raises UsageError."""
    if not options["fleet"]:
        if options["via"] or options["lease"]:
            raise UsageError("--via and --lease go with --fleet")
        return None
    from unstuck_tui.cli.fleet import require_nats

    require_nats()
    from unstuck.fleet.nats.membership import Membership
    from unstuck.fleet.shared_plan.entries import LEASE_S
    from unstuck.fleet.shared_plan.placement import Placement
    from unstuck.settings.durations import parse_duration

    try:
        lease_s = parse_duration(options["lease"]) if options["lease"] else LEASE_S
    except ValueError as error:
        raise UsageError(f"--lease: {error}") from None
    return Placement(Membership(os.environ).person(), via=options["via"] or "", lease_s=lease_s, warn=output.warn)


def _apart(plan: Plan, overrides: dict[str, Any]) -> Plan:
    """Return ``plan`` with a worktree for each task. It bounds how many are offered at once, not this machine."""
    if plan.max_parallel is None:
        overrides.setdefault("max_parallel", _OFFERED)
    tasks = {
        name: replace(planned, task=replace(planned.task, isolation="worktree")) for name, planned in plan.tasks.items()
    }
    return replace(plan, tasks=tasks)


async def _bring_here(run: str, place: Project, placed: Placement) -> None:
    """Bring the run of a machine that is lost here, where its log is not in this project."""
    from unstuck.eventlog.storage.run_store import run_names
    from unstuck.fleet.shared_plan.takeover import bring_run

    if run not in run_names(place.runs):
        await bring_run(run, place, placed, os.environ)


def _chosen(options: tuple[str, ...]) -> dict[str, str]:
    if not options:
        return {}
    from unstuck.runs.recovery_choices import chosen_in

    return chosen_in(options)


def _refuse_with_resume(words: tuple[str, ...], options: dict[str, Any]) -> None:
    given = [flag for name, flag in _OF_ONE_COMMAND.items() if options[name]] + ["--agent"] * bool(options["agent"])
    if words or given:
        raise UsageError(f"--resume takes the plan from the run; leave out {', '.join([*words[:1], *given])}")


def _command(words: tuple[str, ...], options: dict[str, Any]) -> OneCommand:
    if not words:
        raise UsageError("missing agent command after --: unstuck run --check CMD -- AGENT…")
    from unstuck.agents.command.prompt_delivery import stated_task
    from unstuck.runs.plans.one_command import one_command

    return one_command(
        words,
        task=options["task"] or stated_task(words),
        verify=options["verify"],
        agent_type=options["agent_type"],
        timeout=options["timeout"],
        name=options["agent"] or "",
    )


def _is_said(word: str) -> bool:
    """Return True if ``word`` reads like a task and not like the name of a file."""
    return " " in word.strip() or not any(sign in word for sign in "./")


async def _from_file(words: tuple[str, ...], place: Project, options: dict[str, Any]) -> tuple[Plan, Project]:
    only = [flag for name, flag in _OF_ONE_COMMAND.items() if options[name]]
    is_plan = bool(words) and (words[0].endswith((".yaml", ".yml")) or os.path.exists(words[0]))
    if words and not is_plan and (only or len(words) > 1 or _is_said(words[0])):
        task, check = one_line(" ".join(words), 60), one_line(options["verify"] or "CMD", 60)
        cure = f'unstuck run --check {shlex.quote(check)} --agent claude "{task}"'
        raise UsageError(f"there is no plan file `{task}`. To give an agent this task: {cure}")
    if len(words) != 1:
        raise UsageError(
            'give a plan (unstuck run plan.yaml), a task for a known agent (unstuck run --agent claude "TASK") or a '
            "command after -- (unstuck run -- AGENT…)"
        )
    if only:
        raise UsageError(f"{', '.join(only)} goes with one command after --; write it in the plan")
    from unstuck.runs.plans.plan_file import load_plan

    plan = load_plan(Path(words[0]), parallel_worktrees=place.repository is not None)
    if plan.project is not None:
        place = await located(plan.project)
        plan = load_plan(Path(words[0]), parallel_worktrees=place.repository is not None)
    return plan, place


def _direct(plan: Plan) -> Plan:
    return replace(plan, tasks={name: replace(task, mode="direct") for name, task in plan.tasks.items()})
