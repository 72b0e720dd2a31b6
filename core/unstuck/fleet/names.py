"""Names of hosts and of their logs. Each is safe as a file name, in a command and in a message subject."""

from __future__ import annotations

import re
from typing import NamedTuple

from unstuck.errors import UsageError
from unstuck.text import one_line

_HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
_LOG = re.compile(r"([0-9a-f]{16})-(\d{8}-\d{6}(?:-\d{1,9})?)", re.ASCII)


class LogName(NamedTuple):
    """The name of a log on its host: the ``project`` (a hash of its home) and the ``run``."""

    project: str
    run: str

    def __str__(self) -> str:
        return f"{self.project}-{self.run}"


def host_name(given: str) -> str:
    """Return ``given`` if it can be the name of a host, with or without a user. Raises UsageError."""
    if not _HOST.fullmatch(given):
        raise UsageError(
            f"{one_line(given, 80)!r} cannot be the name of a host: letters, digits, `.`, `_` and `-`, with or "
            "without `USER@` before; put anything else into ~/.ssh/config under such a name"
        )
    return given


def log_name(given: str) -> LogName:
    """Return the parts of a log's name. Raises ValueError for anything else."""
    found = _LOG.fullmatch(given)
    if found is None:
        raise ValueError(f"{one_line(given, 80)!r} is not the name of a log")
    return LogName(found[1], found[2])
