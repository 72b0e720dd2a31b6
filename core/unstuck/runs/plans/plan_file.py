"""Reader of plan files. Every problem names its line, and nothing starts before all are fixed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from unstuck.agents.command.presets import KNOWN, preset_command
from unstuck.contract import Task
from unstuck.runs.plans.plan import Plan, PlannedAgent, PlannedTask, known_agents, ordered
from unstuck.runs.plans.yaml_nodes import Document, Section, is_scalar
from unstuck.text import one_line, sanitise
from unstuck.words.did_you_mean import suggestion

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ID_SHAPE = "up to 64 letters, digits, `.`, `_`, `-`, a letter or digit first, no `..`, no `.lock` or `.` last"
"""Rule of :func:`is_task_id`, in words for a message."""
PLAN_KEYS: Mapping[str, str] = {
    "agents": "Agents by name.",
    "tasks": "List of tasks.",
    "project": "Project directory, relative to the plan file. Without it, the current directory.",
    "check": "Check of every task without one of its own. If it fails before any work, Unstuck repairs that first.",
    "setup": "Shell command that runs once in each new worktree.",
    "max_parallel": "Number of tasks that may run at the same time.",
    "remediation": "Agent that repairs a failing baseline check. Without one, Unstuck asks you.",
    "unverified": "`accept` counts a task without a check as done; `reject` is the default.",
    "settings": "Settings for this plan.",
    "budget": "Limits of the run: `tokens`, `cost` and `time`, each optional.",
}
"""Keys of a plan with their meaning."""
AGENT_KEYS: Mapping[str, str] = {
    "preset": "Name of a known agent, instead of `command`.",
    "arguments": "More arguments for the known agent, as text or a list.",
    "command": "Command, as text or a list. It may contain `{prompt}`, `{prompt_file}` and `{session}`.",
    "type": "Agent type, which sets the time limit; `default` without it.",
    "signals": "`true` counts an attempt without a status line as a failure of the agent.",
    "prompt": "`stdin` passes the prompt on standard input; `auto` is the default.",
    "hold": "Agent while its question is open: `freeze` (suspended), `step` (held; needs hooks) or `none`.",
}
"""Keys of an agent with their meaning."""
TASK_KEYS: Mapping[str, str] = {
    "id": "Name of the task: up to 64 letters, digits, `.`, `_`, `-`.",
    "prompt": "What the agent has to do.",
    "agent": "Name of the agent. Optional if the plan has only one.",
    "check": "Check of this task. It may fail before the work begins, because passing it is the goal.",
    "needs": "Tasks that have to succeed first.",
    "timeout": "Time limit of an attempt.",
    "idle": "Time an attempt may show no activity.",
    "isolation": "`worktree` or `shared`. In a git repository, `worktree` is the default if two tasks may run at once.",
    "after_skip": "What happens to tasks that need this one if it is skipped: `block` (default), `run` or `skip`.",
    "failover": "Agents that go on with the task where its own cannot, in their order. `[]` means none.",
    "labels": "Labels that a host needs to work it, with `--fleet`.",
    "mode": "`direct` retries, then asks; `orchestrated` is the default and uses every escalation level.",
}
"""Keys of a task with their meaning."""


def load_plan(path: Path, *, parallel_worktrees: bool = False) -> Plan:
    """Return the plan in a file. Raises PlanError with the file and the line of the first problem.

    ``parallel_worktrees`` is true in a git repository: if two tasks may run at once, each gets a worktree of its own
    unless the plan sets ``isolation``.
    """
    document = Document(path)
    top = Section(document, document.root, "the plan", PLAN_KEYS)
    agents = _agents(top)
    sections = _task_sections(top)
    _add_presets(top, sections, agents)
    tasks = {id: _task(section, id, sections, agents, top) for id, section in sections.items()}
    if (remediation := top.text("remediation")) and remediation not in agents:
        top.wrong("remediation", f"unknown agent `{one_line(remediation)}`{suggestion(remediation, agents)}")
    max_parallel = top.whole("max_parallel")
    rest: dict[str, Any] = {
        "project": _project(top, path),
        "verify": top.shell("check"),
        "setup": top.shell("setup"),
        "unverified": top.choice("unverified", ("reject", "accept")),
        "budget": _budget(top),
        "settings": _plain(top, "settings"),
    }
    agents |= known_agents(tasks.values(), agents)
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
    """Return the project directory; a relative one starts at the directory of the plan."""
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


def _budget(top: Section) -> Mapping[str, Any]:
    if not (budget := _plain(top, "budget")):
        return budget
    from pydantic import ValidationError

    from unstuck.settings.messages import settings_error
    from unstuck.settings.models import BudgetSettings  # loads what a first frame does not wait for

    try:
        BudgetSettings.model_validate(dict(budget))
    except ValidationError as error:
        problem = settings_error("", error, BudgetSettings)
        top.wrong("budget", f"`budget`: {problem.key}: {problem.problem}")
    return budget


def _plain(top: Section, key: str) -> Mapping[str, Any]:
    node = top.nodes.get(key)
    if node is None:
        return MappingProxyType({})
    if isinstance(node, yaml.MappingNode):
        return MappingProxyType(top.document.plain(node, f"`{key}`"))
    top.wrong(key, f"`{key}` must be a mapping")
    return MappingProxyType({})


def is_task_id(name: str) -> bool:
    """Return whether a task id is allowed. It names branches, folders and files."""
    return bool(_ID.fullmatch(name)) and ".." not in name and not name.endswith((".lock", "."))


def _agents(top: Section) -> dict[str, PlannedAgent]:
    agents: dict[str, PlannedAgent] = {}
    if "agents" not in top.nodes:
        return agents
    for name, (key, node) in top.document.pairs(top.nodes["agents"], "`agents`").items():
        if not _ID.fullmatch(name):
            top.document.wrong(key, f"an agent's name has up to 64 letters, digits, `.`, `_`, `-`: {one_line(name)!r}")
        section = Section(top.document, node, f"agent `{one_line(name)}`", AGENT_KEYS)
        agents[name] = PlannedAgent(
            name=name,
            command=_preset(section) if "preset" in section.nodes else _command(section),
            type=section.text("type") or "default",
            signals=section.flag("signals") or False,
            hold=section.choice("hold", ("step", "freeze", "none")),
            prompt=section.choice("prompt", ("auto", "stdin")) or "auto",
        )
    return agents


def _preset(section: Section) -> tuple[str, ...]:
    """Return the command of a known agent, with the arguments of the plan."""
    name = section.text("preset") or ""
    if "command" in section.nodes:
        section.wrong("command", f"{section.name} has a `preset` and a `command`: leave one out")
    if name not in KNOWN:
        section.wrong("preset", f"unknown preset `{one_line(name)}`{suggestion(name, KNOWN)}")
        return ()
    return preset_command(name, _words(section, "arguments") if "arguments" in section.nodes else ())


def _command(section: Section) -> tuple[str, ...]:
    if "arguments" in section.nodes:
        section.wrong("arguments", "`arguments` go with a `preset`; a `command` has its own")
    words = _words(section, "command", required=True)
    if "command" in section.nodes and (not words or not words[0]):
        section.wrong("command", f"{section.name} has no command")
    return words


def _words(section: Section, key: str, *, required: bool = False) -> tuple[str, ...]:
    node = section.nodes.get(key)
    if isinstance(node, yaml.SequenceNode):
        words = [part.value if is_scalar(part, "str") else None for part in node.value]
    else:
        try:
            words = list(shlex.split(section.text(key, required=required) or ""))
        except ValueError as error:
            section.wrong(key, f"`{key}`: {str(error).lower()}")
            return ()
    if None in words:
        section.wrong(key, f"`{key}` must be text or a list of texts; put numbers in quotes")
    elif any(sanitise(word or "") != word for word in words):
        section.wrong(key, f"`{key}` holds control or invisible characters")
    return tuple(word or "" for word in words)


def _add_presets(top: Section, sections: Mapping[str, Section], agents: dict[str, PlannedAgent]) -> None:
    """A known agent needs no entry of its own: its name in a task, or for `remediation`, is enough."""
    for section, key in ((top, "remediation"), *((section, "agent") for section in sections.values())):
        name = (section.text(key) if isinstance(section.nodes.get(key), yaml.ScalarNode) else None) or ""
        if name in KNOWN and name not in agents:
            agents[name] = PlannedAgent(name=name, command=preset_command(name))
    if not agents and "agents" not in top.nodes:
        known = ", ".join(f"`{name}`" for name in KNOWN)
        own = "`{NAME: {command: [PROGRAM, '{prompt}']}}`"
        top.wrong("agents", f"the plan needs `agents`: {own} and `agent: NAME` at its tasks, or a known one: {known}")


def _task_sections(top: Section) -> dict[str, Section]:
    """Return the mappings of the tasks by id, in the plan's order."""
    sections: dict[str, Section] = {}
    nodes = top.document.items(top.nodes["tasks"], "`tasks`") if "tasks" in top.nodes else []
    if not nodes:
        top.wrong("tasks", "the plan has no tasks")
    for node in nodes:
        section = Section(top.document, node, "a task", TASK_KEYS)
        if (id := section.text("id", required=True)) is None:
            continue
        if id in sections:
            section.wrong("id", f"task `{one_line(id)}` is there twice")
        elif not is_task_id(id):
            section.wrong("id", f"a task's id has {ID_SHAPE}: {one_line(id)!r}")
        else:
            section.name = f"task `{id}`"
            sections[id] = section
    return sections


