"""The first private index of a tree: the files of a commit, with the sizes and times that the user's index has of them.

Only what differs from it has to be read and saved. A blob is taken for a file's content without looking at the file
where that is proven; everything else is compared once.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from unstuck.workspace.storage.conversions import unproven
from unstuck.workspace.storage.index_entries import Entry, read_entries
from unstuck.workspace.storage.staging import Git, stage

__all__ = ["make_index"]

_GITLINK = 0o160000


async def make_index(fresh: Path, base: str, tree: Path, common: Path, *, now: int, git: Git, reading: Git) -> bool:
    """Make ``fresh``, a copy of the index of the worktree ``tree``, that of the commit ``base``.

    ``git`` works on ``fresh``, ``reading`` on the user's objects, too, which lie in ``common``; ``now`` is the time in
    ns. Returns False where those objects are damaged: then all has to be saved anew.
    """
    entries = await _committed(fresh, base, reading)
    if entries is None:
        return False
    # A submodule is another repository; what git was told to overlook may differ all the same.
    files = [entry for entry in entries if entry.is_plain and entry.mode != _GITLINK]
    if len(files) < len(entries):
        others = {entry.path for entry in entries}.difference(entry.path for entry in files)
        await stage(git, removed=map(os.fsdecode, others))
    odd = await unproven(tree, common, files, now, reading)
    if rows := b"".join(b"%o %s\t%s\0" % (entry.mode, entry.id.encode(), entry.path) for entry in odd):
        await git("update-index", "-z", "--index-info", stdin=rows)  # without their sizes and times
    return True


async def _committed(fresh: Path, base: str, reading: Git) -> list[Entry] | None:
    """The entries of ``fresh`` once they are those of ``base``; None where the user's objects are damaged."""
    tree = (await reading("rev-parse", "--verify", "--quiet", f"{base}^{{tree}}", check=False)).line
    for command in ((), ("read-tree", "--reset", base), ("read-tree", base)):
        if command[1:] == (base,):
            fresh.unlink(missing_ok=True)
        if command and (await reading(*command, check=False)).code:
            continue
        entries = read_entries(await asyncio.to_thread(_bytes_of, fresh), len(base) // 2)
        if entries is not None and (await reading("write-tree", "--missing-ok", check=False)).line == tree:
            return entries
    return None


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
