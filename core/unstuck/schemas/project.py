"""Rows about a project and its machine: failures, claims, sessions, memory, checkpoints, settings, installations."""

from __future__ import annotations

from typing import Any, Literal

from unstuck.schemas.base import Row


class Signature(Row):
    """The identity of a failure."""

    exact_message: str
    error_type: str
    location: str | None
    context_hash: str
    timestamp: str | float
    agent_id: str
    task_id: str
    metadata: dict[str, Any]
    subject: str


class NoFailure(Row):
    """No failure was recognised."""

    failure: Literal[False]


class Diagnosis(Row):
    """A failure that was recognised."""

    failure: Literal[True]
    signature: Signature
    failure_type: str
    category: str
    cause: str
    headline: str
    fix_hint: str


class Failure(Row):
    """A failure of all runs, how often it came, and what solved it."""

    signature: str
    count: int
    first: str
    last: str
    error_type: str
    failure_type: str
    category: str
    location: str
    headline: str
    tasks: list[str]
    runs: list[str]
    rung: str
    worked: str


class ClaimedFailure(Row):
    """A failure behind false claims."""

    signature: str
    count: int
    error_type: str
    location: str
    headline: str


class Truth(Row):
    """Claims of one agent and model, beside the results of the checks."""

    agent: str
    model: str
    attempts: int
    claimed_done: int
    claimed_not_done: int
    claim_unknown: int
    check_passed: int
    compared: int
    agreed: int
    agreement: float | None
    false_claims: int
    failures: list[ClaimedFailure]
    tokens: int
    cost: float | None
    seconds: float


class WhatIfStep(Row):
    """A next step, such as ``retry`` or ``question``, and what it is about."""

    kind: str
    about: str


class WhatIfDifference(Row):
    """A step that differs under changed settings. ``event`` is its number in the run, or the step of a session.

    ``questions`` to ``tokens`` are more or fewer (negative) until your next answer; null is unknown.
    """

    row: Literal["difference"]
    run: str
    task: str
    event: int
    own: WhatIfStep
    changed: WhatIfStep
    questions: int
    alarms: int
    attempts: int | None
    tokens: int | None


class WhatIfRules(Row):
    """A step at which today's rules differ from the log, with the settings as they were."""

    row: Literal["rules"]
    run: str
    task: str
    event: int
    today: WhatIfStep
    logged: WhatIfStep


class WhatIfTotal(Row):
    """The sums of a comparison. ``unknown`` counts steps that cannot be judged, ``short`` those not in the log."""

    row: Literal["total"]
    settings: dict[str, str]
    runs: int
    sessions: int
    compared: int
    differ: int
    unknown: int
    short: int
    rules: int
    questions: int
    alarms: int
    attempts: int
    tokens: int


class SessionLoop(Row):
    """A loop of a session. ``first``, ``noticed`` and ``last`` are steps, counted from 0."""

    first: int
    noticed: int
    last: int
    kind: str
    action: str
    evidence: str


class Session(Row):
    """A session that an agent has kept."""

    file: str
    session: str
    agent: str
    project: str
    started: str | None
    steps: int
    failures: int
    tokens: int | None
    cost: float | None
    loops: list[SessionLoop]
    claimed: str | None
    last_check: str | None
    live: bool = False


class TranscriptEntry(Row):
    """Something that was said or done in a session; of a call the tool, its result, and the change that it makes.

    ``output`` is a line as the agent printed it.
    """

    kind: str
    text: str
    at: float | None = None
    agent_id: str | None = None
    tool: str | None = None
    diff: str | None = None
    result: str | None = None
    failed: bool | None = None
    exit_code: int | None = None
    step: int | None = None


class RuleOffer(Row):
    """An answer given repeatedly to the same failure, which ``unstuck memory promote ID`` makes a rule."""

    id: str
    given: int
    worked: int
    runs: list[str]


class Answered(Row):
    """An answer: ``applied`` says that a live run has it, else ``resume`` is the run to resume."""

    gate: str
    choice: str
    applied: bool
    resume: str
    rule_offer: RuleOffer | None = None


