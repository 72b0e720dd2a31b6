"""Coverage of a checkpoint: included files, named omissions, and trees that are never copied by accident."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.errors import TreeTooLarge, WorkspaceError
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import project_home
from unstuck.workspace.storage import exclusions
from unstuck.workspace.storage.exclusions import LeftOut


async def test_a_checkpoint_says_all_that_it_does_not_hold(project: Project, clock: ManualClock) -> None:
    """Large files, other repositories and what is ignored are named, each with its reason."""
    project.write({"huge.bin": "x" * 2000, "debug.log": "x", "build/out": "x", "fine": "x", "inner/file": "x"})
    project.git("init", "-q", "inner")
    saved = await (await project.store(clock, file_limit=1000)).create("a", run="r")
    assert saved.left_out == (LeftOut("huge.bin", "large"), LeftOut("inner/", "repository"))
    assert [entry.reason for entry in saved.left_out] == ["over the size limit", "a repository of its own"]
    assert saved.ignored == ("build/", "debug.log")
    assert saved.ignored_count == 2
    assert saved.files == len({".gitignore", "app.py", "lib/util.py", "fine"})


async def test_whatever_a_shell_did_is_in_it(project: Project, clock: ManualClock) -> None:
    """An agent that edits through shell commands only leaves nothing out: all of it is in the next checkpoint."""
    store = await project.store(clock)
    await store.create("a", run="r")
    project.git("mv", "app.py", "moved.py")
    project.git("commit", "-q", "-am", "moved")
    (project.root / "lib" / "util.py").write_text("sed -i was here\n")
    os.symlink("moved.py", project.root / "link")
    saved = await store.create("b", run="r")
    found = {change.path: change.status for change in await store.contents(saved.id)}
    assert found == {"app.py": "disappear", "lib/util.py": "change", "link": "return", "moved.py": "return"}


async def test_a_submodule_is_named_and_left_alone(project: Project, clock: ManualClock, tmp_path: Path) -> None:
    """A committed submodule is another repository: named, and none of its files is touched by a restore."""
    other = tmp_path / "other"
    other.mkdir()
    for arguments in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        project.git(*arguments, cwd=other)
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    project.commit()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    assert saved.left_out == (LeftOut("sub/", "repository"),)
    project.write({"sub/theirs": "x", "app.py": "changed"})
    await store.restore(saved.id, run="r")
    assert (project.root / "sub" / "theirs").read_text() == "x"
    assert (project.root / "app.py").read_text() == "one\n"


async def test_what_git_was_told_to_overlook_is_saved_all_the_same(project: Project, clock: ManualClock) -> None:
    """A file marked assume-unchanged or skip-worktree is saved and restored like any other."""
    project.git("update-index", "--assume-unchanged", "app.py")
    project.git("update-index", "--skip-worktree", "lib/util.py")
    project.write({"app.py": "mine\n", "lib/util.py": "mine too\n"})
    before = project.files()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "agent\n", "lib/util.py": "agent\n"})
    await store.restore(saved.id, run="r")
    assert project.files() == before


async def test_a_sparse_checkout_stays_sparse(project: Project, clock: ManualClock) -> None:
    """Files outside of a sparse checkout are neither saved as deleted nor written by a restore."""
    project.git("update-index", "--refresh")
    project.git("sparse-checkout", "set", "--no-cone", "/app.py", "/.gitignore")
    assert not (project.root / "lib").exists()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    assert saved.files == 2
    project.write({"app.py": "changed"})
    await store.restore(saved.id, run="r")
    assert not (project.root / "lib").exists()
    assert project.git("status", "--porcelain") == ""


async def test_empty_folders_and_pipes_are_left_alone(project: Project, clock: ManualClock) -> None:
    """A restore does not delete what a checkpoint cannot hold."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    (project.root / "empty").mkdir()
    os.mkfifo(project.root / "pipe")
    project.write({"app.py": "changed"})
    await store.restore(saved.id, run="r")
    assert (project.root / "empty").is_dir()
    assert (project.root / "pipe").exists()


async def test_a_file_behind_a_link_to_itself_is_gone(project: Project, clock: ManualClock) -> None:
    """Files of a folder that has become a link to nowhere are not taken for unchanged."""
    project.write({"folder/file": "x"})
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    (project.root / "folder" / "file").unlink()
    (project.root / "folder").rmdir()
    (project.root / "folder").symlink_to("folder")
    project.write({".git/info/exclude": "folder\n"})
    assert (await (await project.store(clock)).create("b", run="r")).files == saved.files - 1
    await store.restore(saved.id, run="r")
    assert (project.root / "folder" / "file").read_text() == "x"


@pytest.mark.parametrize("git", [True, False])
async def test_a_home_directory_needs_a_yes(isolated: Path, clock: ManualClock, project: Project, git: bool) -> None:
    """Nobody's whole home directory, nor what holds it, is copied by accident; a yes once is enough."""
    if git:
        project.git("init", "-q", cwd=isolated)
    (isolated / "file").write_text("x")
    stores = []
    for place in (isolated, isolated.parent):
        repository = await project.repository() if git else None
        stores.append(CheckpointStore(place, project_home(place, repository), repository, clock=clock))
        with pytest.raises(TreeTooLarge, match="without a yes: work in a project's own directory, or say yes"):
            await stores[-1].create("a", run="r")
    saved = await stores[0].create("a", run="r", yes=True)
    (isolated / "file").write_text("y")
    assert (await stores[0].create("b", run="r")).number == saved.number + 1


async def test_a_huge_tree_needs_a_yes(plain: Project, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than so many files, or bytes, are not copied without a yes, and what to do about it is said."""
    plain.write({f"f{number}": "x" * 100 for number in range(30)})
    with pytest.raises(TreeTooLarge, match=r"30 files with 0 MiB would be copied; ignore what need not be kept"):
        await (await plain.store(clock, size=1000)).create("a", run="r")
    monkeypatch.setattr(exclusions, "_MOST_FILES", 29)
    store = await plain.store(clock)
    with pytest.raises(TreeTooLarge, match="unstuck checkpoints create --yes"):
        await store.create("a", run="r")
    assert (await store.create("a", run="r", yes=True)).files == 30


async def test_an_old_git_is_refused_in_words(
    project: Project, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that would heed the user's configuration whatever it is told is not used."""
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.20.1\n")
    old.chmod(0o755)
    store = await project.store(clock)
    monkeypatch.setenv("PATH", f"{old.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(WorkspaceError, match=r"git version 2\.20\.1 is too old for checkpoints: install git 2\.32"):
        await store.create("a", run="r")


async def test_without_git_it_is_said(
    plain: Project, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without git there is no checkpoint, and nothing else goes wrong."""
    store = await plain.store(clock)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git was not found: install it"):
        await store.create("a", run="r")
    assert await store.list() == ()
