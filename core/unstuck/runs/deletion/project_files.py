"""Files of a project's home: event logs of runs, with their processes and questions, and shared files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from unstuck.errors import RecordError
from unstuck.eventlog.log.load_state import SNAPSHOT_NAME, current_state
from unstuck.eventlog.memory.store import memory_file
from unstuck.eventlog.state import State
from unstuck.eventlog.storage.lock import RUN_LOCK, WATCH_LOCK, Holder, read_holders
from unstuck.eventlog.storage.run_store import PAGE_FILE, run_names
from unstuck.processes import lives, prompted_from, works_elsewhere
from unstuck.runs.deletion.inventory import Item, Stays
from unstuck.text import one_line
from unstuck.workspace.git.repository import SHARED, path_hash
from unstuck.workspace.project import Project
from unstuck.workspace.worktrees.cleanup import LEAVING, size_of
from unstuck.workspace.worktrees.worktree import registered_tree

Identity = tuple[int, float]
_OURS = frozenset({RUN_LOCK, WATCH_LOCK, "runs", "checkpoints", "worktrees", ".gitignore"})
_NAMED = 20
_UNSENT = "unsent.txt"


def runs_in(home: Path) -> list[str]:
    """Return the runs with an event log below ``home``, also a half-removed one."""
    runs = home / "runs"
    leaving = [path.name.removeprefix(LEAVING) for path in runs.glob(f"{LEAVING}*")] if runs.is_dir() else []
    return sorted({*run_names(runs), *leaving})


def folders_of(place: Project, run: str) -> list[Path]:
    """Return the folders of a run, whole or half removed."""
    return [path for path in (place.runs / run, place.runs / f"{LEAVING}{run}") if os.path.lexists(path)]


def state_if_any(folder: Path) -> State | None:
    """Return the state of a log, up to its damage if it has any; None where it cannot be read."""
    try:
        return current_state(folder)[0]
    except RecordError:
        return None


def record_items(place: Project, run: str) -> Iterator[Item]:
    """Yield the open questions of a run, its log with the files beside it, and its snapshot."""
    state = state_if_any(place.runs / run)
    if state is not None and (open_gates := state.open_gates()):
        names = ", ".join(f"{row.id} ({row.gate.type})" for row in open_gates[:_NAMED])
        yield Item(kind="gates", name=names, run=run, count=len(open_gates))
    for folder in folders_of(place, run):
        inside = folder.glob(f"{SNAPSHOT_NAME}*") if folder.is_dir() and not folder.is_symlink() else ()
        snapshots = [path for path in inside if path.is_file()]
        small = sum(size_of(path) for path in snapshots)
        if snapshots:
            yield Item(kind="state", name=f"{folder.name}/{SNAPSHOT_NAME}", run=run, size=small)
        holds = "words that you began to write and never sent" if (folder / _UNSENT).is_file() else ""
        yield Item(kind="logs", name=folder.name, run=run, size=size_of(folder) - small, holds=holds)


def kept_items(place: Project) -> Iterator[Item]:
    """Yield the files that all runs share, without checkpoints; the folder itself if it is empty."""
    if place.home.is_dir() and not any(place.home.iterdir()):
        yield Item(kind="state", name=str(place.home))
    for memory in memory_files(place):
        yield Item(kind="memory", name=memory.name, size=size_of(memory))
    for name in home_files(place):
        if os.path.lexists(place.home / name):
            yield Item(kind="state", name=name, size=size_of(place.home / name))


def home_files(place: Project) -> tuple[str, ...]:
    """Return the names of the small files in the project's home, its locks last."""
    return (
        *((".gitignore",) if place.repository is None else ()),
        *(() if place.others else SHARED),
        PAGE_FILE,
        f"{PAGE_FILE}.new",
        WATCH_LOCK,
        RUN_LOCK,
    )


def memory_files(place: Project) -> list[Path]:
    """The project's memory, and a new one whose writing was cut off."""
    memory = memory_file(place.home)
    return [path for path in (memory, memory.with_name(memory.name + ".new")) if os.path.lexists(path)]


def strangers(place: Project) -> Iterator[Stays]:
    """Yield foreign files in the project's home, and the homes of the repository's other worktrees."""
    known = _OURS | {f"{LEAVING}checkpoints", *home_files(place), *(path.name for path in memory_files(place))}
    for path in sorted(place.home.iterdir()) if place.home.is_dir() else ():
        if path.name not in known:
            is_shared = path.name in SHARED
            said = "other worktrees of this repository use it" if is_shared else "unstuck did not create it"
            yield Stays(name=str(path), reason=said)
    runs = set(runs_in(place.home))
    for path in sorted(place.runs.iterdir()) if place.runs.is_dir() else ():
        if path.name.removeprefix(LEAVING) not in runs:
            yield Stays(name=str(path), reason="unstuck did not create it")
    for home in place.others:
        said = "another worktree of this repository: delete it from there"
        if home.parent.name == "worktrees" and home.name not in _trees_there(place):
            said = "its worktree is gone, so no command can delete it: remove the folder yourself"
        yield Stays(name=str(home), reason=f"the event log of {said}")


def _trees_there(place: Project) -> set[str]:
    """Return the home names of the linked worktrees that git knows."""
    assert place.repository is not None
    found = map(registered_tree, (place.repository.common / "worktrees").glob("*"))
    return {path_hash(path) for path in found if path is not None}


def linked(place: Project, run: str) -> Iterator[Stays]:
    """Yield the targets of links in place of a folder of unstuck, such as one to a larger disk."""
    runs = (run,) if run else runs_in(place.home)
    ours = [folder for one in runs for folder in folders_of(place, one)] + ([] if run else [place.home / "checkpoints"])
    for path in ours:
        if path.is_symlink():
            yield Stays(name=str(path.resolve()), reason=f"only the link to it goes, {path}: remove it yourself")


def holder_of(place: Project, run: str = "") -> Holder | None:
    """Return the live holder of a lock of the project: of ``run``, else of any run or watch; None without one.

    Raises UnstuckError where it is unknown.
    """
    live = [one for one in read_holders(place.home) if one.host or lives(one.pid, one.started)]
    return next((one for one in live if one.run == run), live[0] if live else None)


def processes_of(place: Project, runs: Collection[str]) -> tuple[Identity, ...]:
    """Return the live processes of these runs, by event log and by environment. Raises UnstuckError."""
    found: set[Identity] = set()
    for run in runs:
        folder = place.runs / run
        state = state_if_any(folder)
        attempts = state.attempts.values() if state is not None and state.run.kind != "watch" else ()
        recorded = ((row.pid, row.spawned) for row in attempts if row.is_live and row.pid)
        found.update(who for who in recorded if lives(*who) and not works_elsewhere(*who, folder))
        for folder in folders_of(place, run):
            found.update(prompted_from(folder))
    return tuple(sorted(found))


def checkpoints_of(state: State) -> set[str]:
    """Return the checkpoints that a run may restore."""
    found = {id for row in state.tasks.values() for id in (row.baseline, row.good, row.saved)}
    return {id for id in found if id and id != "none"}


def describe(identity: Identity) -> str:
    """Return a process for people: its id and its name."""
    import psutil

    try:
        return f"{identity[0]} {one_line(psutil.Process(identity[0]).name(), 40)}"
    except psutil.Error:
        return str(identity[0])
