"""Checkpoints: the files of a work tree as they were, to look at and to go back to.

Every checkpoint is a parentless commit pinned by one reference ``refs/unstuck/checkpoints/<id>``, with what we know of
it as JSON in its message; git alone is enough to list and to restore them. The user's index, HEAD, branches, stash,
reflogs, hooks and configuration are never touched.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unstuck.clock import Clock
from unstuck.errors import CheckpointUnknown, GitError
from unstuck.text import Clean, admit
from unstuck.workspace.git import Repository
from unstuck.workspace.restoring import Change, changes, obstacles, parse_changes
from unstuck.workspace.side import SideRepository, Snapshot

__all__ = ["Change", "Checkpoint", "CheckpointStore", "Restored"]

_PINS = "refs/unstuck/checkpoints/"
_DIFF_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One saved state. ``files`` counts what it covers; ``not_covered`` names what it could not hold.

    ``created_at`` is in seconds since 1970. ``is_new`` is off where nothing had changed and this is an earlier one.
    """

    id: str
    commit: str
    tree: str
    reason: str
    run: str
    task: str
    created_at: float
    files: int
    not_covered: tuple[str, ...] = ()
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did, and the checkpoint that undoes it."""

    safety: Checkpoint
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class _Move:
    now: Snapshot
    goal: str
    in_the_way: frozenset[str]
    changes: tuple[Change, ...]


class CheckpointStore:
    """The checkpoints of ``tree``, kept below ``home``.

    Not covered, and left alone by a restore: ignored files that were never committed, files over ``file_limit`` bytes,
    other repositories inside the tree, empty directories, owners and times. Every method may raise WorkspaceError.
    """

    def __init__(
        self, tree: Path, home: Path, repo: Repository | None, *, clock: Clock, file_limit: int = 100 * 2**20
    ) -> None:
        self._side = SideRepository(tree, home, repo, file_limit)
        self._clock = clock

    async def create(self, reason: str, *, run: str, task: str = "") -> Checkpoint:
        """Save the files as they are; the last checkpoint is returned again where nothing has changed since."""
        async with self._side.held():
            return await self._record(await self._side.snapshot(), reason, run, task)

    async def list(self) -> tuple[Checkpoint, ...]:
        """All checkpoints of this tree, oldest first."""
        return tuple(checkpoint for _, checkpoint in await self._numbered())

    async def get(self, id: str) -> Checkpoint:
        """The checkpoint ``id``. Raises CheckpointUnknown."""
        for checkpoint in await self.list():
            if checkpoint.id == id:
                return checkpoint
        raise CheckpointUnknown(f"no checkpoint {id}: `unstuck checkpoints list` shows them")

    async def plan(self, id: str) -> tuple[Change, ...]:
        """What ``restore`` would do to the files, sorted by path; changes nothing. Raises CheckpointUnknown."""
        async with self._side.held():
            return (await self._move(await self.get(id))).changes

    async def restore(self, id: str, *, run: str) -> Restored:
        """Set the files back to checkpoint ``id``, after saving what is there now.

        Nothing is deleted or overwritten that the safety checkpoint does not hold. Run again after a kill, it ends in
        the same state. Raises CheckpointUnknown.
        """
        async with self._side.held():
            target = await self.get(id)
            move = await self._move(target)
            now = move.now
            if now.tree == move.goal and not move.in_the_way:
                return Restored(replace(target, is_new=False), ())
            if move.in_the_way:
                left_out = tuple(path for path in now.not_covered if path not in move.in_the_way)
                now = Snapshot(await self._side.save(move.in_the_way), left_out)
            safety = await self._record(now, f"before restoring {id}", run, target.task)
            await self._side.move(now.tree, move.goal)
            return Restored(safety, move.changes)

    async def diff(self, a: str, b: str | None = None) -> Clean:
        """The unified diff from checkpoint ``a`` to ``b``, or to the files as they are. Raises CheckpointUnknown."""
        async with self._side.held():
            old = (await self.get(a)).tree
            new = (await self.get(b)).tree if b else (await self._side.snapshot()).tree
            result = await self._side.git("diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", old, new)
            return admit(result.out, limit=_DIFF_LIMIT)

    async def delete(self, id: str) -> None:
        """Let go of checkpoint ``id``; git's own clean-up frees its objects. Raises CheckpointUnknown."""
        async with self._side.held():
            checkpoint = await self.get(id)
            await self._side.references("update-ref", "-d", _PINS + id, checkpoint.commit)

    async def _move(self, target: Checkpoint) -> _Move:
        now = await self._side.snapshot()
        goal = await self._side.without(target.tree, target.not_covered, now.tree)
        result = await self._side.git("diff-tree", "-r", "-z", "--no-renames", "--name-status", now.tree, goal)
        differences = parse_changes(result.out)
        returning = [change.path for change in differences if change.status == "return"]
        covered = await self._side.covered() if returning else frozenset()
        in_the_way = obstacles(self._side.tree, returning, covered)
        return _Move(now, goal, in_the_way, changes(differences, in_the_way))

    async def _record(self, now: Snapshot, reason: str, run: str, task: str) -> Checkpoint:
        earlier = await self._numbered()
        number, last = earlier[-1] if earlier else (0, None)
        if last and (last.tree, last.not_covered) == (now.tree, now.not_covered):
            return replace(last, is_new=False)
        moment = self._clock.now()
        known = {
            "place": self._side.name,
            "number": number + 1,
            "reason": reason,
            "run": run,
            "task": task,
            "created_at": moment,
            "files": len(await self._side.covered()),
            "not_covered": now.not_covered,
        }
        commit = await self._commit(now.tree, known)
        return _checkpoint(
            await self._pin(commit, moment, {checkpoint.id for _, checkpoint in earlier}), commit, now.tree, known
        )

    async def _commit(self, tree: str, known: dict[str, Any]) -> str:
        message = f"unstuck checkpoint\n\n{json.dumps(known)}\n".encode()
        return (await self._side.git("commit-tree", "--no-gpg-sign", tree, "-F", "-", stdin=message)).line

    async def _pin(self, commit: str, moment: float, known: AbstractSet[str]) -> str:
        """Make the commit findable under the first free id of this second; only then does it count."""
        for id in _ids(moment):
            if id in known:
                continue
            result = await self._side.references("update-ref", _PINS + id, commit, "", check=False)
            if result.code == 0:
                return id
            taken = await self._side.references("rev-parse", "--verify", "--quiet", _PINS + id, check=False)
            if taken.code:
                raise GitError(("update-ref", _PINS + id), result.code, result.err.strip())
        raise AssertionError("ids do not end")

    async def _numbered(self) -> tuple[tuple[int, Checkpoint], ...]:
        layout = "--format=%(refname)%00%(objectname)%00%(tree)%00%(contents:body)%00"
        result = await self._side.references("for-each-ref", layout, _PINS)
        fields = result.out.decode("utf-8", "replace").split("\0")
        found = []
        for name, commit, tree, body in zip(fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False):
            try:
                known = json.loads(body)
                if known["place"] == self._side.name:
                    id = name.strip().removeprefix(_PINS)
                    found.append((int(known["number"]), _checkpoint(id, commit, tree, known)))
            except (ValueError, KeyError, TypeError):
                continue  # somebody else's reference
        return tuple(sorted(found, key=lambda entry: entry[0]))


def _checkpoint(id: str, commit: str, tree: str, known: dict[str, Any]) -> Checkpoint:
    return Checkpoint(
        id=id,
        commit=commit,
        tree=tree,
        reason=known["reason"],
        run=known["run"],
        task=known["task"],
        created_at=known["created_at"],
        files=known["files"],
        not_covered=tuple(known["not_covered"]),
    )


def _ids(moment: float) -> Iterator[str]:
    name = datetime.fromtimestamp(moment, UTC).strftime("chk-%Y%m%d-%H%M%S")
    yield name
    for number in itertools.count(2):
        yield f"{name}-{number}"
