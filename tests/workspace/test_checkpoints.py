"""Checkpoints save and restore files, whatever a repository looks like, and leave the user's own things alone."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.errors import CheckpointUnknown, WorkspaceError
from unstuck.workspace.checkpoints.manager import Change, CheckpointStore
from unstuck.workspace.git.repository import project_home

ODD = {
    "new\nline": "n",
    ":(top)*": "pathspec magic",
    "-rf": "option",
    "spaces and ä ✓": "u",
    "binary": b"\0\1\2\r\n\xff",
    "crlf.txt": "a\r\nb\r\n",
}


def spoil(project: Project):
    """Change a worktree as an agent might: change, delete, add, turn files into directories and back."""
    project.write(
        {
            "app.py": "broken\n",
            "added/deep/file": "x",
            "added/a": "another a",
            "binary": b"\0other",
            "crlf.txt": "a\nb\n",
        }
    )
    (project.root / "new\nline").unlink()
    (project.root / "lib" / "util.py").unlink()
    (project.root / "lib").rmdir()
    project.write({"lib": "now a file"})
    (project.root / ":(top)*").unlink()
    project.write({":(top)*/inside": "now a directory"})
    (project.root / "script").chmod(0o644)
    (project.root / "link").unlink()
    (project.root / "link").symlink_to("/etc/passwd")
    (project.root / "folder" / "a").unlink()
    (project.root / "folder").rmdir()
    (project.root / "folder").symlink_to("added")


def prepare(project: Project):
    project.write({**ODD, "script": "#!/bin/sh\n", "lib/util.py": "def helper(): ...\n", "folder/a": "a"})
    (project.root / "script").chmod(0o755)
    (project.root / "link").symlink_to("app.py")


@pytest.mark.parametrize("kind", ["project", "empty", "plain"])
async def test_every_kind_of_change_is_taken_back(
    kind: str, request: pytest.FixtureRequest, clock: ManualClock
) -> None:
    """Restored is byte for byte what was saved: with commits, without one, and without git at all."""
    project = request.getfixturevalue(kind)
    project.write({"app.py": "one\n"})
    prepare(project)
    before = project.files()
    store = await project.store(clock)
    saved = await store.create("before the agent", run="r1", task="t1")
    assert saved.is_new is True
    assert saved.files == len(before)
    assert saved.not_covered == ()
    spoil(project)
    spoiled = project.files()
    restored = await store.restore(saved.id, run="r1")
    assert project.files() == before
    await store.restore(restored.safety.id, run="r1")
    assert project.files() == spoiled


async def test_the_plan_is_what_the_restore_does(project: Project, clock: ManualClock) -> None:
    """The restore does what its plan showed before the yes."""
    store = await project.store(clock)
    saved = await store.create("start", run="r")
    project.write({"app.py": "two\n", "extra.txt": "new"})
    (project.root / "lib" / "util.py").unlink()
    plan = await store.plan(saved.id)
    assert plan.changes == (
        Change("change", "app.py"),
        Change("disappear", "extra.txt"),
        Change("return", "lib/util.py"),
    )
    assert (project.root / "extra.txt").exists()
    assert (await store.restore(saved.id, run="r")).changes == plan.changes
    assert (await store.plan(saved.id)).changes == ()


async def test_nothing_of_the_users_is_touched(project: Project, clock: ManualClock) -> None:
    """Index, HEAD, branches, stash, reflogs, hooks and configuration are byte for byte the same afterwards."""
    project.write({"app.py": "staged\n"})
    project.git("add", "app.py")
    project.write({"app.py": "and changed again\n"})
    before = project.belongings()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    spoiled = {"app.py": "x", "new.txt": "y"}
    project.write(spoiled)
    await store.plan(saved.id)
    await store.diff(saved.id)
    await store.restore(saved.id, run="r")
    assert project.belongings() == before
    assert any("index" in name for name in before)
    assert any("stash" in name for name in before)
    assert (project.root / "app.py").read_text() == "and changed again\n"


async def test_the_users_clean_up_keeps_every_checkpoint(project: Project, clock: ManualClock) -> None:
    """A git gc that prunes everything unreachable leaves checkpoints whole and the repository sound."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "changed\n", "only-in-the-second": "x"})
    second = await store.create("b", run="r")
    project.write({"app.py": "planned\n"})
    await store.plan(saved.id)
    project.git("gc", "-q", "--prune=now")
    await store.restore(saved.id, run="r")
    assert (project.root / "app.py").read_text() == "one\n"
    await store.restore(second.id, run="r")
    assert (project.root / "only-in-the-second").read_text() == "x"
    project.git("fsck", "--strict")


