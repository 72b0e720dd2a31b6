"""Projects that were copied or moved with their event log, and git directories inside a person's files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.errors import ProjectError, WorkspaceError
from unstuck.workspace.checkpoints.manager import CheckpointStore, belongs, last_restored
from unstuck.workspace.git.repository import SHARED, find_repository, project_home
from unstuck.workspace.project import locate


async def opened(root, clock: ManualClock):
    repo = await find_repository(root)
    home = project_home(root, repo)
    return CheckpointStore(root, home, repo, clock=clock), home, repo


@pytest.mark.parametrize("kind", ["project", "plain"])
async def test_what_was_saved_before_a_copy_is_restored_in_the_copy(
    request: pytest.FixtureRequest, clock: ManualClock, project_type: type[Project], tmp_path: Path, kind: str
) -> None:
    """A copied project has its own files set back and undone; not one of the project it was copied from changes."""
    first = request.getfixturevalue(kind)
    store, _, _ = await opened(first.root, clock)
    first.write({"work": "saved\n"})
    saved = await store.create("a", run="r")
    first.write({"work": "later\n"})
    await store.restore(saved.id, run="r")
    first.write({"work": "mine\n"})
    before = first.files()
    copy = project_type(shutil.copytree(first.root, tmp_path / "copy", symlinks=True))
    store, home, repo = await opened(copy.root, clock)
    assert await last_restored(home, repo) is None
    assert [checkpoint.root for checkpoint in await store.list()] == [copy.root] * 2
    assert not belongs(first.root, home, repo)
    await store.restore(saved.id, run="r")
    assert (copy.root / "work").read_text() == "saved\n"
    assert await last_restored(home, repo) == copy.root
    assert first.files() == before


async def test_what_was_saved_before_a_move_is_still_there(
    project: Project, clock: ManualClock, tmp_path: Path
) -> None:
    """After the directory got another name its checkpoints are restored in it."""
    store, _, _ = await opened(project.root, clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "later\n"})
    moved = project.root.rename(tmp_path / "moved")
    store, _, _ = await opened(moved, clock)
    await store.restore(saved.id, run="r")
    assert (moved / "app.py").read_text() == "one\n"


async def test_trees_of_a_repository_are_told_from_others(project: Project, clock: ManualClock, tmp_path: Path) -> None:
    """Linked work trees are the project's own; another repository, or a folder that is gone, is not."""
    project.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    project.git("clone", "-q", str(project.root), str(tmp_path / "clone"))
    _, home, repo = await opened(project.root, clock)
    found = {
        place.name: belongs(place, home, repo) for place in (tmp_path / name for name in ("linked", "clone", "no"))
    }
    assert found == {"linked": True, "clone": False, "no": False}


@pytest.mark.parametrize("where", [".bare", "meta"])
async def test_a_git_directory_among_the_files_is_not_set_back(plain: Project, clock: ManualClock, where: str) -> None:
    """Branches, history and index in a folder that is not called .git stay; the checkpoint names what it left out."""
    layout = ("--bare", where) if where == ".bare" else (f"--separate-git-dir={where}", ".")
    plain.git("init", "-q", "-b", "main", *layout)
    plain.write({"notes": "one\n"})
    store, _, _ = await opened(plain.root, clock)
    saved = await store.create("a", run="r")
    assert saved.not_covered == (f"{where}/",)
    git_dir = plain.root / where
    tree = plain.git("--git-dir", where, "hash-object", "-t", "tree", "-w", os.devnull).strip()
    commit = plain.git("--git-dir", where, "commit-tree", "-m", "later", tree).strip()
    plain.git("--git-dir", where, "update-ref", "refs/heads/main", commit)
    plain.write({"notes": "two\n"})
    await store.restore(saved.id, run="r")
    assert (plain.root / "notes").read_text() == "one\n"
    assert (git_dir / "refs/heads/main").read_text().strip() == commit
    assert plain.git("--git-dir", where, "cat-file", "-t", commit) == "commit\n"


async def test_a_repository_that_was_just_being_made_is_let_go_of(plain: Project, clock: ManualClock) -> None:
    """Files saved from a bare repository before it was whole are not set back into it afterwards."""
    plain.write({"server.git/config": "half\n"})
    store, _, _ = await opened(plain.root, clock)
    await store.create("half", run="r")
    plain.git("init", "-q", "--bare", "server.git")
    saved = await store.create("whole", run="r")
    assert saved.files == 0
    assert saved.not_covered == ("server.git/",)


