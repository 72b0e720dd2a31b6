"""Trees that are hard to save: odd names, special files, what may not be read or changes meanwhile, a full disk."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.errors import WorkspaceError
from unstuck.workspace.checkpoints import manager
from unstuck.workspace.git.case_folding import clash, folds_case
from unstuck.workspace.git.repository import Result
from unstuck.workspace.storage.exclusions import LeftOut, lost, out_of_reach
from unstuck.workspace.storage.staging import survey

# Saves the tree as somebody who may not read everything, and says what is left out.
CREATE = """
import asyncio, sys
from pathlib import Path
from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

async def main(tree):
    repo = await find_repository(tree)
    store = CheckpointStore(tree, project_home(tree, repo), repo, clock=SystemClock())
    saved = await store.create("a", run="r")
    print(saved.files, *(f"{entry.path}:{entry.why}" for entry in saved.left_out))

asyncio.run(main(Path(sys.argv[1])))
"""


def without_override() -> None:
    """Let modes count for root, too (PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH)."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


@pytest.mark.parametrize(("mode", "named"), [(0o000, "lib/"), (0o400, "lib/util.py")])
async def test_what_may_not_be_read_is_named(project: Project, clock: ManualClock, mode: int, named: str) -> None:
    """A folder or a file that I may not read is named in the checkpoint, and not taken for deleted."""
    project.write({"secret": "mine"})
    saved = await (await project.store(clock)).create("a", run="r")
    (project.root / "secret").chmod(0)
    (project.root / "lib").chmod(mode)
    command = [sys.executable, "-c", CREATE, str(project.root)]
    done = subprocess.run(command, preexec_fn=without_override, capture_output=True, text=True)
    (project.root / "lib").chmod(0o755)
    (project.root / "secret").chmod(0o644)
    assert done.stdout.split() == [str(saved.files - 1), f"{named}:unreadable", "secret:unreadable"], done.stderr


async def test_names_that_git_does_not_take_are_named_and_left_alone(project: Project, clock: ManualClock) -> None:
    """A folder that looks like git's own to some file system is not in the checkpoint, which says so."""
    project.write({".GIT/config": "x", "git~1/config": "x", "fine": "x"})
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    assert saved.left_out == (LeftOut(".GIT/config", "name"), LeftOut("git~1/config", "name"))
    project.write({".GIT/config": "y", "git~1/more": "y", "fine": "y"})
    await store.restore(saved.id, run="r")
    assert (project.root / ".GIT/config").read_text() == (project.root / "git~1/more").read_text() == "y"
    assert (project.root / "fine").read_text() == "x"


async def test_a_pipe_in_the_place_of_a_file(project: Project, clock: ManualClock) -> None:
    """A file that has become a pipe is named, is not waited for, and stops a restore before it begins."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    (project.root / "app.py").unlink()
    os.mkfifo(project.root / "app.py")
    project.write({"lib/util.py": "changed"})
    assert (await store.create("b", run="r")).left_out == (LeftOut("app.py", "special"),)
    with pytest.raises(WorkspaceError, match=r"a special file stands in the way of the restore: move .*app\.py away"):
        await store.restore(saved.id, run="r")
    assert (project.root / "lib/util.py").read_text() == "changed"


async def test_a_pipe_in_a_folder_in_the_place_of_a_file(project: Project, clock: ManualClock) -> None:
    """A folder that took a file's place goes with the files in it, a special one among them stops the restore."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    (project.root / "app.py").unlink()
    project.write({"app.py/work": "saved first"})
    os.mkfifo(project.root / "app.py/pipe")
    with pytest.raises(
        WorkspaceError, match=r"a special file stands in the way of the restore: move .*app\.py/pipe away"
    ):
        await store.restore(saved.id, run="r")
    assert (project.root / "app.py/work").read_text() == "saved first"


