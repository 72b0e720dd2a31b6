"""Execution of ``unstuck run``: options and words become a plan, which is run or resumed."""

from __future__ import annotations

import os
import shlex
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.errors import UsageError
from unstuck.text import one_line
from unstuck_tui.cli.common import complain, entitle_process, is_free, located, overrides_of, progress
from unstuck_tui.cli.output import Output, answers_in, page_of, screen

if TYPE_CHECKING:
    from unstuck.fleet.shared_plan.placement import Placement
    from unstuck.runs.plans.plan import Plan
    from unstuck.workspace.project import Project
    from unstuck_tui.app.host import ScreenHost
    from unstuck_tui.render.tasks.opening import Opening

_OFFERED = 64
_LONG_LOG = 32 * 1024 * 1024
"""Bytes of an event log whose reading takes a person's time."""
_OF_ONE_COMMAND = {"task": "--task", "verify": "--check", "agent_type": "--agent-type", "timeout": "--timeout"}


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
    placed = _placed(options, overrides)
    output.how = "--fleet " if placed is not None else ""
    beside = screen(options, environ, output)
    shows_at_once = beside is not None and has_agent and placed is None
    known = _known(words, place, options, overrides) if shows_at_once else None
    async with _shown(beside, known) as is_there:
        if not is_there:
            return 130
        from unstuck.runs.run import RunOptions, resume_run, start_run

        entitle_process("run")
        run_options = RunOptions(
            overrides=overrides,
            answers=answers_in(options["answers"]),
            listener=output.show,
            started=output.started,
            notice=output.notice,
            warn=complain,
            beside=beside,
            served=page_of(options, place, output),
            placed=None if placed is None else placed.placed,
            chosen=_chosen(options["recover"]),
            hold=hold,
            environ=environ,
            reading=lambda size: progress(size, "reading the event log", least=_LONG_LOG),
        )
        if options["resume"]:
            from unstuck.eventlog.log.load_state import LOG_NAME
            from unstuck.runs.queries.run_list import find_run

            _refuse_with_resume(words, options)
            if placed is not None:
                await _bring_here(options["resume"], place, placed)
            run = find_run(place, options["resume"])
            output.started(run)
            if placed is None and _had_hosts(place.runs / run / LOG_NAME):
                complain(f"hosts worked run {run}. To have them go on: unstuck run --fleet --resume {run}")
            result = await resume_run(run, place, run_options)
        else:
            plan, place = await _plan(words, has_agent, place, options)
            if placed is not None:
                plan = _apart(plan, overrides)
                await placed.require(plan, place)
            kind = "command" if has_agent else "plan"
            result = await start_run(plan, place, run_options, kind=kind)  # type: ignore[arg-type]
    await output.finish(result, place)
    return result.exit_code


def _shown(beside: ScreenHost | None, known: Opening | None) -> AbstractAsyncContextManager[bool]:
    """Context in which the screen shows what is ``known`` of the run already, where there is a screen."""
    return beside.opened(known) if beside is not None and known is not None else nullcontext(enter_result=True)


def _known(
    words: tuple[str, ...], place: Project, options: dict[str, Any], overrides: dict[str, Any]
) -> Opening | None:
    """Return what a screen can show at once of the run of one command; None where more has to be looked at first.

    Raises UsageError and SettingsError for what cannot begin, before there is a screen.
    """
    from unstuck.agents.command.presets import protocol_of, require_program
    from unstuck.runs.plans.one_command import TASK, one_command, require_check
    from unstuck.settings.layers import default_user_file, nothing_set
    from unstuck_tui.render.tasks.opening import KnownTask, Opening

    needs_more = options["resume"] or options["answers"] or options["web"] or not words or protocol_of(words)
    if needs_more or not is_free(place):
        return None
    if not nothing_set(place.root, default_user_file(), os.environ, overrides):
        from unstuck.settings.loading import load_settings

        user_file = default_user_file()
        settings = load_settings(place.root, user_file=user_file, environ=os.environ, overrides=overrides)
        if settings.failover or any(settings.budget.model_dump().values()):
            return None  # whether its agent can be used with these is found out before a screen opens
    check = options["verify"]
    names = {"agent_type": options["agent_type"], "timeout": options["timeout"], "name": options["agent"] or ""}
    command = one_command(words, verify=check, **names)
    require_program(words, place.directory, os.environ)
    if check:
        require_check(check, os.environ)
    return Opening(one_line(place.root.name), tasks=[KnownTask(TASK, command.agent)])


def _placed(options: dict[str, Any], overrides: dict[str, Any]) -> Placement | None:
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
    return Placement(Membership(os.environ).person(), via=options["via"] or "", lease_s=lease_s, warn=complain)


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


def _had_hosts(log: Path) -> bool:
    """Return whether hosts of a fleet worked a run, without reading its whole log into memory."""
    from mmap import ACCESS_READ, mmap

    from unstuck.eventlog.storage.durable_files import open_for_reading

    with (
        suppress(OSError, ValueError),
        open_for_reading(log) as file,
        mmap(file.fileno(), 0, access=ACCESS_READ) as text,
    ):
        return text.find(b'"event":"host_awaited"') >= 0
    return False


def _chosen(options: tuple[str, ...]) -> dict[str, str]:
    if not options:
        return {}
    from unstuck.runs.recovery_choices import chosen_in

    return chosen_in(options)


def _refuse_with_resume(words: tuple[str, ...], options: dict[str, Any]) -> None:
    given = [flag for name, flag in _OF_ONE_COMMAND.items() if options[name]] + ["--agent"] * bool(options["agent"])
    if words or given:
        raise UsageError(f"--resume takes the plan from the run; leave out {', '.join([*words[:1], *given])}")


async def _plan(
    words: tuple[str, ...], has_agent: bool, place: Project, options: dict[str, Any]
) -> tuple[Plan, Project]:
    if has_agent:
        if not words:
            raise UsageError("missing agent command after --: unstuck run --check CMD -- AGENT…")
        from unstuck.agents.command.prompt_delivery import stated_task
        from unstuck.runs.plans.plan import one_task_plan

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
