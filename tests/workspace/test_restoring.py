"""Restoring: the plan first, only what it says, part of a tree, and back again; also in the middle of other things."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.errors import WorkspaceError
from unstuck.workspace.checkpoints.last_restore import LastRestore, write_last
from unstuck.workspace.checkpoints.manager import Change, CheckpointStore, Plan, last_restored
from unstuck.workspace.checkpoints.restore_plan import inside
from unstuck.workspace.git.repository import project_home


@pytest.fixture
async def store(project: Project, clock: ManualClock) -> CheckpointStore:
    """The checkpoints of the project, with none so far."""
    return await project.store(clock)


def private_folder(project: Project):
    """Return the directory of the project's private data."""
    (place,) = (project.root / ".git" / "unstuck" / "checkpoints" / "store.git" / "worktrees").iterdir()
    return place


async def test_a_plan_has_sizes(project: Project, store: CheckpointStore, clock: ManualClock) -> None:
    """A plan shows changed, restored and deleted files with their sizes before and after; ignored files in the way
    included.
    """
    project.write({"place": "saved\n"})
    saved = await store.create("a", run="r")
    (project.root / "place").unlink()
    project.write({".git/info/exclude": "place\n", "place": "in the way", "app.py": "longer\n", "new": "12345"})
    (project.root / "lib" / "util.py").unlink()
    plan = await (await project.store(clock)).plan(saved.id)
    assert {(change.status, change.path): (change.before, change.after) for change in plan.changes} == {
        ("change", "app.py"): (7, 4),
        ("return", "lib/util.py"): (None, 27),
        ("disappear", "new"): (5, None),
        ("change", "place"): (10, 6),
    }


@pytest.mark.parametrize(
    ("lost", "files", "share", "within"), [(20, 10, 0.0, True), (21, 10, 0.3, False), (30, 100, 0.3, True)]
)
def test_a_restore_within_its_share_needs_no_yes(lost: int, files: int, share: float, within: bool) -> None:
    """Twenty files are never too many; what only comes back does not count."""
    changes = [Change("disappear", f"f{number}") for number in range(lost)]
    coming_back = [Change("return", f"r{number}") for number in range(100)]
    assert Plan("c", (*changes, *coming_back), files).is_within(share) is within


async def test_single_files_and_folders_can_be_restored(project: Project, store: CheckpointStore) -> None:
    """Only what was named changes: a file, a folder with all that is in it, one that was deleted, one that was new."""
    project.write({"pkg/a": "a", "pkg/deep/b": "b", "gone": "g"})
    saved = await store.create("a", run="r")
    project.write({"pkg/a": "x", "pkg/deep/b": "x", "pkg/new": "x", "app.py": "x", "fresh": "x"})
    (project.root / "gone").unlink()
    restored = await store.restore(saved.id, run="r", paths=["pkg/", "gone", "fresh"])
    assert [change.path for change in restored.changes] == ["fresh", "gone", "pkg/a", "pkg/deep/b", "pkg/new"]
    assert (project.root / "app.py").read_text() == "x"
    assert (project.root / "pkg" / "deep" / "b").read_text() == "b"
    await store.undo(run="r")
    assert (project.root / "pkg" / "new").read_text() == "x"
    assert not (project.root / "gone").exists()
    with pytest.raises(WorkspaceError, match="has no file nowhere, and neither does the worktree"):
        await store.restore(saved.id, run="r", paths=["app.py", "nowhere"])


async def test_a_new_file_alone_goes_again(project: Project, store: CheckpointStore) -> None:
    """Of a file that the checkpoint does not have nothing is left, though there is nothing else to restore."""
    saved = await store.create("a", run="r")
    project.write({"fresh": "x"})
    restored = await store.restore(saved.id, run="r", paths=["fresh"])
    assert [(change.status, change.path) for change in restored.changes] == [("disappear", "fresh")]
    assert not (project.root / "fresh").exists()


async def test_very_many_single_files(project: Project, store: CheckpointStore) -> None:
    """More files than fit onto a command line are no other case."""
    names = [f"{'long' * 20}/{number}" for number in range(300)]
    project.write(dict.fromkeys(names, "saved"))
    saved = await store.create("a", run="r")
    project.write({**dict.fromkeys(names, "changed"), "app.py": "stays"})
    restored = await store.restore(saved.id, run="r", paths=names)
    assert len(restored.changes) == 300
    assert (project.root / "app.py").read_text() == "stays"


