"""Real repositories to work in, and a photograph of all that is the user's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock

from unstuck.workspace.checkpoints.manager import Bounds, CheckpointStore
from unstuck.workspace.git.repository import Repository, find_repository, project_home

_PERSON = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Project:
    """A user's project: its directory, and git as the user runs it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        result = subprocess.run(
            ["git", *arguments], cwd=cwd or self.root, env={**os.environ, **_PERSON}, capture_output=True, check=True
        )
        return os.fsdecode(result.stdout)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def attempt(self, *arguments: str) -> int:
        """Run git, which may fail, and return its exit code."""
        environment = {**os.environ, **_PERSON}
        return subprocess.run(["git", *arguments], cwd=self.root, env=environment, capture_output=True).returncode

    def commit_quietly(self, message: str) -> str:
        """A commit in spite of hooks and forced signatures."""
        self.git("add", "-A")
        self.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--no-gpg-sign", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def commit(self, message: str = "work") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    async def repository(self) -> Repository:
        found = await find_repository(self.root)
        assert found is not None
        return found

    async def store(self, clock: ManualClock, **options: int) -> CheckpointStore:
        repo = await find_repository(self.root)
        return CheckpointStore(self.root, project_home(self.root, repo), repo, clock=clock, bounds=Bounds(**options))

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Every file outside of git's and our own directories: its mode and content, a link's target."""
        found = {}
        for file in sorted(self.root.rglob("*")):
            relative = file.relative_to(self.root)
            if {".git", ".unstuck"} & set(relative.parts):
                continue
            if file.is_symlink():
                found[str(relative)] = (0, os.fsencode(os.readlink(file)))
            elif file.is_file():
                found[str(relative)] = (file.stat().st_mode & 0o777, file.read_bytes())
        return found

    def belongings(self) -> dict[str, str]:
        """A digest of everything in the git directory that is the user's: not objects, and not what is named ours."""
        git = self.root / ".git"
        found = {}
        for file in sorted(git.rglob("*")):
            name = str(file.relative_to(git))
            ours = name.startswith(("objects/", "unstuck/", "worktrees/")) or "/unstuck/" in name
            if file.is_file() and not ours:
                found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
        return found


_WRAPPER = """#!/bin/sh
GIT={git}
case "$*" in
  *" {word} "*) {action} ;;
esac
exec $GIT "$@"
"""


@pytest.fixture
def git_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a git on PATH that does ``action`` (shell) where its arguments hold ``word``; returns it, to be removed."""
    git = next(Path(folder, "git") for folder in os.get_exec_path() if Path(folder, "git").exists())

    def made(word: str, action: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "git").write_text(_WRAPPER.format(word=word, action=action, git=git))
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder / "git"

    return made


@pytest.fixture
def plain(tmp_path: Path) -> Project:
    """A directory without git."""
    root = tmp_path / "plain"
    root.mkdir()
    return Project(root)


def _prepared(folder: Path) -> Project:
    folder.mkdir()
    project = Project(folder)
    project.git("init", "-q", "-b", "main", "--template=")
    return project


@pytest.fixture(scope="session")
def first_projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repositories that every test's own ones are copied from."""
    folder = tmp_path_factory.mktemp("first-projects")
    _prepared(folder / "empty")
    project = _prepared(folder / "project")
    project.write({"app.py": "one\n", "lib/util.py": "def helper():\n    return 1\n", ".gitignore": "*.log\nbuild/\n"})
    project.commit("first")
    project.write({"app.py": "stashed\n"})
    project.git("stash", "-q")
    return folder


@pytest.fixture
def empty(tmp_path: Path, first_projects: Path) -> Project:
    """A repository without a commit."""
    return Project(Path(shutil.copytree(first_projects / "empty", tmp_path / "project", symlinks=True)))


@pytest.fixture
def project(tmp_path: Path, first_projects: Path) -> Project:
    """A repository with a few committed files and a stash."""
    return Project(Path(shutil.copytree(first_projects / "project", tmp_path / "project", symlinks=True)))


@pytest.fixture
def project_type() -> type[Project]:
    """For tests that make many projects of their own."""
    return Project
