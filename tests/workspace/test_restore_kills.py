"""A restore that is killed half-way loses nothing and can simply be run again."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Start
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

RESTORE = """
import asyncio, sys
from pathlib import Path
from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

async def main(tree, checkpoint):
    repo = await find_repository(tree)
    store = CheckpointStore(tree, project_home(tree, repo), repo, clock=SystemClock())
    await store.restore(checkpoint, run="r")

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""
# Stands before git on the PATH: says its process id and waits for a word before it becomes the one that writes files.
SLOW_GIT = """#!/bin/sh
case "$*" in *checkout-index*)
    cat > "{here}/names"; echo $$ > "{here}/started"; read word < "{here}/go"; exec {git} "$@" < "{here}/names" ;;
esac
exec {git} "$@"
"""
FILES = 400


@pytest.fixture
def slow_git(tmp_path: Path) -> Path:
    """A directory with a git that waits once it has all it was given, and the two pipes to talk to it."""
    here = tmp_path / "slow"
    here.mkdir()
    os.mkfifo(here / "started")
    os.mkfifo(here / "go")
    (here / "git").write_text(SLOW_GIT.format(here=here, git=shutil.which("git")))
    (here / "git").chmod(0o755)
    return here


def start_restore(start: Start, root: Path, checkpoint: str, slow_git: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start a supervisor that restores; returns it and the process id of its git, both alive."""
    environment = {**os.environ, "PATH": f"{slow_git}{os.pathsep}{os.environ['PATH']}"}
    supervisor = start("-c", RESTORE, root, checkpoint, program=sys.executable, env=environment)
    return supervisor, int((slow_git / "started").read_text())


async def changed_project(project: Project, clock: ManualClock):
    """A checkpoint of many files, all of them changed or deleted since."""
    names = [f"many/f{number:04}" for number in range(FILES)]
    project.write({name: f"saved {name}\n" for name in names})
    before = project.files()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write(dict.fromkeys(names[::2], "changed\n") | {f"new/{number}": "new" for number in range(50)})
    for name in names[1::2]:
        (project.root / name).unlink()
    return store, saved, before


def lock_is_held(root: Path) -> bool:
    lock = root / ".git" / "unstuck" / "checkpoints" / "store.lock"
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def test_run_again_after_a_kill_it_ends_in_the_same_state(
    project: Project, clock: ManualClock, slow_git: Path, start: Start
) -> None:
    """Supervisor and git are killed while files are being written: nothing is lost, and the next try gets there."""
    store, saved, before = await changed_project(project, clock)
    spoiled = project.files()
    supervisor, git = await asyncio.to_thread(start_restore, start, project.root, saved.id, slow_git)
    supervisor.kill()
    supervisor.wait()
    witness = project.root / "many" / f"f{FILES // 2 + 1:04}"
    (slow_git / "go").write_text("go\n")
    while not witness.exists():
        await asyncio.sleep(0)
    try:
        os.kill(git, signal.SIGKILL)
    except ProcessLookupError:
        pytest.skip("git was quicker than the kill")
    await store.restore(saved.id, run="r")
    assert project.files() == before
    safety = next(checkpoint for checkpoint in await store.list() if checkpoint.reason.startswith("before restoring"))
    await store.restore(safety.id, run="r")
    assert project.files() == spoiled


async def test_a_git_that_outlives_its_supervisor_is_waited_for(
    project: Project, clock: ManualClock, slow_git: Path, start: Start
) -> None:
    """The lock stays held until the orphaned git has ended, so two never write the same files at once."""
    store, saved, before = await changed_project(project, clock)
    supervisor, _git = await asyncio.to_thread(start_restore, start, project.root, saved.id, slow_git)
    supervisor.kill()
    supervisor.wait()
    assert lock_is_held(project.root)
    again = asyncio.create_task(store.restore(saved.id, run="r"))
    await asyncio.to_thread((slow_git / "go").write_text, "go\n")
    restored = await again
    assert project.files() == before
    assert restored.changes == ()
    assert not lock_is_held(project.root)


# Restores again and again, from one checkpoint to the other, until it is killed; says when the files are being written.
SWING = """
import asyncio, sys
from pathlib import Path
from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

async def main(tree, ids):
    repo = await find_repository(tree)
    store = CheckpointStore(tree, project_home(tree, repo), repo, clock=SystemClock())
    print("ready", flush=True)
    while True:
        for id in ids:
            await store.restore(id, run="r")

asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
"""
# Stands before git on the PATH and says that it is started; what is killed with its supervisor has its process group.
TOLD_GIT = """#!/bin/sh
echo $$ >> "{here}/pids"
exec {git} "$@"
"""


async def test_killed_at_any_moment_it_can_always_be_run_again(
    project: Project, clock: ManualClock, tmp_path: Path, start: Start
) -> None:
    """Restores killed again and again, git and all, end where they were to, and nothing of mine was ever touched."""
    rounds = int(os.environ.get("UNSTUCK_KILLS", "0")) or 3
    chance = random.Random(rounds)
    here = tmp_path / "told"
    here.mkdir()
    (here / "git").write_text(TOLD_GIT.format(here=here, git=shutil.which("git")))
    (here / "git").chmod(0o755)
    project.write({"app.py": "staged\n"})
    project.git("add", "app.py")
    store, saved, before = await changed_project(project, clock)
    spoiled = project.files()
    other = await store.create("b", run="r")
    belongings = project.belongings()
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    for _ in range(rounds):
        (here / "pids").write_text("")
        command = ("-c", SWING, project.root, saved.id, other.id)
        supervisor = start(*command, program=sys.executable, env=environment, stdout=subprocess.PIPE)
        assert supervisor.stdout is not None
        supervisor.stdout.readline()
        moment = chance.randrange(60)
        while len((here / "pids").read_bytes().splitlines()) < moment:
            await asyncio.sleep(0)
        supervisor.kill()
        for pid in (here / "pids").read_text().split():
            with contextlib.suppress(OSError):
                # One that has ended already may have given its number to somebody else.
                if os.fsencode(project.root) in Path(f"/proc/{pid}/environ").read_bytes():
                    os.kill(int(pid), signal.SIGKILL)
        supervisor.wait()
        supervisor.stdout.close()
        assert project.belongings() == belongings
        goal, files = chance.choice(((saved, before), (other, spoiled)))
        await store.restore(goal.id, run="r")
        assert project.files() == files
        assert project.belongings() == belongings
    project.git("fsck", "--strict")
