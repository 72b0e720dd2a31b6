"""State of a run from its snapshot and the records after it.

The snapshot of an ended run covers its whole log, so that showing it imports no event classes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from unstuck.errors import RecordDamaged, RecordError
from unstuck.eventlog.log.log_format import SCHEMA, START, Line, Position, holds, read_lines, verify
from unstuck.eventlog.log.snapshot import load as load_snapshot
from unstuck.eventlog.storage.lock import read_holders
from unstuck.version import __version__

if TYPE_CHECKING:
    from unstuck.eventlog.state import State

LOG_NAME = "events.jsonl"
SNAPSHOT_NAME = "state.json"
FULL_CHECK_BYTES = 16 * 1024 * 1024
"""Size in bytes up to which a log is checked whole, even if a snapshot covers its records."""
FOLD = 8
"""Version of the fold. Raise it when the same records fold into other rows; older snapshots are ignored then."""
STATE_PREFIX = b'{"version":"%b","fold":%d,"state":' % (__version__.encode(), FOLD)
"""Start of the state in a snapshot. A snapshot of another version is not used: its rows may differ."""


class Restored(NamedTuple):
    """The ``state`` at a ``position`` of the log; records up to ``safe`` were synced."""

    state: State
    position: Position
    safe: int


def restored(snapshot: Path, log: Path) -> Restored:
    """Return the content of a snapshot, or an empty state if it does not fit the log.

    A snapshot covers only synced records, so ``safe`` is known even if the snapshot does not fit.
    """
    from unstuck.eventlog.state import State, load  # a saved row is shown without them

    found = load_snapshot(snapshot)
    if found is None:
        return Restored(State(), START, 0)
    fits = log.exists() and holds(log, found.position) and found.state.startswith(STATE_PREFIX)
    state = load(found.state[len(STATE_PREFIX) : -1]) if fits else None
    if state is None or state.seq != found.seq:
        return Restored(State(), START, found.seq)
    return Restored(state, found.position, found.seq)


def require_end(path: Path, end: Position, safe: int) -> None:
    """Raise RecordDamaged where the log at ``path`` ends before record ``safe``, which its snapshot proves."""
    if safe > end.seq:
        missing = f"record {safe} is" if safe == end.seq + 1 else f"records {end.seq + 1} to {safe} are"
        raise RecordDamaged(
            path,
            end.seq + 1,
            end.offset,
            f"{missing} missing: {SNAPSHOT_NAME} beside it covers them. Put back the whole log, or delete "
            f"{SNAPSHOT_NAME} and {SNAPSHOT_NAME}.1 to go on without these records: what they did may be done again",
        )


def require_schema(path: Path, line: Line) -> None:
    """Raise RecordDamaged for a line of a later version, after which this version cannot go on."""
    if line.version != SCHEMA:
        later = f"written by a later version (schema {line.version}): update unstuck to resume it"
        raise RecordDamaged(path, line.seq, line.offset, later)


def current_state(folder: Path) -> tuple[State, RecordDamaged | None]:
    """Return the state of the run in ``folder`` and the damage of its log, if any; the state stops at the damage.

    In a log longer than ``FULL_CHECK_BYTES``, records that the snapshot covers are not checked.
    Raises RecordError where the log cannot be read.
    """
    found, damage = _read(folder, whole=False)
    return found.state, damage


def live_agents(home: Path, *, without: str = "") -> list[tuple[int, float]]:
    """Return the agents of the runs that live in a project's folder ``home``, but those of the run ``without``."""
    found: list[tuple[int, float]] = []
    for holder in read_holders(home):
        if holder.run != without:
            with suppress(RecordError):
                found += current_state(home / "runs" / holder.run)[0].agents()
    return found


def checked_state(folder: Path, report: Callable[[int], None] = lambda size: None) -> Restored:
    """Return the state at the end of the log in ``folder``, after a check of every record.

    ``report`` gets the bytes of each part that was read. Raises RecordDamaged, and RecordError where the log cannot be
    read.
    """
    found, damage = _read(folder, whole=True, report=report)
    if damage is not None:
        raise damage
    return found


def _read(
    folder: Path, *, whole: bool, report: Callable[[int], None] = lambda size: None
) -> tuple[Restored, RecordDamaged | None]:
    path = folder / LOG_NAME
    state, place, safe = restored(folder / SNAPSHOT_NAME, path)
    end = place if place.offset > FULL_CHECK_BYTES and not whole else START
    try:
        for line in read_lines(path, after=place.seq - 1, start=end, safe=safe, report=report):
            end = line.end
            if whole:
                require_schema(path, line)
            if line.seq > place.seq:
                _fold(state, path, line)
        if end.seq < place.seq:
            end = verify(path, safe=safe).end  # it has lost records that the snapshot covers
        require_end(path, end, safe)
    except RecordDamaged as damage:
        state = state if damage.line > place.seq else _state_before(path, damage.line)
        return Restored(state, end, safe), damage
    return Restored(state, end, safe), None


def is_watch(folder: Path) -> bool:
    """Return whether the run in ``folder`` is a watch, by the first record of its log.

    Raises RecordError for a log that is there and cannot be read.
    """
    log = folder / LOG_NAME
    try:
        first = next(read_lines(log), None) if log.exists() else None
    except RecordDamaged:
        return False
    return first is not None and b'"kind":"watch"' in first.raw


def _state_before(path: Path, damaged: int) -> State:
    """Return the state before record ``damaged``, from the log alone."""
    from unstuck.eventlog.state import State

    state = State()
    with suppress(RecordDamaged):
        for line in read_lines(path):
            if line.seq >= damaged:
                break
            _fold(state, path, line)
    return state


def _fold(state: State, path: Path, line: Line) -> None:
    from unstuck.eventlog.fold import fold  # imports all event classes
    from unstuck.eventlog.log.records import decoded

    fold(state, decoded(path, line))
