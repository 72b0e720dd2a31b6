"""Copies of other hosts' logs, below this user's state directory: what a screen shows of another machine.

A copy holds the host's lines as they came. Each is checked against the chain before it is written, so that ``unstuck
fsck`` accepts every copy, and the end of a copy is all that has to be known to go on. What does not fit is refused: the
copy stays as it is, and the line that was refused is kept beside it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from unstuck.errors import RecordDamaged, RecordWriteFailed, UnstuckError
from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.eventlog.log.log_format import START, Line, Position, next_line, verify
from unstuck.eventlog.storage.durable_files import (
    make_directory,
    open_for_reading,
    open_for_writing,
    refuse_links,
    write_all,
    write_private,
)
from unstuck.eventlog.storage.run_store import has_ended, run_names
from unstuck.fleet.names import LogName, host_name, log_name
from unstuck.settings.paths import state_dir
from unstuck.text import admit, one_line

LOG_LIMIT = 1 << 30
"""Largest copy of a log in bytes."""
LOGS_LIMIT = 10_000
"""Largest number of logs that are copied from one host."""

_DAY_S = 86_400
_FOLDER = "fleet"
_REFUSED = "refused.txt"
_SHOWN = 65_536


class CopyRefused(UnstuckError):
    """Lines of a host do not continue the copy of its log."""


class Copies:
    """The copies of the logs of all hosts. ``limit`` is the largest size of one in bytes.

    Several processes of one user may copy the same log at once: the lines of a log are the same for all of them.
    """

    def __init__(self, environ: Mapping[str, str], *, limit: int = LOG_LIMIT) -> None:
        self.folder, self._limit = state_dir(environ) / _FOLDER, limit
        self._ends: dict[tuple[str, str], Position] = {}
        self._refusals: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}

    def home(self, host: str, log: str) -> Path:
        """Return the folder that stands for the project's home of ``log``. Raises UsageError, ValueError."""
        return self.folder / host_name(host) / log_name(log).project

    def path(self, host: str, log: str) -> Path:
        """Return the file of a copy, which may not exist. Raises UsageError, ValueError."""
        return self.home(host, log) / "runs" / log_name(log).run / LOG_NAME

    def logs(self, host: str) -> list[str]:
        """Return the names of the logs of which there are copies."""
        found = []
        with suppress(FileNotFoundError):
            for project in sorted((self.folder / host_name(host)).iterdir()):
                found += [str(LogName(project.name, run)) for run in run_names(project / "runs")]
        return [name for name in found if _is_log(name)]

    def prune(self, days: int, now: float) -> None:
        """Delete the copies of ended runs that have had no line for so many days at the time ``now``."""
        for place in self.folder.iterdir() if self.folder.is_dir() else ():
            with suppress(UnstuckError, OSError):
                for log in self.logs(place.name):
                    path = self.path(place.name, log)
                    if now - path.stat().st_mtime > days * _DAY_S and has_ended(path.parent):
                        shutil.rmtree(path.parent)

    def cursor(self, host: str, log: str) -> Position:
        """Return the end of a copy, where the host goes on; START without one.

        A torn end is cut off first. A copy that was damaged here is put aside and begun again.
        """
        key = (host, log)
        if key not in self._ends:
            self._ends[key] = self._repaired(host, log)
        return self._ends[key]

    def begin(self, host: str, log: str) -> None:
        """Take a log from its first line on; lines that another process has copied meanwhile have to be the same."""
        self.cursor(host, log)
        self._ends[host, log] = START

    def refusal(self, host: str, log: str) -> str:
        """Return the reason why this log is not copied any further; empty where it is."""
        key = (host, log)
        if key not in self._refusals:
            reason = ""
            with suppress(OSError), open_for_reading(self.path(host, log).with_name(_REFUSED)) as file:
                reason = one_line(admit(file.readline(_SHOWN), limit=_SHOWN), 300)
            self._refusals[key] = reason
        return self._refusals[key]

    def append(self, host: str, log: str, lines: bytes) -> list[Record]:
        """Append whole lines that came from ``host`` to the copy of ``log``; return their records.

        Raises CopyRefused for lines that do not continue what came before: another number, a checksum that does not
        fit, a text that is not a record, another line than the copy has there, or more than is kept. Raises
        RecordWriteFailed where the copy cannot be written.
        """
        if reason := self.refusal(host, log):
            raise CopyRefused(reason)
        end = start = self.cursor(host, log)
        self._admit_log(host, log, start)
        records = []
        for raw in lines.splitlines(keepends=True):
            try:
                line = next_line(raw, end)
                records.append(_record(line, log_name(log).run))
            except (ValueError, RecursionError) as problem:
                self._write(host, log, start, lines[: end.offset - start.offset], end)
                said = str(problem).splitlines()[0]
                raise self._refused(host, log, f"record {end.seq + 1} was refused: {said}", raw) from None
            end = line.end
        if end.offset > self._limit:
            raise self._refused(host, log, f"it is longer than {self._limit} bytes", b"")
        self._write(host, log, start, lines, end)
        return records

    def _admit_log(self, host: str, log: str, end: Position) -> None:
        """Raise CopyRefused for one log more than is kept of a host."""
        if end != START:
            return
        if host not in self._numbers:
            self._numbers[host] = len(self.logs(host))
        if not self.path(host, log).exists():
            self._numbers[host] += 1
            if self._numbers[host] > LOGS_LIMIT:
                raise CopyRefused(f"{host} has more than {LOGS_LIMIT} logs: delete old copies in {self.folder / host}")

    def _write(self, host: str, log: str, start: Position, lines: bytes, end: Position) -> None:
        """Write the checked ``lines`` at ``start``, where another process may have written them already."""
        with self._locked(host, log) as fd:
            known = os.pread(fd, len(lines), start.offset)
            if not lines.startswith(known):
                reason = f"the records from {start.seq + 1} on are others than before"
                raise self._refused(host, log, reason, lines)
            rest = lines[len(known) :]
            os.lseek(fd, start.offset + len(known), os.SEEK_SET)
            write_all(fd, rest)
        self._ends[host, log] = end

    def _refused(self, host: str, log: str, reason: str, line: bytes) -> CopyRefused:
        """Keep the reason and the line beside the copy, which stays as it is."""
        path = self.path(host, log)
        text = one_line(f"{host}: run {log_name(log).run} is not copied any further: {reason}; see {path.parent}", 500)
        self._refusals[host, log] = text
        with suppress(OSError):
            make_directory(path.parent)
            write_private(path.with_name(_REFUSED), f"{text}\n{admit(line[:_SHOWN], limit=_SHOWN)}\n")
        return CopyRefused(text)

    def _repaired(self, host: str, log: str) -> Position:
        path = self.path(host, log)
        if not path.exists():
            return START
        with self._locked(host, log) as fd:
            try:
                found = verify(path)
            except RecordDamaged:
                os.replace(path, path.with_name(f"{LOG_NAME}.damaged"))
                return START
            if found.torn:
                os.ftruncate(fd, found.bytes)
            return found.end

    @contextmanager
    def _locked(self, host: str, log: str) -> Iterator[int]:
        """Open the copy for reading and writing while no other process does. Raises RecordWriteFailed."""
        path = self.path(host, log)
        try:
            refuse_links(self.folder, *list(path.parents)[:4])
            make_directory(path.parent)
            fd = open_for_writing(path, os.O_RDWR)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                yield fd
            finally:
                os.close(fd)
        except OSError as problem:
            raise RecordWriteFailed(f"{path}: cannot be written: {problem.strerror or problem}") from problem


def _record(line: Line, run: str) -> Record:
    """Return the record in a line. Raises ValueError for one that unstuck has not written for ``run``."""
    if not line.raw.isascii():
        raise ValueError("it is not ASCII")
    record = decode(line.raw)
    if record.seq != line.seq or record.run != run:
        raise ValueError("it is a record of another log")
    return record


def _is_log(name: str) -> bool:
    try:
        log_name(name)
    except ValueError:
        return False
    return True