async def test_paths_longer_than_the_system_takes(project: Project, clock: ManualClock) -> None:
    """Paths too deep to be named are reported as left out; the rest is saved and restored."""
    deep = os.open(project.root, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=deep)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=deep))
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    (entry,) = saved.left_out
    assert entry.path[:200] == "d" * 200
    assert entry.why == "unreadable"
    project.write({"app.py": "changed"})
    await store.restore(saved.id, run="r")
    assert (project.root / "app.py").read_text() == "one\n"
    os.fstat(deep)
    os.close(deep)


async def test_a_file_that_is_just_being_written(
    project: Project, clock: ManualClock, git_that: Callable[[str, str], Path]
) -> None:
    """A file that is cut off while git reads it is named; all the others are saved."""
    project.write({"busy": "x" * 100, "new": "x"})
    git_that("update-index", 'list=$(cat | tr "\\0" "\\n"); case "$list" in *busy*) kill -BUS $$ ;; esac; '
             'printf "%s" "$list" | tr "\\n" "\\0" | $GIT "$@"; exit $?')  # fmt: skip
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    assert saved.left_out == (LeftOut("busy", "busy"),)
    assert saved.files == len({"app.py", "lib/util.py", ".gitignore", "new"})


async def test_links_and_sparse_files(project: Project, clock: ManualClock) -> None:
    """Two names of one file are two files, a hole is zeros, and a link that leads to itself is a link."""
    os.link(project.root / "app.py", project.root / "twin")
    (project.root / "round").symlink_to("round")
    with (project.root / "holes").open("wb") as file:
        file.truncate(1_000_000)
    store = await project.store(clock)
    before = project.files()
    saved = await store.create("a", run="r")
    project.write({"app.py": "through both names", "holes": "x"})
    assert (project.root / "twin").read_text() == "through both names"
    await store.restore(saved.id, run="r")
    assert project.files() == before


