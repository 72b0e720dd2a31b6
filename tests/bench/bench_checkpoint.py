"""What a checkpoint of a large project costs, beside ``git status`` of the same one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from bench_kit import Bench, seconds

from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints import CheckpointStore
from unstuck.workspace.git import find_repository, project_home

FILES = 20_000
CHANGED = 50
PER_FOLDER = 100


def git(root: Path, *arguments: str) -> None:
    """Run git with an identity of nobody."""
    identity = {
        f"GIT_{role}_{what}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env={**os.environ, **identity})


def make_project(root: Path) -> list[Path]:
    """A repository with all its files committed; the files."""
    files = [root / f"part_{number // PER_FOLDER}" / f"file_{number}.py" for number in range(FILES)]
    for number, file in enumerate(files):
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"NUMBER = {number}\n" * 20, encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Start")
    return files


def benches() -> Iterable[Bench]:
    """Warm, with other contents in the changed files each time; ``git status`` sees the same changes."""
    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as scratch, asyncio.Runner() as loop:
        root = Path(scratch)
        files = make_project(root)
        repository = loop.run(find_repository(root))
        store = CheckpointStore(root, project_home(root, repository), repository, clock=SystemClock())
        turn = count()

        def change() -> None:
            number = next(turn)
            for file in files[:: FILES // CHANGED]:
                file.write_text(f"TURN = {number}\n", encoding="utf-8")

        def checkpoint() -> float:
            change()
            return 1e3 * seconds(lambda: loop.run(store.create("bench", run="bench")))

        def status() -> float:
            change()
            return 1e3 * seconds(lambda: git(root, "status", "--porcelain"))

        checkpoint(), status()
        yield Bench(
            name=f"checkpoint, {FILES:,} files, {CHANGED} changed (ratio to git status)",
            unit="ms",
            measure=checkpoint,
            against=status,
            budget="ratio 2",
            rounds=7,
        )
