"""Facts of a recap: what happened in a run since a moment, each with the numbers of the events behind it. Pure.

No model is asked, and nothing is counted that no event records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import decider, seconds_of
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import GateRow, State

_LEVELS = {
    "retry": "retry", "pivot": "new approach", "research": "research", "continue": "new session", "first": "same again",
    "human": "question by rule",
}  # fmt: skip
_WORDS = {
    "agent_failure": "start of the agent again",
    "agent_replaced": "change of agents",
    "budget_reached": "hold at the budget",
    "infrastructure_blocked": "hold of new tasks",
    "outage_wait": "wait for an outage",
    "remediation_dispatched": "repair of the baseline",
    "transient_error_retry": "wait and retry",
    "workflow_failed": "halt",
}
_OVER = frozenset({"run_ended", "run_parked", "run_resumed", "run_started"})
_LEAST_WAIT_S = 1.0


class Passed(NamedTuple):
    """Tasks whose check ``command`` passed."""

    command: str
    tasks: tuple[str, ...]
    events: tuple[int, ...]


class Ended(NamedTuple):
    """Tasks that ended with a ``status`` other than success; ``reason`` is why the run was given up with them."""

    status: str
    tasks: tuple[str, ...]
    events: tuple[int, ...]
    reason: str = ""


class Decisions(NamedTuple):
    """Decisions of one ``actor`` other than a person: how often each was taken."""

    actor: str
    words: tuple[tuple[str, int], ...]
    tasks: tuple[str, ...]
    events: tuple[int, ...]


class Waited(NamedTuple):
    """A wait of ``seconds``: for an answer, or for a service (``what``). An open one lasts up to the last event."""

    task: str
    what: str
    seconds: float
    events: tuple[int, ...]


class Needed(NamedTuple):
    """An open question: since when (ISO 8601), and the tasks that it ``blocks``."""

    gate: GateRow
    blocks: tuple[str, ...]
    events: tuple[int, ...]


class Used(NamedTuple):
    """Sums over attempts that ended: their number, seconds, tokens and cost (US dollars, None if unknown)."""

    attempts: int
    seconds: float
    tokens: int
    cost: float | None
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecapFacts:
    """Facts of a recap, the most urgent first in each tuple. ``changed`` is the last event of the run's own state."""

    run: str
    state: str
    exit_reason: str
    changed: int
    last: int
    happened: bool
    needed: tuple[Needed, ...] = ()
    passed: tuple[Passed, ...] = ()
    ended: tuple[Ended, ...] = ()
    decided: tuple[Decisions, ...] = ()
    waited: tuple[Waited, ...] = ()
    used: Used | None = None


@dataclass(slots=True)
class _Group:
    tasks: dict[str, None] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    reason: str = ""

    def add(self, record: Record, word: str = "") -> None:
        if record.task:
            self.tasks[record.task] = None
        self.events.append(record.seq)
        if word:
            self.words[word] += 1


def recap_of(records: Iterable[Record], *, since: float = 0.0, after: int = 0) -> RecapFacts:
    """Return the facts about the events of a run from ``since`` on (seconds since 1970), or ``after`` an event.

    ``records`` are all of the run in order: what is open now may have begun before.
    """
    recap = _Recap(since, after)
    for record in records:
        recap.add(record)
    return recap.facts()