async def test_an_undo_can_be_undone(project: Project, store: CheckpointStore) -> None:
    """Back, and forth, and back again, each time to exactly what was there."""
    with pytest.raises(WorkspaceError, match="there is no restore to undo"):
        await store.undo(run="r")
    saved = await store.create("a", run="r")
    project.write({"app.py": "two\n", "new": "x"})
    later = project.files()
    await store.restore(saved.id, run="r")
    for turn in range(3):
        await store.undo(run="r")
        assert (project.files() == later) is (turn % 2 == 0)
        assert (project.root / "app.py").read_text() == ("one\n" if turn % 2 else "two\n")


async def test_what_was_ignored_then_is_not_taken_away_now(project: Project, store: CheckpointStore) -> None:
    """A file that was there and ignored stays, also where it is ignored no more: the checkpoint never held it."""
    project.write({"noise.log": "mine", "build/deep/out": "mine"})
    saved = await store.create("a", run="r")
    (project.root / ".gitignore").unlink()
    project.write({"new": "x"})
    restored = await store.restore(saved.id, run="r")
    assert sorted(change.path for change in restored.changes) == [".gitignore", "new"]
    assert (project.root / "noise.log").read_text() == (project.root / "build/deep/out").read_text() == "mine"


async def test_an_undo_of_a_restore_that_was_cut_off_goes_back_to_before_it(
    project: Project, store: CheckpointStore
) -> None:
    """Killed half-way and run again, a restore is undone to what was there before its first try, not to the half."""
    saved = await store.create("a", run="r")
    project.write({"app.py": "work\n", "more": "work\n"})
    before = project.files()
    safety = await store.create("before restoring", run="r")
    # As a kill leaves it: the restore has begun, and one of two files is done.
    write_last(private_folder(project), LastRestore(saved.id, safety.id))
    project.write({"app.py": "one\n"})
    assert store.last_restore() == LastRestore(saved.id, safety.id)
    again = await store.restore(saved.id, run="r")
    assert again.safety.id == safety.id
    assert store.last_restore().done
    assert not (project.root / "more").exists()
    await store.undo(run="r")
    assert project.files() == before


async def test_a_cut_off_restore_may_be_undone_at_once(project: Project, store: CheckpointStore) -> None:
    """A restore that was cut off can be undone from where it stopped."""
    saved = await store.create("a", run="r")
    project.write({"app.py": "work\n", "more": "work\n"})
    before = project.files()
    safety = await store.create("before restoring", run="r")
    write_last(private_folder(project), LastRestore(saved.id, safety.id))
    project.write({"app.py": "one\n"})
    await store.undo(run="r")
    assert project.files() == before


async def test_the_newest_restore_of_all_trees_is_known(project: Project, store: CheckpointStore) -> None:
    """A command that is to undo finds the tree in which the last restore was done."""
    repo = await project.repository()
    home = project_home(project.root, repo)
    assert await last_restored(home, repo) is None
    saved = await store.create("a", run="r")
    project.write({"app.py": "x"})
    await store.restore(saved.id, run="r")
    assert await last_restored(home, repo) == project.root


@pytest.mark.parametrize("what", ["merge", "rebase", "cherry-pick"])
async def test_in_the_middle_of_something_only_files_are_set_back(
    project: Project, store: CheckpointStore, what: str
) -> None:
    """Mid-merge or mid-rebase, a checkpoint is made and restored, said in the plan, and git goes on where it was."""
    project.git("checkout", "-q", "-b", "theirs")
    project.write({"app.py": "theirs\n"})
    project.commit()
    project.git("checkout", "-q", "main")
    project.write({"app.py": "ours\n"})
    project.commit()
    with pytest.raises(Exception, match="non-zero exit status"):
        project.git(what, "theirs")
    state, conflict = project.git("status"), project.files()
    assert b"<<<<<<<" in conflict["app.py"][1]
    belongings = project.belongings()
    saved = await store.create("a", run="r")
    project.write({"app.py": "resolved\n", "new": "x"})
    assert (await store.plan(saved.id)).under_way == f"a {what}"
    await store.restore(saved.id, run="r")
    assert project.files() == conflict
    assert project.belongings() == belongings
    assert project.git("status") == state


async def test_many_checkpoints_leave_everything_of_the_users_as_it_was(project: Project, clock: ManualClock) -> None:
    """Staged and unstaged changes, index, stash, references, HEAD and reflog are byte for byte the same."""
    project.write({"app.py": "staged\n"})
    project.git("add", "app.py")
    project.write({"app.py": "unstaged\n"})
    before = project.belongings()
    store = await project.store(clock, count=10)
    for number in range(100 if "UNSTUCK_TREES" in os.environ else 20):
        project.write({"work": f"{number}"})
        await store.create("x", run="r")
        await clock.advance(1)
    assert project.belongings() == before
    assert "MM app.py" in project.git("status", "--porcelain")


