"""Standard streams: a terminal to show a screen on, or closed, full or no longer read."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO


def keep_standard_streams() -> None:
    """Fill the places of standard streams that were closed, so that no file of ours gets one of their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def discard(stream: TextIO | None) -> None:
    """Drop the buffer of a stream that has lost its reader, so that it does not complain at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def uncollected() -> Iterator[None]:
    """Import what takes long: looking for garbage in what modules are made of takes a sixth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def can_show(environ: Mapping[str, str]) -> bool:
    """True where a screen can be shown: a terminal on all three streams, with us in its foreground."""
    if environ.get("TERM", "") in ("", "dumb"):
        return False
    try:
        return all(os.isatty(stream) for stream in range(3)) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
