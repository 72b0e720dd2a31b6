"""What a project has learnt: approaches that failed or worked, insights, and answers that people gave.

One JSON object a line, shared by all runs of a project, possibly several at once. It advises and decides nothing, so
reading is lenient: a line that makes no sense is skipped and counted.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from unstuck.errors import RecordError
from unstuck.record.files import open_for_reading, open_for_writing, sync_directory, write_all
from unstuck.text import Clean, admit

__all__ = ["ENTRIES_LIMIT", "READ_LIMIT", "Kind", "Memory", "Remembered", "Result"]

Kind = Literal["approach", "insight", "answer", "rule"]
Result = Literal["worked", "failed", ""]

ENTRIES_LIMIT = 5_000
READ_LIMIT = 32 * 1024 * 1024
"""Bytes at the end of the file that are read, however long it has become; what stands before them is forgotten."""
_TEXT_LIMIT = 2_000
_NOTE_LIMIT = 20_000
_LINE_LIMIT = 512 * 1024
"""More bytes than the longest texts take when every character is escaped."""
_TEXTS = ("signature", "approach", "cause", "note", "task", "run", "when")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One thing learnt. ``signature`` is the failure's identity.

    An answer's choice is its ``approach`` and its text the ``note``; ``when`` it was given is in ISO 8601. A ``rule``
    is an answer that a person wants to be told from now on; one that ``failed`` holds no more. The ``approach`` of an
    insight is the headline of the failure that it is about; once it helped it is kept again, as one that ``worked``.
    """

    kind: Kind
    outcome: Result
    signature: Clean
    approach: Clean
    cause: Clean
    note: Clean
    task: Clean
    run: Clean
    when: Clean = Clean("")


class Memory:
    """The memory in the file at ``path``. Empty until ``load``, which also brings in what other runs have learnt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0
        """How many lines made no sense when it was loaded."""
        self._entries: deque[Remembered] = deque(maxlen=ENTRIES_LIMIT)

    def __len__(self) -> int:
        return len(self._entries)

    def load(self) -> None:
        """Read the file again, keeping its last 5,000 lines; a missing one is empty. Raises RecordError."""
        entries = [_read(raw) for raw in deque(self._lines(), maxlen=ENTRIES_LIMIT)]
        self._entries = deque((entry for entry in entries if entry), maxlen=ENTRIES_LIMIT)
        self.skipped = len(entries) - len(self._entries)

    def remember(
        self,
        kind: Kind,
        *,
        signature: str,
        approach: str,
        outcome: Result,
        cause: str,
        note: str = "",
        task: str = "",
        run: str = "",
        when: str = "",
    ) -> Remembered:
        """Keep one thing, safely on disk when this returns. Blocks for a sync. Raises RecordError."""
        texts = {
            "signature": signature, "approach": approach, "cause": cause, "note": note, "task": task, "run": run,
            "when": when,
        }  # fmt: skip
        entry = _entry(kind, outcome, {name: _clean(text, _limit(name)) for name, text in texts.items()})
        try:
            self._append(json.dumps(asdict(entry)).encode() + b"\n")
        except OSError as problem:
            raise RecordError(f"{self.path}: cannot be written: {problem.strerror or problem}") from problem
        self._entries.append(entry)
        return entry

    def entries(self, kind: Kind | None = None, *, signature: str | None = None) -> tuple[Remembered, ...]:
        """What is remembered, newest first; of one kind and about one signature where these are given."""
        about = None if signature is None else _clean(signature)
        return tuple(
            entry
            for entry in reversed(self._entries)
            if kind in (None, entry.kind) and about in (None, entry.signature)
        )

    def failed(self, signature: str) -> frozenset[str]:
        """Approaches whose last use against this signature failed."""
        last = _last_use(self.entries("approach", signature=signature))
        return frozenset(entry.approach for entry in last if entry.outcome == "failed")

    def _lines(self) -> Iterator[bytes]:
        """Whole lines of the file's end; one that is too long comes in pieces, none of which makes sense."""
        try:
            with open_for_reading(self.path) as file:
                if (size := os.fstat(file.fileno()).st_size) > READ_LIMIT:
                    file.seek(size - READ_LIMIT)
                    file.readline(_LINE_LIMIT)
                yield from iter(lambda: file.readline(_LINE_LIMIT), b"")
        except FileNotFoundError:
            return
        except OSError as problem:
            raise RecordError(f"{self.path}: cannot be read: {problem.strerror or problem}") from problem

    def _append(self, line: bytes) -> None:
        fresh = not self.path.exists()
        fd = open_for_writing(self.path, os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            # A line that a crash cut short must not swallow this one.
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line
            write_all(fd, line)
            os.fsync(fd)
        finally:
            os.close(fd)
        if fresh:
            sync_directory(self.path.parent)


def _last_use(newest_first: Iterable[Remembered]) -> tuple[Remembered, ...]:
    """The newest entry of each approach, in the order given."""
    last: dict[str, Remembered] = {}
    for entry in newest_first:
        if entry.approach:
            last.setdefault(entry.approach, entry)
    return tuple(last.values())


def _read(raw: bytes) -> Remembered | None:
    """The entry in one line of the file, None for anything else."""
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("kind") not in get_args(Kind):
        return None
    texts = {name: said.get(name, "") for name in _TEXTS}
    outcome = said.get("outcome", "")
    if outcome not in get_args(Result) or not all(isinstance(text, str) for text in texts.values()):
        return None
    return _entry(said["kind"], outcome, {name: _again(text, _limit(name)) for name, text in texts.items()})


def _entry(kind: Kind, outcome: Result, texts: dict[str, Clean]) -> Remembered:
    return Remembered(kind=kind, outcome=outcome, **texts)


def _limit(name: str) -> int:
    """How many characters are kept; only what a person said may be long."""
    return _NOTE_LIMIT if name == "note" else _TEXT_LIMIT


def _clean(text: str, limit: int = _TEXT_LIMIT) -> Clean:
    return admit(text, limit=limit)


def _again(text: str, limit: int) -> Clean:
    """A text read back. Short plain ASCII cannot hurt and was redacted when it was written, so it is taken as it is."""
    plain = len(text) <= min(limit, _TEXT_LIMIT) and text.isascii() and text.isprintable()
    return Clean(text) if plain else _clean(text, limit)
