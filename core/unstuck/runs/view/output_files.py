"""The files in which the outputs and prompts of attempts are kept, read in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from unstuck.eventlog.state import State, TaskRow
from unstuck.eventlog.storage.text_files import read_piece
from unstuck.runs.view.outputs import OutputKind, name_of
from unstuck.text import Clean, admit

PIECE = 4_000_000
"""Bytes that are read at once at most."""


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """Whole lines of a file of ``size`` bytes, from the byte ``begin`` up to ``end``."""

    text: Clean
    begin: int
    end: int
    size: int


def output_file(log: Path, state: State, row: TaskRow, kind: OutputKind, attempt: int) -> Path | None:
    """The file of an attempt, which may not exist; None where there can be none. Attempts count from 1."""
    if not 0 < attempt <= row.attempts:
        return None
    if kind == "prompt":
        return log.parent / "prompts" / f"{name_of(state, f'{row.id}.{attempt}')}.txt"
    if kind == "agent":
        return log.parent / "output" / f"{name_of(state, f'{row.id}.{attempt}')}.log"
    is_last = attempt == row.attempts and row.check is not None and row.state != "judging"
    kept = row.check.output if is_last and row.check is not None else ""
    return log.parent / "output" / (Path(kept).name or f"{row.id}.{attempt}.check.log")


async def read_output(path: Path, begin: int | None = None) -> OutputPiece:
    """Read from ``begin`` on, at most 4 MB; None for the end of the file. Raises OSError.

    A line that is not complete is left for the next piece, unless it is all there is.
    """
    raw, size = await read_piece(path, -PIECE if begin is None else begin, PIECE)
    start = max(0, size - PIECE) if begin is None else begin
    if begin is None and start:
        head, _, rest = raw.partition(b"\n")
        raw, start = (rest, start + len(head) + 1) if rest else (raw, start)
    whole = raw.rfind(b"\n") + 1
    if begin is not None and whole:
        raw = raw[:whole]
    text = await asyncio.to_thread(admit, raw, limit=2 * PIECE)
    return OutputPiece(text, start, start + len(raw), size)


class Printed(NamedTuple):
    """Bytes of an attempt's output that are kept, and when there was output last (nanoseconds)."""

    size: int
    at: int


async def printed_of(log: Path, attempts: Sequence[str]) -> dict[str, Printed]:
    """The output of ``attempts`` so far, of those that have one; read beside the event loop."""

    def sizes() -> dict[str, Printed]:
        found = {}
        for attempt in attempts:
            with suppress(OSError):
                status = (log.parent / "output" / f"{attempt}.log").stat()
                found[attempt] = Printed(status.st_size, status.st_mtime_ns)
        return found

    return await asyncio.to_thread(sizes) if attempts else {}
