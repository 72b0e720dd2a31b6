"""Checkpoints in repositories that are not as in the book, beside a user who goes on working, and after kills."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.errors import GitError, WorkspaceError
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home


async def there_and_back(project: Project, clock: ManualClock):
    """Save, spoil, restore and undo; each time exactly what was there, and nothing of the user's is touched."""
    store = await project.store(clock)
    before, belongings = project.files(), project.belongings()
    saved = await store.create("a", run="r")
    project.write({"app.py": "changed\n", "new/file": "x"})
    (project.root / "lib/util.py").unlink()
    spoiled = project.files()
    await store.restore(saved.id, run="r")
    assert project.files() == before
    await store.undo(run="r")
    assert project.files() == spoiled
    assert project.belongings() == belongings
    return saved


@pytest.mark.parametrize("kind", ["shallow", "blobless", "treeless", "sha256", "split index", "with links"])
async def test_any_kind_of_repository(project: Project, clock: ManualClock, tmp_path: Path, kind: str) -> None:
    """Whatever a repository is made of, also where what it was cloned from is gone, files are saved and come back."""
    clone = type(project)(tmp_path / "clone")
    filters = {"blobless": ("--filter=blob:none",), "treeless": ("--filter=tree:0",), "shallow": ("--depth", "1")}
    if kind == "sha256":
        project.git("init", "-q", "--object-format=sha256", str(clone.root))
        clone.write({name: content for name, (_, content) in project.files().items()})
        clone.commit()
    elif kind in filters:
        project.git("config", "uploadpack.allowFilter", "true")
        project.write({"app.py": "later\n"})
        project.commit()
        project.git("clone", "-q", *filters[kind], f"file://{project.root}", str(clone.root))
        (project.root / ".git").rename(tmp_path / "gone")
    else:
        clone = project
        if kind == "split index":
            clone.git("update-index", "--split-index")
        else:
            (clone.root / "link").symlink_to("app.py")
            clone.commit()
    saved = await there_and_back(clone, clock)
    assert saved.base == clone.git("rev-parse", "HEAD").strip()


async def test_where_the_users_objects_are_gone_all_is_saved_anew(
    project: Project, clock: ManualClock, tmp_path: Path
) -> None:
    """A repository that borrowed from one that was deleted is damaged; what is saved from then on is whole."""
    clone = type(project)(tmp_path / "clone")
    project.git("clone", "-q", "--shared", str(project.root), str(clone.root))
    store = await clone.store(clock)
    first = await store.create("a", run="r")
    shutil.rmtree(project.root / ".git" / "objects")
    clone.write({"app.py": "changed\n"})
    second = await store.create("b", run="r")
    clone.write({"app.py": "spoiled\n", "lib/util.py": "spoiled\n"})
    await store.restore(second.id, run="r")
    assert (clone.root / "app.py").read_text() == "changed\n"
    assert (clone.root / "lib/util.py").read_text().startswith("def helper")
    with pytest.raises(Exception, match=r"the checkpoint is damaged: what app\.py was is not there any more"):
        await store.restore(first.id, run="r")
    assert (clone.root / "app.py").read_text() == "changed\n"


async def test_what_was_saved_of_a_tree_that_is_gone_can_be_compared(
    project: Project, clock: ManualClock, tmp_path: Path
) -> None:
    """A task is done and its work tree away: how it came to that, from one checkpoint to the next, is still told."""
    tree = tmp_path / "tree"
    project.git("worktree", "add", "-q", "--detach", str(tree))
    repo = await project.repository()
    store = CheckpointStore(tree, project_home(project.root, repo), repo, clock=clock)
    first = await store.create("a", run="r")
    (tree / "app.py").write_text("two\n")
    second = await store.create("b", run="r")
    project.git("worktree", "remove", "--force", str(tree))
    assert "-one\n+two" in await store.diff(first.id, second.id)
    assert [(change.path, change.status) for change in await store.changed(first.id, second.id)] == [
        ("app.py", "change")
    ]
    with pytest.raises(WorkspaceError):
        await store.diff(first.id)
    assert not tree.exists()


