"""Start and resume of a run, from a plan or from its own log, to its end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from unstuck.clock import Clock
from unstuck.contract import Agent, Task
from unstuck.errors import ProjectError, RecordError, UsageError, system_failure
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.load_state import LOG_NAME, checked_state
from unstuck.eventlog.state import State
from unstuck.eventlog.usage import used_in_session
from unstuck.runs.answers.answer_rules import AnswerRules
from unstuck.settings.effective import ignored_values
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.settings.models import EvaluatorSettings, Settings
from unstuck.supervision.context.context import GatePolicy
from unstuck.supervision.context.next_step import fallen
from unstuck.supervision.intervention.allowed import RESUMED
from unstuck.supervision.run.finish import RunResult, record_end
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import admit, is_text, one_line
from unstuck.workspace.git.refs import head
from unstuck.workspace.git.repo_status import branch_of
from unstuck.workspace.project import Project

if TYPE_CHECKING:
    from unstuck.runs.plans.plan import Plan
    from unstuck.supervision.run.remediation import Remediation


Listener = Callable[[Record], None]

_LAST_S = 5.0
"""Seconds that a run without memory has to end its agents and its log."""


Served = Callable[[Supervisor], AbstractAsyncContextManager[None]]
"""Context around the work of a run in which a person reaches it, such as from a page; questions wait for them."""

Placed = Callable[[Supervisor, "Plan"], AbstractAsyncContextManager[Callable[[Task], Agent]]]
"""Context around the work of a run whose tasks are worked elsewhere: it yields what makes the agent of a task."""


class Beside(Protocol):
    """Companion of a run, such as a screen."""

    def attached(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        """Context around the work of the run, entered before the first task starts. Leaving it may take time."""

    def hears(self, name: str) -> bool:
        """Handle a signal (``SIGINT``, ``SIGTERM``, ``SIGHUP``). Returns True if the run continues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of the caller of a run.

    ``listener`` gets each durable record and ``started`` the run's id. With ``beside`` or ``served`` a person is
    present. ``notice`` gets the reason and the gate while the log waits for disk space, and an empty reason afterwards.
    ``warn`` gets a line that the log does not hold. ``chosen`` maps tasks or patterns to the next step of an
    interrupted attempt. With ``placed`` the agents need not be here. With ``hold`` a resumed run waits for a person
    even if there is nothing to decide. ``reading`` is entered with the size of the log in bytes while it is read, and
    gets the bytes of each part.
    """

    overrides: Mapping[str, Any] = field(default_factory=dict)
    answers: AnswerRules | None = None
    listener: Listener | None = None
    started: Callable[[str], None] | None = None
    notice: Callable[[str, str], None] | None = None
    warn: Callable[[str], None] | None = None
    beside: Beside | None = None
    served: Served | None = None
    placed: Placed | None = None
    chosen: Mapping[str, str] = field(default_factory=dict)
    hold: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    clock: Clock | None = None
    reading: Callable[[int], AbstractContextManager[Callable[[int], None]]] = lambda size: nullcontext(
        lambda read: None
    )


async def start_run(
    plan: Plan, place: Project, options: RunOptions, *, kind: Literal["plan", "command"] = "plan"
) -> RunResult:
    """Run ``plan``, whose programs have been found, in ``place``.

    Raises UsageError before anything starts, and RecordError if the log cannot be written.
    """
    from unstuck.agents.factory import require_allowed
    from unstuck.runs.plans.failover import with_failover
    from unstuck.runs.plans.preflight import require_prices, start_warnings

    settings = _settings(plan, place, options)
    plan = with_failover(plan, settings.failover)
    require_prices(plan, settings)
    for agent in plan.agents.values():
        require_allowed(agent.name, agent.command, experimental=settings.experimental == "accept")
    base = await head(place.repository) if place.repository is not None else None
    apart = any(planned.task.isolation == "worktree" for planned in plan.tasks.values())
    if apart and base is None:
        raise ProjectError(
            f"{place.root} has no commit yet, so parallel tasks have nothing to branch from: commit something first, "
            "or let them work one after another with max_parallel: 1"
            if place.repository is not None
            else f"{place.root} is not a git repository, so isolation: worktree is not possible"
        )
    branch = await branch_of(place.root) if base is not None else None
    if branch is not None and not is_text(branch):
        branch = None  # the log cannot hold its name
    if apart and branch is None and settings.results != "branch":
        raise ProjectError("no branch is checked out that results could go to: check one out, or set results: branch")
    event = e.RunStarted(
        project=one_line(place.root.name),
        kind=kind,
        plan=plan.as_dict(),
        base=base or "",
        branch=branch or "",
        warnings=(
            *(admit(said, limit=500) for said in _ignored(plan, place, options)),
            *await start_warnings(plan, place, options.environ, apart=apart, here=options.placed is None),
        ),
    )
    async with Supervisor.open(
        place,
        settings,
        start=event,
        policy=_policy(options),
        clock=options.clock,
        person=options.beside is not None,
        environ=options.environ,
        listener=options.listener,
    ) as supervisor:
        return await _work(supervisor, plan, options)


async def resume_run(run: str, place: Project, options: RunOptions) -> RunResult:
    """Continue ``run``. A run that has ended and offers nothing repeats its result and changes nothing.

    Raises RecordDamaged for damage anywhere in its log, and RecordError where the log cannot be read.
    """
    from unstuck.runs.plans.programs import require_programs
    from unstuck.runs.recovery_choices import require_possible
    from unstuck.supervision.recovery.review import Standstill

    log = place.runs / run / LOG_NAME
    with options.reading(log.stat().st_size if log.is_file() else 0) as report:
        known = checked_state(log.parent, report)
    state = known.state
    ended = finished(state)
    if ended is not None:
        return ended
    if state.run.state == "new":
        raise UsageError(
            f"run {run} never started: its event log holds no event, so there is nothing to resume; "
            "start it again with `unstuck run`"
        )
    if not state.run.plan:
        raise UsageError(f"run {run} was not started from a plan or a command, so it cannot be resumed here")
    plan = _recorded_plan(log, state)
    if options.placed is None:
        # Before the programs: those of its agents may be on hosts alone.
        if options.warn is not None and any(row.host or row.awaits for row in state.attempts.values()):
            options.warn(f"hosts worked run {run}. To have them go on: unstuck run --fleet --resume {run}")
        require_programs(plan.commands(), (), place.directory, options.environ)
    limits = _budget(place, options)
    require_possible(state, options.chosen, git=place.repository is not None)
    async with Supervisor.open(
        place,
        resume=run,
        known=known,
        policy=_policy(options),
        clock=options.clock,
        person=options.beside is not None,
        environ=options.environ,
        listener=options.listener,
        limits=e.BudgetSet(**limits) if limits else None,
        chosen=options.chosen,
    ) as supervisor:
        if options.beside is not None:
            died = state.run.state in ("running", "blocked", "draining")
            supervisor.standstill = Standstill(
                supervisor.core, died=died, always=options.hold, evaluator=_evaluator(place, options)
            )
        # A paused or killed run continues; an ended run opens its skipped tasks again.
        for row in list(supervisor.core.head.tasks.values()) if state.run.state == "ended" else ():
            if row.status in RESUMED:
                supervisor.core.append(e.TaskReopened(task_id=row.id), task=row.id)
        return await _work(supervisor, plan, options)


def _evaluator(place: Project, options: RunOptions) -> EvaluatorSettings | None:
    """Return the evaluator of the present settings, because it is no part of the run."""
    user_file = default_user_file()
    return load_settings(place.root, user_file=user_file, environ=options.environ, overrides={}).evaluator


def _recorded_plan(log: Path, state: State) -> Plan:
    """Return the plan that the run was started with. Raises RecordError if it does not fit the run's tasks."""
    from unstuck.runs.plans.plan import Plan

    try:
        plan = Plan.from_dict(state.run.plan)
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise RecordError(f"{log}: its plan makes no sense to this version ({problem!r})") from problem
    used = {row.task.agent: row.id for row in state.tasks.values() if row.state != "ended"}
    used |= {planned.task.agent: planned.task.id for planned in plan.tasks.values()}
    used |= {plan.remediation: "remediation"} if plan.remediation else {}
    for agent in sorted(used.keys() - plan.agents.keys()):
        raise RecordError(f"{log}: {used[agent]} is for an agent {agent!r}, which its plan does not have")
    return plan


