"""Which processes work for a run: by what was recorded of them, and by the prompt file in their environment.

A look that fails is no answer: whoever would remove something because nobody needs it any more must hear of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import psutil

from unstuck.errors import UnstuckError
from unstuck.processes.orphans import Identity, family_of

__all__ = ["lives", "prompted_from", "tree_of", "works_elsewhere"]

_PROMPT = "UNSTUCK_PROMPT_FILE"
_TOLERANCE = 0.05  # seconds; start times are read in ticks of 0.01


def lives(pid: int, start: float) -> bool:
    """Whether the very process that started at ``start`` still runs. Raises UnstuckError where that cannot be told."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - start) < _TOLERANCE and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error as problem:
        raise UnstuckError(f"process {pid} cannot be looked at: {problem}") from problem


def prompted_from(folder: Path) -> tuple[Identity, ...]:
    """Every living process that was given a prompt from below ``folder``: an attempt's agent, or what it has started.

    Another user's processes, and those that hide their environment, are not seen.
    """
    top, found = f"{folder.resolve()}/", []
    for process in psutil.process_iter():
        try:
            said = process.environ().get(_PROMPT, "")
            if said.startswith(top) and process.status() != psutil.STATUS_ZOMBIE:
                found.append((process.pid, process.create_time()))
        except (psutil.Error, OSError):
            continue
    return tuple(sorted(found))


def works_elsewhere(pid: int, start: float, folder: Path) -> bool:
    """Whether what is left of this agent works for the run of which the record at ``folder`` is a mere copy.

    Where the folder that it was prompted from is not there any more, the record has been moved, and it is the same run.
    """
    for process in family_of(frozenset({(pid, start)})):
        try:
            said = Path(process.environ().get(_PROMPT, ""))
            first = next((above for above in said.parents if above.name == folder.name), None)
            if first is not None and first.exists() and not first.samefile(folder):
                return True
        except (psutil.Error, OSError):
            continue
    return False


def tree_of(pids: Iterable[int]) -> set[int]:
    """These processes and all their living descendants."""
    found: set[int] = set()
    for pid in pids:
        try:
            found |= {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}
        except psutil.Error:
            continue
    return found
