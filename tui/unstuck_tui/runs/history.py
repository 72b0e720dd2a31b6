"""The history of each task, attempt by attempt, from the log. Bounded; costs little per record."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.eventlog.envelope import Record, event_name
from unstuck.words.labels import Tone, rung_label
from unstuck.words.narration import MOMENTS, moment_of
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.tasks.detail import FailureCount, TimelineEntry

KEPT = 80
UNREAD = 8
"""Records of a task that are kept as they came."""
_TEXT = 300
_ENDS, _LEAST_GAPS = 50, 3


def failure_key(context_hash: str, subject: str) -> str:
    """The identity that two occurrences of one failure share."""
    return f"{context_hash} {subject}"


class History:
    """The timelines of all tasks, and every failure by its identity."""

    def __init__(self) -> None:
        self._moments: dict[str, list[TimelineEntry]] = {}
        self._unread: dict[str, list[Record]] = {}
        self._labels: dict[str, str] = {}
        self._spent: dict[str, float] = {}
        self._checks: dict[str, float] = {}
        self._ends: list[float] = []
        self.failures: dict[str, FailureCount] = {}

    def of(self, task: str) -> tuple[TimelineEntry, ...]:
        self._read(task)
        return tuple(self._moments.get(task, ()))

    def spent(self, task: str) -> float:
        """The seconds that the attempts of ``task`` have taken."""
        self._read(task)
        return self._spent.get(task, 0.0)

    def checked_since(self, task: str) -> float | None:
        """The monotonic time at which the check of ``task`` became due; None where that is not known."""
        return self._checks.get(task)

    def pace(self) -> float | None:
        """The seconds from the end of one task to that of the next; None where too few have ended.

        The longest of them does not count: a run that was resumed has stood still.
        """
        gaps = sorted(later - earlier for earlier, later in pairwise(self._ends))
        return sum(gaps[:-1]) / (len(gaps) - 1) if len(gaps) >= _LEAST_GAPS else None

    def copied(self) -> History:
        """A second history with the same records, which continues on its own."""
        other = History()
        for task, moments in self._moments.items():
            other._moments[task] = list(map(copy, moments))
        for task, unread in self._unread.items():
            other._unread[task] = list(unread)
        for identity, seen in self.failures.items():
            other.failures[identity] = replace(seen, tasks=set(seen.tasks))
        other._labels, other._spent, other._checks = dict(self._labels), dict(self._spent), dict(self._checks)
        other._ends = list(self._ends)
        return other

    def see(self, record: Record) -> None:
        """Note ``record``. Its line is written when its task is looked at: most tasks never are."""
        task, kind = record.task, type(record.event)
        if kind is e.TaskEnded and (moment := seconds_of(record.time)) is not None:
            self._ends = [*self._ends[-_ENDS:], moment]
        if not task or (kind not in _WRITERS and kind not in MOMENTS):
            return
        if isinstance(record.event, e.CheckFinished):
            self._count_failure(record, record.event)
            self._checks.pop(task, None)
        elif isinstance(record.event, e.AttemptEnded | e.GateAnswered) or (
            isinstance(record.event, e.CheckpointCreated) and record.event.purpose == "baseline"
        ):
            self._checks[task] = record.mono
        unread = self._unread.get(task)
        if unread is None:
            self._unread[task] = [record]
            return
        unread.append(record)
        if len(unread) >= UNREAD:
            self._read(task)

    def read_all(self) -> None:
        """Write the lines of all records that were only noted."""
        for task in list(self._unread):
            self._read(task)

    def join(self, before: History) -> None:
        """Put ``before`` in front."""
        before.read_all()
        self.read_all()
        for task, moments in before._moments.items():
            self._moments[task] = [*moments, *self._moments.get(task, ())][-KEPT:]
        for identity, old in before.failures.items():
            new = self.failures.setdefault(identity, FailureCount(old.first, old.last))
            new.first = old.first
            new.count += old.count
            new.tasks |= old.tasks
        self._checks = before._checks | self._checks
        self._ends = [*before._ends, *self._ends][-_ENDS:]
        for task, seconds in before._spent.items():
            self._spent[task] = self._spent.get(task, 0.0) + seconds

    def _read(self, task: str) -> None:
        for record in self._unread.pop(task, ()):
            if (moment := moment_of(record)) is not None:
                self._add(record, moment.label, moment.glyph, moment.tone, moment.text, seconds=moment.seconds)
            if (write := _WRITERS.get(type(record.event))) is not None:
                write(self, record, record.event)

    def _count_failure(self, record: Record, event: e.CheckFinished) -> None:
        identity = _identity(event)
        if identity:
            seen = self.failures.setdefault(identity, FailureCount(record.time, record.time))
            seen.count += 1
            seen.last = record.time
            seen.tasks.add(record.task)

    # --- what the records say ----------------------------------------------------------------------------------------

    def _add(self, record: Record, label: str, glyph: str, tone: Tone, text: str = "", **fields: Any) -> TimelineEntry:
        moment = TimelineEntry(record.time, label, glyph, tone, text[:_TEXT], record.mono, **fields)
        moments = self._moments.setdefault(record.task, [])
        moments.append(moment)
        del moments[:-KEPT]
        return moment

    def _attempt(self, record: Record) -> TimelineEntry | None:
        """The moment of the attempt that ``record`` is about, or of the task's last one."""
        for moment in reversed(self._moments.get(record.task, ())):
            if moment.attempt and record.attempt in ("", moment.attempt):
                return moment
        return None

    def _started(self, record: Record, event: e.AttemptStarted) -> None:
        guidance = event.guidance
        label = self._labels.pop(record.task, "first try" if guidance.number == 1 else "again")
        text = guidance.approach or ""
        self._add(record, label, "▶", "work", text, attempt=guidance.attempt, live=True)

    def _ended(self, record: Record, event: e.AttemptEnded) -> None:
        self._spent[record.task] = self._spent.get(record.task, 0.0) + event.seconds
        moment = self._attempt(record)
        if moment is None:
            return
        moment.live, moment.seconds = False, event.seconds
        moment.glyph, moment.tone = "▷", "work"
        if event.report.how not in ("ended", "stopped"):
            moment.glyph, moment.tone = "✗", "bad"
        message = event.report.approach or moment.text
        moment.text = message if event.report.how == "ended" else _joined(event.report.how.replace("_", " "), message)

    def _interrupted(self, record: Record, event: e.AttemptInterrupted) -> None:
        moment = self._attempt(record)
        if moment is not None:
            moment.live, moment.glyph, moment.tone = False, "↯", "wait"
            moment.text = _joined("interrupted", moment.text)

    def _recovered(self, record: Record, event: e.RecoveryDecided) -> None:
        label = {"continue": "continues", "retry": "again"}.get(event.choice)
        if label is not None:
            self._labels[record.task] = label

    def _checked(self, record: Record, event: e.CheckFinished) -> None:
        moment = self._attempt(record)
        if event.result == "passed":
            glyph, tone, message = "✓", "good", "the check passed"
        elif event.result == "could_not_run":
            glyph, tone, message = "?", "wait", _joined("the check could not run", event.problem)
        elif event.result == "contradicted":
            glyph, tone, message = "?", "wait", str(event.problem)
        else:
            glyph, tone, message = "✗", "bad", self._failed(record, event, moment)
        if event.result == "none" and not event.diagnosis:
            glyph, tone, message = "~", "wait", "nothing checks it"
        if moment is None:
            moment = self._add(record, "check", glyph, "plain")
        moment.glyph, moment.text = glyph, _joined(message, moment.text)
        moment.tone = "good" if tone == "good" else "bad" if tone == "bad" else "wait"

    def _failed(self, record: Record, event: e.CheckFinished, moment: TimelineEntry | None) -> str:
        identity = _identity(event)
        if not event.diagnosis:
            return "failed"
        before = next((other for other in reversed(self._moments.get(record.task, ())) if other.identity), None)
        if moment is not None:
            moment.identity = identity
        if before is not None and before is not moment and before.identity == identity:
            return "same"
        return str(event.diagnosis.get("headline") or "failed")

    def _directed(self, record: Record, event: e.DirectiveIssued) -> None:
        self._labels[record.task] = rung_label(event.level, event.climb, event.limit)

    def _restored(self, record: Record, event: e.RestoreDone) -> None:
        if event.changed and event.safety:
            keys = " ".join(map(spoken, ("view.browse", "browse.checkpoints", "checkpoints.restore")))
            self._add(record, "", "", "quiet", f"{keys} gets the previous files back ({event.safety})")

    def _unsaved(self, record: Record, event: e.CheckpointCreated) -> None:
        if event.id == "none":
            self._add(record, "no checkpoint", "!", "wait", event.reason)

    def _again(self, record: Record, event: e.TransientErrorRetry | e.OutageWait | e.AgentFailure) -> None:
        self._labels[record.task] = "again"

    def _replaced(self, record: Record, event: e.AgentReplaced) -> None:
        self._labels[record.task] = "other agent"

    def _answered(self, record: Record, event: e.GateAnswered) -> None:
        self._labels[record.task] = "as you said"


