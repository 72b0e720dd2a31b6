"""Index of checkpoints: for each one a git reference to its tree, and a JSON file that describes it.

The file is written last: a reference without a file is no checkpoint.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unstuck.eventlog.storage.durable_files import make_directory, open_fresh, write_private
from unstuck.workspace.git.plain_file import read_text
from unstuck.workspace.storage.exclusions import LeftOut
from unstuck.workspace.storage.object_store import ObjectStore

_PREFIX = "refs/unstuck/checkpoints/"
_FOLDER = "described"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One saved state of ``root``. ``files`` counts what it covers, ``left_out`` names what it could not hold.

    ``ignored`` are the ``ignored_count`` ignored files and folders, which are not covered either; of more than a
    thousand those that lie deepest are named by their folders.
    ``created_at`` is in seconds since 1970, ``size`` about how many bytes were saved for it. ``target`` is the
    checkpoint that was restored right after this one, which undoes that. ``base`` is the user's commit that unchanged
    files and folders are borrowed from. ``is_new`` is off where nothing had changed and this is an earlier one.

    Example::

        saved = await manager.create("before the migration")
        print(saved.id, saved.files)
    """

    id: str
    tree: str
    root: Path
    number: int
    reason: str
    run: str
    task: str
    created_at: float
    files: int
    left_out: tuple[LeftOut, ...] = ()
    ignored: tuple[str, ...] = ()
    ignored_count: int = 0
    size: int = 0
    target: str = ""
    base: str = ""
    is_new: bool = True

    @property
    def not_covered(self) -> tuple[str, ...]:
        """The paths of ``left_out``."""
        return tuple(entry.path for entry in self.left_out)


class Catalogue:
    """All checkpoints of a store. Methods may raise GitError or OSError."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._folder = store.directory / _FOLDER

    async def all(self) -> tuple[Checkpoint, ...]:
        """Return every checkpoint of every tree, oldest first."""
        return await asyncio.to_thread(self._all)

    async def add(self, tree: str, moment: float, known: dict[str, Any]) -> Checkpoint:
        """Record a checkpoint of ``tree`` under the first free id of this second."""
        make_directory(self._folder)
        fresh = self._folder / f".{secrets.token_hex(8)}"
        try:
            with os.fdopen(open_fresh(fresh), "w", encoding="ascii") as file:
                json.dump({**known, "tree": tree}, file)
                file.flush()
                os.fsync(file.fileno())
            for id in _ids(moment):
                if self._file(id).exists() or not await asyncio.to_thread(self._store.refer, _PREFIX + id, tree):
                    continue
                os.link(fresh, self._file(id))
                return self._read(id, {**known, "tree": tree})
        finally:
            fresh.unlink(missing_ok=True)
        raise AssertionError("ids do not end")

    def ignoring(self, checkpoint: Checkpoint, ignored: Sequence[str]) -> Checkpoint:
        """Record that ``ignored`` files were there, too, when the files of ``checkpoint`` were saved again."""
        file, fresh = self._file(checkpoint.id), self._folder / f".{secrets.token_hex(8)}"
        known = json.loads(read_text(file))
        known |= {"ignored": ignored, "ignored_count": max(len(ignored), known["ignored_count"])}
        write_private(fresh, json.dumps(known))
        fresh.replace(file)
        return self._read(checkpoint.id, known)

    def spelled(self, root: Path) -> str:
        """Return ``root`` as it is stored: relative to a home inside it, so that the project can be moved."""
        return os.path.relpath(root, self._store.home) if self._store.home.is_relative_to(root) else str(root)

    def begun(self) -> list[Path]:
        """Return the files of checkpoints that are being recorded, or whose recording was killed."""
        return [*self._folder.glob(".*"), *(self._store.directory / _PREFIX).glob(".*")]

    async def drop(self, ids: Collection[str]) -> None:
        """Delete checkpoints, and references without a file. Needs the store alone."""
        for file in (*self.begun(), *map(self._file, ids)):
            file.unlink(missing_ok=True)
        listed = (await self._store.git("for-each-ref", "--format=%(refname)", _PREFIX)).out.decode().split()
        await self._store.drop(name for name in listed if not self._file(name.removeprefix(_PREFIX)).exists())

    def _file(self, id: str) -> Path:
        return self._folder / f"{id}.json"

    def _all(self) -> tuple[Checkpoint, ...]:
        found = []
        for file in self._folder.glob("chk-*.json"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                found.append(self._read(file.stem, json.loads(read_text(file))))
        return tuple(sorted(found, key=lambda one: (one.created_at, one.number)))

    def _read(self, id: str, known: dict[str, Any]) -> Checkpoint:
        return Checkpoint(
            id=id,
            tree=known["tree"],
            root=Path(os.path.normpath(self._store.home / known["root"])),
            number=int(known["number"]),
            reason=known["reason"],
            run=known["run"],
            task=known["task"],
            created_at=float(known["created_at"]),
            files=int(known["files"]),
            left_out=tuple(LeftOut(path, why) for path, why in known["left_out"]),
            ignored=tuple(known["ignored"]),
            ignored_count=int(known["ignored_count"]),
            size=int(known["size"]),
            target=known["target"],
            base=known["base"],
        )


def _ids(moment: float) -> Iterator[str]:
    name = datetime.fromtimestamp(moment, UTC).strftime("chk-%Y%m%d-%H%M%S")
    yield name
    for number in itertools.count(2):
        yield f"{name}-{number}"
