"""Worktrees as agents, other programs and accidents leave them: no work in them is lost or mistaken."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.workspace.conftest import Project

from unstuck.errors import IntegrationConflict
from unstuck.workspace.worktrees.worktree import TreePlace
from unstuck.workspace.worktrees.worktrees import Worktrees


@pytest.fixture
async def trees(project: Project, tmp_path: Path) -> Worktrees:
    """The prepared work trees of a run."""
    found = Worktrees(await project.repository(), tmp_path / "state", "r1")
    await found.prepare()
    return found


async def test_a_tree_that_was_copied_over_another_does_not_take_it_away(project: Project, trees: Worktrees) -> None:
    """An agent that copies a whole tree, git's own file in it, over its own: that goes, and the other one stays."""
    one, two = await trees.create("one"), await trees.create("two")
    (one / "work").write_text("not committed yet")
    shutil.copy(one / ".git", two / ".git")
    await TreePlace(await project.repository(), two).dispose()
    assert project.git("status", "--porcelain", cwd=one) == "?? work\n"
    assert sorted(path.name for path in (project.root / ".git/worktrees").iterdir()) == ["one"]


async def test_a_branch_that_somebody_else_has_out_stays(project: Project, trees: Worktrees, tmp_path: Path) -> None:
    """A second tree on the task's branch, made by force: without its branch all its files would look added."""
    await trees.create("t")
    project.git("worktree", "add", "-q", "--force", str(tmp_path / "second"), "unstuck/r1/t")
    assert "second" in await trees.remove("t")
    assert project.git("status", "--porcelain", cwd=tmp_path / "second") == ""


async def test_work_on_a_head_that_is_lost_comes_in(project: Project, trees: Worktrees) -> None:
    """HEAD at a commit that a failing disk has lost: what lies in the tree is still the task's result."""
    place = await trees.create("t")
    project.git("checkout", "-q", "--detach", cwd=place)
    (project.root / ".git/worktrees/t/HEAD").write_text("7" * 40 + "\n")
    (place / "new").write_text("x")
    tip = await trees.integrate("t", "Work")
    assert project.git("show", f"{tip}:new") == "x"


async def test_a_head_that_an_agent_left_detached_is_on_its_branch_again(project: Project, trees: Worktrees) -> None:
    """Its commits and what it did not commit are the task's, and its next attempt begins on the task's branch."""
    place = await trees.create("t")
    project.git("checkout", "-q", "--detach", cwd=place)
    (place / "new").write_text("x")
    await trees.integrate("t", "Work")
    assert project.git("symbolic-ref", "HEAD", cwd=place).strip() == "refs/heads/unstuck/r1/t"
    assert project.git("status", "--porcelain", cwd=place) == ""


async def test_a_tree_whose_registration_names_a_place_that_is_gone_goes_whole(
    project: Project, trees: Worktrees
) -> None:
    """As after a move of the project: git would not remove it, and nothing of it is left."""
    place = await trees.create("t")
    (project.root / ".git/worktrees/t/gitdir").write_text(f"{place.parent}/moved/.git\n")
    await TreePlace(await project.repository(), place).dispose()
    assert not place.exists()
    assert not (project.root / ".git/worktrees").exists()


@pytest.mark.parametrize("whose", ["project", "person"])
async def test_of_submodules_only_what_the_project_overlooks_is_overlooked(
    project: Project, trees: Worktrees, tmp_path: Path, isolated: Path, whose: str
) -> None:
    """Build output in a submodule is no work left behind if the project ignores it; a person's view is theirs."""
    other = tmp_path / "other"
    project.git("clone", "-q", str(project.root), str(other))
    place = await trees.create("t")
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part", cwd=place)
    await trees.integrate("t", "With a part")
    (place / "part" / "app.py").write_text("built")
    if whose == "project":
        project.git("config", "-f", ".gitmodules", "submodule.part.ignore", "dirty", cwd=place)
    else:
        project.git("config", "--global", "diff.ignoreSubmodules", "all")
    await trees.integrate("t", "Said")
    assert await trees.left_behind("t") == (() if whose == "project" else ("part",))


async def test_a_cherry_pick_that_an_agent_left_half_way_is_its_own(project: Project, trees: Worktrees) -> None:
    """Results of others do not enter a worktree with a conflict, and nothing there is thrown away."""
    place = await trees.create("t")
    for name in ("one", "two"):
        project.git("checkout", "-q", "-B", name, "unstuck/r1/t", cwd=place)
        (place / "app.py").write_text(f"by {name}\n")
        project.git("commit", "-q", "-a", "-m", name, cwd=place)
    with pytest.raises(subprocess.CalledProcessError):
        project.git("cherry-pick", "one", cwd=place)
    (await trees.create("other") / "new").write_text("x")
    await trees.integrate("other", "Other")
    before = (place / "app.py").read_text()
    assert not await trees.refresh("t", "Work")
    assert (place / "app.py").read_text() == before
    assert "one\n" in before
    with pytest.raises(IntegrationConflict, match=r"app\.py"):
        await trees.integrate("t", "Work")
