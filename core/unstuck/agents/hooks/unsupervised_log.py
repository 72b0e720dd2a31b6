"""Log of unwatched calls: hook calls that the watch accepted and did not answer in time."""

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


class Unwatched(NamedTuple):
    """Number of logged ``calls``, as far as the file had room; ``last`` is the newest with its time."""

    calls: int
    last: Clean


def unwatched_file(home: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the log of the project with its event logs in ``home``, beside its socket; None if there is none."""
    for watch in (True, False):
        try:
            path = Path(f"{socket_path(runtime_dir(environ), home, watch=watch)}.log")
        except ChannelError:
            continue
        if path.is_file() or path.is_symlink():
            return path
    return None


def unwatched_calls(path: Path) -> Unwatched | None:
    """Return the summary of the log at ``path``; None if it cannot be read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        lines = path.read_bytes().splitlines()
    except OSError:
        return None
    last = deque(lines, maxlen=1)
    return Unwatched(len(lines), one_line(last[0], 300)) if last else None
