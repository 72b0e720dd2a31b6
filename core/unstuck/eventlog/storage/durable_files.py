"""Durable file operations: safe opening, complete writes, and synced directories."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

# A size limit of the process (EFBIG) can be raised like a quota.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def open_for_reading(path: Path, buffering: int = -1) -> IO[bytes]:
    """Open the plain file at ``path``. Raises OSError for a pipe, which would block, and for a device."""
    try:
        return open(plain(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)), "rb", buffering)
    except ValueError as error:  # a path with a NUL or half a character
        raise OSError(str(error)) from None


def open_for_writing(path: Path, flags: int) -> int:
    """Open or create the plain file at ``path`` for its owner only. Raises OSError for anything else.

    Symbolic links are refused: their creator need not have access to the target.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link, and nothing is written through one")
    return plain(os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))


def open_fresh(path: Path) -> int:
    """Create a new file at ``path`` for its owner only, and replace the rest of an interrupted try."""
    path.unlink(missing_ok=True)
    return open_for_writing(path, os.O_WRONLY | os.O_EXCL)


def make_directory(path: Path) -> None:
    """Make the directory and its missing parents for their owner only, whatever the umask. Raises OSError."""
    for folder in reversed((path, *path.parents)):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def refuse_links(*places: Path) -> None:
    """Raise OSError for a symbolic link at one of ``places``: its creator need not have access to the target."""
    for place in places:
        if place.is_symlink():
            raise OSError(
                errno.ELOOP, f"{place} is a symbolic link, and nothing is read or written through one: remove it"
            )


def write_private(path: Path, text: str) -> None:
    """Write ``text`` into the plain file at ``path``, for its owner only whatever the umask. Raises OSError."""
    with open(open_for_writing(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def plain(fd: int) -> int:
    """Return the descriptor of a plain file. Closes anything else and raises OSError."""
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is no plain file")


def write_all(fd: int, data: bytes) -> None:
    """Write every byte. The kernel may take fewer per call, as on a disk that is nearly full."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
