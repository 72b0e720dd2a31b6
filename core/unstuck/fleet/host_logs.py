"""The logs of this user's live, paused and interrupted runs on this machine, read on from given positions.

What leaves the machine is what this module yields: whole lines as they stand in the log, which were redacted before
they were written, and only once they are on disk, so that a power cut cannot take back what another machine has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import RecordDamaged, RecordError
from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.eventlog.log.log_format import START, Position, read_lines
from unstuck.eventlog.storage.project_list import listed_homes, listing_of
from unstuck.eventlog.storage.run_store import has_ended, run_names
from unstuck.fleet.names import LogName, log_name
from unstuck.runs.queries.run_list import is_live
from unstuck.settings.paths import state_dir
from unstuck.workspace.project import Project

BATCH = 256 * 1024
"""Bytes of lines that are yielded together; a longer line comes alone."""


@dataclass(frozen=True, slots=True)
class HostLog:
    """A log on this machine: its name, the project's ``home`` and the ``run`` in it."""

    name: str
    home: Path
    run: str

    @property
    def path(self) -> Path:
        return self.home / "runs" / self.run / LOG_NAME

    @property
    def place(self) -> Project:
        """The project for what needs only its home."""
        return Project(self.home, self.home, None, self.home)

    def is_live(self) -> bool:
        """Return whether a process works the run."""
        return is_live(self.place, self.run)


class Opened(NamedTuple):
    """A log is followed from here on, from the position ``start``."""

    log: HostLog
    start: Position


class Lines(NamedTuple):
    """Whole lines of a log as they stand there, and the position after them."""

    log: HostLog
    raw: bytes
    end: Position


class Ended(NamedTuple):
    """The run has ended, and all its lines were yielded. A later look may find more."""

    log: HostLog


class Broken(NamedTuple):
    """A log cannot be read on: it is damaged, or is another one than the one that was read before."""

    log: HostLog
    problem: str


News = Opened | Lines | Ended | Broken


@dataclass(slots=True)
class _Reading:
    """The place up to which a log was read; ``size`` is that of the file then, ``last_damage`` the line of a damage."""

    log: HostLog
    end: Position
    size: int = -1
    last_damage: int = 0
    over: bool = False
    broken: bool = False


class HostLogs:
    """All logs of this user on this machine that have not ended, and those in ``cursors``, read from there on.

    A cursor is the position after the last line that was taken: the end of a copy, or what a forwarder has delivered.
    """

    def __init__(self, environ: Mapping[str, str], cursors: Mapping[str, Position] | None = None) -> None:
        self._state = state_dir(environ)
        self._cursors = dict(cursors or {})
        self._readings: dict[str, _Reading] = {}
        self._past: dict[Path, tuple[int, int]] = {}

    def news(self) -> Iterator[News]:
        """Yield what is new since the last call, log by log. Call it again after a short pause."""
        for log in self._found():
            reading = self._readings.get(log.name)
            if reading is None:
                start = self._cursors.pop(log.name, START)
                reading = self._readings[log.name] = _Reading(log, start)
                yield Opened(log, start)
            yield from self._read(reading)

    def log(self, name: str) -> HostLog | None:
        """Return a log that was yielded before; None for any other name."""
        reading = self._readings.get(name)
        return reading.log if reading is not None else None

    def _found(self) -> Iterator[HostLog]:
        """Yield the logs that are followed now: those of runs that have not ended, and those that were asked for."""
        for home in listed_homes(self._state):
            project = listing_of(home, self._state).name
            try:
                runs = run_names(home / "runs")
            except RecordError:
                continue
            for run in runs:
                log = HostLog(str(LogName(project, run)), home, run)
                try:
                    log_name(log.name)
                except ValueError:
                    continue  # a folder that unstuck has not named
                if log.name in self._readings or self._is_wanted(log):
                    yield log

    def _is_wanted(self, log: HostLog) -> bool:
        """Return whether the run has not ended, or has records after the cursor that a viewer gave for it."""
        if log.name in self._cursors and _size(log.path) != self._cursors[log.name].offset:
            return True
        return not self._is_past(log)

    def _is_past(self, log: HostLog) -> bool:
        """Return whether the run has ended, without reading its log again while that has not changed."""
        try:
            found = log.path.stat()
        except OSError:
            return True
        key = (found.st_size, found.st_mtime_ns)
        if self._past.get(log.path) == key:
            return True
        past = has_ended(log.path.parent)
        if past:
            self._past[log.path] = key
        return past

    def _read(self, reading: _Reading) -> Iterator[News]:
        log = reading.log
        size = _size(log.path)
        if reading.broken or (size == reading.size and size >= 0):
            return
        if size < 0 and reading.over:
            return  # an ended run that was deleted
        try:
            yield from self._lines(reading)
        except RecordDamaged as damage:
            if damage.line != reading.last_damage:
                reading.last_damage = damage.line  # a supervisor that is starting may be moving a torn end aside
                return
            reading.broken = True
            yield Broken(log, str(damage))
            return
        except RecordError as problem:
            reading.broken = True
            yield Broken(log, str(problem))
            return
        reading.size = size
        over = has_ended(log.path.parent) and _size(log.path) == reading.end.offset
        if over and not reading.over:
            yield Ended(log)
        reading.over = over

    def _lines(self, reading: _Reading) -> Iterator[Lines]:
        """Yield the lines after the place of ``reading`` in batches. Raises RecordDamaged and RecordError."""
        for raw, end in batches(reading.log.path, reading.end):
            _sync(reading.log.path)
            reading.end = end
            yield Lines(reading.log, raw, end)


def batches(path: Path, start: Position, size: int = BATCH) -> Iterator[tuple[bytes, Position]]:
    """Yield the lines of a log after ``start``, up to ``size`` bytes together, each time with the position after them.

    Raises RecordDamaged and RecordError.
    """
    batch, held, end = list[bytes](), 0, start
    for line in read_lines(path, start=start):
        if batch and held + len(line.raw) > size:
            yield b"".join(batch), end
            batch, held = [], 0
        batch.append(line.raw)
        held, end = held + len(line.raw), line.end
    if batch:
        yield b"".join(batch), end


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _sync(path: Path) -> None:
    """Sync the log: another process writes it, and may be between its write and its own sync. Raises RecordError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as problem:
        raise RecordError(f"{path}: cannot be synced: {problem.strerror or problem}") from problem
