"""Plan: tasks, their agents, order and checks."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from unstuck.agents.command.presets import preset_command
from unstuck.contract import Task
from unstuck.runs.plans.one_command import TASK, OneCommand

AfterSkip = Literal["block", "run", "skip"]
Mode = Literal["orchestrated", "direct"]
Hold = Literal["step", "freeze", "none"]
Unverified = Literal["reject", "accept"]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAgent:
    """Start of an agent. ``command`` is an argument list; ``hold`` None means the default of its kind."""

    name: str
    command: tuple[str, ...]
    type: str = "default"
    signals: bool = False
    hold: Hold | None = None
    prompt: Literal["auto", "stdin"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """A task with the values that only the coordinator needs.

    ``own_verify`` is true for a check of the task instead of the plan. It may fail before the work begins, because
    passing it is the goal. ``failover`` are the agents that go on where its own cannot; None means the settings.
    ``labels`` are those of the hosts that may work it.
    """

    task: Task
    after_skip: AfterSkip = "block"
    mode: Mode = "orchestrated"
    own_verify: bool = False
    failover: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A valid plan: every agent and need exists, and no task waits for itself.

    ``tasks`` keeps the plan's order. ``project``, ``max_parallel`` and ``unverified`` are None if not given.
    ``budget`` and ``settings`` are plain values that are checked with the settings.
    """

    tasks: Mapping[str, PlannedTask]
    agents: Mapping[str, PlannedAgent]
    file: str = ""
    project: Path | None = None
    verify: str | None = None
    setup: str | None = None
    max_parallel: int | None = None
    budget: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    remediation: str | None = None
    unverified: Unverified | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)

    def task(self, id: str) -> Task:
        """Return the task with this id. Raises KeyError."""
        return self.tasks[id].task

    def commands(self) -> list[tuple[str, ...]]:
        """Return the command of each agent that it begins with."""
        used = {planned.task.agent for planned in self.tasks.values()}
        return [
            self.agents[name].command for name in sorted(used | ({self.remediation} if self.remediation else set()))
        ]

    def checks(self) -> list[str]:
        """Return the checks of its tasks, each once."""
        return list(dict.fromkeys(planned.task.verify for planned in self.tasks.values() if planned.task.verify))

    def order(self) -> tuple[str, ...]:
        """Return every id after all its needs, otherwise in the plan's order."""
        return ordered({name: planned.task.needs for name, planned in self.tasks.items()})

    def as_dict(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "project": None if self.project is None else str(self.project),
            "verify": self.verify,
            "setup": self.setup,
            "max_parallel": self.max_parallel,
            "budget": dict(self.budget),
            "remediation": self.remediation,
            "unverified": self.unverified,
            "settings": dict(self.settings),
            "agents": [asdict(agent) for agent in self.agents.values()],
            "tasks": [asdict(planned) for planned in self.tasks.values()],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """Return the plan of values from ``as_dict``; prompts are admitted again."""
        agents = [PlannedAgent(**{**agent, "command": tuple(agent["command"])}) for agent in values["agents"]]
        tasks = [_task_from_dict(task) for task in values["tasks"]]
        rest = {key: value for key, value in values.items() if key not in {"agents", "tasks", "project"}}
        return cls(
            **rest,
            project=None if values["project"] is None else Path(values["project"]),
            agents=MappingProxyType({agent.name: agent for agent in agents}),
            tasks=MappingProxyType({planned.task.id: planned for planned in tasks}),
        )


def _task_from_dict(values: Mapping[str, Any]) -> PlannedTask:
    task = dict(values["task"])
    task.setdefault("idle_s", values.get("idle_s"))  # the place of the key in older logs
    task |= {"needs": tuple(task["needs"])}
    rest = {key: value for key, value in values.items() if key != "idle_s"}
    if rest.get("failover") is not None:
        rest["failover"] = tuple(rest["failover"])
    rest["labels"] = tuple(rest.get("labels", ()))
    return PlannedTask(**{**rest, "task": Task(**task)})


def one_task_plan(one: OneCommand) -> Plan:
    """Return the plan of one command: one agent and one task."""
    agent = PlannedAgent(name=one.agent, command=one.command, type=one.agent_type)
    work = Task(
        id=TASK,
        prompt=one.task,
        agent=one.agent,
        agent_type=one.agent_type,
        verify=one.verify,
        timeout_s=one.timeout_s,
    )
    planned = PlannedTask(task=work, own_verify=one.verify is not None)
    return Plan(tasks=MappingProxyType({work.id: planned}), agents=MappingProxyType({one.agent: agent}), max_parallel=1)


def known_agents(tasks: Iterable[PlannedTask], agents: Mapping[str, PlannedAgent]) -> dict[str, PlannedAgent]:
    """Return the known agents that ``tasks`` name for a failover and that are not among ``agents``."""
    names = dict.fromkeys(name for planned in tasks for name in planned.failover or () if name not in agents)
    return {name: PlannedAgent(name=name, command=preset_command(name)) for name in names}


def ordered(needs: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return every name after its needs, else in the given order. Names that wait for a cycle are left out."""
    names = list(needs)
    followers: dict[str, list[int]] = {name: [] for name in names}
    waiting = [len(needs[name]) for name in names]
    for place, name in enumerate(names):
        for need in needs[name]:
            followers[need].append(place)
    ready = [place for place, count in enumerate(waiting) if not count]
    order: list[str] = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for place in followers[name]:
            waiting[place] -= 1
            if not waiting[place]:
                heapq.heappush(ready, place)
    return tuple(order)
