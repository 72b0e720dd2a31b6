"""Statistics of the questions a run asked, the answers, and the decisions made without a person. Pure.

A question that a rule answered at once does not count as asked. Work waits for a person while at least one question
holds it. That time also counts while no supervisor runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unstuck.eventlog.envelope import Record
    from unstuck.eventlog.state import GateRow, State
    from unstuck.eventlog.summary_rows import DecidedBy

_LONGEST = timedelta(days=400)
_LATEST = 200_000_000_000.0  # seconds since 1970, in the eighth millennium: calendars end soon after
DECISIONS = frozenset(
    {
        "agent_failure",
        "agent_replaced",
        "budget_reached",
        "directive_issued",
        "gate_answered",
        "infrastructure_blocked",
        "outage_wait",
        "recovery_decided",
        "remediation_dispatched",
        "stop_requested",
        "task_ended",
        "transient_error_retry",
        "workflow_failed",
    }
)
"""Names of events that may be a decision."""
_ENDED_BY_DECISION = ("skipped", "abandoned")
_KNOWN_ANSWER = 4
"""Line of the precedence table on which a rule of the user answers a failure."""
Span = tuple[float, float]


@dataclass(slots=True, kw_only=True)
class Load:
    """Load on people: questions ``asked`` and ``answered``, and the sum of their answer times.

    ``waited_seconds`` is the time that agents waited for a person, summed over the tasks. ``decided`` counts decisions
    without a person, by ``rule``, ``timer`` or ``policy``. ``pages`` is the number of notifications.
    """

    asked: int = 0
    answered: int = 0
    answer_seconds: float = 0.0
    waited_seconds: float = 0.0
    pages: int = 0
    decided: Counter[DecidedBy] = field(default_factory=Counter)

    @property
    def to_answer(self) -> float | None:
        """Mean time to an answer in seconds, None without an answer."""
        return self.answer_seconds / self.answered if self.answered else None

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers and the mean time to an answer; seconds have one decimal."""
        mean = self.to_answer
        return asdict(self) | {
            "answer_seconds": round(self.answer_seconds, 1),
            "waited_seconds": round(self.waited_seconds, 1),
            "to_answer": None if mean is None else round(mean, 1),
            "decided": {by: self.decided.get(by, 0) for by in ("rule", "timer", "policy")},
        }


def decider(record: Record) -> DecidedBy | None:
    """Return what took the decision in ``record``; None for a person's, and where nothing was decided.

    A directive that asks a person decides nothing.
    """
    event, by_rule = record.event, False
    if record.actor == "human" or record.name not in DECISIONS:
        return None
    if record.name == "directive_issued":
        by_rule = getattr(event, "line", 0) == _KNOWN_ANSWER
        if getattr(event, "level", "") == "human" and not by_rule:
            return None
    if record.name == "task_ended" and getattr(event, "status", "") not in _ENDED_BY_DECISION:
        return None
    if by_rule or getattr(event, "rule", None) is not None:
        return "rule"
    return "timer" if record.actor == "timer" else "policy"


def load_of(state: State, until: float, *, task: str | None = None) -> Load:
    """Return the load of the run, or of one ``task``. Open questions count up to ``until`` (seconds since 1970)."""
    total = Load()
    for _, load in _parts(state, until, UTC, task):
        _add(total, load)
    return total


def joined(days: Iterable[dict[str, Load]]) -> dict[str, Load]:
    """Return the loads of several runs added up by day, in order."""
    total: dict[str, Load] = {}
    for one in days:
        for day, load in one.items():
            _add(total.setdefault(day, Load()), load)
    return dict(sorted(total.items()))


def load_by_day(state: State, until: float, zone: tzinfo | None = None) -> dict[str, Load]:
    """Return the load by day (``2026-11-22``), in order and without empty days. ``zone`` is local by default."""
    days: dict[str, Load] = {}
    for moment, load in _parts(state, until, zone, None):
        _add(days.setdefault(_local(moment, zone).date().isoformat(), Load()), load)
    return dict(sorted(days.items()))


def held_tasks(state: State) -> int:
    """Return how many tasks open questions hold."""
    return len(
        {task for row in state.gates.values() if not row.closed and seconds_of(row.opened) for task in row.holds}
    )