def _task(
    section: Section, id: str, known: Collection[str], agents: Mapping[str, PlannedAgent], top: Section
) -> PlannedTask:
    # A single agent is the default.
    agent = section.text("agent", required=len(agents) != 1) or next(iter(agents), "")
    if agents and agent not in agents:
        section.wrong("agent", f"unknown agent `{one_line(agent)}`{suggestion(agent, agents)}")
    verify = section.shell("check")
    task = Task(
        id=id,
        prompt=section.text("prompt", required=True) or "",
        agent=agent,
        agent_type=agents[agent].type if agent in agents else "default",
        needs=_needs(section, known),
        verify=verify or top.shell("check"),
        timeout_s=section.seconds("timeout"),
        idle_s=section.seconds("idle"),
    )
    return PlannedTask(
        task=task,
        after_skip=section.choice("after_skip", ("block", "run", "skip")) or "block",
        mode=section.choice("mode", ("orchestrated", "direct")) or "orchestrated",
        own_verify=verify is not None,
        failover=_failover(section, agents),
        labels=_words(section, "labels") if "labels" in section.nodes else (),
    )


def _failover(section: Section, agents: Mapping[str, PlannedAgent]) -> tuple[str, ...] | None:
    """Return the agents that go on with a task, each one of the plan or a known one; None without the key."""
    if "failover" not in section.nodes:
        return None
    names: list[str] = []
    for node in section.document.items(section.nodes["failover"], "`failover`"):
        name = node.value if isinstance(node, yaml.ScalarNode) else ""
        if name in agents or name in KNOWN:
            names.append(name)
        else:
            known = [*agents, *KNOWN]
            section.document.wrong(
                node, f"{section.name} names an unknown agent `{one_line(name)}`{suggestion(name, known)}"
            )
    return tuple(dict.fromkeys(names))


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


