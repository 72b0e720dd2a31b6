"""The next step of a task: every state has exactly one step or a named wait. Pure.

Live and resumed runs both use this function alone, so a run that was killed after any record continues where it
was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unstuck.eventlog.state import State, TaskRow

StepKind = Literal[
    "unblock", "skip", "start", "baseline", "check", "integrate", "finish", "decide", "checkpoint", "restore",
    "run", "research", "ask", "prepare", "recover",
    "wait_needs", "wait_slot", "wait_budget", "wait_tree", "wait_attempt", "wait_backoff", "wait_gate", "wait_ground",
    "halted", "done",
]  # fmt: skip

_WORKING = ("running", "judging", "undecided", "preparing")
_SLEEPING = ("wait_needs", "wait_budget", "wait_gate", "wait_ground", "halted", "done")


@dataclass(frozen=True, slots=True)
class Step:
    """A step, or a wait with what it waits for."""

    kind: StepKind
    about: str = ""


def next_step(
    state: State,
    row: TaskRow,
    *,
    max_parallel: int,
    tree: str,
    accept_unverified: bool = False,
    busy: Sequence[TaskRow] | None = None,
) -> Step:
    """The one next step of ``row``; ``tree`` is the worktree its next attempt would use.

    ``busy`` is the result of :func:`working`, for callers that ask for many rows of one state.
    """
    if row.state == "ended":
        return Step("done")
    if state.run.state in ("draining", "ended") and row.state not in ("running",):
        return Step("halted", state.run.stopping)
    match row.state:
        case "blocked":
            return _needs(state, row, accept_unverified)
        case "ready":
            return _ready(state, row, max_parallel, tree, working(state) if busy is None else busy)
        case "running":
            return Step("wait_attempt", row.attempt)
        case "judging":
            return _judging(row)
        case "undecided":
            return Step("decide")
        case "backoff":
            return Step("wait_backoff")
        case "preparing":
            return _preparing(row)
        case "waiting":
            return Step("wait_gate", row.gate)
        case "parked":
            return Step("wait_ground", state.run.blocked)
        case "interrupted":
            return Step("wait_gate", row.gate) if row.gate else Step("recover", pending_answer(state, row))


def _needs(state: State, row: TaskRow, accept_unverified: bool) -> Step:
    missing = ""
    for need in row.task.needs:
        upstream = state.tasks.get(need)
        if upstream is None or upstream.state != "ended":
            missing = missing or need
        elif upstream.status == "succeeded" or (upstream.status == "unverified" and accept_unverified):
            continue
        elif upstream.after_skip == "skip":
            return Step("skip", need)
        elif upstream.after_skip == "block":
            missing = missing or need
    return Step("wait_needs", missing) if missing else Step("unblock")


def fallen(state: State, row: TaskRow) -> str:
    """Return the need that ended without success and blocks ``row``; empty when none does."""
    waiting, seen = [row], {row.id}
    while waiting:
        for need in waiting.pop().task.needs:
            upstream = state.tasks.get(need)
            if upstream is None or need in seen:
                continue
            if upstream.state == "ended" and upstream.status != "succeeded" and upstream.after_skip == "block":
                return need
            seen.add(need)
            if upstream.state == "blocked":
                waiting.append(upstream)
    return ""


def _ready(state: State, row: TaskRow, max_parallel: int, tree: str, busy: Sequence[TaskRow]) -> Step:
    if state.run.state == "blocked":
        return Step("wait_ground", state.run.blocked)
    if state.run.over:
        return Step("wait_budget", state.run.over)
    if state.run.kind == "watch":
        # Agents that run elsewhere work without a slot of this run.
        return Step("start")
    others = [other for other in busy if other.id != row.id]
    if len(others) >= max_parallel:
        return Step("wait_slot")
    for other in others:
        attempt = state.attempts.get(other.attempt)
        if attempt is not None and str(attempt.guidance.workdir) == tree:
            return Step("wait_tree", other.id)
    return Step("start")


def working(state: State) -> tuple[TaskRow, ...]:
    """The tasks that use their trees."""
    return tuple(row for row in state.tasks.values() if is_working(state, row))


def is_working(state: State, row: TaskRow) -> bool:
    """Return whether ``row`` uses its tree: an agent that is being stopped does, though its task has ended."""
    attempt = state.attempts.get(row.attempt)
    return row.state in _WORKING or (attempt is not None and attempt.is_live)


def _judging(row: TaskRow) -> Step:
    if row.check is None:
        return Step("check")
    if row.task.isolation == "worktree" and not row.integrated:
        return Step("integrate")
    return Step("finish")


def _preparing(row: TaskRow) -> Step:
    directive = row.directive
    if directive is None:
        return Step("decide")
    if directive.checkpoint and not directive.saved:
        return Step("checkpoint", directive.checkpoint)
    if directive.restore and directive.restored is None:
        return Step("restore", directive.restore)
    if directive.command and directive.ran is None:
        return Step("run", directive.command)
    if directive.level == "research" and directive.insights is None:
        return Step("research")
    if directive.level == "human" and not directive.answers and directive.checkpoint != "recovery":
        return Step("ask")
    return Step("prepare")


def pending_answer(state: State, row: TaskRow) -> str:
    """The gate answered during the last attempt whose answer the agent has not received; empty when there is none."""
    for gate in state.gates_of(row.id):
        waiting = gate.status in ("answered", "sent") and gate.gate.attempt == row.attempt != ""
        if not waiting or gate.answer is None or gate.answer.choice not in ("retry", "show_me", "choose"):
            continue
        if gate.answer.text or gate.effect == "tell":
            return gate.id
    return ""


def can_progress(state: State, row: TaskRow, *, accept_unverified: bool = False) -> bool:
    """Return whether ``row`` can go on without a person."""
    step = next_step(state, row, max_parallel=1, tree="", accept_unverified=accept_unverified, busy=())
    attempt = state.attempts.get(row.attempt)
    if attempt is not None and attempt.state == "stopping":
        return True  # its receipt is still to come, also where its task has ended
    if step.kind == "wait_attempt":
        return not (attempt is not None and attempt.state == "held" and (row.gate or state.run.over))
    if step.kind == "wait_needs":
        return False
    return step.kind not in _SLEEPING
