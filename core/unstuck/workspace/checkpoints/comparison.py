"""Comparison of saved files, which needs the store only: their worktree may be gone or in use."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from unstuck.text import Clean, admit
from unstuck.workspace.checkpoints.checkpoint_index import Checkpoint
from unstuck.workspace.git.diff_limit import Counted, DiffHeads, parse_counts
from unstuck.workspace.git.repository import Repository, Result
from unstuck.workspace.storage.object_store import ObjectStore
from unstuck.workspace.storage.tree_differences import Difference, parse_differences

_LIMIT = 1_000_000
_TREE = ("-r", "--no-ext-diff", "--no-textconv")
_COUNTING = ("diff-tree", *_TREE, "-z", "--numstat", "--no-renames")
_STEP = re.compile(rb"[0-9a-f]{40,64} [0-9a-f]{40,64}\n")
_FILE = re.compile(rb"(?:\d+|-)\t(?:\d+|-)\t[^\0]+\0")

Reading = Callable[..., Awaitable[Result]]
"""Runs git on a store."""


async def compare_trees(reading: Reading, old: str, new: str, paths: Collection[str] = ()) -> tuple[Difference, ...]:
    """Return the files that differ between two trees."""
    options = ("--literal-pathspecs", "diff-tree", "-r", "-z", "--no-renames", "--raw")
    return parse_differences((await reading(*options, old, new, "--", *paths)).out)


async def diff_trees(reading: Reading, old: str, new: str, paths: Collection[str] = ()) -> bytes:
    """Return the unified diff of two trees; of a long one the head of each file, and how much more there is."""
    heads = DiffHeads()
    await reading("--literal-pathspecs", "diff-tree", "-p", *_TREE, old, new, "--", *paths, take=heads.take)
    more = len(await compare_trees(reading, old, new, paths)) - heads.files if heads.is_full else 0
    return heads.text() + (f" … {more} files left out … \n".encode() if more > 0 else b"")


async def admitted(diff: bytes) -> Clean:
    """Return ``diff`` as text that may be shown."""
    return await asyncio.to_thread(admit, diff, limit=_LIMIT)


async def line_counts(reading: Reading, old: str, new: str) -> tuple[Counted, ...]:
    """Return the lines that each file has more and less in the tree ``new``."""
    return parse_counts((await reading(*_COUNTING, old, new)).out)


async def step_counts(
    home: Path, repo: Repository | None, steps: Sequence[tuple[Checkpoint, Checkpoint]]
) -> list[tuple[Counted, ...]]:
    """Return the line counts from the first to the second checkpoint of each step, with one git process for all."""
    if not steps:
        return []
    pairs = b"".join(f"{old.tree} {new.tree}\n".encode("ascii") for old, new in steps)
    told = (await ObjectStore(home, repo).git(*_COUNTING, "--stdin", stdin=pairs)).out
    found = []
    end = 0
    while step := _STEP.match(told, end):
        begin = end = step.end()
        while file := _FILE.match(told, end):
            end = file.end()
        found.append(parse_counts(told[begin:end]))
    return found


async def step_diff(home: Path, repo: Repository | None, old: Checkpoint, new: Checkpoint) -> Clean:
    """Return the unified diff from one checkpoint to another."""
    return await admitted(await diff_trees(ObjectStore(home, repo).git, old.tree, new.tree))