def add_wait(row: dict[str, Any], tasks: int, since: float, until: float) -> None:
    """Add to the ``load`` and the ``days`` of a run's row that ``tasks`` of it waited from ``since`` to ``until``."""
    for begin, end in _days(since, until, None) if tasks and until > since else ():
        day = row["days"].setdefault(_local(begin, None).date().isoformat(), Load().as_dict())
        for load in (row["load"], day):
            load["waited_seconds"] = round(load["waited_seconds"] + tasks * (end - begin), 1)


def seconds_of(text: str) -> float | None:
    """Return an ISO 8601 time as seconds since 1970, or None for any other text."""
    try:
        seconds = datetime.fromisoformat(text).timestamp() if text else -1.0
    except (ValueError, OverflowError, OSError):
        return None
    return seconds if 0.0 <= seconds < _LATEST else None


def _parts(state: State, until: float, zone: tzinfo | None, task: str | None) -> Iterator[tuple[float, Load]]:
    """Yield the load in parts, each with a moment of its day."""
    end = seconds_of(state.run.ended) if state.run.state == "ended" else None
    until = until if end is None else end
    gates = [row for row in state.gates.values() if task is None or row.gate.task == task]
    for row in gates:
        yield from _questions(row)
    for decision in state.decided.values():
        moment = seconds_of(decision.time) if task in (None, decision.task) else None
        if moment is not None:
            yield moment, Load(decided=Counter([decision.by]))
    for page in state.pages.values():
        moment = seconds_of(page.time)
        if moment is not None and (task is None or task in page.tasks):
            yield moment, Load(pages=1)
    for spans in _held(gates, until).values():
        for begin, stop in _united(spans):
            for day_begin, day_end in _days(begin, stop, zone):
                yield day_begin, Load(waited_seconds=day_end - day_begin)


def _questions(row: GateRow) -> Iterator[tuple[float, Load]]:
    opened, closed = seconds_of(row.opened), seconds_of(row.closed)
    by = _decider(row)
    if opened is not None and by in (None, "timer"):
        yield opened, Load(asked=1)
    if opened is None or closed is None or row.answer is None:
        return
    if by is None:
        yield closed, Load(answered=1, answer_seconds=max(0.0, closed - opened))
    else:
        yield closed, Load(decided=Counter([by]))


def _decider(row: GateRow) -> DecidedBy | None:
    """Return the actor of an answer other than a person, None for a person or an open question."""
    if row.answer is None or row.by in (None, "human"):
        return None
    if row.rule is not None:
        return "rule"
    return "timer" if row.by == "timer" else "policy"


def _held(gates: Iterable[GateRow], until: float) -> dict[str, list[Span]]:
    """Return by task the spans in which questions to a person held its work."""
    held: dict[str, list[Span]] = {}
    for row in gates:
        begin = seconds_of(row.opened)
        end = seconds_of(row.closed) if row.closed else until
        if begin is None or end is None or end <= begin or _decider(row) not in (None, "timer"):
            continue
        for task in row.holds:
            held.setdefault(task, []).append((begin, end))
    return held


def _united(spans: list[Span]) -> Iterator[Span]:
    """Yield the spans in order, with overlapping ones merged."""
    now: Span | None = None
    for begin, end in sorted(spans):
        if now is not None and begin <= now[1]:
            now = (now[0], max(now[1], end))
            continue
        if now is not None:
            yield now
        now = (begin, end)
    if now is not None:
        yield now


def _days(begin: float, end: float, zone: tzinfo | None) -> Iterator[Span]:
    """Yield the span cut at every midnight. A span of more than 400 days stays whole."""
    if end - begin > _LONGEST.total_seconds():
        yield begin, end
        return
    while True:
        tomorrow = _local(begin, zone).date() + timedelta(days=1)
        midnight = datetime.combine(tomorrow, time(), zone).timestamp()
        if midnight >= end or midnight <= begin:
            yield begin, end
            return
        yield begin, midnight
        begin = midnight


def _local(moment: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(moment, UTC).astimezone(zone)


def _add(total: Load, more: Load) -> None:
    total.asked += more.asked
    total.answered += more.answered
    total.answer_seconds += more.answer_seconds
    total.waited_seconds += more.waited_seconds
    total.pages += more.pages
    total.decided += more.decided
