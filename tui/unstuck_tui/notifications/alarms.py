"""Alarms for a person who looks elsewhere: each one once, bursts in one, and its end. Pure.

An alarm is (task, what it is about). It begins with its first moment and ends when it has been away for
:data:`SETTLED_S`, so one that comes and goes 200 times in five minutes is sent once and resolved once. Between two
notifications about the same alarm lie at least :data:`HUSH_S`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from unstuck.eventlog.state import GateRow, State
from unstuck.text import one_line
from unstuck.words.labels import TERMINAL, asked_about, asks_in_terminal, broken_check, ended_as, some

GATHER_S = 1.0
"""Alarms within this time (seconds) go into one notification."""
PACE_S = 10.0
"""The least time (seconds) between two notifications."""
SETTLED_S = 60.0
HUSH_S = 300.0
_NAMED = 4

Kind = Literal["needs_you", "resolved", "run"]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Alarm:
    """``task`` (empty for the run) needs a person because of ``about``, an identity; ``text`` says it."""

    task: str
    about: str
    text: str

    @property
    def key(self) -> Key:
        """By which the same alarm is known."""
        return self.task, self.about


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification; ``tasks`` are those it is about."""

    kind: Kind
    tasks: tuple[str, ...]
    text: str


def alarms_of(state: State, gates: Iterable[GateRow]) -> tuple[Alarm, ...]:
    """The alarms of a state. Time that is nearly up is none."""
    found = [_of_gate(state, row) for row in gates]
    if state.run.state == "blocked" and not any(not alarm.task for alarm in found):
        found.append(Alarm("", "blocked", broken_check(state.run.blocked)))
    for task in state.tasks.values() if state.run.kind == "watch" else ():
        if about := asks_in_terminal(state, task):
            found.append(Alarm(task.id, f"terminal {about}", f"{TERMINAL}: {one_line(about, 200)}"))
    return tuple(found)


def terminals_of(state: State) -> tuple[str, ...]:
    """The questions of agents in their own terminals."""
    rows = state.tasks.values() if state.run.kind == "watch" else ()
    return tuple(about for row in rows if (about := asks_in_terminal(state, row)))


def _of_gate(state: State, row: GateRow) -> Alarm:
    context, task = row.gate.context, state.tasks.get(row.gate.task)
    identity = context.get("signature") or context.get("error_signature")
    if not identity and task is not None and task.diagnosis is not None:
        identity = task.diagnosis.identity
    return Alarm(row.gate.task, f"{row.gate.type} {identity or row.gate.key}", asked_about(row.gate.type, context))


def run_over(state: State) -> str:
    """The run's exit reason in words; empty while it goes on."""
    return ended_as(state.run.exit_reason) if state.run.state in ("ended", "parked") else ""


@dataclass(slots=True)
class _Known:
    """An alarm that there was: ``told_at`` when last told of, ``closed_at`` since when away; both monotonic."""

    alarm: Alarm
    is_open: bool = True
    is_told: bool = False
    is_due: bool = True
    comes_and_goes: bool = False
    told_at: float | None = None
    closed_at: float = 0.0


@dataclass(slots=True)
class AlarmRegister:
    """Call :meth:`look` at least once a second."""

    _known: dict[Key, _Known] = field(default_factory=dict)
    _waiting: list[tuple[Kind, Alarm]] = field(default_factory=list)
    _since: float = 0.0
    _last: float | None = None
    _over: str | None = None

    def look(
        self, alarms: Iterable[Alarm], over: str, *, now: float, is_away: bool, is_muted: Callable[[str], bool]
    ) -> list[Notification]:
        """The notifications that are due. ``over`` is the run's end, ``is_muted`` tells of a task (or "").

        A person who is there sees what happens, and is not told of it later. What there is at the first look has not
        happened since.
        """
        first = self._over is None
        open_now = {alarm.key: alarm for alarm in alarms}
        self._close(open_now, now, is_away, is_muted)
        for key, alarm in open_now.items():
            self._see(key, alarm, now, seen=first or not is_away, is_muted=is_muted(alarm.task))
        if over and over != self._over and not first and is_away and not is_muted(""):
            self._wait(("run", Alarm("", "over", over)), now)
        self._over = over
        if not is_away:
            self._waiting.clear()
        return self._send(now)

    def _see(self, key: Key, alarm: Alarm, now: float, *, seen: bool, is_muted: bool) -> None:
        known = self._known.get(key)
        if known is None or (not known.is_open and not known.is_told):
            before = known or _Known(alarm)
            known = _Known(alarm, comes_and_goes=before.comes_and_goes, told_at=before.told_at)
            self._known[key] = known
        known.is_open = True
        if seen:
            known.is_due = False
        hushed = known.told_at is not None and now < known.told_at + HUSH_S
        if known.is_due and not known.is_told and not hushed and not is_muted:
            known.is_due, known.is_told, known.told_at = False, True, now
            self._wait(("needs_you", alarm), now)

    def _close(self, open_now: dict[Key, Alarm], now: float, is_away: bool, is_muted: Callable[[str], bool]) -> None:
        for key, known in list(self._known.items()):
            if key in open_now:
                continue
            if known.is_open:
                known.is_open, known.closed_at = False, now
            if not known.comes_and_goes and ("needs_you", known.alarm) in self._waiting:
                # It was not sent yet. An alarm that soon comes back is sent, however short it stays each time.
                self._waiting.remove(("needs_you", known.alarm))
                known.is_told, known.told_at, known.comes_and_goes = False, None, True
            settled = now - known.closed_at >= SETTLED_S
            if known.is_told and settled:
                known.is_told = False
                if is_away and not is_muted(known.alarm.task):
                    self._wait(("resolved", known.alarm), now)
            elif settled and now >= (known.told_at or 0.0) + HUSH_S:
                del self._known[key]

    def _wait(self, what: tuple[Kind, Alarm], now: float) -> None:
        if not self._waiting:
            self._since = now
        self._waiting.append(what)

    def _send(self, now: float) -> list[Notification]:
        early = self._last is not None and now < self._last + PACE_S
        if not self._waiting or now < self._since + GATHER_S or early:
            return []
        waiting, self._waiting, self._last = self._waiting, [], now
        kinds: tuple[Kind, ...] = ("run", "needs_you", "resolved")
        by_kind = [(kind, [alarm for told, alarm in waiting if told == kind]) for kind in kinds]
        return [_page(kind, alarms) for kind, alarms in by_kind if alarms]


def _page(kind: Kind, alarms: list[Alarm]) -> Notification:
    tasks = tuple(dict.fromkeys(alarm.task for alarm in alarms if alarm.task))
    if kind == "run":
        return Notification(kind, tasks, f"the run is over: {alarms[-1].text}")
    if len(alarms) == 1:
        name = alarms[0].task or "the run"
        return Notification(
            kind, tasks, f"{name} needs you: {alarms[0].text}" if kind == "needs_you" else f"resolved: {name}"
        )
    names = list(dict.fromkeys(alarm.task or "the run" for alarm in alarms))
    named = some(names, _NAMED)
    return Notification(kind, tasks, f"{len(names)} need you: {named}" if kind == "needs_you" else f"resolved: {named}")
