"""Standard streams that are closed, full or no longer read."""

from __future__ import annotations

import os
from typing import TextIO

__all__ = ["discard", "keep_standard_streams"]


def keep_standard_streams() -> None:
    """Fill the places of standard streams that were closed, so that no file of ours gets one of their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def discard(stream: TextIO | None) -> None:
    """Nobody reads this stream any more: what is left in its buffer must not complain at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