async def test_unchanged_files_make_no_new_checkpoint(project: Project, clock: ManualClock) -> None:
    """Saving twice says that there was nothing to save."""
    store = await project.store(clock)
    first = await store.create("a", run="r")
    again = await store.create("b", run="r")
    assert again.id == first.id
    assert again.is_new is False
    assert again.reason == "a"
    assert len(await store.list()) == 1


async def test_ids_are_the_time_and_unique(project: Project, clock: ManualClock) -> None:
    """Checkpoints of one second, also of two work trees of one repository, have ids of their own."""
    store = await project.store(clock)
    ids = []
    for number in range(3):
        project.write({"app.py": f"{number}"})
        ids.append((await store.create("x", run="r")).id)
    other = project.root.parent / "linked"
    project.git("worktree", "add", "-q", "--detach", str(other))
    repository = await project.repository()
    linked = CheckpointStore(other, project_home(project.root, repository), repository, clock=clock)
    ids.append((await linked.create("x", run="r")).id)
    assert ids == ["chk-20270115-080000", "chk-20270115-080000-2", "chk-20270115-080000-3", "chk-20270115-080000-4"]
    assert [checkpoint.id for checkpoint in await store.list()] == ids[:3]
    assert [checkpoint.id for checkpoint in await linked.list()] == ids[3:]


async def test_what_is_known_of_a_checkpoint_is_on_disk(project: Project, clock: ManualClock) -> None:
    """A new process knows reason, run, task and time of an earlier one's checkpoints."""
    project.write({"\udcff".encode("utf-8", "surrogateescape").decode("latin-1"): "x"})
    saved = await (await project.store(clock)).create('naïve\nreason "quoted"', run="r-1", task="web")
    again = await (await project.store(clock)).get(saved.id)
    assert again == saved
    assert again.reason == 'naïve\nreason "quoted"'
    assert again.run == "r-1"
    assert again.task == "web"
    assert again.created_at == clock.now()


async def test_an_unknown_id_is_said(project: Project, clock: ManualClock) -> None:
    """A typing error changes nothing."""
    store = await project.store(clock)
    assert await store.list() == ()
    for attempt in (store.get("chk-x"), store.plan("chk-x"), store.restore("chk-x", run="r"), store.diff("chk-x")):
        with pytest.raises(CheckpointUnknown, match="no checkpoint chk-x"):
            await attempt


async def test_an_ignored_file_in_the_way_is_saved_first(project: Project, clock: ManualClock) -> None:
    """An ignored file or directory where a saved one returns can be had back."""
    store = await project.store(clock)
    project.write({"config": "saved\n", "data/x": "saved\n", "place/below": "saved\n"})
    saved = await store.create("a", run="r")
    for name in ("config", "data/x", "place/below"):
        (project.root / name).unlink()
    (project.root / "data").rmdir()
    (project.root / "place").rmdir()
    project.write({".gitignore": "config\ndata\nplace\n"})
    project.write({"config/precious": "one", "data": "two", "place/below": "three"})
    plan = await store.plan(saved.id)
    assert Change("disappear", "config/precious") in plan.changes
    assert Change("change", "place/below") in plan.changes
    restored = await store.restore(saved.id, run="r")
    assert restored.changes == plan.changes
    assert (project.root / "config").read_text() == "saved\n"
    assert (project.root / "place" / "below").read_text() == "saved\n"
    await store.restore(restored.safety.id, run="r")
    assert (project.root / "config" / "precious").read_text() == "one"
    assert (project.root / "data").read_text() == "two"
    assert (project.root / "place" / "below").read_text() == "three"


