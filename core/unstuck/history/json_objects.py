"""JSON objects of a file, one at a time: a damaged or huge line costs only itself, whatever the file is."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from unstuck.eventlog.storage.durable_files import open_for_reading

LINE_LIMIT = 8 * 2**20
"""Bytes of the longest line; a longer one is skipped without being kept in memory."""
WHOLE_LIMIT = 64 * 2**20
"""Bytes of the largest file that is one JSON document."""
_BUFFER = 2**18
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(slots=True)
class Losses:
    """Lines that could not be read: ``broken`` are no JSON objects, ``huge`` are longer than the limit."""

    broken: int = 0
    huge: int = 0


def objects_in(path: Path, losses: Losses) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the file at ``path``, as far as it was written when it was opened.

    A last line without its end is still being written, so it is no loss. Raises OSError for anything but a readable
    file.
    """
    with open_for_reading(path, _BUFFER) as stream:
        size = os.fstat(stream.fileno()).st_size
        if path.suffix == ".json" and size <= WHOLE_LIMIT:
            yield from _document(stream.read(size), losses)
            return
        head = os.pread(stream.fileno(), 2, 0)
        lines = _wide_lines(stream, size) if head in _WIDE else _lines(stream, size, losses)
        for line, is_ended in lines:
            found = _object(line)
            if found is not None:
                yield found
            elif is_ended and line.strip():
                losses.broken += 1


def _lines(stream: IO[bytes], size: int, losses: Losses) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines within the first ``size`` bytes, and whether each has its end."""
    left = size
    while left > 0 and (line := stream.readline(min(left, LINE_LIMIT))):
        left -= len(line)
        if line.endswith(b"\n") or len(line) < LINE_LIMIT:
            yield line, line.endswith(b"\n")
            continue
        losses.huge += 1
        while left > 0 and (rest := stream.readline(min(left, _BUFFER))):
            left -= len(rest)
            if rest.endswith(b"\n"):
                break


def _wide_lines(stream: IO[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a file in UTF-16 as UTF-8."""
    text = stream.read(min(size, WHOLE_LIMIT)).decode("utf-16", "replace")
    yield from ((line.encode("utf-8", "replace"), True) for line in text.splitlines())


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _document(data: bytes, losses: Losses) -> Iterator[dict[str, Any]]:
    found = _object(data)
    if found is not None:
        yield found
    else:
        losses.broken += 1
