"""References that Unstuck owns, and work that only its worktrees hold: nothing else is ever deleted."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.workspace.conftest import Project

from unstuck.workspace.git.repository import path_hash
from unstuck.workspace.worktrees.owned_refs import OwnTree, held_by, own_references, own_trees, run_of, users_heads
from unstuck.workspace.worktrees.worktrees import Worktrees

RUN = "20261123-101500"


async def test_only_references_of_runs_and_pins_are_ours(project: Project) -> None:
    """Branches of mine that look like it are mine."""
    commit = project.git("rev-parse", "HEAD").strip()
    ours = [
        f"refs/heads/unstuck/{RUN}/web",
        f"refs/heads/unstuck/{RUN}-2/_run",
        f"refs/unstuck/bases/{RUN}",
        f"refs/unstuck/deliveries/{RUN}",
        f"refs/unstuck/pins/{commit}",
    ]
    mine = ["refs/heads/unstuck/notes", "refs/heads/unstuck-2", f"refs/tags/{RUN}", "refs/heads/main"]
    for name in [*ours, *mine[:-1]]:
        project.git("update-ref", name, commit)
    assert await own_references(await project.repository()) == dict.fromkeys(sorted(ours), commit)
    assert [run_of(name) for name in (*ours, *mine)] == [RUN, f"{RUN}-2", RUN, RUN, "", "", "", "", ""]


async def test_what_others_have_checked_out_is_theirs(project: Project, tmp_path: Path) -> None:
    """Of my own worktrees I learn the branch, or the commit of a detached one; ours are left out."""
    commit = project.git("rev-parse", "HEAD").strip()
    for name, what in {"side": ("-b", "side"), "loose": ("--detach",), "ours": ("-b", "theirs")}.items():
        project.git("worktree", "add", "-q", *what, str(tmp_path / name))
    found = await users_heads(await project.repository(), [tmp_path / "ours"])
    assert found == {
        str(project.root): "refs/heads/main",
        str(tmp_path / "side"): "refs/heads/side",
        str(tmp_path / "loose"): commit,
    }


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "a file", "a folder with work", "a copy"])
async def test_what_git_does_not_know_may_hold_work(project: Project, tmp_path: Path, left: str) -> None:
    """A worktree that git has forgotten is only free to go where there is nothing in it."""
    place = tmp_path / "web"
    if left == "a file":
        place.write_text("mine\n")
    elif left != "nothing":
        place.mkdir()
    if left in ("a folder with work", "a copy"):
        (place / "new.py").write_text("new\n")
    said = await held_by(await project.repository(), OwnTree(path=place, run=RUN, is_copied=left == "a copy"), {})
    assert said == ("git does not know it any more, and there may be work in it" if left.startswith("a f") else "")


async def test_work_of_a_known_tree_is_named(project: Project, tmp_path: Path) -> None:
    """Changes, and commits on no branch, are what only the worktree holds; a fresh one holds nothing."""
    repo = await project.repository()
    trees = Worktrees(repo, tmp_path / "state", RUN)
    await trees.prepare()
    path = await trees.create("web")
    tree = OwnTree(path=path, run=RUN, branch=f"unstuck/{RUN}/web")
    assert await held_by(repo, tree, {}) == ""
    (path / "app.py").write_text("two\n")
    assert "app.py" in await held_by(repo, tree, {})
    project.git("checkout", "-q", "--detach", cwd=path)
    project.git("commit", "-q", "-a", "-m", "loose", cwd=path)
    loose = OwnTree(path=path, run=RUN)
    assert await held_by(repo, loose, {}) == "1 commit on no branch"
    head = project.git("rev-parse", "HEAD", cwd=path).strip()
    assert await held_by(repo, loose, {str(path): head}) == ""
    project.git("update-ref", f"refs/unstuck/pins/{head}", head)
    assert await held_by(repo, loose, {}) == "1 commit on no branch", "what is ours goes with the rest"
    project.git("update-ref", "refs/heads/kept", head)
    assert await held_by(repo, loose, {}) == ""


async def test_our_worktrees_are_found_wherever_they_are_now(project: Project, tmp_path: Path) -> None:
    """Also one that I have moved, and what is left of one that git has forgotten; mine are none."""
    repo, folder = await project.repository(), tmp_path / "state" / path_hash(project.root / ".git")
    trees = Worktrees(repo, tmp_path / "state", RUN)
    await trees.prepare()
    web, api = await trees.create("web"), await trees.create("api")
    moved = tmp_path / "moved"
    project.git("worktree", "move", str(api), str(moved))
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "mine"))
    (folder / RUN / "forgotten").mkdir()
    found = {tree.path: tree for tree in await own_trees(repo, folder)}
    assert found.keys() == {web, moved, folder / RUN / "forgotten"}
    assert {tree.run for tree in found.values()} == {RUN}
    assert [found[path].branch for path in (web, moved)] == [f"unstuck/{RUN}/web", f"unstuck/{RUN}/api"]
    assert found[folder / RUN / "forgotten"].git_dir is None
    assert [tree.ours for tree in found.values()] == list(found)


async def test_in_a_copied_project_only_what_git_keeps_there_is_ours(project: Project, tmp_path: Path) -> None:
    """The worktree itself belongs to the project that was copied, which goes on using it."""
    trees = Worktrees(await project.repository(), tmp_path / "state", RUN)
    await trees.prepare()
    web = await trees.create("web")
    copy = tmp_path / "copy"
    shutil.copytree(project.root, copy, symlinks=True)
    (tree,) = await own_trees(await Project(copy).repository(), web.parent.parent)
    assert tree.is_copied
    assert tree.ours == copy / ".git" / "worktrees" / "web"


ERASING = """
import os, sys
from pathlib import Path
from unstuck.workspace.worktrees.cleanup import erase
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
top = Path(sys.argv[1])
(top / "tree" / "closed" / "deep").mkdir(parents=True)
(top / "tree" / "closed" / "deep" / "file").write_text("x")
(top / "mine").mkdir()
(top / "tree" / "link").symlink_to(top / "mine")
for folder, mode in (("tree/closed/deep", 0o500), ("tree/closed", 0), ("mine", 0o500)):
    (top / folder).chmod(mode)
erase(top / "tree")
assert sorted(path.name for path in top.iterdir()) == ["mine"], list(top.iterdir())
assert (top / "mine").stat().st_mode & 0o777 == 0o500
(top / "mine").chmod(0o700)
"""


def test_folders_that_nobody_may_read_are_erased_and_links_not_followed() -> None:
    """Builds leave closed folders. What a link leads to keeps its rights. Shown as a user who may not read all."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o777)
        done = subprocess.run([sys.executable, "-c", ERASING, place], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
