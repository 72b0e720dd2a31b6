"""Exclusions of a checkpoint with their reasons, and trees that are not saved without a yes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unstuck.errors import TreeTooLarge, WorkspaceError
from unstuck.workspace.git.repository import git_directory_round, is_git_directory

Why = Literal["busy", "large", "name", "repository", "special", "unreadable"]
_TOLD: dict[Why, str] = {
    "busy": "was just being written",
    "large": "over the size limit",
    "name": "a name that git does not take",
    "repository": "a repository of its own",
    "special": "neither a file nor a link",
    "unreadable": "may not be read",
}
_MOST_FILES = 100_000
OF_AIDER = (".aider.chat.history.md", ".aider.input.history", ".aider.llm.history", ".aider.tags.cache.")
"""Beginnings of the names of aider's own files, which it writes into each tree that it works in: they are no work."""


@dataclass(frozen=True, slots=True, order=True)
class LeftOut:
    """A path that a checkpoint does not hold; a folder, such as a repository inside the tree, ends in a slash."""

    path: str
    why: Why

    @property
    def reason(self) -> str:
        """Why, in words."""
        return _TOLD[self.why]


def out_of_reach(tree: Path, paths: Iterable[str], file_limit: int) -> tuple[frozenset[LeftOut], int]:
    """Those of ``paths`` that are over ``file_limit`` bytes or may not be read; and the bytes of all the others."""
    left_out, total = set(), 0
    for path in paths:
        place = tree / path
        try:
            status = place.lstat()
        except PermissionError:
            left_out.add(LeftOut(path, "unreadable"))
            continue
        except OSError:
            continue  # gone since; the index will say so
        if why := _why(place, status, file_limit):
            left_out.add(LeftOut(path, why))
        else:
            total += status.st_size
    return frozenset(left_out), total


def lost(tree: Path, covered: Iterable[str], closed: Iterable[str]) -> tuple[frozenset[str], frozenset[LeftOut]]:
    """Those of ``covered`` that are not there any more; and those of which nobody can say, with the ``closed`` folders.

    What cannot be looked at stays in the index as it last was.
    """
    gone, folders = set(), tuple(closed)
    hidden = {LeftOut(path, "unreadable") for path in folders}
    for path in covered:
        try:
            (tree / path).lstat()
        except PermissionError:
            if not path.startswith(folders):
                hidden.add(LeftOut(path, "unreadable"))
        except OSError:
            gone.add(path)
    return frozenset(gone), frozenset(hidden)


def _why(place: Path, status: os.stat_result, file_limit: int) -> Why | None:
    if not stat.S_ISREG(status.st_mode):
        return None if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode) else "special"
    if status.st_size > file_limit:
        return "large"
    return None if os.access(place, os.R_OK) else "unreadable"


def bare_among(tree: Path, strangers: Iterable[str]) -> frozenset[str]:
    """The bare repositories among files that git does not know, each ending in a slash.

    To git they are folders like any other, but branches are in them, perhaps those of this very tree.
    """
    tops = (path.removesuffix("HEAD") for path in strangers if path.endswith("/HEAD"))
    return frozenset(top for top in tops if is_git_directory(tree / top))


def refuse_git_directory(tree: Path) -> None:
    """Raise WorkspaceError for a folder of git's own: its restore would set back branches and history."""
    if (inside := git_directory_round(tree)) is not None:
        raise WorkspaceError(f"{inside} is git's own directory: go to its worktree")


def refuse_home(tree: Path) -> None:
    """Raise TreeTooLarge for a home directory, the root of all files, and whatever holds a home directory."""
    if Path.home().resolve().is_relative_to(tree):
        raise TreeTooLarge(f"no checkpoints of {tree} without a yes: work in a project's own directory, or")


def refuse_huge(tree: Path, files: int, size: int, most_bytes: int) -> None:
    """Raise TreeTooLarge where one checkpoint would copy more than 100,000 files or ``most_bytes`` bytes."""
    if files > _MOST_FILES or size > most_bytes:
        raise TreeTooLarge(
            f"no checkpoint of {tree} without a yes: {files:,} files with {size / 2**20:,.0f} MiB would be copied; "
            "ignore what need not be kept (.gitignore), or"
        )
