"""The first checkpoints of a fresh project, saved at the same moment for many worktrees.

``UNSTUCK_ROUNDS=50 make test ARGS=tests/workspace/test_first_checkpoints.py`` begins fifty times with a fresh project.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import Inside
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home
from unstuck.workspace.storage.object_store import ObjectStore

ROUNDS = int(os.environ.get("UNSTUCK_ROUNDS", "3"))
TASKS = 12
PROCESSES = 3
PATIENCE = 20
# Saves a checkpoint of each tree for every line of stdin, and prints how many files each one holds.
SAVING = """
import asyncio, sys
from pathlib import Path
from tests.workspace.test_first_checkpoints import save_all
for line in sys.stdin:
    print(*asyncio.run(save_all(Path(sys.argv[1]), [Path(tree) for tree in sys.argv[2:]])), flush=True)
"""


@pytest.fixture
def trees(project: Project, tmp_path: Path) -> list[Path]:
    """A worktree for each task, with a file of its own, and line ends that git would convert."""
    project.write({".gitattributes": "*.txt text eol=lf\n"})
    project.commit("Convert line ends")
    found = []
    for number in range(TASKS):
        tree = tmp_path / f"tree-{number}"
        project.git("worktree", "add", "-q", "--detach", str(tree))
        (tree / "own.txt").write_bytes(b"%d\r\n" % number)
        found.append(tree)
    return found


async def save_all(root: Path, trees: Sequence[Path]) -> list[str]:
    """Save the first checkpoint of each tree at once; the tree id of each."""
    repo = await find_repository(root)
    home = project_home(root, repo)
    stores = [CheckpointStore(tree, home, repo, clock=SystemClock()) for tree in trees]
    return [saved.tree for saved in await asyncio.gather(*(store.create("start", run="r") for store in stores))]


async def test_first_checkpoints_at_once(project: Project, trees: list[Path]) -> None:
    """Tasks that start together on a fresh project each get a checkpoint with every byte of their files."""
    home = project_home(project.root, await project.repository())
    expected: list[str] = []
    for _ in range(ROUNDS):
        shutil.rmtree(home, ignore_errors=True)
        saved = await save_all(project.root, trees)
        expected = expected or saved
        assert saved == expected
    for number, tree in enumerate(saved):
        store = home / "checkpoints" / "store.git"
        assert project.git("--git-dir", str(store), "cat-file", "blob", f"{tree}:own.txt") == f"{number}\r\n"


async def test_first_checkpoints_of_several_processes(project: Project, trees: list[Path]) -> None:
    """Several programs that save the first checkpoints of one project at once all succeed."""
    home = project_home(project.root, await project.repository())
    command = [sys.executable, "-c", SAVING, str(project.root)]
    pipe = subprocess.PIPE
    parts = [trees[number::PROCESSES] for number in range(PROCESSES)]
    programs = [subprocess.Popen([*command, *map(str, part)], stdin=pipe, stdout=pipe, text=True) for part in parts]
    try:
        for _ in range(ROUNDS):
            shutil.rmtree(home, ignore_errors=True)
            for program in programs:
                assert program.stdin is not None
                program.stdin.write("go\n")
                program.stdin.flush()
            for program, part in zip(programs, parts, strict=True):
                assert program.stdout is not None
                assert len(program.stdout.readline().split()) == len(part)
    finally:
        for program in programs:
            program.communicate()


async def test_folders_as_committed_are_not_saved_again(project: Project) -> None:
    """A first checkpoint of a large project writes what differs from the commit: the file, its folder and the top."""
    project.write({f"part-{number}/file.txt": f"{number}\n" for number in range(20)})
    project.commit()
    project.write({"part-3/file.txt": "other\n"})
    store = await project.store(ManualClock())
    saved = await store.create("start", run="r")
    objects = project_home(project.root, await project.repository()) / "checkpoints" / "store.git" / "objects"
    assert len([file for file in objects.rglob("*") if file.is_file()]) == 3
    project.write({"part-3/file.txt": "later\n", "part-4/file.txt": "later\n"})
    await store.restore(saved.id, run="r")
    assert (project.root / "part-3" / "file.txt").read_text() == "other\n"
    assert (project.root / "part-4" / "file.txt").read_text() == "4\n"


async def test_folders_that_the_user_may_lose_are_saved(project: Project) -> None:
    """Folders that are in the repository by chance, and that no commit needs, are saved all the same."""
    project.write({"part/file.txt": "one\n"})
    project.commit()
    project.write({"part/file.txt": "two\n"})
    project.git("add", "-A")
    project.git("write-tree")
    project.git("reset", "-q")
    store = await project.store(ManualClock())
    saved = await store.create("start", run="r")
    project.git("prune", "--expire=now")
    project.write({"part/file.txt": "three\n"})
    await store.restore(saved.id, run="r")
    assert (project.root / "part" / "file.txt").read_text() == "two\n"


async def test_half_made_store(project: Project, trees: list[Path]) -> None:
    """A store that was cut off while git made it is completed by the next checkpoint."""
    home = project_home(project.root, await project.repository())
    [expected] = await save_all(project.root, trees[:1])
    shutil.rmtree(home)
    store = home / "checkpoints" / "store.git"
    store.mkdir(parents=True)
    (store / "HEAD").write_text("ref: refs/heads/main\n")
    assert await save_all(project.root, trees[:1]) == [expected]


async def test_waiting_tasks_leave_threads(project: Project) -> None:
    """Many tasks that wait while old checkpoints are pruned do not keep the pruning from its end."""
    store = ObjectStore(project_home(project.root, await project.repository()), None)
    await store.open(project.root)

    async def wait() -> None:
        async with store.shared():
            pass

    async with store.alone() as alone:
        assert alone
        waiting = [asyncio.create_task(wait()) for _ in range(2 * (os.cpu_count() or 1) + 40)]
        await asyncio.sleep(0)  # each has asked for the lock
        await asyncio.wait_for(asyncio.to_thread(store.forget_trees), PATIENCE)
    await asyncio.gather(*waiting)


def test_tasks_of_a_run_that_start_together(project: Project, inside: Inside, tmp_path: Path) -> None:
    """Four independent tasks of the first run in a project begin at once: each has a checkpoint to go back to."""
    tasks = [{"id": f"a{number}", "prompt": "Work.", "agent": "own", "check": "true"} for number in range(4)]
    plan = {"agents": {"own": {"command": ["true"]}}, "tasks": tasks}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    run = ("run", "--headless", "--max-parallel", "4", str(tmp_path / "plan.yaml"))
    for _ in range(ROUNDS):
        shutil.rmtree(project.root / ".git" / "unstuck", ignore_errors=True)
        code, said, _ = inside(project.root, *run)
        assert code == 0, said
        assert "no checkpoint" not in said
        rows = [json.loads(line) for line in inside(project.root, "show", "--json")[1].splitlines()]
        bases = {row["task"]: row["baseline"] for row in rows if "timeline" in row}
        assert len(bases) == len(tasks)
        assert all(base.startswith("chk-") for base in bases.values()), bases
