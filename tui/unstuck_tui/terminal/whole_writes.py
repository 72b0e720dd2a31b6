"""Text files that write all they take, also where Python was told to keep no buffer."""

from __future__ import annotations

from io import FileIO, TextIOWrapper
from typing import TextIO


def whole(file: TextIO, errors: str | None = None) -> TextIO:
    """Return a file of the same descriptor that writes all it takes, line by line; ``errors`` as of :func:`open`.

    Without a buffer (``PYTHONUNBUFFERED``) Python drops the rest of a write that a signal interrupts.
    """
    if not isinstance(file, TextIOWrapper):
        return file
    if not isinstance(file.buffer, FileIO):
        if errors is not None:
            file.reconfigure(errors=errors)
        return file
    return open(file.fileno(), "w", 1, encoding=file.encoding, errors=errors or file.errors, newline="", closefd=False)
