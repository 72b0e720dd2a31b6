"""Unmerged work in a worktree, for which it is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from unstuck.text import one_line
from unstuck.workspace.git.repo_status import under_way
from unstuck.workspace.git.repository import split_paths
from unstuck.workspace.storage.exclusions import OF_AIDER
from unstuck.workspace.storage.staging import Scan
from unstuck.workspace.worktrees.worktree import TreePlace

_NAMED = 3
_GITLINK = b"160000"
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")


@dataclass(frozen=True, slots=True)
class Kept:
    """Tree or branch that stays, and the reason."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Result of a clean-up: names of the removed tasks, and what was kept."""

    removed: tuple[str, ...]
    kept: tuple[Kept, ...]


async def held_in(place: TreePlace, tip: str, branch: str, own: str) -> str:
    """Return the reason to keep a tree: its work that is not in ``tip``, the end of ``branch``; empty without any.

    Ignored files, aider's own, and what lies in the folder ``own`` at the top, do not count.
    """
    if place.lock is not None:
        return f"it is locked: {one_line(place.lock) or 'no reason given'}"
    if place.git_dir is not None and (what := under_way(place.git_dir)):
        return f"in the middle of {what}"
    commit = await place.commit()
    if commit is None or not (commit == tip or await _has(place, tip, commit)):
        return f"commits that are not on {branch}"
    listed = split_paths((await place.git(*_STATUS)).out)
    found = [row for row in listed if row[0] not in " ?" or not _is_own(row[3:], own)]
    if strangers := [row[3:] for row in found if row.startswith("?")]:
        return f"untracked files: {_some(strangers)}"
    if found:
        return f"uncommitted changes: {_some([row[3:] for row in found])}"
    return await _submodules(place)


async def _has(place: TreePlace, tip: str, commit: str) -> bool:
    return (await place.git("merge-base", "--is-ancestor", commit, tip, check=False)).code == 0


async def _submodules(place: TreePlace) -> str:
    """Return the submodules whose commits lie only in the tree's own git directory, as a reason to keep it."""
    if place.git_dir is None or not (place.git_dir / "modules").is_dir():
        return ""
    changed = await place.git("diff-tree", "-r", "-z", "--raw", "--no-renames", place.start or "HEAD", "HEAD")
    fields = changed.out.split(b"\0")
    moved = [os.fsdecode(path) for row, path in zip(fields[::2], fields[1::2], strict=False) if _GITLINK in row]
    return f"a submodule with commits of its own: {_some(moved)}" if moved else ""


def without(found: Scan, own: str) -> Scan:
    """Return ``found`` without the files in the folder ``own``, and without aider's own."""

    def others(paths: frozenset[str]) -> frozenset[str]:
        return frozenset(path for path in paths if not _is_own(path, own))

    return replace(
        found,
        removed=others(found.removed),
        changed=others(found.changed),
        untracked=others(found.untracked),
        nested=others(found.nested),
    )


def _is_own(path: str, own: str) -> bool:
    return path.split("/")[0] == own or path.startswith(OF_AIDER)


def _some(paths: list[str]) -> str:
    named = sorted(paths)
    return ", ".join(map(one_line, named[:_NAMED])) + (f" and {len(named) - _NAMED} more" if named[_NAMED:] else "")
