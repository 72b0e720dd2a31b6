"""Failover: the agents that may go on with each task of a plan, and those of them that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from unstuck.agents.command.presets import KNOWN, require_agent
from unstuck.diagnosis.agent_messages.troubles import known_agent
from unstuck.errors import UnstuckError, UsageError
from unstuck.runs.doctor.first_look import first_look
from unstuck.runs.plans.plan import Plan, known_agents
from unstuck.text import Clean, one_line
from unstuck.words.did_you_mean import suggestion
from unstuck.workspace.project import Project


def with_failover(plan: Plan, common: Iterable[str]) -> Plan:
    """Return ``plan`` with the agents that may go on with each task; ``common`` is for tasks without a list.

    The task's own agent is none of them, under whichever name it is known. Raises UsageError for an unknown name.
    """
    common = tuple(common)
    for name in common:
        if name not in plan.agents and name not in KNOWN:
            raise UsageError(
                f"setting failover: unknown agent `{one_line(name)}`{suggestion(name, [*plan.agents, *KNOWN])}"
            )
    tasks = {}
    for id, planned in plan.tasks.items():
        names = common if planned.failover is None else planned.failover
        own = {planned.task.agent}
        if (known := known_agent(plan.agents[planned.task.agent].command)) not in plan.agents:
            own.add(known)
        tasks[id] = replace(planned, failover=tuple(dict.fromkeys(name for name in names if name not in own)))
    agents = {**plan.agents, **known_agents(tasks.values(), plan.agents)}
    return replace(plan, tasks=MappingProxyType(tasks), agents=MappingProxyType(agents))


def unfit(plan: Plan, name: str, place: Project, environ: Mapping[str, str]) -> Clean:
    """Return why the agent ``name`` cannot be used now: it cannot start, or the first look refuses it. Else nothing."""
    command = plan.agents[name].command
    try:
        require_agent(command, place.directory, environ)
    except UnstuckError as error:
        return one_line(str(error), 300)
    return one_line(first_look(command, (), place.directory, environ).refused, 300)


def failover_warnings(plan: Plan, place: Project, environ: Mapping[str, str]) -> Iterator[Clean]:
    """Yield a line for each agent of a failover that cannot be used."""
    for name in dict.fromkeys(name for planned in plan.tasks.values() for name in planned.failover or ()):
        if why := unfit(plan, name, place, environ):
            yield one_line(f"failover: {name} is left out: {why}", 500)