def finished(state: State) -> RunResult | None:
    """Return the result of an ended run, None for a run that can continue."""
    from unstuck.supervision.run.delivery import REFUSED

    if state.run.state != "ended" or state.run.exit_code is None:
        return None
    if state.run.failed == REFUSED or any(row.status in RESUMED for row in state.tasks.values()):
        return None
    if any(row.state != "ended" and not fallen(state, row) for row in state.tasks.values()):
        return None
    return RunResult(exit_reason=state.run.exit_reason, exit_code=state.run.exit_code)


async def _work(supervisor: Supervisor, plan: Plan, options: RunOptions) -> RunResult:
    from unstuck.agents.mcp.tool_handlers import ToolHandlers

    if options.started is not None:
        options.started(supervisor.run)
    if options.warn is not None and supervisor.socket_problem:
        options.warn(f"{supervisor.socket_problem}; other terminals, hooks and tools do not reach this run")
    if options.notice is not None:
        supervisor.room.notice = options.notice
    beside = options.beside
    desk = supervisor.tools = ToolHandlers(supervisor.core)
    try:
        with signals_heard(supervisor, beside):
            await _add_tasks(supervisor, plan)
            screen = beside.attached(supervisor) if beside is not None else nullcontext()
            async with reached(supervisor, options.served), screen:
                return await _worked(supervisor, plan, options.placed)
    finally:
        supervisor.tools = None
        await desk.close()


