"""Cost of a checkpoint of a large project, and of its restore, beside ``git status`` and ``git stash create``."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

from bench_kit import Bench, seconds

from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

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
    """A repository with all its files committed, younger than its settings as in a clone; the files."""
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "gc.auto", "0")  # which git would begin beside what is measured
    names = [f"part_{number // PER_FOLDER}/file_{number}.py" for number in range(FILES)]
    commit = ["commit refs/heads/main\ncommitter Bench <bench@example.org> 0 +0000\ndata 5\nStart\n"]
    for number, name in enumerate(names):
        text = f"NUMBER = {number}\n" * 20
        commit.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}")
    # One pack, as a clone has it: 20,000 files of git's own would take longer to write than all that is measured.
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, input="".join(commit).encode(), cwd=root, check=True)
    git(root, "checkout", "-q", "-f", "main")
    return [root / name for name in names]


def benches() -> Iterable[Bench]:
    """Warm ones with other contents in the changed files each time; ``git status`` sees the same changes."""
    folders = (tempfile.TemporaryDirectory(prefix="unstuck-bench-") for _ in range(2))
    with next(folders) as scratch, next(folders) as old, asyncio.Runner() as loop:
        root = Path(scratch)
        files = make_project(root)
        repository = loop.run(find_repository(root))
        home = project_home(root, repository)
        turn = count()

        def opened() -> CheckpointStore:
            return CheckpointStore(root, home, repository, clock=SystemClock())

        def change() -> None:
            number = next(turn)
            for file in files[:: FILES // CHANGED]:
                file.write_text(f"TURN = {number}\n", encoding="utf-8")

        def create() -> str:
            return loop.run(store.create("bench", run="bench")).id

        def cold() -> float:
            # Not deleted: before it makes a file, ext4 looks at each file that was deleted in the last minutes.
            with suppress(FileNotFoundError):
                (home / "checkpoints").rename(Path(old) / str(next(turn)))
            new = opened()
            return 1e3 * seconds(lambda: loop.run(new.create("bench", run="bench")))

        def warm() -> float:
            change()
            return 1e3 * seconds(create)

        def status() -> float:
            change()
            return 1e3 * seconds(lambda: git(root, "status", "--porcelain"))

        def still() -> float:
            return 1e3 * seconds(lambda: git(root, "status", "--porcelain"))

        def hashed() -> float:
            names = "\n".join(map(str, files)).encode()
            command = ["git", "hash-object", "--stdin-paths"]
            return 1e3 * seconds(
                lambda: subprocess.run(command, input=names, cwd=root, check=True, capture_output=True)
            )

        def stash() -> float:
            change()
            return 1e3 * seconds(lambda: git(root, "stash", "create"))

        def pushed() -> float:
            change()
            taken = 1e3 * seconds(lambda: git(root, "stash", "push", "-q"))
            git(root, "stash", "clear")
            return taken

        def back() -> float:
            change()
            return 1e3 * seconds(lambda: loop.run(store.restore(first, run="bench")))

        def named(what: str) -> str:
            return f"{what}, {FILES:,} files (ratio to git status)"

        status()
        yield Bench(name=named("first checkpoint"), unit="ms", measure=cold, against=status, budget="ratio 3")
        git(root, "config", "filter.kept.clean", "cat")
        filtered = f"first checkpoint with a filter, {FILES:,} files (ratio to hashing them)"
        yield Bench(name=filtered, unit="ms", measure=cold, against=hashed, budget="ratio 2", rounds=3)
        git(root, "config", "--remove-section", "filter.kept")
        store = opened()
        first = create()
        changed = f"checkpoint, {CHANGED} changed"
        yield Bench(name=named(changed), unit="ms", measure=warm, against=status, budget="ratio 2", rounds=7)
        unchanged = "checkpoint, nothing changed"
        yield Bench(name=named(unchanged), unit="ms", measure=lambda: 1e3 * seconds(create), against=still)
        yield Bench(
            name=named(f"restore, {CHANGED} changed"), unit="ms", measure=back, against=status, budget="ratio 2.5"
        )
        yield Bench(name=named(f"git stash create, {CHANGED} changed"), unit="ms", measure=stash, against=status)
        # The same work in git's own commands: save what is there, and set it back to the last commit.
        yield Bench(name=named(f"git stash push, {CHANGED} changed"), unit="ms", measure=pushed, against=status)
