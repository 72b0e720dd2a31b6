"""Line-by-line output for screen readers and logs: words instead of symbols, and no redrawing. Pure.

Beside each event: who needs a person and since when, what acts without one and when, and how many tasks are in which
state. Only changes are said, and no line is taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import GateRow, State
from unstuck.words.amounts import clock_time
from unstuck.words.labels import GROUPS, asked_about, group_of
from unstuck.words.narration import lines_of

_WORDS = {
    "▶": "begins", "✓": "passed:", "✗": "failed:", "!": "attention:", "?": "question:", "→": "next:", "◷": "clock:",
    "…": "waits:", "↻": "", "~": "", "×": "", "-": "",
}  # fmt: skip
_SPEAKING = ("Found", "Phase", "succeeded", "unverified", "skipped", "abandoned", "failed", "cancelled", "setup failed")
_TOLD = ("needs you", "done", "failed", "blocked", "skipped", "abandoned", "unverified")
_STEP_S = 1.0
"""A moment that moves by less is the same."""


def in_words(text: str) -> str:
    """One thing that an event says, with a word for the sign at its beginning."""
    message = text.lstrip(" ")
    sign, blank, rest = message.partition(" ")
    if not blank or sign not in _WORDS:
        return text
    word = "" if rest.startswith(_SPEAKING) else _WORDS[sign]
    return text[: len(text) - len(message)] + f"{word} {rest}".lstrip()


class PlainLines:
    """Takes the records of a run in their order and says each, and what it has changed."""

    def __init__(self) -> None:
        self._state = State()
        self._asked: set[str] = set()
        self._acts: dict[str, float] = {}
        self._groups: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._told = tuple((word, 0) for word in _TOLD)

    def lines(self, record: Record) -> Iterator[str]:
        fold(self._state, record)
        yield from lines_of(record, spell=in_words)
        start = f"{clock_time(record.time)}  "
        for text in (*self._needs(), *self._by_itself(record), *self._now(record)):
            yield start + text

    def _needs(self) -> Iterator[str]:
        gates = {row.id: row for row in self._state.open_gates()}
        for id in sorted(self._asked - gates.keys()):
            yield f"no longer needs you: {self._name(self._state.gates[id])} ({id})"
        for id in gates.keys() - self._asked:
            asked = asked_about(gates[id].gate.type, gates[id].gate.context)
            until = "" if gates[id].gate.acts_at is not None else "; waits until you answer"
            yield f"needs you: {self._name(gates[id])}: {asked} ({id}){until}"
        self._asked = set(gates)

    @staticmethod
    def _name(row: GateRow) -> str:
        return row.gate.task or "the run"

    def _by_itself(self, record: Record) -> Iterator[str]:
        """The next event that comes without a person, and its time."""
        acts: dict[str, float] = {}
        for row in self._state.open_gates():
            if row.gate.acts_at is not None:
                timers = self._state.run.settings.get("timers") or {}
                answer = timers.get(row.gate.type, {}).get("answer", "answer")
                acts[f"{row.id} is answered with {answer}"] = row.gate.acts_at
        task = self._state.tasks.get(record.task)
        acts |= {text: due for text, due in self._acts.items() if text not in acts and not self._is_over(text, record)}
        if task is not None and task.state == "backoff":
            then = "is asked about" if task.backoff_quota else "tries again"
            acts[f"{task.id} {then}"] = task.backoff_until
        attempt = self._state.attempts.get(task.attempt) if task is not None and task.state == "running" else None
        if attempt is not None and attempt.deadline is not None and attempt.held_since is None:
            acts[f"{attempt.task} has used up its time"] = attempt.deadline
        for text, due in acts.items():
            if abs(self._acts.get(text, -_STEP_S) - due) >= _STEP_S:
                yield f"acts automatically: {text} at {_at(record, due)}"
        self._acts = acts

    def _is_over(self, said: str, record: Record) -> bool:
        """True where it belongs to this record's task, which is looked at again, or to a closed gate."""
        name = said.partition(" ")[0]
        gate = self._state.gates.get(name)
        return name == record.task or (gate is not None and (gate.status != "open" or gate.gate.acts_at is None))

    def _now(self, record: Record) -> Iterator[str]:
        """The number of tasks in each state, where one has come to rest."""
        row = self._state.tasks.get(record.task)
        if row is not None:
            before, group = self._groups.get(row.id), group_of(self._state, row)
            self._counts[group] += 1
            if before is not None:
                self._counts[before] -= 1
            self._groups[row.id] = group
        told = tuple((word, self._counts[word]) for word in _TOLD)
        if told != self._told:
            self._told = told
            parts = [f"{self._counts[word]} {word}" for word in GROUPS if self._counts[word]]
            yield f"now: {', '.join(parts) or 'no tasks'}"


def _at(record: Record, due: float) -> str:
    """The time of day at the monotonic time ``due``."""
    try:
        return clock_time((datetime.fromisoformat(record.time) + timedelta(seconds=due - record.mono)).isoformat())
    except (ValueError, OverflowError):
        return "an unknown time"
