"""Reading of a repository's own files, which may be pipes or devices; and the search for one that git waits for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from unstuck.eventlog.storage.durable_files import open_for_reading

_READ_ANYWHERE = frozenset({".gitattributes", ".gitignore", ".gitmodules", ".git"})
_OURS = "unstuck"


def read_bytes(file: Path) -> bytes:
    """Return the bytes of a plain file. Raises OSError for a pipe, which would block, and for a device."""
    with open_for_reading(file) as opened:
        return opened.read()


def read_text(file: Path) -> str:
    """Return the text of a plain file; bytes that are not UTF-8 stay as surrogates. Raises OSError."""
    return read_bytes(file).decode("utf-8", "surrogateescape")


def waits_for_pipe(pid: int) -> bool:
    """Return whether a process waits for the other end of a named pipe; False where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text() in ("wait_for_partner", "fifo_open")
    except OSError:
        return False


def blocking_file(places: Iterable[Path]) -> Path | None:
    """Return a pipe or device in the place of a file that git reads in ``places`` or the git directories around them.

    Below a git directory that is every file, elsewhere a few names. None where there is none.
    """
    for place in _with_git_directories(places):
        for file in _special_below(place, is_git=_is_git(place)):
            return file
    return None


def _with_git_directories(places: Iterable[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for place in places:
        top = next((folder for folder in (place, *place.parents) if os.path.lexists(folder / ".git")), place)
        found[top] = None
        for folder, name in ((top, ".git"), (place, "commondir")):
            try:
                said = read_text(folder / name).removeprefix("gitdir: ").rstrip("\n")
            except OSError:
                continue
            found[(folder / said).resolve()] = None
    for directory in tuple(found):
        if directory.parent.name == "worktrees":
            found[directory.parent.parent] = None
    return list(found)


def _is_git(place: Path) -> bool:
    return (os.path.lexists(place / "HEAD") and (place / "objects").is_dir()) or place.parent.name == "worktrees"


def _special_below(place: Path, *, is_git: bool) -> Iterator[Path]:
    folders = [(os.fspath(place), is_git)]
    while folders:
        folder, inside = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if not (inside and entry.name == _OURS):  # the checkpoints are a place of their own
                            folders.append((entry.path, inside or entry.name == ".git"))
                    elif (inside or entry.name in _READ_ANYWHERE) and _is_special(entry):
                        yield Path(entry.path)
        except OSError:
            continue


def _is_special(entry: os.DirEntry[str]) -> bool:
    """Return whether an open or a read of it may never end."""
    if entry.is_file(follow_symlinks=False):
        return False
    try:
        status = entry.stat()
    except OSError:
        return False
    if stat.S_ISCHR(status.st_mode):
        return status.st_rdev != os.stat(os.devnull).st_rdev
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISBLK(status.st_mode)
