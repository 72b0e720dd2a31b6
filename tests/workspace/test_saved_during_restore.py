"""Files that are saved while a restore runs: none is lost, and each is named."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.errors import WorkspaceError

# Waits for the first file of the restore, and saves others as editors do.
EDITOR = """
import os, sys
first, how, *files = sys.argv[1:]
print("ready", flush=True)
while os.path.exists(first): pass
for file in files:
    if how == "rename":
        open(file + "~", "w").write("precious")
        os.rename(file + "~", file)
    else:
        open(file, "w").write("precious")
"""
FILES = 3_000


@pytest.mark.parametrize("how", ["rename", "in place"])
async def test_a_file_saved_while_a_restore_runs_is_kept_and_named(
    project: Project, clock: ManualClock, how: str
) -> None:
    """Whatever an editor saves after the first file was written is still there, and the restore says which."""
    names = [f"f{number:04}" for number in range(FILES)]
    project.write(dict.fromkeys(names, "saved then"))
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write(dict.fromkeys(names, "x"))
    time.sleep(0.05)  # the files are older than what the editor saves
    late = names[-5:]
    command = [sys.executable, "-c", EDITOR, names[0], how, *late]
    with subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE) as editor:
        assert editor.stdout is not None
        assert editor.stdout.readline() == b"ready\n"
        try:
            await store.restore(saved.id, run="r")
            said = ""
        except WorkspaceError as error:
            said = str(error)
    assert editor.returncode == 0
    assert [(project.root / name).read_text() for name in late] == ["precious"] * len(late)
    # Saved after the very end of the restore, a file is simply another one.
    assert not said or "changed meanwhile and was kept" in said
    assert (project.root / names[0]).read_text() == "saved then"
    assert {(project.root / name).read_text() for name in names[:-5]} == {"saved then"}
    await store.restore(saved.id, run="r")
    assert (project.root / late[0]).read_text() == "saved then"
    await store.undo(run="r")