async def test_nothing_outside_of_the_tree_is_ever_written(
    project: Project, clock: ManualClock, tmp_path: Path, git_that: Callable[[str, str], Path]
) -> None:
    """A folder that is a link to elsewhere by now is put back; one that becomes so meanwhile stops the restore."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "util.py").write_text("theirs")
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    shutil.rmtree(project.root / "lib")
    (project.root / "lib").symlink_to(outside)
    await store.restore(saved.id, run="r")
    assert (project.root / "lib/util.py").read_text().startswith("def helper")
    await store.undo(run="r")
    assert (project.root / "lib").readlink() == outside
    (project.root / "lib").unlink()
    (project.root / "lib").mkdir()
    git_that("checkout-index", f"rmdir {project.root}/lib; ln -s {outside} {project.root}/lib")
    with pytest.raises(WorkspaceError, match="cannot create directory at 'lib'"):
        await store.restore(saved.id, run="r")
    assert (project.root / "lib").readlink() == outside
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"util.py": "theirs"}


async def test_no_room_while_saving(project: Project, clock: ManualClock, git_that: Callable[[str, str], Path]) -> None:
    """A failed save is one line, nothing that was known is lost, and with room it works."""
    store = await project.store(clock)
    project.write({"app.py": "worked on\n"})
    saved = await store.create("a", run="r")
    project.write({"new.bin": os.urandom(200_000)})
    before, belongings = project.files(), project.belongings()
    (index,) = (project.root / ".git/unstuck").rglob("index")
    known = index.read_bytes()
    wrapper = git_that("update-index", "ulimit -f 64")
    for attempt in (store.create("b", run="r"), store.restore(saved.id, run="r")):
        with pytest.raises(WorkspaceError, match="no room to save files"):
            await attempt
    assert project.files() == before
    assert project.belongings() == belongings
    assert await store.list() == (saved,)
    assert index.read_bytes() == known
    wrapper.unlink()
    assert (await store.create("b", run="r")).files == saved.files + 1


async def test_no_room_while_restoring(
    project: Project, clock: ManualClock, git_that: Callable[[str, str], Path]
) -> None:
    """A restore that is cut off by a full disk says how to go on; with room it ends, or is taken back."""
    project.write({"big": os.urandom(300_000), "lib/big": os.urandom(300_000)})
    goal = project.files()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"big": "small", "lib/big": "small"})
    before = project.files()
    wrapper = git_that("checkout-index", "ulimit -f 64")
    with pytest.raises(WorkspaceError, match=r"did not come to its end: .*run it again, or undo it with"):
        await store.restore(saved.id, run="r")
    wrapper.unlink()
    assert not store.last_restore().done
    await store.undo(run="r")
    assert project.files() == before
    await store.restore(saved.id, run="r")
    assert project.files() == goal


def test_the_reasons_are_told_apart(tmp_path: Path) -> None:
    """Too large, no file, gone, and what may be saved; of what was there it is known what has gone."""
    (tmp_path / "large").write_bytes(b"x" * 11)
    (tmp_path / "fine").write_bytes(b"x" * 10)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    left_out, total = out_of_reach(tmp_path, ["large", "fine", "pipe", "gone", "folder"], 10)
    assert left_out == {LeftOut("large", "large"), LeftOut("pipe", "special")}
    assert total == 10 + (tmp_path / "folder").stat().st_size
    gone, hidden = lost(tmp_path, ["fine", "gone"], ["closed/"])
    assert gone == {"gone"}
    assert hidden == {LeftOut("closed/", "unreadable")}


async def test_git_tells_all_of_it_at_once() -> None:
    """Changed, new, ignored, foreign and closed paths are read out of one answer; odd names are names."""
    rows = b" M a\0AM b\0AD c\0D  d\0?? new\nline\0?? inner/\0!! build/\0!! x.log\0 T inner\0"

    async def git(*_arguments, **_options):
        return Result(0, rows, "warning: could not open directory 'it's/': Permission denied\n")

    found = await survey(git)
    assert found.scan.removed == {"c", "inner"}
    assert found.scan.changed == {"a", "b"}
    assert found.scan.untracked == {"new\nline"}
    assert found.scan.nested == {"inner/"}
    assert found.scan.unclear is True
    assert found.ignored == {"build/", "x.log"}
    assert found.closed == {"it's/"}


async def test_very_many_ignored_files_are_all_spared(project: Project, clock: ManualClock) -> None:
    """However many single files were ignored, a restore takes none of them away where they are ignored no more."""
    logs = [f"logs/{number}.log" for number in range(1_100)]
    project.write(dict.fromkeys(logs, "mine"))
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    assert saved.ignored == ("logs/",)
    assert saved.ignored_count == 1_100
    (project.root / ".gitignore").unlink()
    project.write({"new": "x"})
    restored = await store.restore(saved.id, run="r")
    assert [change.path for change in restored.changes] == [".gitignore", "new"]
    assert set(logs) <= project.files().keys()


async def test_two_names_that_are_one_file_on_this_disk(
    project: Project, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that would write one file over another on a case-folding disk is refused with both names."""
    project.write({"docs/Readme": "upper", "docs/readme": "lower"})
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    assert not folds_case(project.root)
    (project.root / "docs/readme").unlink()
    monkeypatch.setattr(manager, "folds_case", lambda _folder: True)
    with pytest.raises(WorkspaceError, match="docs/Readme and docs/readme are one file on this disk"):
        await store.restore(saved.id, run="r")
    (project.root / "docs/Readme").unlink()
    await store.restore(saved.id, run="r", paths=["docs/readme"])
    assert (project.root / "docs/readme").read_text() == "lower"


def test_whether_a_disk_folds_names_is_asked_of_one_of_them(tmp_path: Path) -> None:
    """Two files are not one, and two names of one file are."""
    assert not folds_case(tmp_path)
    (tmp_path / "a1").write_text("x")
    assert not folds_case(tmp_path)
    os.link(tmp_path / "a1", tmp_path / "A1")
    assert folds_case(tmp_path)
    assert clash(["b", "a/x", "A/X", "c"]) == ("A/X", "a/x")
    assert clash(["a", "b"]) is None