def _identity(event: e.CheckFinished) -> str:
    """The identity of the failure that a check found; empty where it found none."""
    if not event.diagnosis or event.result in ("passed", "could_not_run"):
        return ""
    signature = event.diagnosis.get("signature") or {}
    return failure_key(signature.get("context_hash", ""), signature.get("subject", ""))


def _joined(*texts: str) -> str:
    return " · ".join(text for text in texts if text)[:_TEXT]


_WRITERS: dict[type[Any], Callable[[History, Record, Any], None]] = {
    e.AttemptStarted: History._started,
    e.AttemptEnded: History._ended,
    e.AttemptInterrupted: History._interrupted,
    e.RecoveryDecided: History._recovered,
    e.CheckFinished: History._checked,
    e.DirectiveIssued: History._directed,
    e.TransientErrorRetry: History._again,
    e.OutageWait: History._again,
    e.AgentFailure: History._again,
    e.AgentReplaced: History._replaced,
    e.RestoreDone: History._restored,
    e.CheckpointCreated: History._unsaved,
    e.GateAnswered: History._answered,
}
_NAMES = frozenset(("", *(kind.name for kind in (*_WRITERS, *MOMENTS))))


def may_tell(line: bytes) -> bool:
    """Return whether the record in a log line may belong to a history, without decoding it."""
    return event_name(line) in _NAMES