def _acyclic_order(sections: Mapping[str, Section], needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the order of the tasks. A cycle is noted as a problem that names its tasks."""
    order = ordered(needs)
    done = frozenset(order)
    if first := next((name for name in needs if name not in done), None):
        # Every remaining task waits for another remaining task, so following the needs leads into the cycle.
        path = [first]
        while path[-1] not in path[:-1]:
            path.append(next(need for need in needs[path[-1]] if need not in done))
        cycle = path[path.index(path[-1]) :]
        sections[cycle[0]].wrong("needs", f"these tasks wait for each other: {' -> '.join(cycle)}")
    return order


def _isolated(
    sections: Mapping[str, Section], tasks: Mapping[str, PlannedTask], order: Sequence[str], *, apart: bool
) -> dict[str, PlannedTask]:
    """Return the tasks with their isolation: as given, else a worktree if ``apart`` or a need has one."""
    chosen: dict[str, Any] = {}
    for id in order:
        section = sections[id]
        below = next((need for need in tasks[id].task.needs if chosen[need] == "worktree"), None)
        default = "worktree" if apart or below else "shared"
        chosen[id] = section.choice("isolation", ("shared", "worktree")) or default
        if below and chosen[id] == "shared":
            section.wrong("isolation", f"task `{id}` is shared but needs `{below}`, whose work lies in a worktree")
    return {id: replace(planned, task=replace(planned.task, isolation=chosen[id])) for id, planned in tasks.items()}
