"""Locks that a killed git has left in our checkpoints, and on references and branches of ours."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck

COMMANDS = [
    ("checkpoints", "create"),
    ("checkpoints", "restore", "FIRST", "--yes"),
    ("checkpoints", "undo", "--yes"),
    ("run", "--resume", "last", "--headless"),
    ("run", "PLAN", "--headless"),
    ("delete", "--all", "--yes", "repo", "--lose-work"),
]


@pytest.fixture
def plan(unstuck: Unstuck) -> str:
    """A plan that needs a person after one attempt in its own worktree."""
    place = unstuck.root.parent / "plan.json"
    agent = unstuck.script("agent.sh", "date > made")
    task = {"id": "web", "prompt": "Work.", "verify": "test -f made", "isolation": "worktree"}
    place.write_text(json.dumps({"agents": {"a": {"command": ["sh", agent]}}, "tasks": [task], "setup": "true"}))
    return str(place)


def lock_everything(root: Path) -> list[Path]:
    """Lock each reference of ours, and each file in the checkpoints that git locks."""
    git = root / ".git"
    store = git / "unstuck" / "checkpoints" / "store.git"
    own = [git / "refs/unstuck", git / "refs/heads/unstuck", store / "refs"]
    files = [file for place in own for file in place.rglob("*") if file.is_file() and not file.name.endswith(".lock")]
    assert len({file.parent for file in files}) >= 4
    files += [store / name for name in ("packed-refs", "HEAD", "config")]
    files += [place / name for place in (store / "worktrees").iterdir() for name in ("index", "goal-index", "HEAD")]
    locks = [file.with_name(f"{file.name}.lock") for file in files]
    for lock in locks:
        lock.touch()
    return locks


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_lock_of_a_killed_git_blocks_a_command(unstuck: Unstuck, plan: str, command: tuple[str, ...]) -> None:
    """Each command works at once, and does not wait for a git that is dead."""
    assert unstuck.inside("run", plan, "--headless").code == 0
    first = json.loads(unstuck.inside("checkpoints", "create", "--json").out)["id"]
    (unstuck.root / "new.txt").write_text("new\n")
    assert unstuck.inside("checkpoints", "create").code == 0
    assert unstuck.inside("checkpoints", "restore", first, "--yes").code == 0
    lock_everything(unstuck.root)
    done = unstuck.inside(*(word.replace("FIRST", first).replace("PLAN", plan) for word in command))
    assert done.code == 0, done
    assert "File exists" not in done.out + done.errors
    if command[0] == "delete":
        assert not (unstuck.root / ".git" / "unstuck").exists()
        assert "unstuck" not in subprocess.check_output(["git", "for-each-ref"], cwd=unstuck.root, text=True)


def test_old_checkpoints_still_go(unstuck: Unstuck) -> None:
    """Retention goes on: a lock in the store does not keep checkpoints for ever."""
    unstuck.environment["UNSTUCK_KEEP_CHECKPOINTS"] = "3"
    for number in range(5):
        (unstuck.root / "made").write_text(f"{number}\n")
        assert unstuck.inside("checkpoints", "create").code == 0
        if number == 3:
            (unstuck.root / ".git/unstuck/checkpoints/store.git/packed-refs.lock").touch()
    assert len(unstuck.inside("checkpoints", "list", "--json").rows) == 3
    assert len(list((unstuck.root / ".git/unstuck/checkpoints/store.git/refs").rglob("chk-*"))) == 3


def test_a_git_killed_while_it_makes_the_store_is_no_obstacle(unstuck: Unstuck) -> None:
    """Half a store with the lock on its configuration is made whole by the next checkpoint."""
    store = unstuck.root / ".git/unstuck/checkpoints/store.git"
    store.mkdir(parents=True)
    for name in ("config.lock", "HEAD.lock"):
        (store / name).touch()
    assert unstuck.inside("checkpoints", "create").code == 0
