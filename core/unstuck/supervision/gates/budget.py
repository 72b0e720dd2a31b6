"""The budgets of a run: counted as use is reported, warned about, and enforced where attempts begin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from unstuck.clock.deadlines import Deadlines
from unstuck.contract import Gate
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.state import AttemptRow, State, TaskRow
from unstuck.eventlog.usage import Usage, usage_of
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.gate_timers import timer_of
from unstuck.supervision.gates.gate_types import CHOICES
from unstuck.supervision.gates.live_questions import ask

WARN_SHARE = 0.8
_EPSILON = 1e-6
KINDS: tuple[e.BudgetName, ...] = ("tokens", "cost", "time")


def count_usage(
    core: RunContext,
    task: str,
    attempt: str,
    tokens: int,
    cost: float | None,
    *,
    written: int = 0,
    idle: bool | None = None,
) -> None:
    """Record an agent's use in any state; a cost that is no amount is not counted.

    ``idle`` is whether it should be doing nothing, where the record does not know its attempt.
    """
    if cost is not None and not (math.isfinite(cost) and cost >= 0):
        # A sum with it would never be a number again, and no budget would end the run.
        cost = None
    if tokens <= 0 and not cost:
        return
    agent = core.head.tasks[task].task.agent if task in core.head.tasks else ""
    read_price, written_price, only = core.prices.get(agent, (0.0, 0.0, False))
    priced = cost is None and only
    if priced:
        cost = (max(0, tokens - written) * read_price + written * written_price) / 1e6
    if idle is None:
        row = core.head.attempts.get(attempt)
        idle = row is None or row.state not in ("starting", "live")
    event = e.UsageCounted(tokens=max(0, tokens), cost=cost, while_idle=idle, priced=priced, written=written)
    core.append(event, task=task, attempt=attempt, actor="agent")


def price_the_rest(core: RunContext, task: str, attempt: str) -> None:
    """Record the price of an ended attempt whose agent should have reported its cost, and could not."""
    row = core.head.attempts.get(attempt)
    agent = core.head.tasks[task].task.agent if task in core.head.tasks else ""
    if row is None or row.cost is not None or row.tokens <= 0 or agent not in core.prices:
        return
    read_price, written_price, _ = core.prices[agent]
    cost = ((row.tokens - row.written) * read_price + row.written * written_price) / 1e6
    core.append(e.UsageCounted(cost=cost, priced=True), task=task, attempt=attempt)


class _Used(NamedTuple):
    """A part of a budget that was used."""

    scope: Literal["attempt", "task"]
    kind: e.BudgetName
    used: float
    limit: float

    @property
    def words(self) -> str:
        used, limit = f"{self.used:,.0f}", f"{self.limit:,.0f} {self.kind}"
        if self.kind == "cost":
            used, limit = f"${self.used:,.2f}", f"${self.limit:,.2f}"
        return f"the budget of the {self.scope} is used up: {used} of {limit}"


def used_parts(state: State, row: TaskRow, attempt: str = "") -> Iterator[_Used]:
    """Yield what the task has used of its budgets since the last answer, and the ``attempt`` of its own."""
    limits = state.run.limits
    sources: list[tuple[Literal["attempt", "task"], Usage | AttemptRow]] = []
    if attempt in state.attempts:
        sources.append(("attempt", state.attempts[attempt]))
    sources.append(("task", usage_of(state, row, after=row.paid)))
    for scope, used in sources:
        kinds: tuple[tuple[e.BudgetName, float], ...] = (("tokens", used.tokens), ("cost", used.cost or 0.0))
        for kind, amount in kinds:
            limit = limits.get(f"{scope}_{kind}")
            if limit is not None:
                yield _Used(scope, kind, amount, limit)


def used_up(state: State, row: TaskRow, attempt: str = "") -> _Used | None:
    """Return the budget of the task, or of its ``attempt``, that is used up; None where none is."""
    return next((part for part in used_parts(state, row, attempt) if part.used >= part.limit - _EPSILON), None)


def left_words(core: RunContext, row: TaskRow) -> str:
    """Return what an attempt that starts now may use, for its prompt; empty without a budget."""
    run, now = core.head.run, core.clock.monotonic()
    parts = [(kind, run.limits[kind] - run.used(kind, now)) for kind in KINDS if kind in run.limits]
    parts += [(part.kind, part.limit - part.used) for part in used_parts(core.head, row)]
    parts += [(kind, run.limits[f"attempt_{kind}"]) for kind in KINDS if f"attempt_{kind}" in run.limits]
    left = {kind: min(amount for name, amount in parts if name == kind) for kind, _ in parts}
    spoken = {"tokens": "{:,.0f} tokens", "cost": "${:,.2f}", "time": "{:,.0f} seconds"}
    return ", ".join(spoken[kind].format(max(0.0, left[kind])) for kind in KINDS if kind in left)


class Budget:
    """Watches one run's limits, by its record and one deadline for its time."""

    def __init__(self, core: RunContext, deadlines: Deadlines) -> None:
        self._core, self._deadlines = core, deadlines
        core.journal.on_append(self._on_append)

    def begin(self, limits: e.BudgetSet | None = None) -> None:
        """Check the limits before the first step: zero is reached, and a limit reached earlier still is.

        ``limits`` are new ones, for a resumed run.
        """
        if limits is not None:
            for row in self._core.head.open_gates():
                if row.gate.type == "budget":
                    self._core.append(e.GateWithdrawn(gate=row.id, reason="the budget was changed"))
            self._core.append(limits, actor="human")
        over = self._core.head.run.over
        if over and not any(row.gate.type == "budget" for row in self._core.head.open_gates()):
            self._ask_or_end(over)
        self.check()

    def check(self, *, while_idle: bool = False) -> None:
        """Warn about limits that are nearly reached, and hold every agent at the first that is."""
        core = self._core
        if core.head.run.over or core.head.run.state not in ("running", "blocked"):
            return
        now = core.clock.monotonic()
        for kind in KINDS:
            run = core.head.run
            limit = run.limits.get(kind)
            if limit is None:
                continue
            used = run.used(kind, now)
            if used >= limit - _EPSILON:
                event = e.BudgetReached(kind=kind, used=round(used, 6), limit=limit, while_idle=while_idle)
                core.append(event, actor="timer")
                self._ask_or_end(kind)
                return
            if used >= WARN_SHARE * limit - _EPSILON and kind not in run.warned:
                core.append(e.BudgetWarned(kind=kind, used=round(used, 6), limit=limit), actor="timer")
        self._arm(now)

    def _arm(self, now: float) -> None:
        run = self._core.head.run
        limit = run.limits.get("time")
        if limit is None:
            return
        share = 1.0 if "time" in run.warned else WARN_SHARE
        self._deadlines.at("budget", now + max(0.0, share * limit - run.used("time", now)), self.check)

    def _ask_or_end(self, kind: str) -> None:
        """Ask where a person, a rule or a timer can answer; otherwise end the run."""
        core = self._core
        run, now = core.head.run, core.clock.monotonic()
        context = {
            "problem": f"the budget for {kind} is used up",
            "kind": kind,
            "limit": run.limits.get(kind),
            "used": round(run.used(kind, now), 6),
            "tokens": run.tokens,
            "cost": "not known" if run.cost is None else run.cost,
            "seconds": round(run.used("time", now), 1),
        }
        preview = Gate(id="", type="budget", task="", key=kind, context=context, choices=CHOICES["budget"])
        found = core.policy(preview) if core.may_ask else None
        if core.may_ask and (core.person or found is not None or timer_of(core, preview) is not None):
            ask(core, Question(type="budget", key=kind, context=context, found=found))
        else:
            core.append(e.StopRequested(reason="budget"))

    def _on_append(self, record: Record) -> None:
        event = record.event
        if isinstance(event, e.UsageCounted):
            self.check(while_idle=event.while_idle)
        elif isinstance(event, e.BudgetSet) or self._is_answer(event):
            self.check()

    def _is_answer(self, event: object) -> bool:
        return isinstance(event, e.GateAnswered) and self._core.head.gates[event.gate].gate.type == "budget"