async def test_nested_repositories_are_where_they_were(project: Project, store: CheckpointStore) -> None:
    """Every nested repository keeps its .git, as folder or file, and its own status, through checkpoint and restore."""
    project.write({"a/file": "x", "a/b/file": "x"})
    for name in ("a", "a/b"):
        project.git("init", "-q", name)
    project.git("worktree", "add", "-q", "--detach", "linked")
    names = ("a", "a/b", "linked")

    def said():
        return [
            (project.git("status", "--porcelain", cwd=project.root / name), (project.root / name / ".git").is_dir())
            for name in names
        ]

    before = said()
    saved = await store.create("a", run="r")
    project.write({"app.py": "x"})
    await store.restore(saved.id, run="r")
    assert said() == before


async def test_two_trees_of_one_repository_do_not_disturb_each_other(project: Project, clock: ManualClock) -> None:
    """A restore in one linked work tree changes no file in another; each has its own list."""
    repository = await project.repository()
    home = project_home(project.root, repository)
    other = project.root.parent / "linked"
    project.git("worktree", "add", "-q", "--detach", str(other))
    here = await project.store(clock)
    there = CheckpointStore(other, home, repository, clock=clock)
    first, second = await here.create("a", run="r"), await there.create("a", run="r")
    for root in (project.root, other):
        (root / "app.py").write_text("changed\n")
    await there.restore(second.id, run="r")
    assert (project.root / "app.py").read_text() == "changed\n"
    assert (other / "app.py").read_text() == "one\n"
    assert [saved.id for saved in await here.list()] == [first.id]


async def test_only_what_one_task_wrote_is_its_own(project: Project, store: CheckpointStore) -> None:
    """Of two tasks in one tree each has its own paths; what both or a person wrote is nobody's to take back."""
    first = await store.create("baseline", run="r", task="one", works=True)
    project.write({"one.txt": "1", "both.txt": "1", "mended.txt": "1"})
    assert await store.written_by("one", first.id) is None
    await store.create("ask", run="r", task="one", works=False)
    assert store.worker() == ""
    project.write({"person.txt": "p", "mended.txt": "p"})
    await store.create("baseline", run="r", task="two", works=True)
    project.write({"two.txt": "2", "both.txt": "2"})
    await store.create("taken up again", run="r", task="one", works=True)
    assert store.worker() == "one"
    project.write({"more-of-one.txt": "1"})
    assert await store.written_by("one", first.id) == {"one.txt", "more-of-one.txt"}
    assert await store.written_by("two", first.id) == {"two.txt"}


async def test_a_path_with_every_odd_name_can_be_restored_alone(project: Project, store: CheckpointStore) -> None:
    """A newline, a pattern, an option or a byte that is no text in a name is just a name."""
    names = ["new\nline", ":(top)*", "-rf", "a\tb", os.fsdecode(b"\xff")]
    project.write(dict.fromkeys(names, "saved"))
    saved = await store.create("a", run="r")
    project.write(dict.fromkeys(names, "changed"))
    for name in names:
        restored = await store.restore(saved.id, run="r", paths=[name])
        assert [change.path for change in restored.changes] == [name]
        assert (project.root / name).read_text() == "saved"


async def test_an_undo_is_exact_where_a_whole_folder_was_ignored(project: Project, store: CheckpointStore) -> None:
    """Files that came back into an ignored folder go again with the undo, and what they had replaced is there again."""
    project.write({"a/x/z": "saved", "a/y": "saved"})
    saved = await store.create("a", run="r")
    for name in ("a/x/z", "a/y"):
        (project.root / name).unlink()
    (project.root / "a" / "x").rmdir()
    project.write({".gitignore": "a\n", "a/x": "in the way", "a/other": "mine"})
    before = project.files()
    await store.create("b", run="r")
    await store.restore(saved.id, run="r")
    assert (project.root / "a" / "x" / "z").read_text() == "saved"
    await store.undo(run="r")
    assert project.files() == before


