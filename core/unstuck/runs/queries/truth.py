"""Claims of agents beside what their checks found, by agent and model, from event logs alone. Streams each log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstuck.diagnosis.model import Diagnosis
from unstuck.errors import RecordError
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.record_reader import RunReader, Wanted
from unstuck.eventlog.storage.run_store import run_names

_WANTED = Wanted(
    types=frozenset(
        {
            "agent_replaced",
            "attempt_ended",
            "attempt_interrupted",
            "attempt_started",
            "check_finished",
            "task_added",
            "usage_counted",
        }
    )
)
CONFIRMED = {"passed": True, "failed": False, "contradicted": False}
"""Check results that confirm or contradict a claim; any other says nothing about the work."""
_FAILURES_KEPT = 200
_FAILURES_SHOWN = 3
_HEADLINE = 200


@dataclass(slots=True)
class _Attempt:
    """The latest attempt of a task."""

    agent: str
    model: str = ""
    claim: str = ""
    found: bool | None = None
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    failure: Diagnosis | None = None


@dataclass(slots=True)
class _Sums:
    """Sums over the attempts of one agent with one model. ``failures`` are those behind false claims, by identity."""

    attempts: int = 0
    claimed_done: int = 0
    claimed_not_done: int = 0
    check_passed: int = 0
    compared: int = 0
    agreed: int = 0
    false_claims: int = 0
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    failures: dict[str, tuple[int, Diagnosis]] = field(default_factory=dict)

    def add(self, attempt: _Attempt) -> None:
        done, found = attempt.claim == "done", attempt.found
        self.attempts += 1
        self.claimed_done += done
        self.claimed_not_done += attempt.claim == "not_done"
        self.check_passed += found is True
        self.tokens += attempt.tokens
        self.seconds += attempt.seconds
        if attempt.cost is not None:
            self.cost = (self.cost or 0.0) + attempt.cost
        if found is None or attempt.claim not in ("done", "not_done"):
            return
        self.compared += 1
        self.agreed += done == found
        if done and not found:
            self.false_claims += 1
            self._count(attempt.failure)

    def _count(self, failure: Diagnosis | None) -> None:
        if failure is None:
            return
        count, _ = self.failures.pop(failure.identity, (0, failure))
        if len(self.failures) >= _FAILURES_KEPT:
            # The rarest goes, the oldest of those first: memory stays bounded over any number of logs.
            del self.failures[min(self.failures, key=lambda one: self.failures[one][0])]
        self.failures[failure.identity] = count + 1, failure


class Truth:
    """Sums of claims and checks over records in their order, of one run after another."""

    def __init__(self) -> None:
        self._agents: dict[str, str] = {}
        self._open: dict[str, _Attempt] = {}
        self._sums: dict[tuple[str, str], _Sums] = {}

    def add(self, record: Record) -> None:
        event, attempt = record.event, self._open.get(record.task)
        match event:
            case e.TaskAdded():
                self._agents[event.work.id] = event.work.agent or event.work.agent_type
            case e.AgentReplaced():
                self._agents[record.task] = event.agent
            case e.AttemptStarted():
                self._close(record.task)
                self._open[record.task] = _Attempt(self._agents.get(record.task, ""))
            case e.AttemptEnded() if attempt is not None:
                attempt.claim, attempt.model = event.report.claim, event.report.model
                attempt.seconds += event.seconds
            case e.AttemptInterrupted() if attempt is not None:
                attempt.seconds += event.used_s
            case e.CheckFinished() if attempt is not None:
                attempt.found, attempt.failure = CONFIRMED.get(event.result), _diagnosis(event)
            case e.UsageCounted() if attempt is not None:
                attempt.tokens += event.tokens
                if event.cost is not None:
                    attempt.cost = (attempt.cost or 0.0) + event.cost

    def end_run(self) -> None:
        """Close what the run has left open; the next record is of another run."""
        for task in list(self._open):
            self._close(task)
        self._agents.clear()

    def _close(self, task: str) -> None:
        if (attempt := self._open.pop(task, None)) is not None:
            self._sums.setdefault((attempt.agent, attempt.model), _Sums()).add(attempt)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each agent and model of the runs that are over, the one with most attempts first.

        ``agreement`` is the share of ``agreed`` in ``compared`` (claims that a check could confirm or contradict),
        None without any. A false claim says done although the check failed.
        """
        for (agent, model), sums in sorted(self._sums.items(), key=lambda one: (-one[1].attempts, one[0])):
            most_frequent = sorted(sums.failures.values(), key=lambda one: one[0], reverse=True)[:_FAILURES_SHOWN]
            yield {
                "agent": agent,
                "model": model,
                "attempts": sums.attempts,
                "claimed_done": sums.claimed_done,
                "claimed_not_done": sums.claimed_not_done,
                "claim_unknown": sums.attempts - sums.claimed_done - sums.claimed_not_done,
                "check_passed": sums.check_passed,
                "compared": sums.compared,
                "agreed": sums.agreed,
                "agreement": round(sums.agreed / sums.compared, 3) if sums.compared else None,
                "false_claims": sums.false_claims,
                "failures": [_failure(*one) for one in most_frequent],
                "tokens": sums.tokens,
                "cost": sums.cost,
                "seconds": round(sums.seconds, 1),
            }


def _failure(count: int, failure: Diagnosis) -> dict[str, Any]:
    return {
        "signature": failure.identity,
        "count": count,
        "error_type": failure.signature.error_type.value,
        "location": failure.signature.location or "",
        "headline": failure.headline[:_HEADLINE],
    }


def _diagnosis(event: e.CheckFinished) -> Diagnosis | None:
    try:
        return Diagnosis.from_dict(event.diagnosis) if event.diagnosis else None
    except (AttributeError, TypeError, ValueError):
        return None


def read_run(truth: Truth, folder: Path) -> None:
    """Add the run in ``folder`` to ``truth``. Raises RecordError after the records before a damage are added."""
    try:
        for record in RunReader(folder).records(_WANTED):
            truth.add(record)
    finally:
        truth.end_run()


def truth_of(folders: Iterable[Path], complain: Callable[[str], None] = lambda said: None) -> list[dict[str, Any]]:
    """Return the rows of :meth:`Truth.rows` over the runs in ``folders``.

    ``complain`` gets a line for each log that cannot be read whole; the records before the damage count.
    """
    truth = Truth()
    for folder in folders:
        for name in run_names(folder):
            try:
                read_run(truth, folder / name)
            except RecordError as error:
                complain(f"{error}; only the events before it are counted")
    return list(truth.rows())
