"""Commits at references and at HEAD."""

from __future__ import annotations

import os
import re
from pathlib import Path

from unstuck.workspace.git.plain_file import read_bytes
from unstuck.workspace.git.repository import Repository, run_git

_ON_BRANCH = re.compile(rb"ref: refs/heads/([^\n]+)\n?")
_ELSEWHERE = ".invalid"  # git's placeholder where references are kept in another way (reftable)


async def commit_at(repo: Repository, reference: str) -> str | None:
    """Return the commit at ``reference``, a full name in ``refs/``; None without one."""
    return await _commit(repo.root, reference)


async def head(repo: Repository) -> str | None:
    """Return the commit that is checked out; None before the first commit."""
    return await checked_out(repo.root)


async def checked_out(tree: Path) -> str | None:
    """Return the commit that is checked out in a work tree; None before the first commit, or where it is damaged."""
    return await _commit(tree, "HEAD")


async def _commit(place: Path, name: str) -> str | None:
    result = await run_git(place, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False)
    return result.line if result.code == 0 else None


def branch_in(git_dir: Path) -> str:
    """Return the short name of the branch, born or not, at which a work tree's HEAD stands; empty where it has none.

    Raises OSError.
    """
    found = _ON_BRANCH.fullmatch(read_bytes(git_dir / "HEAD"))
    name = os.fsdecode(found[1]) if found else ""
    return "" if name == _ELSEWHERE else name
