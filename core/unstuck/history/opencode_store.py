"""The database in which opencode keeps its sessions, opened so that nothing in it or beside it changes."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from unstuck.history.json_objects import LINE_LIMIT, Losses

_PATIENCE_S = 5.0
_HEAD = b"SQLite format 3\x00"
_SESSIONS = "SELECT id, directory, version, time_updated FROM session ORDER BY time_created"
_SESSION = "SELECT directory, version FROM session WHERE id = ?"
_PARTS = "SELECT id FROM part WHERE session_id = ? ORDER BY id"
_PART = (
    "SELECT part.time_updated, message.data, CASE WHEN length(part.data) <= ? THEN part.data END"
    " FROM part JOIN message ON message.id = part.message_id WHERE part.id = ?"
)


class StoredSession(NamedTuple):
    """A session in the database; ``updated`` is in seconds since 1970."""

    id: str
    directory: str
    version: str
    updated: float


def is_store(path: Path) -> bool:
    """Return whether the file is an SQLite database."""
    with path.open("rb") as stream:
        return stream.read(len(_HEAD)) == _HEAD


def stored_sessions(path: Path) -> list[StoredSession]:
    """Return the sessions in the database at ``path``, the oldest first. Raises OSError."""
    try:
        with _opened(path) as store:
            rows = store.execute(_SESSIONS).fetchall()
    except sqlite3.Error as error:
        raise OSError(f"no database of opencode that is known: {error}") from error
    return [StoredSession(str(id), str(place), str(version), (at or 0) / 1000) for id, place, version, at in rows]


def stored_objects(path: Path, session: str, losses: Losses) -> Iterator[dict[str, Any]]:
    """Yield the parts of ``session`` as objects of its transcript, in their order. Raises OSError."""
    try:
        with _opened(path) as store:
            directory, version = store.execute(_SESSION, (session,)).fetchone() or ("", "")
            facts = {"sessionID": session, "cwd": directory, "version": version}
            for (part,) in store.execute(_PARTS, (session,)).fetchall():
                row = store.execute(_PART, (LINE_LIMIT, part)).fetchone()
                if row is not None:
                    yield from _object(facts, part, row, losses)
    except sqlite3.Error as error:
        raise OSError(f"the database cannot be read: {error}") from error


def _object(facts: dict[str, Any], part: str, row: tuple[Any, Any, Any], losses: Losses) -> Iterator[dict[str, Any]]:
    at, message, data = row
    if data is None:
        losses.huge += 1
        return
    try:
        about, found = json.loads(message), json.loads(data)
        role, model = about["role"], about.get("modelID")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        losses.broken += 1
        return
    if isinstance(found, dict):
        yield {**facts, "type": role, "model": model, "timestamp": at, "part": {**found, "id": part}}


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that changes and creates no file beside the database, and that holds up no writer."""
    log, index = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    if index.exists():
        how = "mode=ro&readonly_shm=1"
    elif not log.exists() or not log.stat().st_size:
        # Nothing stands outside the database, and SQLite would make both files.
        how = "mode=ro&immutable=1"
    else:
        # What was written last stands in the log, which cannot be read without its index: so both are made elsewhere.
        with TemporaryDirectory() as folder:
            for file in (path, log):
                shutil.copyfile(file, Path(folder) / file.name)
            with closing(sqlite3.connect(Path(folder) / path.name)) as store:
                yield store
        return
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=_PATIENCE_S)) as store:
        yield store
