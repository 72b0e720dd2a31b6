"""Processes of a run, by their recorded identity and the prompt file in their environment; users of a directory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import psutil

from unstuck.errors import UnstuckError
from unstuck.eventlog.storage.process_identity import Identity, is_same
from unstuck.processes.orphans import family_of

_PROMPT = "UNSTUCK_PROMPT_FILE"


def lives(pid: int, start: float) -> bool:
    """Return whether the process that started at ``start`` still runs. Raises UnstuckError where that is unknown."""
    try:
        return is_same(psutil.Process(pid), start)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error as problem:
        raise UnstuckError(f"process {pid} cannot be looked at: {problem}") from problem


def prompted_from(folder: Path) -> tuple[Identity, ...]:
    """Return every live process with a prompt file below ``folder``: agents of attempts, and their children.

    Processes of other users, and those that hide their environment, are not found.
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
    """Return whether an agent works for another run, of which the log in ``folder`` is a copy.

    Where the folder of its prompt is gone, the log was moved, and it is the same run.
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
    """Return the ids of these processes and of all their live descendants."""
    found: set[int] = set()
    for pid in pids:
        try:
            found |= {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}
        except psutil.Error:
            continue
    return found


def working_in(directory: Path) -> tuple[tuple[int, Path], ...]:
    """Return the id and working directory of every other live process at or below ``directory``.

    Processes of other users, whose working directory is not readable, are not found.
    """
    top, found = os.path.realpath(directory), []
    for process in psutil.process_iter():
        try:
            place = process.cwd()
            if place != top and not place.startswith(top + os.sep):
                continue
            if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                found.append((process.pid, Path(place)))
        except (psutil.Error, OSError):
            continue
    return tuple(found)


def written_to(tree: Path, paths: Iterable[str]) -> frozenset[str]:
    """Return those of ``paths``, relative to ``tree``, that a process has open for writing; this process counts, too.

    Where the platform does not tell how a file is open, it counts as written to. Processes of other users are not seen.
    """
    top, found = os.path.realpath(tree), set[str]()
    wanted = {os.path.join(top, path): path for path in paths}
    for process in psutil.process_iter() if wanted else ():
        try:
            opened = process.open_files()
        except (psutil.Error, OSError):
            continue
        found.update(wanted[one.path] for one in opened if one.path in wanted and getattr(one, "mode", "w") != "r")
    return frozenset(found)
