"""A project under supervision: agents that are shell scripts, plans, and the installed program as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from unstuck.contract import Gate
from unstuck.eventlog.log.records import replay
from unstuck.eventlog.state import State

PATIENCE = 60.0
# The first failure of a check is the question: nothing is tried before.
ASK_AT_ONCE = {"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}


@dataclass(frozen=True)
class Ended:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


class Bench:
    """One repository with its agents. What each attempt was told is kept outside of it, by the agents themselves."""

    def __init__(
        self,
        root: Path,
        outside: Path,
        inside: Callable[..., tuple[int, str, str]],
        start: Callable[..., subprocess.Popen[str]],
    ) -> None:
        self.root, self.outside, self._inside, self._start = root, outside, inside, start
        self.told = outside / "told"
        self.told.mkdir(parents=True)

    def write(self, files: Mapping[str, str], *, commit: bool = True) -> None:
        """Write files into the project, and commit them unless told otherwise."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if commit:
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "More")

    def git(self, *arguments: str) -> str:
        """Return git's output in the project."""
        done = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout

    def agent(self, name: str, script: str) -> dict[str, Any]:
        """An agent of a plan: it notes what it was told, then does ``script``; ``$n`` counts the task's attempts."""
        path = self.outside / f"{name}.sh"
        head = f"#!/bin/sh\nTOLD={self.told}\nOUT={self.outside}\nn=${{UNSTUCK_ATTEMPT##*.}}\n"
        path.write_text(
            f'{head}cat "$UNSTUCK_PROMPT_FILE" > "$TOLD/$UNSTUCK_ATTEMPT.txt"\n{script}\n', encoding="utf-8"
        )
        path.chmod(0o755)
        return {"command": [str(path)]}

    def pipe(self, name: str) -> None:
        """A named pipe outside of the project: whoever opens it waits for somebody at the other end."""
        os.mkfifo(self.outside / name)

    def plan(self, **plan: Any) -> Path:
        """Write a plan outside of the project."""
        path = self.outside / "plan.yaml"
        path.write_text(yaml.safe_dump(plan, sort_keys=False), encoding="utf-8")
        return path

    def answers(self, *rules: Mapping[str, Any]) -> Path:
        """Write answer rules outside of the project."""
        path = self.outside / "answers.yaml"
        path.write_text(yaml.safe_dump([dict(rule) for rule in rules]), encoding="utf-8")
        return path

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """``unstuck`` in the project, not waited for."""
        pipe = subprocess.PIPE
        return self._start(
            *arguments, cwd=self.root, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, encoding="utf-8"
        )

    def call(self, *arguments: str | Path) -> Ended:
        """``unstuck`` in the project, worked to its end in this process."""
        return Ended(*self._inside(self.root, *map(str, arguments)))

    @staticmethod
    def end(process: subprocess.Popen[str]) -> Ended:
        """Wait for a started program."""
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            pytest.fail(f"unstuck did not end:\n{out}\n{err}")
        return Ended(process.returncode, out, err)

    def run(self, plan: Path, *arguments: str | Path) -> Ended:
        """A plan, headless, to its end."""
        return self.call("run", plan, "--headless", *arguments)

    def resume(self, *arguments: str | Path) -> Ended:
        """Go on with the last run."""
        return self.call("run", "--resume", "last", "--headless", *arguments)

    @property
    def folder(self) -> Path:
        """The folder of the last run."""
        home = self.root / ".git" / "unstuck" if (self.root / ".git").exists() else self.root / ".unstuck"
        return max((home / "runs").iterdir())

    def events(self, *names: str) -> list[dict[str, Any]]:
        """The events of the last run with one of these names, as they stand in the log."""
        records = [json.loads(line) for line in (self.folder / "events.jsonl").read_text("utf-8").splitlines()]
        return [record for record in records if not names or record["event"] in names]

    def prompt(self, attempt: str) -> str:
        """Return the prompt of ``attempt``, such as ``web.2``."""
        return (self.told / f"{attempt}.txt").read_text(encoding="utf-8")

    def attempts(self, task: str) -> int:
        """Return the number of attempts at ``task``."""
        return len(list(self.told.glob(f"{task}.*.txt")))

    def result(self, path: str) -> str:
        """A file on the branch where the results of the last run came together."""
        return self.git("show", f"unstuck/{self.folder.name}/_run:{path}")

    def results(self) -> set[str]:
        """Every file on that branch."""
        return set(self.git("ls-tree", "-r", "--name-only", f"unstuck/{self.folder.name}/_run").split())

    @property
    def state(self) -> State:
        """Return the state of the last run by its log."""
        return replay(self.folder / "events.jsonl")

    def gates(self) -> dict[str, Gate]:
        """The open gates of the last run by their ids."""
        return {row.id: row.gate for row in self.state.open_gates()}

    def gate(self) -> str:
        """The id of the one open gate."""
        (gate,) = self.gates()
        return gate

    def statuses(self) -> dict[str, str | None]:
        """Return the status of each task of the last run."""
        return {row.id: row.status for row in self.state.tasks.values()}

    def wait_gate(self, process: subprocess.Popen[str]) -> str:
        """Read a live run's lines until it asks; the gate's id."""
        assert process.stdout is not None
        for line in process.stdout:
            if "unstuck answer g" in line:
                return line.split("unstuck answer ")[1].split()[0]
        pytest.fail(f"the run ended without asking: {process.stderr and process.stderr.read()}")

    def tree(self, task: str) -> Path:
        """The work tree of a task of the last run."""
        listed = self.git("worktree", "list", "--porcelain").splitlines()
        trees = [Path(line.removeprefix("worktree ")) for line in listed if line.startswith("worktree ")]
        return next(tree for tree in trees if tree.name == task and tree.parent.name == self.folder.name)


@pytest.fixture
def bench(
    repo: Path,
    tmp_path: Path,
    inside: Callable[..., tuple[int, str, str]],
    start: Callable[..., subprocess.Popen[str]],
) -> Bench:
    """A project with one commit, and room outside of it for agents and what they were told."""
    return Bench(repo, tmp_path / "outside", inside, start)


@pytest.fixture
def ask_at_once() -> dict[str, Any]:
    """Settings under which the first failed check asks the person."""
    return {key: dict(value) for key, value in ASK_AT_ONCE.items()}
