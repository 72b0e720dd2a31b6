"""Rows about runs: the run, its tasks, its questions, its events and its result."""

from __future__ import annotations

from typing import Any, Literal

from unstuck.contract import Actor, CheckResult, GateTypeName, Level, OutcomeStatus, Scope, Standing
from unstuck.schemas.base import Row


class Load(Row):
    """Load on people. ``waited_seconds`` is the time that agents waited, ``to_answer`` the mean time to an answer."""

    asked: int
    answered: int
    answer_seconds: float
    waited_seconds: float
    pages: int
    decided: dict[Literal["rule", "timer", "policy"], int]
    to_answer: float | None


class Run(Row):
    """One run. Times are ISO 8601. ``tasks`` counts them by state or status."""

    run: str
    state: str
    started: str
    ended: str
    kind: str
    about: str
    exit_reason: str
    exit_code: int | None
    tasks: dict[str, int]
    open_gates: int
    load: Load
    problem: str = ""


class DamagedRun(Row):
    """A run whose event log cannot be read."""

    run: str
    state: Literal["damaged"]
    problem: str


class ShownRun(Run):
    """One run with what it used. ``budget`` holds its limits, ``days`` the load by day."""

    tokens: int
    cost: float | None
    seconds: float
    budget: dict[str, float]
    days: dict[str, Load]


class Day(Load):
    """Load of one day, over all runs."""

    day: str


class Used(Row):
    """Usage of some attempts."""

    attempts: int
    tokens: int
    cost: float | None


class BaselineCheck(Row):
    """The check before anyone worked."""

    result: CheckResult
    command: str
    headline: str


class Proof(Row):
    """A check that passed, again without the work and with the old tests."""

    without_work: CheckResult
    old_tests: CheckResult
    problem: str
    note: str


class EndedWay(Row):
    """One of several approaches that were worked at the same time, counted by ``slot`` from 1."""

    slot: int
    approach: str
    result: Literal["passed", "failed", "stopped"]


class ShownAttempt(Row):
    """An attempt in the timeline of a task."""

    kind: Literal["attempt"]
    attempt: str
    agent: str
    rung: Level
    turn: int
    time: str
    seconds: float | None
    state: str
    how: str
    claim: str
    approach: str
    ways: list[EndedWay]
    check: str
    signature: str
    headline: str
    checkpoint: str
    answers: list[str]
    tokens: int
    cost: float | None


class ShownQuestion(Row):
    """A question in the timeline of a task."""

    kind: Literal["question"]
    id: str
    type: GateTypeName
    time: str
    seconds: float | None
    status: str
    choice: str
    text: str
    by: str
    via: str
    checkpoint: str


class Failover(Row):
    """A change of agents after so many ``attempts``: ``agent`` goes on in place of ``before``, and ``why``."""

    before: str
    agent: str
    reason: Literal["agent", "outage", "stuck"]
    why: str
    attempts: int


class Collision(Row):
    """Files that a task and another live task both change. ``is_later``: the other one changed them first."""

    other: str
    paths: list[str]
    is_later: bool


class ShownTask(Row):
    """One task. ``checkpoint`` is its last passing one. ``rungs`` is the usage by escalation level.

    ``agent`` works on it now, ``failovers`` are the changes of agents. ``repeats`` is the number of equal failures in a
    row, or equal steps in the attempt; 0 for only one.
    """

    task: str
    state: str
    status: OutcomeStatus | None
    agent: str
    failovers: list[Failover]
    level: Level
    attempts: int
    needs: list[str]
    repeats: int
    headline: str
    location: str
    error_type: str
    failure_type: str
    category: str
    reason: str
    baseline_check: BaselineCheck | None
    passed_before_work: bool
    waits: dict[str, Any] | None
    proof: Proof | None
    flaky: str
    collisions: tuple[Collision, ...] = ()
    weakened: list[str]
    ending: str
    said: str
    baseline: str
    checkpoint: str
    tokens: int
    cost: float | None
    rungs: dict[str, Used]
    timeline: list[ShownAttempt | ShownQuestion]


class OpenQuestion(Row):
    """An open question. ``facts`` are those of the dialog, by their label."""

    gate: str
    type: GateTypeName
    task: str
    path: list[str]
    opened: str
    choices: list[str]
    standing: Standing
    context: dict[str, Any]
    facts: dict[str, str]


class EventRecord(Row):
    """One event. ``data`` are its own fields, which ``unstuck schema EVENT`` describes."""

    v: int
    seq: int
    time: str
    mono: float
    run: str
    actor: Actor
    task: str
    attempt: str
    cause: int
    event: str
    data: dict[str, Any]
    crc: str = ""


class Claims(Row):
    """Claims of a run beside its checks."""

    attempts: int
    claimed_done: int
    compared: int
    agreed: int
    false_claims: int


class Changes(Row):
    """Changes of a run, and the command that shows them."""

    files: int
    added: int
    removed: int
    command: str


class RunResult(Row):
    """The last object of ``run``, ``watch`` and ``demo``."""

    run: str
    exit_reason: str
    exit_code: int
    claims: Claims | None = None
    changes: Changes | None = None


class RecapLine(Row):
    """A line of a recap, with the numbers of its events."""

    kind: str
    text: str
    events: list[int]


class Permission(Row):
    """A permission rule in force, and what gave it."""

    rule: str
    scope: Scope
    run: str
    task: str
    gate: str
