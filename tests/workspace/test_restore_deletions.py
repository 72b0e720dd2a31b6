"""Deletions of a restore and its plan: no file saved since the plan is deleted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.workspace.git.repo_status import trees
from unstuck.workspace.storage.replacement import print_of, take_away


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("kept.txt", "folder/deep/gone.txt", "folder/other.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\n")
    return tmp_path


def looked(tree: Path, *names: str):
    return {name: print_of(tree / name) for name in names}


def test_what_is_as_it_was_goes_with_its_empty_folders(tree: Path) -> None:
    """A folder with something else in it stays."""
    assert take_away(tree, looked(tree, "folder/deep/gone.txt"), ()) == frozenset()
    assert sorted(path.name for path in tree.rglob("*")) == ["folder", "kept.txt", "other.txt"]


@pytest.mark.parametrize("how", ["in place", "by a rename", "deleted", "a folder", "a link"])
def test_what_was_saved_meanwhile_stays_and_is_named(tree: Path, how: str) -> None:
    """However it was saved; and a file that is gone by now is named, too."""
    before = looked(tree, "kept.txt", "folder/other.txt")
    place = tree / "kept.txt"
    if how == "in place":
        place.write_text("three\n")
    else:
        place.unlink()
    if how == "by a rename":
        (tree / "new").write_text("one\n")
        (tree / "new").rename(place)
    elif how == "a folder":
        place.mkdir()
    elif how == "a link":
        place.symlink_to("folder/other.txt")
    assert take_away(tree, before, ()) == {"kept.txt"}
    assert os.path.lexists(place) == (how != "deleted")
    assert not (tree / "folder/other.txt").exists()


def test_another_name_of_the_same_file_is_no_save(tree: Path) -> None:
    """A hard link made or removed changes the time of the file's status alone."""
    before = looked(tree, "kept.txt")
    os.link(tree / "kept.txt", tree / "second")
    assert take_away(tree, before, ()) == frozenset()
    assert (tree / "second").read_text() == "one\n"


def test_a_touched_link_is_another_one(tree: Path) -> None:
    """A link has no content to compare, so one that was made anew stays."""
    (tree / "link").symlink_to("kept.txt")
    before = looked(tree, "link")
    os.chown(tree / "link", os.getuid(), os.getgid(), follow_symlinks=False)
    assert take_away(tree, before, ()) == {"link"}
    assert (tree / "link").is_symlink()


def test_nothing_is_followed_behind_a_link(tree: Path) -> None:
    """A file behind a folder that has become a link is not the file that was looked at."""
    before = looked(tree, "folder/other.txt")
    (tree / "folder").rename(tree / "elsewhere")
    (tree / "folder").symlink_to("elsewhere")
    assert take_away(tree, before, ()) == frozenset()
    assert (tree / "elsewhere/other.txt").exists()
    assert (tree / "folder").is_symlink()


def test_only_empty_folders_make_room(tree: Path) -> None:
    """An empty folder, or one of empty folders, in the place of a file that comes goes; a link to one stays."""
    (tree / "empty" / "deeper").mkdir(parents=True)
    (tree / "link").symlink_to("empty")
    take_away(tree, {}, ("link", "folder"))
    assert (tree / "link").is_dir()
    assert (tree / "folder/other.txt").exists()
    take_away(tree, {}, ("empty",))
    assert not (tree / "empty").exists()


@pytest.mark.parametrize(("then", "status"), [("data", "change"), ("data/deep.txt", "disappear")])
async def test_a_plan_names_what_no_checkpoint_held(
    project: Project, clock: ManualClock, then: str, status: str
) -> None:
    """A large file in the place of one that returns is changed; in the place of a folder, it goes."""
    store = await project.store(clock, file_limit=1_000)
    project.write({then: "small\n"})
    saved = await store.create("a", run="r")
    (project.root / then).unlink()
    if then != "data":
        (project.root / "data").rmdir()
    await store.create("b", run="r")
    project.write({"data": "x" * 5_000})
    plan = {change.path: change for change in (await store.plan(saved.id)).changes}
    assert (plan["data"].status, plan["data"].before) == (status, 5_000)
    assert plan["data"].after == (6 if then == "data" else None)
    await store.restore(saved.id, run="r")
    assert (project.root / then).read_text() == "small\n"
    await store.undo(run="r")
    assert (project.root / "data").read_text() == "x" * 5_000


async def test_each_worktree_has_its_own_git_directory(project: Project, tmp_path: Path) -> None:
    """Locks and operations under way are looked for in the right one."""
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    repo = await project.repository()
    found = [(tree.path, tree.git_dir, tree.branch) for tree in await trees(repo)]
    assert found == [
        (project.root, repo.common, "main"),
        (tmp_path / "side", repo.common / "worktrees" / "side", "side"),
    ]
