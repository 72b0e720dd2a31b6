"""The kernel's process table: who descends from whom, who carries a tag, and how to signal them.

Where there is no /proc every look finds nobody, and callers fall back to the process group.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing or collections.abc would cost as much as all the rest
    from collections.abc import Iterator

TAG = "UNSTUCK_PROCESS"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_CHUNK = 1 << 16
_PARENT, _GROUP, _START = 1, 2, 19  # positions after the program's name in /proc/PID/stat


class Row:
    """One process. ``start`` is in seconds since 1970."""

    __slots__ = ("group", "parent", "start", "state")

    def __init__(self, parent: int, group: int, state: str, start: float) -> None:
        self.parent, self.group, self.state, self.start = parent, group, state, start

    @property
    def alive(self) -> bool:
        return self.state not in "ZX"


def is_there() -> bool:
    """Return whether there is a table at all; macOS has none."""
    return os.path.isdir("/proc/self")


def group_exists(group: int) -> bool:
    """Return whether anybody is left in the process group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def process_control(option: int, value: int) -> bool:
    """Call prctl; False on a system that has none, or refuses."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    return False


def row_of(pid: int, boot: float | None = None) -> Row | None:
    """The row of one process, None when it is gone. ``boot`` spares asking for the boot time."""
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    start = int(fields[_START]) / os.sysconf("SC_CLK_TCK") + (boot_time() if boot is None else boot)
    return Row(int(fields[_PARENT]), int(fields[_GROUP]), fields[0].decode(), start)


def descendants(root: int) -> dict[int, Row]:
    """Every living process below ``root``."""
    boot = boot_time()
    table = {pid: row for pid in _process_ids() if (row := row_of(pid, boot))}
    children: dict[int, list[int]] = {}
    for pid, row in table.items():
        children.setdefault(row.parent, []).append(pid)
    below = list(children.get(root, ()))
    for pid in below:
        below.extend(children.get(pid, ()))
    return {pid: table[pid] for pid in below if table[pid].alive}


def tagged(tag: str) -> dict[int, Row]:
    """Every living process that carries ``tag`` in its environment, with any parent."""
    wanted = f"\0{TAG}={tag}\0".encode()
    carriers = (pid for pid in _process_ids() if wanted in b"\0" + _read(f"/proc/{pid}/environ"))
    return {pid: row for pid in carriers if (row := row_of(pid)) and row.alive}


def send(pid: int, number: int, *, group: bool = False) -> None:
    """Send a signal; a process that has gone, or is not ours to signal, shows in the next look at the table."""
    with suppress(OSError):
        (os.killpg if group else os.kill)(pid, number)


def boot_time() -> float:
    """Return the start of the machine in seconds since 1970; 0.0 if the kernel does not say."""
    lines = (line.split() for line in _read("/proc/stat").splitlines() if line.startswith(b"btime"))
    return next((float(words[1]) for words in lines), 0.0)


def _process_ids() -> Iterator[int]:
    if is_there():
        yield from (int(name) for name in os.listdir("/proc") if name.isdigit())


def _read(path: str) -> bytes:
    """All of a file; without what Python puts round one, for there are many."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts = []
    try:
        while part := os.read(file, _CHUNK):
            parts.append(part)
    except OSError:
        return b""
    finally:
        os.close(file)
    return b"".join(parts)