async def _add_tasks(supervisor: Supervisor, plan: Plan) -> None:
    """Make the tasks of ``plan`` known; durable, so that the first frame of a screen shows them."""
    for planned in plan.tasks.values():
        supervisor.add(
            planned.task,
            after_skip=planned.after_skip,
            mode=planned.mode,
            shared_verify=bool(planned.task.verify) and not planned.own_verify and bool(plan.verify),
            failover=planned.failover or (),
        )
    await supervisor.core.journal.committed()


@asynccontextmanager
async def reached(supervisor: Supervisor, served: Served | None) -> AsyncIterator[None]:
    """Hold the context ``served``, if there is one: a person is there as long as it lasts, with or without a screen."""
    if served is None:
        yield
        return
    async with served(supervisor):
        supervisor.core.deciding += 1
        try:
            yield
        finally:
            supervisor.core.deciding -= 1


async def _worked(supervisor: Supervisor, plan: Plan, placed: Placed | None) -> RunResult:
    from unstuck.runs.plans.failover import unfit
    from unstuck.runs.plans.preflight import prices_of
    from unstuck.supervision.run.coordinator import Coordinator

    core = supervisor.core
    core.setup = plan.setup or ""
    core.prices = prices_of(plan, core.settings)
    core.agent_for = lambda task, more: _agent(plan, task.agent, supervisor, more)
    core.agent_types = {name: planned.type for name, planned in plan.agents.items()}
    core.unfit = lambda name: unfit(plan, name, supervisor.project, core.environ)
    apart = any(planned.task.isolation == "worktree" for planned in plan.tasks.values())
    if apart and core.worktrees is not None:
        await core.worktrees.prepare()
    if supervisor.standstill is not None and not await supervisor.standstill.over():
        supervisor.standstill.leave()
        return await record_end(core)
    remediation = _remediation(plan, supervisor, apart=apart)
    if placed is None:
        agents: Callable[[Task], Agent] = lambda task: _agent(plan, task.agent, supervisor)  # noqa: E731
        return await Coordinator(supervisor, agents, remediation=remediation).run()
    async with placed(supervisor, plan) as agents:
        core.agent_for, core.unfit = lambda task, more: agents(task), lambda name: ""
        return await Coordinator(supervisor, agents, remediation=remediation).run()


def _remediation(plan: Plan, supervisor: Supervisor, *, apart: bool) -> Remediation | None:
    """Return the baseline check of the run, None without a commit or a check."""
    from unstuck.supervision.run.remediation import Remediation

    core = supervisor.core
    if not core.head.run.base or not (plan.verify or (plan.setup and apart)):
        return None
    mender = _agent(plan, plan.remediation, supervisor) if plan.remediation else None
    return Remediation(core, plan.verify or "", mender, limit=core.settings.remediation_attempts, apart=apart)


