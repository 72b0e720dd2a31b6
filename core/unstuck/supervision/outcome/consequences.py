"""Consequences of each answer to a stuck task: its dependent tasks and its files. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from unstuck.eventlog.state import State, TaskRow
from unstuck.words.labels import some

_NAMED = 4


def dependents(state: State, task: str) -> tuple[str, ...]:
    """The tasks that need ``task`` themselves, in the plan's order."""
    return tuple(other.id for other in state.tasks.values() if task in other.task.needs)


def fallout(state: State, task: str) -> str:
    """Return the effect on the tasks that need ``task``, directly or through others, when it is not done."""
    waiting: dict[str, None] = {}
    frontier = [task]
    while frontier:
        for other in dependents(state, frontier.pop(0)):
            if other not in waiting and state.tasks[other].state != "ended":
                waiting[other] = None
                frontier.append(other)
    if not waiting:
        return "nothing waits for it"
    names = some(list(waiting), _NAMED)
    one = len(waiting) == 1
    match state.tasks[task].after_skip:
        case "run":
            return f"{names} {'goes' if one else 'go'} on without it"
        case "skip":
            return f"{names} {'is' if one else 'are'} skipped too"
    return f"{names} {'stays' if one else 'stay'} blocked"


def consequences(state: State, row: TaskRow) -> tuple[str, str, str, str]:
    """One line for each of the four answers to a stuck task, in their order. None of them sets a file back."""
    own = row.task.isolation == "worktree"
    stay = "its files stay in its own worktree, out of the result" if own else "its files stay in the project directory"
    falls = fallout(state, row.id)
    return (
        "the agent follows it; no file changes back",
        f"{falls}; {stay}; you are asked again when you resume",
        f"it ends without a result; {falls}; {stay}",
        "a new session starts with your approach; no file changes back",
    )


def tokens_by_level(state: State, task: str) -> Mapping[str, int]:
    """The tokens that the attempts at ``task`` have reported, by rung; those that reported none are left out."""
    used: dict[str, int] = {}
    for attempt in state.attempts.values():
        if attempt.task == task and attempt.tokens:
            used[attempt.guidance.level] = used.get(attempt.guidance.level, 0) + attempt.tokens
    return used
