"""Bytes and names onto a disk, so that they stay there."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["sync_directory", "write_all"]


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: the kernel may take fewer at a time, as it does on a disk that is nearly full."""
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
