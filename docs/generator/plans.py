"""The keys of a plan, from the reader of plans."""

from __future__ import annotations

from docs.generator.markdown import code, table

from unstuck.runs.plans.plan_file import AGENT_KEYS, PLAN_KEYS, TASK_KEYS

__all__ = ["agent_keys", "plan_keys", "task_keys"]


def plan_keys() -> str:
    """The keys of the plan itself."""
    return table(("key", "meaning"), [(code(key), meaning) for key, meaning in PLAN_KEYS.items()])


def agent_keys() -> str:
    """The keys of an agent."""
    return table(("key of an agent", "meaning"), [(code(key), meaning) for key, meaning in AGENT_KEYS.items()])


def task_keys() -> str:
    """The keys of a task."""
    return table(("key of a task", "meaning"), [(code(key), meaning) for key, meaning in TASK_KEYS.items()])
