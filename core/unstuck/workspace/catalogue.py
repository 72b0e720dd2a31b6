"""The list of checkpoints as git keeps it: a parentless commit each, pinned by one reference, described in its message.

Git alone is enough to list and to restore them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unstuck.errors import GitError
from unstuck.workspace.coverage import LeftOut
from unstuck.workspace.store import ObjectStore

__all__ = ["Catalogue", "Checkpoint"]

_PREFIX = "refs/unstuck/checkpoints/"
_LAYOUT = "--format=%(refname)%00%(objectname)%00%(tree)%00%(contents:body)%00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One saved state of ``root``. ``files`` counts what it covers, ``left_out`` names what it could not hold.

    ``ignored`` are the first of the ``ignored_count`` ignored files and folders, which are not covered either.
    ``created_at`` is in seconds since 1970, ``size`` about how many bytes were saved for it. ``target`` is the
    checkpoint that was restored right after this one, which undoes that. ``base`` is the user's commit that unchanged
    files are borrowed from. ``is_new`` is off where nothing had changed and this is an earlier one.
    """

    id: str
    commit: str
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
    """All checkpoints in a store. Methods may raise GitError."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def all(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint of every tree, oldest first."""
        result = await self._store.git("for-each-ref", _LAYOUT, _PREFIX)
        fields = result.out.decode("utf-8", "replace").split("\0")
        found = []
        for name, commit, tree, body in zip(fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False):
            try:
                found.append(_read(name.strip().removeprefix(_PREFIX), commit, tree, json.loads(body)))
            except (ValueError, KeyError, TypeError):
                continue  # somebody else's reference
        return tuple(sorted(found, key=lambda one: (one.created_at, one.number)))

    async def add(self, tree: str, moment: float, known: dict[str, Any], taken: Collection[str]) -> Checkpoint:
        """Record a checkpoint of ``tree`` under the first free id of this second; only then does it count."""
        message = f"unstuck checkpoint\n\n{json.dumps(known)}\n".encode()
        commit = (await self._store.git("commit-tree", "--no-gpg-sign", tree, "-F", "-", stdin=message)).line
        for id in _ids(moment):
            if id in taken:
                continue
            result = await self._store.git("update-ref", _PREFIX + id, commit, "", check=False)
            if result.code == 0:
                return _read(id, commit, tree, known)
            there = await self._store.git("rev-parse", "--verify", "--quiet", _PREFIX + id, check=False)
            if there.code:
                raise GitError(("update-ref", _PREFIX + id), result.code, result.err.strip())
        raise AssertionError("ids do not end")

    async def drop(self, checkpoints: Collection[Checkpoint]) -> None:
        """Let go of ``checkpoints``."""
        await self._store.drop(_PREFIX + checkpoint.id for checkpoint in checkpoints)


def _read(id: str, commit: str, tree: str, known: dict[str, Any]) -> Checkpoint:
    return Checkpoint(
        id=id,
        commit=commit,
        tree=tree,
        root=Path(known["root"]),
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
