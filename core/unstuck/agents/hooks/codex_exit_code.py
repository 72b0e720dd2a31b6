"""How a command of Codex ended: its hooks do not say so, but the end of the session's transcript does by then."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["exit_code", "opened"]

_READ = 2**20
_CODES = range(-255, 256)


def exit_code(path: str, call: str) -> int | None:
    """The exit code of ``call`` in the transcript at ``path``; None where it cannot be found there."""
    if not call or not os.path.isabs(path):
        return None
    for line in reversed(_tail(path).split(b"\n")):
        if (
            call.encode("utf-8", "replace") in line
            and b'"exit_code"' in line
            and (code := _code(line, call)) is not None
        ):
            return code
    return None


def _tail(path: str) -> bytes:
    try:
        with opened(path) as (descriptor, size):
            return os.pread(descriptor, _READ, max(0, size - _READ))
    except OSError:
        return b""


@contextmanager
def opened(path: str) -> Iterator[tuple[int, int]]:
    """A descriptor of the file at ``path``, and its size. Raises OSError where it cannot be read, or is no file."""
    try:
        # A pipe in its place would make us wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(str(error)) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is no file")
        yield descriptor, found.st_size
    finally:
        os.close(descriptor)


def _code(line: bytes, call: str) -> int | None:
    try:
        record: Any = json.loads(line)
        item = record["payload"]["item"]
        found = item["exit_code"] if item["id"] == call else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if type(found) is int and found in _CODES else None