async def test_gits_own_directory_is_no_project(project: Project, clock: ManualClock) -> None:
    """Started inside .git or a bare repository nothing is made there, and the message says where to go."""
    inside = project.root / ".git" / "refs"
    with pytest.raises(ProjectError, match=r"\.git is git's own directory: go to its worktree"):
        await locate(inside)
    with pytest.raises(WorkspaceError, match="git's own directory"):
        await CheckpointStore(inside, inside / "record", None, clock=clock).create("a", run="r")


async def test_a_clean_up_in_one_work_tree_leaves_the_other_what_it_borrows(
    project: Project, clock: ManualClock, project_type: type[Project], tmp_path: Path
) -> None:
    """The oldest checkpoints of one tree go; those of another come back whole after git has thrown all else away."""
    linked = project_type(tmp_path / "linked")
    project.git("worktree", "add", "-q", "-b", "other", str(linked.root))
    linked.write({"borrowed.py": "only in this commit\n"})
    linked.commit("other")
    theirs, _, _ = await opened(linked.root, clock)
    saved = await theirs.create("a", run="r")
    store = await project.store(clock, count=2)
    for number in range(4):
        project.write({"work": str(number)})
        await store.create("a", run="r")
    linked.git("reset", "-q", "--hard", "main")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    await theirs.restore(saved.id, run="r")
    assert (linked.root / "borrowed.py").read_text() == "only in this commit\n"


async def test_what_was_ignored_when_nothing_had_changed_is_not_taken_away(
    project: Project, clock: ManualClock
) -> None:
    """Saved again with one more ignored file, the checkpoint knows of it, and a restore leaves it there."""
    store = await project.store(clock)
    first = await store.create("a", run="r")
    project.write({"later.log": "mine\n"})
    (project.root / "build").mkdir()
    (project.root / "build" / "link").symlink_to(project.root)
    again = await store.create("b", run="r")
    assert again.id == first.id
    assert again.is_new is False
    assert again.ignored == ("build/", "later.log")
    project.write({".gitignore": "", "app.py": "two\n"})
    done = await store.restore(first.id, run="r")
    assert [change.path for change in done.changes] == [".gitignore", "app.py"]
    assert (project.root / "later.log").read_text() == "mine\n"


async def test_nothing_returns_into_what_is_another_repository_by_now(project: Project, clock: ManualClock) -> None:
    """A saved folder that is a repository of its own by now is left alone, and named: an undo could not clear it."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    shutil.rmtree(project.root / "lib")
    await store.create("b", run="r")
    project.git("init", "-q", "lib")
    project.write({"lib/own.py": "own\n"})
    before = project.files()
    with pytest.raises(WorkspaceError, match="another repository stands in the way of the restore: move lib/ away"):
        await store.restore(saved.id, run="r")
    assert project.files() == before


async def test_a_file_added_inside_another_repository_changes_no_coverage(project: Project, clock: ManualClock) -> None:
    """My index entries of a repository inside the project do not make the rest of it look like mine the second time."""
    project.write({".gitignore": "added.py\n", "other/added.py": "1\n", "other/rest.py": "2\n"})
    project.git("add", "-f", "other/added.py")
    project.git("init", "-q", "other")
    store = await project.store(clock)
    saved = [await store.create("a", run="r") for _ in range(2)]
    assert [checkpoint.not_covered for checkpoint in saved] == [("other/",), ("other/",)]
    assert not saved[1].is_new


async def test_an_ignored_folder_in_the_place_of_a_file_is_named(project: Project, clock: ManualClock) -> None:
    """A folder that the checkpoint does not hold is named also where a saved file was before."""
    project.write({"data": "file\n"})
    store = await project.store(clock)
    await store.create("a", run="r")
    (project.root / "data").unlink()
    project.write({".gitignore": "data/\n", "data/cache": "1\n"})
    assert (await store.create("b", run="r")).ignored == ("data/",)
    project.write({".gitignore": "*.log\n", "data/x.log": "1\n"})
    assert (await store.create("c", run="r")).ignored == ("data/x.log",)


async def test_only_worktrees_with_something_of_ours_are_projects(project: Project, tmp_path: Path) -> None:
    """Settings that all worktrees of a repository share make none of them a project with runs of its own."""
    linked = tmp_path / "linked"
    project.git("worktree", "add", "-q", "--detach", str(linked))
    assert (await locate(linked)).others == ()
    first = project.root / ".git/unstuck"
    for name in ("worktrees/other", *SHARED):
        (first / name).mkdir(parents=True)
    assert (await locate(linked)).others == ()
    (first / "runs").mkdir()
    assert (await locate(linked)).others == (first,)