async def test_no_program_of_the_users_is_ever_run(project: Project, clock: ManualClock, tmp_path: Path) -> None:
    """Filters, hooks, monitors, drivers, pagers and signers of the repository have no part in any of it."""
    witness = tmp_path / "it-ran"
    project.write({".gitattributes": "* filter=f diff=f merge=f\n"})
    for key in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.alternateRefsCommand"),
        *("filter.f.clean", "filter.f.smudge", "filter.f.process", "diff.external", "diff.f.command"),
        *("diff.f.textconv", "merge.f.driver", "gpg.program", "credential.helper"),
    ):
        project.git("config", key, f"touch {witness};")
    project.git("config", "commit.gpgSign", "true")
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "changed\n", "new": "x"})
    await store.plan(saved.id)
    await store.diff(saved.id)
    await store.restore(saved.id, run="r")
    await store.contents((await store.undo(run="r")).safety.id)
    assert not witness.exists()


async def test_what_is_set_for_git_in_the_environment_leads_nowhere_else(
    project: Project, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that point git at another repository, index or store change nothing."""
    for name in ("DIR", "INDEX_FILE", "WORK_TREE", "OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "NAMESPACE"):
        monkeypatch.setenv(f"GIT_{name}", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare'='true'")
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "changed\n"})
    await store.restore(saved.id, run="r")
    assert (project.root / "app.py").read_text() == "one\n"
    assert not (tmp_path / "elsewhere").exists()


async def test_a_repository_of_somebody_else_is_refused_in_words(project: Project, tmp_path: Path) -> None:
    """Git's own care about a foreign owner is kept, and said."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for place in (project.root, project.root / ".git"):
        os.chown(place, 65534, 65534)
    with pytest.raises(GitError, match="dubious ownership"):
        await find_repository(project.root)


@pytest.mark.parametrize("step", ["rev-parse", "config --list", "update-index", "write-tree", "update-ref"])
async def test_killed_at_any_step_of_the_first_one_nothing_is_overlooked(
    project: Project, clock: ManualClock, git_that: Callable[[str, str], Path], step: str
) -> None:
    """A git that is killed leaves no half-made index that would be taken for a whole one: the next try has it all."""
    project.git("update-index", "--assume-unchanged", "app.py")
    project.write({"app.py": "mine\n", "new": "x"})
    before, belongings = project.files(), project.belongings()
    store = await project.store(clock)
    wrapper = git_that(step, "kill -KILL $$")
    with pytest.raises(GitError):
        await store.create("a", run="r")
    wrapper.unlink()
    saved = await (await project.store(clock)).create("b", run="r")
    project.write({"app.py": "agent\n", "new": "agent\n", "more": "agent\n"})
    await store.restore(saved.id, run="r")
    assert project.files() == before
    assert project.belongings() == belongings


BESIDE = (
    "add -A",
    "commit -q -m more",
    "stash -q",
    "gc -q --prune=now",
    "checkout -q other",
    "stash pop -q",
    "reflog expire --expire=now --all",
    "checkout -q -f main",
    "prune --expire=now",
    "pack-refs --all",
    "worktree prune",
)


async def test_a_user_who_works_on_meanwhile_disturbs_nothing(project: Project, clock: ManualClock) -> None:
    """While I commit, stash, switch and clean up, every checkpoint is made, and all of them come back afterwards."""
    project.git("branch", "other")
    store, done = await project.store(clock), asyncio.Event()

    def work() -> None:
        for command in BESIDE:
            project.attempt(*command.split())

    async def save() -> None:
        number, is_last = 0, False
        while not is_last or number < 2:
            # The last one is made when nothing of mine sets the file back any more.
            number, is_last = number + 1, done.is_set()
            project.write({"work.txt": f"{number}"})
            await store.create("x", run="r")

    saving = asyncio.create_task(save())
    await asyncio.to_thread(work)
    done.set()
    await saving
    project.git("fsck", "--strict")
    project.git("gc", "-q", "--prune=now")
    kept = await store.list()
    assert len(kept) > 1
    for saved in kept[:: max(1, len(kept) // 5)]:
        await store.restore(saved.id, run="r")
        assert (await store.plan(saved.id)).changes == ()
