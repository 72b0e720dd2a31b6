"""Repositories that are not as in the book: work in them arrives, or one line says why not, and nothing is harmed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workspace.conftest import Project

from unstuck.errors import DeliveryRefused, ProjectError, WorkspaceError
from unstuck.workspace.worktrees.delivery import Delivery
from unstuck.workspace.worktrees.worktrees import Worktrees


async def worked(project: Project, tmp_path: Path, files=None):
    """A run in ``project`` whose one task has written ``files``; its trees, and the way of its results to main."""
    repo = await project.repository()
    trees = Worktrees(repo, tmp_path / "state", "r1")
    await trees.prepare()
    place = await trees.create("t")
    for name, text in (files or {"new.txt": "new\n"}).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    await trees.integrate("t", "Work")
    return trees, Delivery(repo, trees, "r1", "main")


async def test_a_shallow_clone(project: Project, tmp_path: Path) -> None:
    """A clone without its history works like any other, merge included."""
    project.write({"app.py": "later\n"})
    project.commit("later")
    shallow = type(project)(tmp_path / "shallow")
    project.git("clone", "-q", "--depth", "1", f"file://{project.root}", str(shallow.root))
    _, delivery = await worked(shallow, tmp_path)
    shallow.write({"app.py": "mine\n"})
    shallow.commit("mine")
    await delivery.deliver("merge")
    assert (shallow.root / "new.txt").exists()
    assert shallow.git("rev-parse", "--is-shallow-repository").strip() == "true"


async def test_a_sparse_checkout(project: Project, tmp_path: Path) -> None:
    """Files that I have not checked out are not taken for deleted, and do not appear either."""
    project.write({"far/away.txt": "far\n", "near/here.txt": "near\n"})
    project.commit("more")
    project.git("sparse-checkout", "set", "near")
    trees, delivery = await worked(project, tmp_path, {"near/here.txt": "nearer\n"})
    await delivery.deliver("fast_forward")
    assert project.git("show", "main:far/away.txt") == "far\n"
    assert (project.root / "near/here.txt").read_text() == "nearer\n"
    assert not (project.root / "far").exists()
    assert project.git("status", "--porcelain") == ""
    assert (await trees.clean()).kept == ()


async def test_a_sparse_checkout_stays_sparse_when_git_is_killed(
    project: Project, tmp_path: Path, git_that: Callable[[str, str], Path]
) -> None:
    """A restore that was cut off is undone without the files that I have not checked out."""
    project.write({"far/away.txt": "far\n", "near/here.txt": "near\n"})
    start = project.commit("more")
    project.git("sparse-checkout", "set", "near")
    _, delivery = await worked(project, tmp_path, {"near/here.txt": "nearer\n", "far/away.txt": "farther\n"})
    before = project.git("ls-files", "-v"), project.files()
    wrapper = git_that("merge --ff-only", f'$GIT "$@"; $GIT update-ref refs/heads/main {start}; exit 1')
    with pytest.raises(DeliveryRefused):
        await delivery.deliver("merge")
    assert (project.git("ls-files", "-v"), project.files()) == before
    assert project.git("status", "--porcelain") == ""
    wrapper.unlink()
    await delivery.deliver("merge")
    assert project.git("show", "main:far/away.txt") == "farther\n"
    assert not (project.root / "far").exists()


async def test_a_submodule_stays_what_it_is(project: Project, tmp_path: Path) -> None:
    """A submodule that no task touched is neither dropped nor moved, however it lies in my tree."""
    other = tmp_path / "other"
    project.git("clone", "-q", str(project.root), str(other))
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part")
    project.commit("with a part")
    link = project.git("ls-tree", "main", "part")
    (project.root / "part/app.py").write_text("my own doing\n")
    trees, delivery = await worked(project, tmp_path)
    await delivery.deliver("fast_forward")
    assert project.git("ls-tree", "main", "part") == link
    assert (project.root / "part/app.py").read_text() == "my own doing\n"
    assert (await trees.clean()).kept == ()


async def test_work_in_other_repositories_is_named_and_kept(project: Project, tmp_path: Path) -> None:
    """Work in a submodule or a repository of its own is in no result: it is named, and the worktree stays."""
    other = tmp_path / "other"
    project.git("clone", "-q", str(project.root), str(other))
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part")
    project.commit("with a part")
    trees, _ = await worked(project, tmp_path)
    tree = trees.path("t")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", cwd=tree)
    (tree / "part/app.py").write_text("theirs\n")
    project.git("init", "-q", "own", cwd=tree)
    (tree / "own/file").write_text("mine\n")
    (tree / "more.txt").write_text("more\n")
    await trees.integrate("t", "Work")
    assert await trees.left_behind("t") == ("own/", "part")
    assert "more.txt" in project.git("ls-tree", "--name-only", trees.branch).split()
    (kept,) = (await trees.clean()).kept
    assert "own/" in kept.reason


async def test_a_project_that_is_a_submodule_itself(project: Project, tmp_path: Path) -> None:
    """Started inside a submodule, its own branch, index and files are what is worked on."""
    above = type(project)(tmp_path / "above")
    above.root.mkdir()
    above.git("init", "-q", "-b", "main")
    above.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(project.root), "part")
    above.commit("with a part")
    part = type(project)(above.root / "part")
    trees, delivery = await worked(part, tmp_path)
    part.write({"app.py": "unfinished\n"})
    with pytest.raises(DeliveryRefused, match=r"above/part has uncommitted changes.*app\.py"):
        await delivery.deliver("merge")
    part.git("checkout", "-q", "app.py")
    await delivery.deliver("merge")
    assert (part.root / "new.txt").exists()
    assert part.git("status", "--porcelain") == ""
    assert (await trees.clean()).kept == ()


async def test_pointers_of_a_large_file_store(project: Project, tmp_path: Path) -> None:
    """Without the store's program a pointer stays a pointer; where it is required, one line says what failed."""
    project.write({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "big.bin": "version 1\noid 2\n"})
    project.commit("a pointer")
    _, delivery = await worked(project, tmp_path)
    await delivery.deliver("fast_forward")
    assert (project.root / "big.bin").read_text() == "version 1\noid 2\n"
    for key, value in {"smudge": "no-such-lfs smudge", "clean": "no-such-lfs clean", "required": "true"}.items():
        project.git("config", f"filter.lfs.{key}", value)
    again = Worktrees(await project.repository(), tmp_path / "state", "r2")
    await again.prepare()
    with pytest.raises(WorkspaceError) as caught:
        await again.create("t")
    assert "\n" not in str(caught.value)
    project.git("config", "--remove-section", "filter.lfs")
    assert (await again.create("t") / "big.bin").exists()


