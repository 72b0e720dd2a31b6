"""Files that git may keep as something else than the bytes on disk: filters, line ends, keywords, encodings.

Git's index pairs a file with a blob, and says nothing about what was converted between the two. Without reading the
file, both are proven to be the same only where

- they have the same size: a conversion of line ends changes it wherever it changes anything;
- no filter is configured, the file has no ``ident`` or ``working-tree-encoding`` attribute; and
- every file that could have said so has been as it is since before the file was last written.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from unstuck.workspace.git.repository import above, run_git
from unstuck.workspace.storage.index_entries import Entry
from unstuck.workspace.storage.staging import Git

_ATTRIBUTES = b".gitattributes"
_CONVERTING = frozenset({b"filter", b"ident", b"working-tree-encoding"})
_OFF = frozenset({b"unset", b"unspecified"})


async def unproven(tree: Path, common: Path, entries: Sequence[Entry], now: int, reading: Git) -> Sequence[Entry]:
    """Those of ``entries`` whose blob may not be what lies on disk, and has to be compared with it.

    ``common`` is the user's git directory, ``reading`` runs git on its objects, ``now`` is the time in ns.
    """
    folders = [entry.path.rpartition(b"/")[0] for entry in entries]
    since = await _settled(tree, common, entries, set(folders))
    if since is None:
        return entries
    pairs = zip(entries, folders, strict=True)
    young = [entry for entry, folder in pairs if not since[folder] < entry.changed_at <= now]
    if len(young) == len(entries):
        return entries
    asked = "\n".join(entry.id for entry in entries).encode()
    sizes, converted = await asyncio.gather(
        reading("cat-file", "--buffer", "--batch-check=%(objectsize)", stdin=asked), _converted(tree, entries)
    )
    if converted is None:
        return entries
    sized = zip(entries, sizes.out.splitlines(), strict=True)
    odd = {entry for entry, size in sized if size != b"%d" % entry.size or entry.path in converted}
    return list(odd.union(young))


async def _settled(tree: Path, common: Path, entries: Iterable[Entry], folders: set[bytes]) -> dict[bytes, int] | None:
    """For each folder the time, in ns, since when what is converted there has been as it is.

    None where a filter is configured, or where nobody can say.
    """
    sources = await _sources(tree, common)
    tracked = {entry.path for entry in entries if entry.path.endswith(_ATTRIBUTES)}
    found: dict[bytes, int] = {}
    try:
        if sources is None:
            return None
        newest = max(map(_changed_at, sources), default=0)
        for folder in sorted(folders.union(*map(_above, folders))):
            path = folder + b"/" + _ATTRIBUTES if folder else _ATTRIBUTES
            file = os.path.join(os.fsencode(tree), path)
            own = _changed_at(file) if path in tracked or os.path.lexists(file) else 0
            found[folder] = max(own, found[folder.rpartition(b"/")[0]] if folder else newest)
    except OSError:
        return None
    return found


def _above(folder: bytes) -> list[bytes]:
    return [b"", *map(os.fsencode, above(os.fsdecode(folder)))]


def _changed_at(source: Path | bytes) -> int:
    """Return the time of a file's last change in ns. Raises OSError without a readable file."""
    status = os.stat(source)
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "not a file")
    return status.st_ctime_ns


async def _sources(tree: Path, common: Path) -> set[Path] | None:
    """The files outside of the tree that say what is converted; None where a filter is configured."""
    listed = await run_git(tree, "config", "--list", "--show-origin", "-z", check=False, user_config=True)
    if listed.code:
        return None
    fields = [os.fsdecode(part) for part in listed.out.split(b"\0")[:-1]]
    own = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git").expanduser()
    likely, found = {common / "info/attributes", own, own / "attributes"}, set()
    is_split = False
    for origin, setting in zip(fields[::2], fields[1::2], strict=True):
        key, _, value = setting.partition("\n")
        if key.startswith("filter."):
            return None
        file = tree / origin.removeprefix("file:")
        if origin.startswith("file:"):
            found.add(file)
            likely.add(file.with_name("gitattributes"))  # the system's lies there, too
        if key == "core.attributesfile":
            found.add(tree / os.path.expanduser(value))
        elif key.startswith(("include.", "includeif.")):
            found.add(file.parent / os.path.expanduser(value))
        is_split = is_split or key == "extensions.worktreeconfig"
    if is_split and not any(file.name == "config.worktree" for file in found):
        return None
    mine = Path("~/.gitconfig").expanduser()
    if not mine.exists() and not (own / "config").exists():
        likely.add(mine.parent)  # from which it may have been taken away
    return found.union(filter(os.path.lexists, likely))


async def _converted(tree: Path, entries: Iterable[Entry]) -> set[bytes] | None:
    """The paths with an attribute by which more than line ends is converted; None where git does not tell."""
    names = b"".join(entry.path + b"\0" for entry in entries)
    told = await run_git(tree, "check-attr", "--all", "-z", "--stdin", stdin=names, check=False, user_config=True)
    if told.code:
        return None
    fields = told.out.split(b"\0")
    rows = zip(fields[::3], fields[1::3], fields[2::3], strict=False)
    return {path for path, name, value in rows if name in _CONVERTING and value not in _OFF}
