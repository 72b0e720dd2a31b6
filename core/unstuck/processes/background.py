"""Commands of unstuck that are started in the background and outlive the process that started them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from unstuck.errors import UnstuckError, UsageError
from unstuck.text import admit, one_line

_LOOK_S = 0.05
_GOOD = (0, 3)
_P = TypeVar("_P", bound="subprocess.Popen[bytes]")


def start_in_background(
    words: Sequence[str], *, cwd: Path, environ: Mapping[str, str], begun: Callable[[_P], bool], kind: type[_P]
) -> _P:
    """Start ``unstuck`` with ``words`` and return its process, a ``kind``, once ``begun`` says so or it ended well.

    Raises UsageError, and UnstuckError, with the reason it printed where it ends before.
    """
    nowhere = subprocess.DEVNULL
    with tempfile.TemporaryFile() as said:
        process = kind(
            [sys.executable, "-m", "unstuck", *words],
            cwd=cwd,
            env=dict(environ),
            stdin=nowhere,
            stdout=nowhere,
            stderr=said,
            start_new_session=True,
        )
        while True:
            ended = process.poll()
            if begun(process) or ended in _GOOD:
                return process
            if ended is not None:
                said.seek(0)
                lines = admit(said.read(4_096).decode(errors="replace"), limit=4_096).strip().splitlines()
                reason = one_line(lines[-1].removeprefix("Error: ")) if lines else f"it ended with {ended}"
                raise (UsageError if ended == UsageError.exit_code else UnstuckError)(reason)
            time.sleep(_LOOK_S)