@pytest.mark.parametrize("detached", [True, False])
async def test_started_in_the_middle_of_a_rebase(project: Project, tmp_path: Path, detached: bool) -> None:
    """A rebase that I have not ended, or a detached HEAD, is no hindrance: work begins at what is there now."""
    project.git("checkout", "-q", "-b", "side")
    project.write({"app.py": "side\n"})
    project.commit("side")
    project.git("checkout", "-q", "main")
    project.write({"app.py": "main\n"})
    project.commit("main")
    project.git(*(["checkout", "-q", "--detach"] if detached else ["status"]))
    assert detached or project.attempt("rebase", "side") != 0
    before, files = project.belongings(), project.files()
    trees, delivery = await worked(project, tmp_path)
    assert project.git("rev-parse", f"{trees.branch}~").strip() == project.git("rev-parse", "HEAD").strip()
    assert project.belongings() == before
    assert project.files() == files
    if not detached:
        with pytest.raises(DeliveryRefused, match="in the middle of a rebase"):
            await delivery.deliver("merge")


async def test_a_directory_with_a_line_end_in_its_name(project: Project, tmp_path: Path) -> None:
    """A project in such a directory works."""
    odd = type(project)(tmp_path / "odd\nplace")
    project.git("clone", "-q", str(project.root), str(odd.root))
    trees, delivery = await worked(odd, tmp_path / "and\nhere", {"a\nb": "x\n"})
    await delivery.deliver("fast_forward")
    assert (odd.root / "a\nb").read_text() == "x\n"
    assert (await trees.clean()).kept == ()


async def test_a_git_that_is_too_old_is_said(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the version that is there and the one that is needed; nothing has been made."""
    repo, before = await project.repository(), project.belongings()
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\necho git version 2.17.1\n")
    (folder / "git").chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{path}")
    with pytest.raises(ProjectError, match=r"^git version 2\.17\.1 is too old: worktrees need git 2\.36 or newer$"):
        await Worktrees(repo, tmp_path / "state", "r1").prepare()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProjectError, match="git was not found: install it"):
        await Worktrees(repo, tmp_path / "state", "r1").prepare()
    monkeypatch.setenv("PATH", path)
    assert project.belongings() == before


async def test_no_room_in_the_middle_of_the_files(
    project: Project, tmp_path: Path, git_that: Callable[[str, str], Path]
) -> None:
    """A file that is cut off while it is written takes nothing with it: index, HEAD and files are as before."""
    project.write({"many/a.txt": "a\n" * 2_000})
    project.commit("many")
    _, delivery = await worked(project, tmp_path, {"many/a.txt": "b\n" * 4_000, "many/z.txt": "z\n" * 40_000})
    before, files = project.belongings(), project.files()
    wrapper = git_that("merge --ff-only", "ulimit -f 32")
    with pytest.raises(DeliveryRefused, match="git could not bring the results to main"):
        await delivery.deliver("merge")
    after = project.belongings()
    assert project.files() == files
    assert {name for name in before | after if before.get(name) != after.get(name)} <= {"ORIG_HEAD"}
    wrapper.unlink()
    await delivery.deliver("merge")
    assert (project.root / "many/z.txt").read_text() == "z\n" * 40_000


async def test_names_that_differ_by_case_alone(project: Project, tmp_path: Path) -> None:
    """Results whose names differ only by case stay two files where the disk has room for two."""
    _, delivery = await worked(project, tmp_path, {"Readme": "upper\n", "readme": "lower\n"})
    await delivery.deliver("fast_forward")
    assert project.git("show", "main:Readme") != project.git("show", "main:readme")
    assert project.git("status", "--porcelain") == ""
