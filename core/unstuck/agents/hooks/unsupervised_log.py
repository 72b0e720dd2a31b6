"""What a hook has kept of the calls that went on unwatched, because the watch took them and did not answer."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from unstuck.channel import socket_path
from unstuck.errors import ChannelError
from unstuck.settings.paths import runtime_dir
from unstuck.text import Clean, one_line

__all__ = ["Unwatched", "unwatched_calls", "unwatched_file"]


class Unwatched(NamedTuple):
    """How many ``calls``, as far as there was room for them in the file; ``last`` is the newest, with its time."""

    calls: int
    last: Clean


def unwatched_file(home: Path, environ: Mapping[str, str]) -> Path | None:
    """Where they are kept for the project whose record lies in ``home``: beside its socket; None where none are."""
    try:
        path = Path(f"{socket_path(runtime_dir(environ), home)}.log")
    except ChannelError:
        return None
    return path if path.is_file() or path.is_symlink() else None


def unwatched_calls(path: Path) -> Unwatched | None:
    """What the file at ``path`` tells; None where it cannot be read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        lines = path.read_bytes().splitlines()
    except OSError:
        return None
    last = deque(lines, maxlen=1)
    return Unwatched(len(lines), one_line(last[0], 300)) if last else None