class Remembered(Row):
    """An entry of the memory. ``holds`` is true for a rule that agents get.

    ``given``, ``worked`` and ``runs`` are the evidence of an answer that is offered as a rule.
    """

    memory: str
    kind: str
    outcome: str
    signature: str
    approach: str
    cause: str
    note: str
    task: str
    run: str
    when: str
    holds: bool | None = None
    given: int | None = None
    worked: int | None = None
    runs: list[str] | None = None


class KnownApproach(Row):
    """An approach against a failure. ``place`` counts from 1 and is null for one that failed against it.

    It ``worked`` in so many of the ``tried`` uses against similar failures. ``stopped``: another one was faster against
    this failure, and it was never judged.
    """

    signature: str
    headline: str
    order: str
    approach: str
    place: int | None
    source: str
    score: float
    worked: int
    tried: int
    stopped: bool = False


class Forgotten(Row):
    """An entry that was deleted."""

    memory: str
    kind: str


class LeftOut(Row):
    """A path that a checkpoint does not cover."""

    path: str
    why: str


class Change(Row):
    """The change of a file, with its sizes in bytes."""

    path: str
    status: str
    before: int | None
    after: int | None


class Checkpoint(Row):
    """A checkpoint. ``ignored`` is a count, ``size`` in bytes. ``new`` is false for one that was there already."""

    id: str
    created: str
    reason: str
    run: str
    task: str
    tree: str
    files: int
    not_covered: list[LeftOut]
    ignored: int
    size: int
    new: bool | None = None


class WholeCheckpoint(Checkpoint):
    """A checkpoint with the names of ignored files, and its changes."""

    ignored_names: list[str]
    changes: list[Change]


class RestoreDone(Row):
    """A restore or an undo. ``safety`` is the checkpoint of the files before it."""

    safety: str
    changed: int


class Setting(Row):
    """A setting in force, and the source that set it."""

    key: str
    value: Any
    source: str
    where: str


class Source(Row):
    """A source of settings."""

    where: str
    ok: bool
    problem: str


class SettingsPath(Row):
    """The settings file of the user."""

    path: str
    exists: bool


class FileChanged(Row):
    """A file of settings that was written. ``backup`` holds what was there."""

    path: str
    changed: bool
    backup: str


class Installation(Row):
    """The hooks or the server in one settings file of an agent."""

    agent: str
    scope: str
    state: str
    path: str
    note: str
    ok: bool


class Finding(Row):
    """A finding of the doctor. ``mend`` is the remedy."""

    what: str
    value: str
    ok: bool
    mend: str


class FleetKey(Row):
    """A key with which this machine has joined a fleet. ``pid`` is the forwarder, 0 without one."""

    name: str
    role: str
    url: str
    pid: int
    logs: int
    problem: str


class FleetHost(Row):
    """A host of the fleet. ``state`` is ``connected`` or ``UNKNOWN``, ``live`` of its ``logs`` are live."""

    host: str
    state: str
    seen: str
    version: str
    logs: int
    live: int
    problem: str


class FleetFinding(Row):
    """A finding of `unstuck fleet doctor` about a host, a log or the copies here."""

    ok: bool
    about: str
    text: str


class Goes(Row):
    """An item that is deleted. ``holds`` describes work that exists nowhere else."""

    goes: str
    name: str
    run: str
    count: int
    size: int
    holds: str


class Stays(Row):
    """An item that stays."""

    stays: str
    reason: str


class Blocked(Row):
    """A reason why nothing is deleted."""

    blocked: str


class Ended(Row):
    """A process that was ended."""

    pid: int
    start: float
    how: str


class Deleted(Row):
    """A deletion, and what is left of it."""

    deleted: str
    ended: list[Ended]
    left: list[str]


class LogCheck(Row):
    """An event log that is sound. ``torn`` are bytes that were never acknowledged."""

    run: str
    ok: Literal[True]
    records: int
    bytes: int
    torn: int
    later: int
    unknown: int
    snapshot: str
    memory: str


class Scenario(Row):
    """A scenario of the demo."""

    scenario: str
    about: str
