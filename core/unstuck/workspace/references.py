"""What a reference stands at, read from its file as git itself would: most looks need no process of their own."""

from __future__ import annotations

import os
import re
from pathlib import Path

from unstuck.workspace.git import Repository, run_git

__all__ = ["commit_at"]

_ID = rb"[0-9a-f]{64}|[0-9a-f]{40}"
_LOOSE = re.compile(rb"(%s)\n?" % _ID)


async def commit_at(repo: Repository, reference: str) -> str | None:
    """The commit at ``reference``, a branch or another full name in ``refs/`` that only commits have; None without one.

    Whatever is not written as git writes a plain reference is left for git to make out.
    """
    try:
        return _written(repo.common, reference)
    except ValueError:
        result = await run_git(repo.root, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}", check=False)
        return result.line if result.code == 0 else None


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