class _Recap:
    def __init__(self, since: float, after: int) -> None:
        self._since, self._after = since, after
        self._state = State()
        self._last: Record | None = None
        self._changed, self._happened, self._run = 0, False, ""
        self._opened: dict[str, tuple[int, str]] = {}
        self._waiting: dict[str, tuple[int, str]] = {}
        self._added: dict[str, int] = {}
        self._passed: dict[str, _Group] = {}
        self._ended: dict[str, _Group] = {}
        self._decided: dict[str, _Group] = {}
        self._waits: list[Waited] = []
        self._work = _Group()
        self._attempts, self._seconds, self._tokens = 0, 0.0, 0
        self._cost: float | None = None

    def add(self, record: Record) -> None:
        fold(self._state, record)
        self._last, self._run = record, record.run
        if record.name in _OVER:
            self._changed = record.seq
        is_new = record.seq > self._after and (not self._since or (seconds_of(record.time) or 0.0) >= self._since)
        self._happened |= is_new
        self._note_wait(record, is_new)
        if is_new:
            self._note(record)
            if by := decider(record):
                self._decided.setdefault(by, _Group()).add(record, self._decision(record))

    def _note(self, record: Record) -> None:
        event = record.event
        match event:
            case e.CheckFinished() if event.result == "passed":
                self._passed.setdefault(event.command, _Group()).add(record)
            case e.TaskEnded() if event.status != "succeeded":
                self._ended.setdefault(event.status, _Group()).add(record)
            case e.WorkflowFailed():
                failed = self._ended.setdefault("failed", _Group())
                failed.add(record)
                failed.reason = event.details or event.reason
            case e.AttemptEnded():
                self._attempts += 1
                self._seconds += event.seconds
                self._work.add(record)
            case e.UsageCounted():
                self._tokens += event.tokens
                if event.cost is not None:
                    self._cost = (self._cost or 0.0) + event.cost
                self._work.add(record)

    def _note_wait(self, record: Record, is_new: bool) -> None:
        event = record.event
        match event:
            case e.TaskAdded():
                self._added[event.work.id] = record.seq
            case e.GateOpened():
                self._opened[event.gate] = record.seq, record.time
            case e.GateAnswered() | e.GateWithdrawn():
                begin = self._opened.pop(event.gate, None)
                self._close(record, begin, "an answer", is_new)
            case e.TransientErrorRetry() | e.OutageWait():
                self._waiting[record.task] = record.seq, record.time
            case e.BackoffOver():
                self._close(record, self._waiting.pop(event.task_id, None), "the service", is_new)

    def _close(self, record: Record, begin: tuple[int, str] | None, what: str, is_new: bool) -> None:
        if begin is None or not is_new:
            return
        gate = self._state.gates.get(getattr(record.event, "gate", ""))
        task = gate.gate.task if gate is not None else record.task
        self._waits += _waited(task, what, begin, record)

    def _decision(self, record: Record) -> str:
        """Return a decision without a person in words."""
        event = record.event
        match event:
            case e.DirectiveIssued():
                return _LEVELS[event.level]
            case e.GateAnswered():
                gate = self._state.gates.get(event.gate)
                kind = gate.gate.type.replace("_", " ") if gate is not None else "question"
                return f"{kind}: {event.choice.replace('_', ' ')}"
            case e.RecoveryDecided():
                return f"{event.choice} after an interruption"
            case e.StopRequested():
                return "stop of an attempt" if event.attempt_id else "stop of the run"
            case e.TaskEnded():
                return event.status
        return _WORDS[record.name]

    def facts(self) -> RecapFacts:
        run, last = self._state.run, self._last
        waits, needed = list(self._waits), []
        for gate in self._state.open_gates():
            begin = self._opened.get(gate.id)
            if begin is not None and last is not None:
                waits += _waited(gate.gate.task, "an answer", begin, last)
                blocks = self._blocked_by(gate.gate.task)
                needed.append(Needed(gate, blocks, (begin[0], *(self._added.get(task, begin[0]) for task in blocks))))
        return RecapFacts(
            run=self._run,
            state=run.state,
            exit_reason=run.exit_reason,
            changed=self._changed,
            last=last.seq if last is not None else 0,
            happened=self._happened,
            needed=tuple(sorted(needed, key=lambda one: (-len(one.blocks), one.events[0]))),
            passed=tuple(
                Passed(command, tuple(group.tasks), tuple(group.events))
                for command, group in sorted(self._passed.items(), key=lambda one: -len(one[1].tasks))
            ),
            ended=tuple(
                Ended(status, tuple(group.tasks), tuple(group.events), group.reason)
                for status, group in self._ended.items()
            ),
            decided=tuple(
                Decisions(actor, tuple(group.words.most_common()), tuple(group.tasks), tuple(group.events))
                for actor, group in sorted(self._decided.items(), key=lambda one: -len(one[1].events))
            ),
            waited=tuple(sorted(waits, key=lambda one: -one.seconds)),
            used=self._used(),
        )

    def _used(self) -> Used | None:
        if not self._work.events:
            return None
        return Used(self._attempts, self._seconds, self._tokens, self._cost, tuple(self._work.events))

    def _blocked_by(self, task: str) -> tuple[str, ...]:
        rows: Iterable[Any] = self._state.tasks.values() if task else ()
        return tuple(row.id for row in rows if task in row.task.needs and row.state != "ended")


def _waited(task: str, what: str, begin: tuple[int, str], end: Record) -> list[Waited]:
    """Return the wait from ``begin`` (event and time) to ``end``; nothing below a second."""
    opened, closed = seconds_of(begin[1]), seconds_of(end.time)
    if opened is None or closed is None or closed - opened < _LEAST_WAIT_S:
        return []
    return [Waited(task or "run", what, closed - opened, (begin[0], end.seq))]
