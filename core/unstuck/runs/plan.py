"""A plan: what is to be done by whom, in which order, and how each piece of work is checked."""

from __future__ import annotations

import heapq
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml

from unstuck.contract import Task
from unstuck.errors import UsageError
from unstuck.runs.document import FILE_LIMIT, Document, Section, is_scalar, suggestion
from unstuck.settings import parse_duration
from unstuck.text import admit, is_text, one_line, sanitise

__all__ = ["Plan", "PlannedAgent", "PlannedTask", "load_plan", "one_task_plan"]

AfterSkip = Literal["block", "run", "skip"]
Mode = Literal["orchestrated", "direct"]
Hold = Literal["step", "freeze", "none"]
Unverified = Literal["reject", "accept"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLAN_KEYS = (
    "project", "verify", "setup", "max_parallel", "budget", "remediation", "unverified", "agents", "tasks", "settings",
)  # fmt: skip
_AGENT_KEYS = ("type", "command", "signals", "hold", "prompt")
_TASK_KEYS = (
    "id", "agent", "prompt", "verify", "needs", "timeout", "idle", "isolation", "after_skip", "mode",
)  # fmt: skip
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAgent:
    """How an agent is started. ``command`` is an argument list; ``hold`` None means: whatever its kind can do."""

    name: str
    command: tuple[str, ...]
    type: str = "default"
    signals: bool = False
    hold: Hold | None = None
    prompt: Literal["auto", "stdin"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """A task and what only the coordinator needs to know about it.

    ``own_verify`` says that the check is the task's own and not the plan's: it may fail before the work has begun,
    because it is the task's goal.
    """

    task: Task
    after_skip: AfterSkip = "block"
    mode: Mode = "orchestrated"
    own_verify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan that holds together: every agent and need exists, and nothing waits for itself.

    ``tasks`` keeps the plan's order. ``project``, ``max_parallel`` and ``unverified`` are None where the plan is
    silent. ``budget`` and ``settings`` are kept as plain values for those who know what they mean.
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
        """The task with this id; raises ``KeyError``."""
        return self.tasks[id].task

    def dependents(self, id: str) -> tuple[str, ...]:
        """The tasks that name ``id`` among their needs, in the plan's order."""
        return tuple(name for name, planned in self.tasks.items() if id in planned.task.needs)

    def order(self) -> tuple[str, ...]:
        """Every id after all its needs, otherwise in the plan's order."""
        return _order({name: planned.task.needs for name, planned in self.tasks.items()})

    def as_dict(self) -> dict[str, Any]:
        """The plan as JSON-able values."""
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
        """The plan that ``as_dict`` gave these values for; prompts are admitted again."""
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
    task.setdefault("idle_s", values.get("idle_s"))  # where plans were recorded with it before
    task |= {"prompt": admit(task["prompt"], limit=FILE_LIMIT), "needs": tuple(task["needs"])}
    rest = {key: value for key, value in values.items() if key != "idle_s"}
    return PlannedTask(**{**rest, "task": Task(**task)})


def one_task_plan(
    command: Sequence[str],
    *,
    task: str | None,
    verify: str | None,
    agent_type: str | None,
    timeout: str | float | None,
    project: Path | None,
) -> Plan:
    """The plan of one command: one agent, named after its program, and one task, ``task``.

    ``timeout`` is a duration as text or seconds. Raises ``UsageError`` where the command is missing or the duration
    is wrong.
    """
    if not command or not command[0].strip():
        raise UsageError("no command: name the agent's program after `--`")
    if not all(map(is_text, (*command, verify or "", agent_type or ""))):
        raise UsageError("the agent's command and its check must be UTF-8 text: put other bytes into a script")
    try:
        timeout_s = None if timeout is None else parse_duration(str(timeout))
    except ValueError as error:
        raise UsageError(f"--timeout: {error}") from None
    program = re.sub(r"[^A-Za-z0-9._-]", "-", Path(command[0]).name).lstrip("._-")[:64] or "agent"
    agent = PlannedAgent(name=program, command=tuple(command), type=agent_type or "default")
    work = Task(
        id="task",
        prompt=admit(task, limit=FILE_LIMIT),
        agent=program,
        agent_type=agent.type,
        verify=verify or None,
        timeout_s=timeout_s,
    )
    planned = PlannedTask(task=work, own_verify=bool(verify))
    return Plan(
        tasks=MappingProxyType({work.id: planned}),
        agents=MappingProxyType({program: agent}),
        project=project,
        max_parallel=1,
    )


def load_plan(path: Path, *, parallel_worktrees: bool = False) -> Plan:
    """Read a plan; raises ``PlanError`` with the file and the line of the first problem.

    ``parallel_worktrees`` says that the project is a git repository: where two tasks may run at once, each then gets
    a worktree of its own unless the plan says otherwise.
    """
    document = Document(path)
    top = Section(document, document.root, "the plan", _PLAN_KEYS)
    agents = _agents(top)
    sections = _task_sections(top)
    tasks = {id: _task(section, id, sections, agents, top) for id, section in sections.items()}
    if (remediation := top.text("remediation")) and remediation not in agents:
        top.wrong("remediation", f"unknown agent `{one_line(remediation)}`{suggestion(remediation, agents)}")
    max_parallel = top.whole("max_parallel")
    rest: dict[str, Any] = {
        "project": _project(top, path),
        "verify": top.shell("verify"),
        "setup": top.shell("setup"),
        "unverified": top.choice("unverified", ("reject", "accept")),
        "budget": _plain(top, "budget"),
        "settings": _plain(top, "settings"),
    }
    order = _acyclic_order(sections, {id: planned.task.needs for id, planned in tasks.items()})
    document.check()
    at_once = max_parallel != 1 and any(earlier not in tasks[later].task.needs for earlier, later in pairwise(order))
    tasks = _isolated(sections, tasks, order, apart=parallel_worktrees and at_once)
    document.check()
    return Plan(
        tasks=MappingProxyType(tasks),
        agents=MappingProxyType(agents),
        file=document.file,
        max_parallel=max_parallel,
        remediation=remediation,
        **rest,
    )


def _project(top: Section, plan: Path) -> Path | None:
    """The project's directory; a relative one is meant from where the plan lies."""
    if (written := top.text("project")) is None:
        return None
    try:
        project = (plan.parent / Path(written).expanduser()).resolve()
        found = project.is_dir()
    except (OSError, RuntimeError, ValueError):
        found = False
    if not found:
        top.wrong("project", f"`project`: no such directory: {one_line(written)}")
        return None
    return project


def _plain(top: Section, key: str) -> Mapping[str, Any]:
    node = top.nodes.get(key)
    if node is None:
        return _EMPTY
    if isinstance(node, yaml.MappingNode):
        return MappingProxyType(top.document.plain(node, f"`{key}`"))
    top.wrong(key, f"`{key}` must be a mapping")
    return _EMPTY


def _agents(top: Section) -> dict[str, PlannedAgent]:
    agents: dict[str, PlannedAgent] = {}
    if "agents" not in top.nodes:
        top.wrong("agents", "the plan needs `agents`: a name, and the command that starts it")
        return agents
    for name, (key, node) in top.document.pairs(top.nodes["agents"], "`agents`").items():
        if not _ID.fullmatch(name):
            top.document.wrong(key, f"an agent's name has up to 64 letters, digits, `.`, `_`, `-`: {one_line(name)!r}")
        section = Section(top.document, node, f"agent `{one_line(name)}`", _AGENT_KEYS)
        agents[name] = PlannedAgent(
            name=name,
            command=_command(section),
            type=section.text("type") or "default",
            signals=section.flag("signals") or False,
            hold=section.choice("hold", ("step", "freeze", "none")),
            prompt=section.choice("prompt", ("auto", "stdin")) or "auto",
        )
    return agents


def _command(section: Section) -> tuple[str, ...]:
    node = section.nodes.get("command")
    if isinstance(node, yaml.SequenceNode):
        words = [part.value if is_scalar(part, "str") else None for part in node.value]
    else:
        try:
            words = list(shlex.split(section.text("command", required=True) or ""))
        except ValueError as error:
            section.wrong("command", f"`command`: {str(error).lower()}")
            return ()
    if None in words:
        section.wrong("command", "`command` must be text or a list of texts; put numbers in quotes")
    elif node is not None and (not words or not words[0]):
        section.wrong("command", f"{section.name} has no command")
    elif any(sanitise(word or "") != word for word in words):
        section.wrong("command", "`command` holds control or invisible characters")
    return tuple(word or "" for word in words)


def _task_sections(top: Section) -> dict[str, Section]:
    """The tasks' mappings by id, in the plan's order."""
    sections: dict[str, Section] = {}
    nodes = top.document.items(top.nodes["tasks"], "`tasks`") if "tasks" in top.nodes else []
    if not nodes:
        top.wrong("tasks", "the plan has no tasks")
    for node in nodes:
        section = Section(top.document, node, "a task", _TASK_KEYS)
        if (id := section.text("id", required=True)) is None:
            continue
        if id in sections:
            section.wrong("id", f"task `{one_line(id)}` is there twice")
        elif not _ID.fullmatch(id) or ".." in id or id.endswith((".lock", ".")):
            shape = "up to 64 letters, digits, `.`, `_`, `-`, a letter or digit first, no `..`, no `.lock` or `.` last"
            section.wrong("id", f"a task's id has {shape}: {one_line(id)!r}")
        else:
            section.name = f"task `{id}`"
            sections[id] = section
    return sections


def _task(
    section: Section, id: str, known: Collection[str], agents: Mapping[str, PlannedAgent], top: Section
) -> PlannedTask:
    # With a single agent there is nothing to choose.
    agent = section.text("agent", required=len(agents) != 1) or next(iter(agents), "")
    if agents and agent not in agents:
        section.wrong("agent", f"unknown agent `{one_line(agent)}`{suggestion(agent, agents)}")
    verify = section.shell("verify")
    task = Task(
        id=id,
        prompt=admit(section.text("prompt", required=True), limit=FILE_LIMIT),
        agent=agent,
        agent_type=agents[agent].type if agent in agents else "default",
        needs=_needs(section, known),
        verify=verify or top.shell("verify"),
        timeout_s=section.seconds("timeout"),
        idle_s=section.seconds("idle"),
    )
    return PlannedTask(
        task=task,
        after_skip=section.choice("after_skip", ("block", "run", "skip")) or "block",
        mode=section.choice("mode", ("orchestrated", "direct")) or "orchestrated",
        own_verify=verify is not None,
    )


def _needs(section: Section, known: Collection[str]) -> tuple[str, ...]:
    if "needs" not in section.nodes:
        return ()
    names: list[str] = []
    for node in section.document.items(section.nodes["needs"], "`needs`"):
        name = node.value if isinstance(node, yaml.ScalarNode) else ""
        if name in known:
            names.append(name)
        else:
            section.document.wrong(
                node, f"{section.name} needs an unknown task: `{one_line(name)}`{suggestion(name, known)}"
            )
    return tuple(dict.fromkeys(names))


def _order(needs: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Every name after its needs, else in the given order; what waits for a cycle is left out."""
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


def _acyclic_order(sections: Mapping[str, Section], needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The order; a cycle is noted as a problem and named task by task."""
    order = _order(needs)
    done = frozenset(order)
    if first := next((name for name in needs if name not in done), None):
        # Every task that is left waits for another one that is left: following them must come back.
        path = [first]
        while path[-1] not in path[:-1]:
            path.append(next(need for need in needs[path[-1]] if need not in done))
        cycle = path[path.index(path[-1]) :]
        sections[cycle[0]].wrong("needs", f"these tasks wait for each other: {' -> '.join(cycle)}")
    return order


def _isolated(
    sections: Mapping[str, Section], tasks: Mapping[str, PlannedTask], order: Sequence[str], *, apart: bool
) -> dict[str, PlannedTask]:
    """The tasks, each with its isolation: as written, else a worktree where the tasks or one of its needs have one."""
    chosen: dict[str, Any] = {}
    for id in order:
        section = sections[id]
        below = next((need for need in tasks[id].task.needs if chosen[need] == "worktree"), None)
        default = "worktree" if apart or below else "shared"
        chosen[id] = section.choice("isolation", ("shared", "worktree")) or default
        if below and chosen[id] == "shared":
            section.wrong("isolation", f"task `{id}` is shared but needs `{below}`, whose work lies in a worktree")
    return {id: replace(planned, task=replace(planned.task, isolation=chosen[id])) for id, planned in tasks.items()}
