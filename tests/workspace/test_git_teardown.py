"""A program that ends while git starts ends, and ends git with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# The loop is closed with git at every stage of its start: what is pending then is cancelled, all at once.
PROGRAM = """
import asyncio, sys
from pathlib import Path
from unstuck.workspace.git.repository import run_git

async def main(turns, whole):
    work = asyncio.ensure_future(run_git(Path(), "hash-object", "--stdin-paths", stdin=b""))
    for _ in range(turns):
        await asyncio.sleep(0)
    if not whole:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        assert work.cancelled() or work.done()

for turns in range(8):
    asyncio.run(main(turns, sys.argv[1] == "whole"))
print("ended")
"""


@pytest.mark.parametrize("cancelled", ["whole", "one"])
def test_a_loop_that_ends_while_git_starts_does_not_hang(repo: Path, cancelled: str) -> None:
    """My program ends in the very moment in which a git command begins: it does not wait for ever."""
    command = [sys.executable, "-c", PROGRAM, cancelled]
    done = subprocess.run(command, cwd=repo, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ended\n", done.stderr
