"""A person's repository with work of their own in it, real runs in it, and a look at every byte that is theirs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FAST = {f"UNSTUCK_FAILURE_HANDLER__MAX_{name}": "0" for name in ("RETRIES", "PIVOTS", "RESEARCH")}
OURS_IN_GIT = ("unstuck/", "objects/")


@dataclass(frozen=True)
class Said:
    """Exit code and output of a command."""

    code: int
    out: str
    errors: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class House:
    """The repository at ``root``, and ``unstuck`` in it."""

    root: Path
    work: Callable[..., tuple[int, str, str]]
    begin: Callable[..., subprocess.Popen[bytes]]
    place: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=cwd or self.root, check=True, capture_output=True, text=True).stdout

    def unstuck(self, *arguments: str, cwd: Path | None = None) -> Said:
        """Work a command in this process."""
        return Said(*self.work(cwd or self.root, *arguments))

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start the program as a process of its own."""
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.begin(*arguments, cwd=self.root, env=os.environ | environment, **streams)
        self.started.append(process)
        return process

    def delete(self, *arguments: str, cwd: Path | None = None) -> Said:
        """Delete the project, with the typed yes, and the one to lose work."""
        root = cwd or self.root
        return self.unstuck("delete", "--project", "--yes", root.name, "--lose-work", *arguments, cwd=root)

    def theirs(self, *roots: Path) -> dict[str, str]:
        """Every byte, mode and link that is the person's, and what git says of their references, stash and index."""
        found = {}
        for root in roots or (self.root,):
            for path in sorted(root.rglob("*")):
                name = path.relative_to(root).as_posix()
                if name.startswith(tuple(f".git/{ours}" for ours in OURS_IN_GIT)) or name in (".git/unstuck", ".git"):
                    continue
                mode = path.lstat().st_mode
                if path.is_symlink():
                    found[f"{root.name}/{name}"] = f"-> {os.readlink(path)}"
                elif stat.S_ISREG(mode):
                    found[f"{root.name}/{name}"] = f"{mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
                elif path.is_dir():
                    found[f"{root.name}/{name}/"] = f"{mode:o}"
        git = ("for-each-ref",), ("stash", "list"), ("ls-files", "-s"), ("reflog", "--all"), ("config", "-l", "--local")
        return found | {" ".join(words): self.git(*words) for words in git}

    def objects(self) -> set[str]:
        """The objects that the person's repository has."""
        listed = self.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        return set(listed.split())

    @property
    def runs(self) -> list[str]:
        return sorted(path.name for path in (self.root / ".git" / "unstuck" / "runs").glob("*"))

    def script(self, name: str, text: str) -> str:
        """A shell script beside the project."""
        path = self.place / name
        path.write_text(text + "\n", encoding="utf-8")
        return str(path)

    def plan(self, tasks: dict[str, tuple[str, str]], **more: Any) -> str:
        """The file of a plan: task to its shell script and its check, each in a work tree of its own."""
        agents, listed = {}, []
        for task, (text, check) in tasks.items():
            agents[task] = {"command": ["sh", self.script(f"{task}.sh", text)]}
            listed.append({"id": task, "agent": task, "prompt": "Do it.", "verify": check, "isolation": "worktree"})
        path = self.place / "plan.yaml"
        plan = {"agents": agents, "tasks": listed, "settings": {"failure_handler": {"max_retries": 0}}, **more}
        path.write_text(json.dumps(plan), encoding="utf-8")
        return str(path)

    def worked(self) -> str:
        """A run with one result that arrived and one question open, whose work tree is dirty; its id."""
        tasks = {"web": ("echo web > web.txt", "cat web.txt"), "stuck": ("echo half > half.txt", "false")}
        assert self.unstuck("run", "--headless", self.plan(tasks)).code == 3
        return self.runs[-1]

    def parked(self, cwd: Path | None = None) -> str:
        """A run in the person's own tree with a question open; its id. Takes less time than the other."""
        assert self.unstuck("run", "--headless", "--verify", "false", "--", "true", cwd=cwd).code == 3
        return self.runs[-1] if cwd is None else ""


@pytest.fixture(scope="session")
def first_house(first_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that every test's own one is copied from."""
    root = Path(shutil.copytree(first_repo, tmp_path_factory.mktemp("house") / "repo", symlinks=True))

    theirs = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nobodys = theirs | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    identity = ("-c", "user.name=Ann Example", "-c", "user.email=ann@example.org")

    def git(*arguments: str) -> None:
        subprocess.run(["git", *identity, *arguments], cwd=root, env=nobodys, check=True, capture_output=True)

    (root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (root / "kept.txt").write_text("kept\n", encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "More")
    (root / "kept.txt").write_text("stashed\n", encoding="utf-8")
    git("stash", "push", "-q")
    git("branch", "unstuck-like")
    git("config", "user.note", "mine")
    (root / "README.md").write_text("# staged\n", encoding="utf-8")
    git("add", "README.md")
    (root / "README.md").write_text("# unstaged\n", encoding="utf-8")
    (root / "new.txt").write_text("untracked\n", encoding="utf-8")
    (root / "debug.log").write_text("ignored\n", encoding="utf-8")
    (root / "link").symlink_to("kept.txt")
    return root


@pytest.fixture
def house(
    first_house: Path,
    tmp_path: Path,
    inside: Callable[..., tuple[int, str, str]],
    start: Callable[..., subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[House]:
    """A repository with staged, unstaged, untracked and ignored changes, a stash, a branch and a tree of their own."""
    repo = Path(shutil.copytree(first_house, tmp_path / "repo", symlinks=True))
    for name, value in FAST.items():
        monkeypatch.setenv(name, value)
    house = House(repo, inside, start, tmp_path)
    yield house
    for process in house.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def shimmed(house: House, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """``shimmed(text)`` puts a git of our own first on the path: ``text`` is shell that comes before the real one."""
    real = shutil.which("git")

    def put(text: str) -> None:
        folder = house.place / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f'#!/bin/sh\n{text}\nexec {real} "$@"\n', encoding="utf-8")
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))

    return put