async def test_ignored_and_forgotten_files_stay_where_they_are(project: Project, clock: ManualClock) -> None:
    """A restore that brings back an older .gitignore does not take the files that were ignored meanwhile."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({".gitignore": "secret.env\n", "secret.env": "keep me", "noise.log": "x"})
    await store.create("b", run="r")
    project.write({"app.py": "changed"})
    await store.restore(saved.id, run="r")
    assert (project.root / "secret.env").read_text() == "keep me"


async def test_committed_files_count_although_ignored(project: Project, clock: ManualClock) -> None:
    """A file the user committed in spite of an ignore rule is saved and comes back."""
    project.write({"build/kept.txt": "committed\n", "build/not.txt": "not"})
    project.git("add", "-f", "build/kept.txt")
    project.commit()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    (project.root / "build" / "kept.txt").unlink()
    await store.restore(saved.id, run="r")
    assert (project.root / "build" / "kept.txt").read_text() == "committed\n"
    assert (project.root / "build" / "not.txt").read_text() == "not"


async def test_the_users_own_ignore_rules_hold(project: Project, clock: ManualClock, isolated: Path) -> None:
    """Files that a person ignores everywhere, or in this clone only, are not saved."""
    (isolated / "ignore").write_text("*.swp\n")
    (isolated / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignore\n")
    project.write({".git/info/exclude": "private\n", "a.swp": "x", "private": "x", "seen": "x"})
    before = (await (await project.store(clock)).create("a", run="r")).files
    assert before == len({"app.py", "lib/util.py", ".gitignore", "seen"})


async def test_a_large_file_is_named_and_left_alone(project: Project, clock: ManualClock) -> None:
    """A file over the limit is not stored, and a restore neither removes nor changes it."""
    store = await project.store(clock, file_limit=1000)
    project.write({"large": "x" * 2000})
    saved = await store.create("a", run="r")
    assert saved.not_covered == ("large",)
    project.write({"large": "small now", "app.py": "changed"})
    restored = await store.restore(saved.id, run="r")
    assert (project.root / "large").read_text() == "small now"
    assert [change.path for change in restored.changes] == ["app.py"]


async def test_a_file_that_grew_over_the_limit_is_saved_before_it_is_replaced(
    project: Project, clock: ManualClock
) -> None:
    """Too large to save every time is not too large to save before it is overwritten."""
    store = await project.store(clock, file_limit=1000)
    project.write({"data": "small"})
    saved = await store.create("a", run="r")
    project.write({"data": "y" * 2000})
    restored = await store.restore(saved.id, run="r")
    assert (project.root / "data").read_text() == "small"
    await store.restore(restored.safety.id, run="r")
    assert (project.root / "data").read_text() == "y" * 2000


async def test_other_repositories_inside_are_named_and_left_alone(project: Project, clock: ManualClock) -> None:
    """Nested repositories, with commits, without, or with a .git file, are not stored and not touched."""
    for name in ("vendor/with", "without"):
        (project.root / name).mkdir(parents=True)
        project.git("init", "-q", cwd=project.root / name)
        project.write({f"{name}/file": "theirs"})
    project.git("add", "-A", cwd=project.root / "vendor/with")
    project.git("commit", "-q", "-m", "theirs", cwd=project.root / "vendor/with")
    project.git("worktree", "add", "-q", "--detach", "linked")
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    assert saved.not_covered == ("linked/", "vendor/with/", "without/")
    project.write({"vendor/with/file": "changed by them", "app.py": "changed"})
    await store.restore(saved.id, run="r")
    assert (project.root / "vendor/with/file").read_text() == "changed by them"
    assert (project.root / "app.py").read_text() == "one\n"


@pytest.mark.parametrize("what", ["repository", "socket"])
async def test_what_cannot_be_saved_stops_the_restore(project: Project, clock: ManualClock, what: str) -> None:
    """A repository or a socket where a file has to return is not removed: the restore refuses before it begins."""
    store = await project.store(clock)
    project.write({"place": "saved\n"})
    saved = await store.create("a", run="r")
    (project.root / "place").unlink()
    project.write({".git/info/exclude": "place\n", "app.py": "changed"})
    if what == "repository":
        project.git("init", "-q", "place")
    else:
        server = socket.socket(socket.AF_UNIX)
        here = os.open(project.root, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/place")
        server.close()
        os.close(here)
    with pytest.raises(WorkspaceError, match="stands in the way"):
        await store.restore(saved.id, run="r")
    assert (project.root / "place").exists()
    assert (project.root / "app.py").read_text() == "changed"


async def test_bytes_are_kept_whatever_the_attributes_say(project: Project, clock: ManualClock) -> None:
    """Line-ending conversion and filters change nothing about what is saved and restored."""
    project.git("config", "filter.upper.clean", "tr a-z A-Z")
    project.git("config", "filter.upper.smudge", "false")
    project.git("config", "filter.upper.required", "true")
    project.git("config", "core.autocrlf", "true")
    project.write({".gitattributes": "*.txt text eol=lf\n*.big filter=upper\n", "a.txt": "x\r\ny\n", "a.big": "raw"})
    store = await project.store(clock)
    before = project.files()
    saved = await store.create("a", run="r")
    project.write({"a.txt": "other", "a.big": "other"})
    await store.restore(saved.id, run="r")
    assert project.files() == before


async def test_signing_hooks_and_a_held_index_do_not_disturb(
    project: Project, clock: ManualClock, tmp_path: Path
) -> None:
    """Forced signing, hooks that fail and a lock the user's git holds have no part in a checkpoint."""
    project.git("config", "commit.gpgSign", "true")
    project.git("config", "gpg.program", "false")
    witness = tmp_path / "a-hook-ran"
    for hook in ("pre-commit", "reference-transaction", "post-index-change", "post-checkout", "commit-msg"):
        file = project.root / ".git" / "hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {witness}\nexit 1\n")
        file.chmod(0o755)
    (project.root / ".git" / "index.lock").write_text("held")
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "changed"})
    await store.restore(saved.id, run="r")
    assert (project.root / "app.py").read_text() == "one\n"
    assert not witness.exists()
    assert (project.root / ".git" / "index.lock").read_text() == "held"


