"""Changes of a work tree since an index was written, and the update of that index.

Paths are given to git one by one, never as patterns, so a name like ``:(top)*`` or one with a newline is just a name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from unstuck.workspace.git.repository import Result, join_paths

_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
_UNMERGED = frozenset({b"DD", b"AU", b"UD", b"UA", b"DU", b"AA", b"UU"})
# A very long one is cut off by git.
_CLOSED = re.compile(r"^warning: could not open directory '(.+?)(?:/': .*)?$", re.MULTILINE)


class Git(Protocol):
    """Git, bound to one work tree and one index."""

    async def __call__(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> Result: ...


@dataclass(frozen=True, slots=True)
class Scan:
    """Paths relative to the work tree. ``nested`` are other repositories inside it, each ending in a slash.

    ``unclear`` is on where git could not look at something, such as a file behind a link to itself. ``unmerged`` are
    those of the changed files that a merge has left with both sides.
    """

    removed: frozenset[str]
    changed: frozenset[str]
    untracked: frozenset[str]
    nested: frozenset[str]
    unclear: bool = False
    unmerged: frozenset[str] = frozenset()

    @property
    def present(self) -> frozenset[str]:
        """Return the files that lie there and are not in the index."""
        return self.changed | self.untracked

    @property
    def clean(self) -> bool:
        """Return whether everything the index has is in the tree exactly so."""
        return not self.removed and not self.changed


@dataclass(frozen=True, slots=True)
class Survey:
    """A scan with what is left out of it: ``ignored`` files and folders, and the folders that may not be read.

    An ignored folder stands for all that is in it; a folder ends in a slash.
    """

    scan: Scan
    ignored: frozenset[str]
    closed: frozenset[str]


async def survey(git: Git) -> Survey:
    """Compare the worktree with the index and look for everything else in it, in one go.

    Files that were only touched are looked at once: git may write down that they are the same. What the index has
    beyond HEAD does not matter.
    """
    told = await git(*_STATUS, "--ignored=matching", "--ignore-submodules=all")
    found = _read(told)
    ignored = frozenset(found.get(b"!", ()))
    return Survey(_scan(found, told), ignored, frozenset(f"{path}/" for path in _CLOSED.findall(told.err)))


async def scan(git: Git) -> Scan:
    """Compare the worktree with the index; ignored files are left out. Changes neither."""
    # Of submodules the project's own word holds (submodule.NAME.ignore), not what a person wants to see of them.
    told = await git("-c", "diff.ignoreSubmodules=none", *_STATUS)
    return _scan(_read(told), told)


def _read(told: Result) -> dict[bytes, set[str]]:
    """Paths by git's letter for how they differ from the index; ``U`` stands for those that are not merged."""
    found: dict[bytes, set[str]] = {}
    for row in told.out.split(b"\0")[:-1]:
        letter = b"U" if row[:2] in _UNMERGED else row[1:2]
        if letter != b" ":
            found.setdefault(letter, set()).add(os.fsdecode(row[3:]))
    return found


def _scan(found: dict[bytes, set[str]], told: Result) -> Scan:
    known = {letter: frozenset(paths) for letter, paths in found.items() if letter not in b"?!"}
    strangers = frozenset(found.get(b"?", ()))
    nested = frozenset(path for path in strangers if path.endswith("/"))
    gone = known.pop(b"D", frozenset())
    changed = frozenset().union(*known.values())
    replaced = frozenset(path for path in changed if path + "/" in nested)
    unmerged = known.get(b"U", frozenset())
    return Scan(replaced | gone, changed - replaced, strangers - nested, nested, bool(told.err), unmerged)


async def stage(git: Git, *, removed: Iterable[str] = (), present: Iterable[str] = ()) -> bool:
    """Write ``present`` as they are now into the index and take ``removed`` out of it; whether git had nothing to say.

    It has where it does not take a name (``.GIT``), and goes on with the others.

    Removals go first and apart: git refuses to look at a path behind a directory that has become a symbolic link.
    """
    if gone := join_paths(sorted(removed)):
        await git("update-index", "--force-remove", "-z", "--stdin", stdin=gone)
    here = join_paths(sorted(present))
    if not here:
        return True
    return not (await git("update-index", "--add", "--replace", "--remove", "-z", "--stdin", stdin=here)).err
