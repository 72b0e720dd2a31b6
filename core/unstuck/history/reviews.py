"""Reviews of many sessions, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from unstuck.errors import UnstuckError
from unstuck.history.locations import Source
from unstuck.history.parsers import is_known_version
from unstuck.history.review import Review, Reviewer
from unstuck.history.session_reader import ForeignFile, SessionReader
from unstuck.text import Clean, one_line, sanitise

LIVE_S = 120.0
"""A session is live if something was written to it within so many seconds."""
INTERRUPTED = 130
"""Exit code of a process that was interrupted."""
_SMALL = 8 * 2**20
"""Bytes that one process reads sooner than others have started."""
_FIELD = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A reviewed session. Times are in seconds since 1970, 0 if unknown. ``notes`` say what could not be read."""

    source: Source
    session: Clean
    agent: str
    model: Clean
    version: Clean
    project: Clean
    started: float
    ended: float
    live: bool
    review: Review
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Sessions that are wanted: of ``agent`` (empty: of any), in ``project`` or below it. ``now``: see ``LIVE_S``.

    ``window_size`` rounds make a loop.
    """

    agent: str = ""
    project: Path | None = None
    now: float = 0.0
    window_size: int = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """A session that cannot be read. ``foreign``: no known agent wrote the file."""

    source: Source
    reason: str
    foreign: bool = False


def reviewed(sources: Sequence[Source], wanted: Wanted, report: Callable[[int], None]) -> Iterator[Session | Problem]:
    """Yield the wanted sessions in no order; ``report`` gets the bytes of each source that is done.

    Raises UnstuckError when the system ends one of the processes.
    """
    work = partial(review_of, wanted=wanted)
    cores = min(_cores(), len(sources))
    if cores < 2 or sum(source.size for source in sources) < _SMALL:
        for source in sources:
            found = work(source)
            report(source.size)
            yield from [found] if found is not None else []
        return
    # The largest first, so that no core waits for one at the end.
    largest = sorted(sources, key=lambda source: -source.size)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(cores, mp_context=context, initializer=_end_with_parent) as pool:
        try:
            done = {pool.submit(work, source): source for source in largest}
            for future in as_completed(done):
                found = future.result()
                report(done[future].size)
                yield from [found] if found is not None else []
        except BrokenProcessPool:
            raise UnstuckError("a process that read sessions was ended by the system: out of memory?") from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def ended_at_interrupt() -> Iterator[None]:
    """End this process, and those that read for it, at once at ctrl+c: reading leaves nothing to put in order."""
    before = signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end_with_parent() -> None:
    """End this process as soon as its parent is gone, however that ended."""
    threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def review_of(source: Source, wanted: Wanted) -> Session | Problem | None:
    """Return the review of one session, None if it is not wanted."""
    reader, reviewer = SessionReader(source), Reviewer(wanted.window_size)
    try:
        for observation in _wanted_part(reader, wanted):
            reviewer.add(observation)
    except ForeignFile as error:
        return Problem(source, str(error), foreign=True)
    except OSError as error:
        return Problem(source, f"{source.path}: {error.strerror or error}")
    if reader.format is None or not reviewer.is_begun or not _is_wanted(reader, wanted):
        return None
    newest = reader.ended or source.modified
    return Session(
        source=source,
        session=one_line(reader.session, _FIELD),
        agent=reader.format.agent,
        model=one_line(reader.model, _FIELD),
        version=one_line(reader.version, _FIELD),
        project=one_line(reader.project, _FIELD),
        started=reader.started,
        ended=reader.ended,
        live=max(abs(wanted.now - newest), abs(wanted.now - source.modified)) < LIVE_S,
        review=reviewer.done(reader.last_message),
        notes=tuple(_notes(reader)),
    )


def _wanted_part(reader: SessionReader, wanted: Wanted) -> Iterator[Any]:
    """Yield the observations as long as the session may be a wanted one."""
    for observation in reader.observations():
        if not _is_wanted(reader, wanted):
            return
        yield observation


def _is_wanted(reader: SessionReader, wanted: Wanted) -> bool:
    if wanted.agent and reader.format is not None and reader.format.agent != wanted.agent:
        return False
    if wanted.project is None:
        return True
    return bool(reader.project) and Path(reader.project).is_relative_to(wanted.project)


def _notes(reader: SessionReader) -> Iterator[str]:
    if reader.format is not None and not is_known_version(reader.format.agent, reader.version):
        yield f"version {one_line(reader.version, 40)} of {reader.format.agent} is unknown: some steps may be missing"
    if broken := reader.losses.broken:
        yield f"{broken} damaged {'line is' if broken == 1 else 'lines are'} left out"
    if huge := reader.losses.huge:
        yield f"{huge} {'line is' if huge == 1 else 'lines are'} too long to read, and left out"
    if reader.subagents_left:
        yield f"{reader.subagents_left} sub-agents are left out"


def session_row(session: Session) -> dict[str, Any]:
    """Return the JSON object of a session. Steps are tool results, counted from 0."""
    review = session.review
    row: dict[str, Any] = {
        "file": sanitise(str(session.source.path)),
        "session": session.session,
        "agent": session.agent,
        "project": session.project,
        "started": iso_time(session.started),
        "steps": review.used.steps,
        "failures": review.failed,
        "tokens": review.used.tokens,
        "cost": review.used.cost,
        "loops": [
            {
                "first": loop.first,
                "noticed": loop.noticed,
                "last": loop.last,
                "kind": loop.kind,
                "action": loop.action,
                "evidence": loop.evidence,
            }
            for loop in review.loops
        ],
        "claimed": review.claim,
        "last_check": review.last_check,
    }
    return row | {"live": True} if session.live else row


def iso_time(seconds: float) -> str | None:
    """Return a time as ISO 8601 in UTC, None if it is unknown."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None
    except (ValueError, OverflowError, OSError):
        return None


def in_order(sessions: Iterable[Session]) -> list[Session]:
    """Return the sessions, the oldest first."""
    return sorted(sessions, key=lambda one: (one.started or one.source.modified, str(one.source.path), one.session))
