"""Project: the directory of a command, the repository around it, and the folder of its event logs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from unstuck.errors import ProjectError, UsageError, WorkspaceError
from unstuck.text import is_text
from unstuck.workspace.git.repository import (
    SHARED,
    Repository,
    find_repository,
    found_at_once,
    record_home,
    refuse_home_links,
)


@dataclass(frozen=True, slots=True)
class Project:
    """Project with its working ``directory``, its top ``root``, and ``home``, the folder of its event logs."""

    directory: Path
    root: Path
    repository: Repository | None
    home: Path

    @property
    def runs(self) -> Path:
        """Folder of all runs."""
        return self.home / "runs"

    @property
    def others(self) -> tuple[Path, ...]:
        """Homes of the repository's other worktrees, each a project of its own."""
        if self.repository is None:
            return ()
        first = self.repository.common / "unstuck"
        homes = (first, *first.glob("worktrees/*"))
        return tuple(home for home in homes if home != self.home and _is_record(home))


def _is_record(home: Path) -> bool:
    return home.is_dir() and any(path.name not in ("worktrees", *SHARED) for path in home.iterdir())


async def locate(directory: str | Path, *, links: bool = False) -> Project:
    """Return the project around ``directory``. Raises ProjectError without one, or inside a git directory.

    Raises UsageError for what is no path, and RecordError as :func:`refuse_home_links` does unless ``links`` are
    allowed.
    """
    directory = _usable(directory)
    try:
        repository = await find_repository(directory)
    except WorkspaceError as error:
        raise ProjectError(str(error)) from error
    return _project(directory, repository, links=links)


def located(directory: str | Path, *, links: bool = False) -> Project:
    """Return what :func:`locate` returns without ``await``. Most often it needs no event loop."""
    directory = _usable(directory)
    is_known, repository = found_at_once(directory)
    if is_known:
        return _project(directory, repository, links=links)
    import asyncio  # a command that only looks is twice as fast without it
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:  # a caller may have a loop that runs, such as a notebook's
        return thread.submit(lambda: asyncio.run(locate(directory, links=links))).result()


def _usable(given: str | Path) -> Path:
    if not isinstance(given, str | os.PathLike) or "\0" in str(given):
        raise UsageError(f"the project must be a path, not {given!r}")
    try:
        directory = Path(given).resolve()
    except FileNotFoundError:
        raise ProjectError("the current directory has been deleted") from None
    if not directory.is_dir():
        raise ProjectError(f"{directory} is not a directory")
    if not is_text(str(directory)):
        raise ProjectError(f"{directory}: the name is not UTF-8 text, so no run can be recorded here: rename it")
    return directory


def _project(directory: Path, repository: Repository | None, *, links: bool) -> Project:
    if repository is None:
        from unstuck.workspace.storage.exclusions import refuse_git_directory

        try:
            refuse_git_directory(directory)
        except WorkspaceError as error:
            raise ProjectError(str(error)) from error
    root = repository.root if repository is not None else directory
    home = record_home(root, repository)
    if not links:
        refuse_home_links(home)
    return Project(directory, root, repository, home)
