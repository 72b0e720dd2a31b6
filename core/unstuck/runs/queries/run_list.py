"""Read-only queries about the runs of a project: ids, states, rows, and the live run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.clock import SystemClock
from unstuck.errors import RecordDamaged, RecordError, UsageError
from unstuck.eventlog.log.load_state import LOG_NAME, current_state
from unstuck.eventlog.log.log_format import read_lines
from unstuck.eventlog.storage.lock import Holder, read_holders
from unstuck.eventlog.storage.run_store import run_names
from unstuck.rows.saved_rows import saved_rows
from unstuck.words.did_you_mean import near
from unstuck.workspace.project import Project

if TYPE_CHECKING:
    from unstuck.eventlog.state import State

_ONLY_SHOWN = ("tokens", "cost", "seconds", "budget", "days")


def find_run(place: Project, wanted: str) -> str:
    """Return the id of the run ``wanted``: an id, a unique start of one, or ``last``. Raises UsageError.

    A watch that ended without a session is ``last`` only where there is no other run.
    """
    found = run_names(place.runs)
    if wanted == "last" and found:
        return next(
            (run for run in reversed(found) if is_live(place, run) or not _is_empty_watch(place, run)), found[-1]
        )
    matching = [run for run in found if run == wanted] or [run for run in found if run.startswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    if not found:
        raise UsageError(f"there is no run in this project yet ({place.root})")
    if matching:
        raise UsageError(f"{wanted} could be any of: {', '.join(matching[:5])}")
    raise UsageError(f"there is no run {wanted}{near(wanted, found)}; `unstuck runs` lists them")


def _is_empty_watch(place: Project, run: str) -> bool:
    """Return whether no session came to a watch, from the beginning of its log alone."""
    lines = read_lines(place.runs / run / LOG_NAME)
    try:
        first = next(lines, None)
        is_watch = first is not None and b'"kind":"watch"' in first.raw
        return is_watch and not any(b'"event":"task_added"' in line.raw for line in lines)
    except RecordError:
        return False


def state_of(place: Project, run: str) -> tuple[State, RecordDamaged | None]:
    """Return the state of ``run`` and the damage of its log, if any. Raises RecordError if it cannot be read."""
    return current_state(place.runs / run)


def run_rows(place: Project, *, newest: int = 0) -> Iterator[dict[str, Any]]:
    """Yield a row for each run, oldest first, optionally only for the ``newest`` ones.

    The row of a log that cannot be read has the problem.
    """
    now = SystemClock().now()
    for run in run_names(place.runs)[-newest:]:
        try:
            rows, damage = rows_of(place, run, now)
        except RecordError as error:
            yield {"run": run, "state": "damaged", "problem": str(error)}
            continue
        row = {name: value for name, value in rows[0].items() if name not in _ONLY_SHOWN}
        yield row | ({"state": "damaged", "problem": str(damage)} if damage else {})


def rows_of(place: Project, run: str, now: float) -> tuple[list[dict[str, Any]], RecordDamaged | None]:
    """Return the rows of ``run`` and the damage of its log, if any. Raises RecordError if it cannot be read."""
    if (saved := saved_rows(place.runs / run, now, is_live=lambda: is_live(place, run))) is not None:
        return saved, None
    from unstuck.rows.json_rows import show_rows

    state, damage = state_of(place, run)
    return list(show_rows(run, state, now, live=is_live(place, run))), damage


def states_of(place: Project, runs: Iterable[str], complain: Callable[[str], None]) -> Iterator[tuple[str, State]]:
    """Yield the state of each of ``runs``. ``complain`` gets a line for each log that cannot be read whole."""
    for run in runs:
        try:
            state, damage = state_of(place, run)
        except RecordError as error:
            complain(str(error))
            continue
        if damage is not None:
            complain(f"{damage}; only the events before it are counted")
        yield run, state


def day_rows(place: Project, complain: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Yield the load on people by day, over all runs; ``complain`` as for :func:`states_of`."""
    from unstuck.eventlog.attention_stats import joined, load_by_day

    now = SystemClock().now()
    states = states_of(place, run_names(place.runs), complain)
    for day, load in joined(load_by_day(state, now) for _, state in states).items():
        yield {"day": day, **load.as_dict()}


def is_live(place: Project, run: str) -> bool:
    """Return whether ``run`` is live. A supervisor on another machine counts as live while it holds the lock."""
    return any(holder.run == run and _is_alive(holder) for holder in read_holders(place.home))


def live_runs(place: Project) -> list[Holder]:
    """Return the processes that work here: that of a run, then that of a watch; a lock may be held for other work."""
    holders = read_holders(place.home)
    return [holder for holder in holders if (place.runs / holder.run / LOG_NAME).exists() and _is_alive(holder)]


def live_run(place: Project) -> Holder | None:
    """Return the process that works a run here, else that of a watch; None without one."""
    return next(iter(live_runs(place)), None)


def _is_alive(holder: Holder) -> bool:
    from unstuck.eventlog.storage.process_identity import is_alive  # brings psutil, which an ended run is shown without

    return bool(holder.host) or is_alive(holder.pid, holder.started)


def task_at(tree: Path, place: Project, run: str) -> str:
    """The task of ``run`` that works in ``tree`` now; empty where none does. One that stands frozen does not."""
    from unstuck.supervision.context.next_step import working  # only a restore needs it

    state, _ = state_of(place, run)
    for row in working(state):
        attempt = state.attempts.get(row.attempt)
        if attempt is None or not Path(attempt.guidance.workdir).resolve().is_relative_to(tree):
            continue
        gate = state.gates.get(row.gate)
        if not (attempt.state == "held" and gate is not None and gate.gate.standing == "frozen"):
            return row.id
    return ""
