"""A process that is killed while it records a checkpoint."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tests.workspace.conftest import Project

from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import project_home

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.workspace.test_first_checkpoints import save_all
link, left = os.link, int(sys.argv[2])
def end(*names):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    link(*names)
os.link = end
asyncio.run(save_all(Path(sys.argv[1]), [Path(sys.argv[1])]))
"""


@pytest.mark.parametrize("links", [0, 1])
async def test_nothing_half_recorded_is_left(project: Project, links: int) -> None:
    """kill -9 before the reference, and between it and its description: the next checkpoint removes what is left."""
    killed = subprocess.run((sys.executable, "-c", KILLED, project.root, str(links)), timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    repo = await project.repository()
    home = project_home(project.root, repo)
    store = home / "checkpoints" / "store.git"

    def begun() -> list[str]:
        return [path.name for place in ("refs", "described") for path in (store / place).rglob(".*")]

    assert begun()
    project.write({"new.txt": "new\n"})
    saved = await CheckpointStore(project.root, home, repo, clock=SystemClock()).create("start", run="r")
    assert not begun()
    listed = project.git("--git-dir", str(store), "for-each-ref", "--format=%(refname)").split()
    assert listed == [f"refs/unstuck/checkpoints/{saved.id}"]
