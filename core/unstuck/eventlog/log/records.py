"""Decoded records of a log file, and the state that they fold into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from unstuck.errors import RecordDamaged
from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.log_format import START, Line, Position, read_lines
from unstuck.eventlog.state import State


def read_records(path: Path, *, start: Position = START) -> Iterator[Record]:
    """Yield the records of a log file from ``start`` on. Raises RecordDamaged."""
    for line in read_lines(path, start=start):
        yield decoded(path, line)


def decoded(path: Path, line: Line) -> Record:
    """Return the record in a line of the log at ``path``. Raises RecordDamaged."""
    try:
        return decode(line.raw)
    except (RecursionError, ValueError) as error:
        raise RecordDamaged(path, line.seq, line.offset, f"not an event: {_problem(error)}") from error


def _problem(error: Exception) -> str:
    """Return the problem in one line: the first field that does not fit, and the reason."""
    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def replay(path: Path) -> State:
    """Return the state of a log file, folded from its first record. Raises RecordDamaged."""
    state = State()
    for line in read_lines(path):
        fold(state, decoded(path, line))
    return state
