"""What HEAD or a reference stands at, read from its file as git itself would: most looks need no process."""

from __future__ import annotations

import os
import re
from pathlib import Path

from unstuck.workspace.git.repository import Repository, run_git

__all__ = ["branch_in", "checked_out", "commit_at", "head"]

_ID = rb"[0-9a-f]{64}|[0-9a-f]{40}"
_LOOSE = re.compile(rb"(%s)\n?" % _ID)
_ON_BRANCH = re.compile(rb"ref: refs/heads/([^\n]+)\n?")
_ELSEWHERE = ".invalid"  # what git writes there for older ones where references are kept in another way (reftable)


async def commit_at(repo: Repository, reference: str) -> str | None:
    """The commit at ``reference``, a branch or another full name in ``refs/`` that only commits have; None without one.

    Whatever is not written as git writes a plain reference is left for git to make out.
    """
    try:
        return _written(repo.common, reference)
    except ValueError:
        result = await run_git(repo.root, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}", check=False)
        return result.line if result.code == 0 else None


async def head(repo: Repository) -> str | None:
    """The commit that is checked out; None where there is no commit yet."""
    return await checked_out(repo, repo.root, repo.git_dir)


async def checked_out(repo: Repository, tree: Path, git_dir: Path | None) -> str | None:
    """The commit that is checked out in a work tree of ``repo``; None where there is none yet, or it is damaged.

    ``git_dir`` is the tree's own. Git is asked where that is None, and where the commit is not a file by itself, in
    which it can be seen to be there.
    """
    try:
        if git_dir is not None and ((commit := _head(repo.common, git_dir)) is None or _is_loose(repo.common, commit)):
            return commit
    except (OSError, ValueError):
        pass
    result = await run_git(tree, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
    return result.line if result.code == 0 else None


def branch_in(git_dir: Path) -> str:
    """The branch (its short name, born or not) at which a work tree's own HEAD stands; empty where its file names none.

    Raises OSError.
    """
    return _branch((git_dir / "HEAD").read_bytes())


def _branch(text: bytes) -> str:
    found = _ON_BRANCH.fullmatch(text)
    name = os.fsdecode(found[1]) if found else ""
    return "" if name == _ELSEWHERE else name


def _head(common: Path, git_dir: Path) -> str | None:
    text = (git_dir / "HEAD").read_bytes()
    if branch := _branch(text):
        return _written(common, f"refs/heads/{branch}")
    if (detached := _LOOSE.fullmatch(text)) is None:
        raise ValueError
    return detached[1].decode("ascii")


def _is_loose(common: Path, commit: str) -> bool:
    return (common / "objects" / commit[:2] / commit[2:]).is_file()


def _written(common: Path, reference: str) -> str | None:
    """What the files say (gitrepository-layout). Raises ValueError where that is for git to say."""
    try:
        text = (common / reference).read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return _packed(common, reference)
    except OSError as problem:
        raise ValueError from problem
    if (found := _LOOSE.fullmatch(text)) is None:
        raise ValueError
    return found[1].decode("ascii")


def _packed(common: Path, reference: str) -> str | None:
    if (common / "reftable").exists():
        raise ValueError
    try:
        listed = (common / "packed-refs").read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ValueError from problem
    found = re.search(rb"^(%s) %s$" % (_ID, re.escape(os.fsencode(reference))), listed, re.MULTILINE)
    return found[1].decode("ascii") if found else None
