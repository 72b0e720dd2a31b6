"""A run whose supervisor and git are killed in the middle of bringing its results to my branch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck

READING = [("runs",), ("show",), ("events",), ("fsck",), ("recap",), ("checkpoints", "list"), ("memory", "list")]
WRITING = [
    ("run", "--headless", "--check", "true", "--", "true"),
    ("checkpoints", "create"),
    ("checkpoints", "undo", "--yes"),
    ("memory", "forget", "none"),
    ("answer", "none", "skip"),
    ("delete", "last"),
]
HALF = """#!/bin/sh
case "$*" in
*" merge --ff-only "*)
    {how}
    kill -9 $PPID; exit 1 ;;
esac
exec {git} "$@"
"""
# Git has begun to write the files and holds its locks; neither index nor branch have moved.
BEGUN = "cd {root}; for goal; do :; done; {git} cat-file blob $goal:big.txt | head -c 100 > big.txt"
LOCKS = "touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock"


class Cut:
    """A project in which a delivery was cut off."""

    def __init__(self, unstuck: Unstuck, how: str) -> None:
        self.unstuck, root = unstuck, unstuck.root
        (root / "big.txt").write_text("line\n" * 2_000)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "more")
        agent = unstuck.script("agent.sh", "seq 4000 > big.txt; mkdir new; echo new > new/page.txt")
        plan = root.parent / "plan.json"
        task = {"id": "web", "prompt": "Work.", "verify": "test -f new/page.txt", "isolation": "worktree"}
        plan.write_text(json.dumps({"agents": {"a": {"command": ["sh", agent]}}, "tasks": [task]}))
        unstuck.environment["UNSTUCK_RESULTS"] = "merge"
        git = next(Path(folder, "git") for folder in os.get_exec_path() if Path(folder, "git").exists())
        wrapper = root.parent / "bin" / "git"
        wrapper.parent.mkdir()
        wrapper.write_text(HALF.format(how=how.replace("{git}", str(git)).replace("{root}", str(root)), git=git))
        wrapper.chmod(0o755)
        killed = unstuck(
            "run", str(plan), "--headless", env={"PATH": f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"}
        )
        assert killed.code == -signal.SIGKILL, killed
        self.run = unstuck.runs[-1].name

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.unstuck.root, check=True, capture_output=True, text=True).stdout

    @property
    def left(self) -> list[str]:
        """Whatever of the delivery lies about: changes, locks, and our own note of it."""
        git = self.unstuck.root / ".git"
        locks = [lock.name for lock in (*git.glob("*.lock"), *(git / "refs").rglob("*.lock"))]
        changes = self.git("--no-optional-locks", "status", "--porcelain").splitlines()
        return [*changes, *locks, *self.git("for-each-ref", "refs/unstuck/deliveries").split()]


@pytest.fixture
def cut(unstuck: Unstuck) -> Cut:
    """Half of the files are written, and the locks of the killed git lie there."""
    return Cut(unstuck, f"{BEGUN}; {LOCKS}")


@pytest.mark.parametrize("command", WRITING, ids=" ".join)
def test_the_next_command_that_writes_undoes_it(cut: Cut, command: tuple[str, ...]) -> None:
    """My tree is as it was before, no lock stands in my way, and one line says how the results come in after all."""
    assert cut.left
    done = cut.unstuck.inside(*command)
    assert not cut.left
    assert (cut.unstuck.root / "big.txt").read_text() == "line\n" * 2_000
    said = [line for line in done.errors.splitlines() if "killed" in line]
    what = f"unstuck: run {cut.run} was killed while its results went to main"
    assert said == [f"{what}: undone; `unstuck run --resume {cut.run}` brings them in"]
    again = cut.unstuck.inside(*command)
    assert "killed" not in again.errors


def test_commands_that_read_say_it_in_one_line(cut: Cut) -> None:
    """They change nothing, and none of them is silent about files that are half of the results."""
    before = cut.left
    what = f"unstuck: run {cut.run} was killed while it brought in its results, so your files may hold half of them"
    for command in READING:
        done = cut.unstuck.inside(*command)
        said = [line for line in done.errors.splitlines() if "killed" in line]
        assert said == [f"{what}: the next command that writes puts this right"], command
        assert cut.left == before
    assert any(cut.run in row["value"] and not row["ok"] for row in cut.unstuck.inside("doctor", "--json").rows)


def test_a_resumed_run_brings_the_results_in(cut: Cut) -> None:
    """The run goes on as if nothing had happened: all of the results arrive, once."""
    done = cut.unstuck.inside("run", "--resume", cut.run, "--headless")
    assert done.code == 0, done
    assert not cut.left
    assert cut.git("show", "main:new/page.txt") == "new\n"
    assert (cut.unstuck.root / "big.txt").read_text().endswith("\n4000\n")


def test_results_that_had_arrived_stay(unstuck: Unstuck) -> None:
    """Git came to its end before the kill: nothing is undone, and the line says that they are there."""
    cut = Cut(unstuck, '{git} "$@"')
    done = unstuck.inside("checkpoints", "create")
    assert done.errors == f"unstuck: run {cut.run} was killed while its results went to main: they have arrived\n"
    assert not cut.left
    assert cut.git("show", "main:new/page.txt") == "new\n"


def test_a_git_of_mine_that_works_keeps_its_lock(cut: Cut) -> None:
    """While I have a commit open in my editor nothing is undone; afterwards it is."""
    editor = ["git", "--git-dir", str(cut.unstuck.root.parent / "none"), "-c", "alias.wait=!cat", "wait"]
    with subprocess.Popen(editor, cwd=cut.unstuck.root, stdin=subprocess.PIPE) as mine:
        before = cut.left
        done = cut.unstuck.inside("checkpoints", "create")
        assert cut.left == before
        assert f"git is at work in {cut.unstuck.root}" in done.errors
        assert mine.stdin is not None
        mine.stdin.close()
    cut.unstuck.inside("checkpoints", "create")
    assert not cut.left