def _agent(plan: Plan, name: str, supervisor: Supervisor, more: Mapping[str, str] = MappingProxyType({})) -> Agent:
    from unstuck.agents.command.command_agent import CommandSpec
    from unstuck.agents.factory import made_agent

    planned = plan.agents[name]
    core = supervisor.core
    return made_agent(
        CommandSpec(
            command=planned.command,
            signals=planned.signals,
            prompt=planned.prompt,
            freeze=planned.hold != "none",
        ),
        hold=planned.hold,
        folder=core.folder,
        environ={**core.environ, **more},
        limit=core.settings.output_limit,
        prompt_limit=core.settings.prompt_limit,
        used=lambda session: used_in_session(core.head, session),
    )


def _settings(plan: Plan, place: Project, options: RunOptions) -> Settings:
    overrides = _overrides(plan, options)
    return load_settings(place.root, user_file=default_user_file(), environ=options.environ, overrides=overrides)


def _ignored(plan: Plan, place: Project, options: RunOptions) -> list[str]:
    return ignored_values(place.root, default_user_file(), options.environ, _overrides(plan, options))


def _overrides(plan: Plan, options: RunOptions) -> dict[str, Any]:
    """Return the settings that the plan and the caller give."""
    overrides: dict[str, Any] = dict(plan.settings)
    if plan.max_parallel is not None:
        overrides["max_parallel"] = plan.max_parallel
    overrides.update({f"budget.{kind}": limit for kind, limit in plan.budget.items()})
    if plan.unverified is not None:
        overrides["unverified"] = plan.unverified
    overrides.update(options.overrides)
    return overrides


def _budget(place: Project, options: RunOptions) -> dict[str, float]:
    """Return the budget limits that the caller gives for a resumed run; the others stay."""
    given = {name: value for name, value in options.overrides.items() if name.startswith("budget.")}
    limits = load_settings(place.root, user_file=None, environ={}, overrides=given).budget.model_dump() if given else {}
    return {kind: limit for kind, limit in limits.items() if f"budget.{kind}" in given and limit is not None}


def _policy(options: RunOptions) -> Callable[[State], GatePolicy] | None:
    rules = options.answers
    if rules is None:
        return None

    def made(state: State) -> GatePolicy:
        for row in state.gates.values():
            if row.rule is not None and row.rule < len(rules.rules):
                rules.mark_used(row.rule)
        return rules.match

    return made


@contextmanager
def signals_heard(supervisor: Supervisor, beside: Beside | None) -> Iterator[None]:
    """Stop the run cleanly on Ctrl+C, TERM and HUP, unless the caller ignores them (nohup).

    Raises SystemFailed for an event loop without memory, which would call what failed again and again.
    """
    loop, work = asyncio.get_running_loop(), asyncio.current_task()
    stopping: set[asyncio.Task[None]] = set()
    failed: list[float] = []

    def stop(name: str) -> None:
        if beside is not None and beside.hears(name):
            if name == "SIGHUP" and supervisor.state.run.kind == "watch":
                # Nobody could answer for its sessions any more, so they are released.
                supervisor.left = "its window was closed"
                supervisor.core.signals.wake_all()
            return
        stopping.add(asyncio.ensure_future(supervisor.stop(name)))

    def end(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), MemoryError):
            loop.default_exception_handler(context)
        elif not failed:
            failed.append(loop.time())
            assert work is not None
            work.cancel()
        elif loop.time() > failed[0] + _LAST_S:  # what it waits for cannot be read; helpers end the agents
            os.write(2, f"unstuck: {system_failure(MemoryError())}\n".encode())
            os._exit(6)

    caught = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    added = []
    loop.set_exception_handler(end)
    for number in caught:
        if signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            loop.add_signal_handler(number, stop, number.name)
        except (NotImplementedError, RuntimeError, ValueError):
            continue
        added.append(number)
    try:
        yield
    except asyncio.CancelledError:
        if failed and (failure := system_failure(MemoryError())):
            raise failure from None
        raise
    finally:
        for number in added:
            loop.remove_signal_handler(number)