async def test_a_plan_that_is_out_of_date_is_not_carried_out(project: Project, store: CheckpointStore) -> None:
    """A file that I changed while the plan waited for my yes stays as it is: I am told to look again."""
    saved = await store.create("a", run="r")
    project.write({"app.py": "two\n"})
    plan = await store.plan(saved.id)
    project.write({"lib/util.py": "mine\n"})
    before = project.files()
    with pytest.raises(WorkspaceError, match="no longer as they were when the plan was made"):
        await store.restore(saved.id, run="r", plan=plan)
    assert project.files() == before
    done = await store.restore(saved.id, run="r", plan=await store.plan(saved.id))
    assert [change.path for change in done.changes] == ["app.py", "lib/util.py"]


async def test_a_private_file_stays_private(project: Project, store: CheckpointStore) -> None:
    """A file that only I may read has its content set back, and is still for me alone, run or not as it was then."""
    project.write({"key": "secret\n", "tool": "run\n"})
    (project.root / "tool").chmod(0o700)
    saved = await store.create("a", run="r")
    project.write({"key": "other\n", "tool": "other\n"})
    for name in ("key", "tool"):
        (project.root / name).chmod(0o600)
    await store.restore(saved.id, run="r")
    assert {name: project.files()[name] for name in ("key", "tool")} == {
        "key": (0o600, b"secret\n"),
        "tool": (0o700, b"run\n"),
    }
    assert not (await store.plan(saved.id)).changes


RESTORE = """
import asyncio, sys
from pathlib import Path
from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

async def main(tree, id):
    repo = await find_repository(tree)
    await CheckpointStore(tree, project_home(tree, repo), repo, clock=SystemClock()).restore(id, run="r")

asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
"""


def without_giving_away() -> None:
    """Let root be unable to give a file to somebody else (PR_CAPBSET_DROP of CAP_CHOWN)."""
    ctypes.CDLL(None).prctl(24, 0, 0, 0, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("allowed", [True, False])
async def test_owners_stay_with_their_rights_or_without_them(project, store, allowed):
    """A file set back is whose it was, with its special bits; where it cannot be, it runs as nobody else than me."""
    project.write({"tool": "run\n", "theirs": "x", "gone": "x"})
    (project.root / "tool").chmod(0o755)
    saved = await store.create("a", run="r")
    project.write({"tool": "other\n", "theirs": "other"})
    (project.root / "gone").unlink()
    for name, mode in (("tool", 0o6755), ("theirs", 0o640)):
        os.chown(project.root / name, 1234, 4321)
        (project.root / name).chmod(mode)
    command = [sys.executable, "-c", RESTORE, str(project.root), saved.id]
    subprocess.run(command, preexec_fn=None if allowed else without_giving_away, check=True)
    found = {}
    for name in ("tool", "theirs", "gone"):
        status = (project.root / name).stat()
        found[name] = (status.st_uid, status.st_gid, status.st_mode & 0o7777)
    assert (project.root / "tool").read_text() == "run\n"
    assert found == (
        {"tool": (1234, 4321, 0o6755), "theirs": (1234, 4321, 0o640), "gone": (0, 0, 0o644)}
        if allowed
        else {"tool": (0, 0, 0o755), "theirs": (0, 0, 0o640), "gone": (0, 0, 0o644)}
    )


async def test_names_of_one_file_are_files_of_their_own_afterwards(project, store):
    """Of a file with two names only the name that changed is set back, as a file of its own; nothing is lost by it."""
    project.write({"one": "saved\n"})
    os.link(project.root / "one", project.root / "two")
    saved = await store.create("a", run="r")
    project.write({"one": "changed\n"})
    await store.create("b", run="r")
    while time.time() < (project.root / "one").stat().st_ctime // 1 + 1:  # git may look at whole seconds only
        await asyncio.sleep(0.01)
    await store.restore(saved.id, run="r", paths=["one"])
    assert ((project.root / "one").read_text(), (project.root / "two").read_text()) == ("saved\n", "changed\n")


@pytest.mark.parametrize(
    ("path", "spelled"),
    [("./a", ("a",)), ("a/", ("a",)), ("b/../a", ("a",)), (".", ()), ("/t/a//b", ("a/b",)), ("..a", ("..a",))],
)
def test_paths_may_be_spelled_in_any_way(path: str, spelled: Any) -> None:
    """With a dot, a slash at the end, or from the root of all files: it is the same file."""
    assert inside(Path("/t"), [path]) == spelled


@pytest.mark.parametrize("path", ["", "..", "../x", "/etc/passwd", "a/../../t2"])
def test_what_lies_outside_is_refused_by_name(path: str) -> None:
    """An empty name is not taken for the whole tree, and nothing outside of it is looked for."""
    with pytest.raises(WorkspaceError, match="is no file or folder inside /t"):
        inside(Path("/t"), [path])