@pytest.mark.parametrize("damage", ["locked", "garbage", "empty", "gone"])
async def test_a_damaged_private_index_is_built_again(project: Project, clock: ManualClock, damage: str) -> None:
    """A crash's damage in our own directory heals without a person."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    [index] = (project.root / ".git" / "unstuck" / "checkpoints").glob("store.git/worktrees/*/index")
    if damage == "locked":
        index.with_name("index.lock").write_text("")
    elif damage == "gone":
        index.unlink()
    else:
        index.write_bytes(b"garbage" * 100 if damage == "garbage" else b"")
    project.write({"app.py": "changed"})
    second = await store.create("b", run="r")
    assert second.is_new is True
    assert second.files == saved.files
    await store.restore(saved.id, run="r")
    assert (project.root / "app.py").read_text() == "one\n"


async def test_two_who_save_at_once_take_turns(project: Project, clock: ManualClock) -> None:
    """Two stores over one tree, as in two processes, never disturb each other."""
    stores = [await project.store(clock) for _ in range(2)]
    saved = await asyncio.gather(*(store.create("x", run="r") for store in stores for _ in range(4)))
    assert sum(checkpoint.is_new for checkpoint in saved) == 1
    assert len({checkpoint.id for checkpoint in saved}) == 1


async def test_the_difference_to_a_checkpoint_can_be_read(project: Project, clock: ManualClock) -> None:
    """Between two checkpoints, and to the files as they are now; without terminal escapes."""
    store = await project.store(clock)
    first = await store.create("a", run="r")
    project.write({"app.py": "two \x1b]0;title\x07\n"})
    second = await store.create("b", run="r")
    assert "-one\n+two" in await store.diff(first.id, second.id)
    assert "\x1b" not in await store.diff(first.id)
    assert await store.diff(second.id) == ""


async def test_a_deleted_checkpoint_is_gone_and_the_others_work(project: Project, clock: ManualClock) -> None:
    """Space can be given back; what remains can still be restored after git has cleaned up."""
    store = await project.store(clock)
    first = await store.create("a", run="r")
    project.write({"app.py": "two"})
    second = await store.create("b", run="r")
    project.write({"app.py": "three"})
    kept = project_home(project.root, await project.repository()) / "checkpoints" / "store.git"
    left_by_a_kill = [kept / "described" / ".half", kept / "refs" / "unstuck" / "checkpoints" / ".half.lock"]
    for file in left_by_a_kill:
        file.write_text("{")
    await store.delete(first.id)
    assert not any(file.exists() for file in left_by_a_kill)
    project.git("gc", "-q", "--prune=now")
    with pytest.raises(CheckpointUnknown):
        await store.get(first.id)
    await store.restore(second.id, run="r")
    assert (project.root / "app.py").read_text() == "two"


async def test_a_home_directory_is_refused(isolated: Path, clock: ManualClock) -> None:
    """Nobody's whole home directory is copied by accident."""
    store = CheckpointStore(isolated, project_home(isolated, None), None, clock=clock)
    with pytest.raises(WorkspaceError, match="no checkpoints of"):
        await store.create("a", run="r")


async def test_of_an_ignored_folder_only_the_one_file_goes(project: Project, clock: ManualClock) -> None:
    """One deleted file below an ignored folder takes nothing else from that folder."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"build/kept.txt": "new\n", "build/deep/precious": "mine"})
    project.git("add", "-f", "build/kept.txt")
    restored = await store.restore(saved.id, run="r")
    assert [change.path for change in restored.changes] == ["build/kept.txt"]
    assert (project.root / "build" / "deep" / "precious").read_text() == "mine"


async def test_two_that_save_the_same_tree_in_turn_see_what_is_there(project: Project, clock: ManualClock) -> None:
    """A supervisor and a person beside it, each with what it remembers of the tree: no checkpoint is of old files."""
    ours, theirs = await project.store(clock), await project.store(clock)
    first = await ours.create("first", run="r")
    project.write({"app.py": "two\n"})
    second = await theirs.create("second", run="r")
    assert (await ours.create("the same", run="r")).id == second.id
    project.write({"app.py": "one\n"})
    third = await ours.create("third", run="r")
    assert third.tree == first.tree
    assert third.tree != second.tree
    assert (await theirs.create("the same", run="r")).id == third.id
