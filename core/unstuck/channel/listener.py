"""Listening socket that only this user can reach, and that replaces the one of a dead server."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from unstuck.errors import ChannelError

BACKLOG = 1024


def listen(path: Path) -> socket.socket:
    """Return a listening socket at ``path`` in place of a dead server's. Raises ChannelError."""
    with _locked(_private_directory(path.parent)):
        if _has_listener(path):
            raise ChannelError(f"another process listens at {path}: a run is live in this project")
        if path.exists() and not stat.S_ISSOCK(path.lstat().st_mode):
            raise ChannelError(f"{path} is in the way and not a socket: remove it")
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(os.fspath(path))
            path.chmod(0o600)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            raise ChannelError(f"cannot listen at {path}: {error.strerror or error}") from None
        return listener


def _private_directory(directory: Path) -> Path:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError as error:
        raise ChannelError(f"cannot use {directory} for the socket: {error.strerror or error}") from None
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        # The mode stays: the setting may name a directory that others need as it is.
        raise ChannelError(f"{directory} is open to other users: chmod 700 it or set UNSTUCK_RUNTIME_DIR")
    return directory


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lock ``directory`` against a second server that starts at the same time; no file remains."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _has_listener(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except BlockingIOError:
            return True  # its queue is full
        except OSError:
            return False
        return True
