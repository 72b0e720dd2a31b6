"""Checkpoints take no more room than they may, and the user's repository never pays for it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.settings.models import Settings
from unstuck.supervision.standalone.checkpoint_manager import bounds_of
from unstuck.workspace.checkpoints.manager import CheckpointStore, find_checkpoints
from unstuck.workspace.checkpoints.retention import Bounds, outdated
from unstuck.workspace.git.repository import project_home
from unstuck.workspace.storage.object_store import ObjectStore
from unstuck.workspace.worktrees.cleanup import drop_checkpoints

DAY = 86_400.0


class Old:
    """A checkpoint, as far as its end is concerned."""

    def __init__(self, number: int, days: float = 0.0) -> None:
        self.id, self.created_at = f"c{number}", -days * DAY


def gone(checkpoints, bounds, *, needed=(), over=False):
    return [one.id for one in outdated(checkpoints, bounds, now=0.0, needed=needed, over=over)]


@pytest.mark.parametrize(
    ("count", "bounds", "options", "expected"),
    [
        (20, Bounds(count=20), {}, []),
        (21, Bounds(count=20), {}, ["c0", "c1"]),
        (21, Bounds(count=20), {"needed": {"c0"}}, ["c1", "c2"]),
        (5, Bounds(count=20), {"over": True}, ["c0"]),
        (1, Bounds(count=1), {"over": True}, []),
        (3, Bounds(count=1), {"needed": {"c0", "c1"}}, []),
    ],
)
def test_the_oldest_go_first_and_never_what_is_needed(count: int, bounds: Any, options: Any, expected: Any) -> None:
    """By count with a tenth to spare, by room a tenth at a time; the last one and those in use always stay."""
    assert gone([Old(number) for number in range(count)], bounds, **options) == expected


def test_old_ones_go_by_age() -> None:
    """Checkpoints older than the kept days are deleted, except the last one."""
    checkpoints = [Old(0, 31), Old(1, 30.5), Old(2, 29)]
    assert gone(checkpoints, Bounds(days=30)) == ["c0", "c1"]
    assert gone(checkpoints[:1], Bounds(days=30)) == []


def test_the_settings_are_the_bounds() -> None:
    """The user's limits for number, days, room and file size hold."""
    settings = Settings(
        keep_checkpoints=7, keep_checkpoint_days=8, keep_checkpoint_bytes=2**20, checkpoint_file_limit=1_000
    )
    assert bounds_of(settings) == Bounds(count=7, days=8, size=2**20, file_limit=1_000)


def store_size(project: Project) -> int:
    top = project.root / ".git" / "unstuck" / "checkpoints" / "store.git" / "objects"
    return sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(top) for name in names)


async def test_a_changing_file_cannot_fill_the_disk(project: Project, clock: ManualClock) -> None:
    """Many checkpoints of a file that cannot be compressed stay under their cap, and the too large one is named."""
    store = await project.store(clock, size=400_000, file_limit=100_000)
    noise = random.Random(1)
    objects = project.git("count-objects")
    for number in range(14):
        project.write({"data": noise.randbytes(50_000), "too-large": noise.randbytes(100_001 + number)})
        saved = await store.create(f"n{number}", run="r")
        assert saved.not_covered == ("too-large",)
        assert store_size(project) <= 400_000
        await clock.advance(1)
    kept = await store.list()
    assert 3 <= len(kept) < 10
    assert project.git("count-objects") == objects
    await store.restore(kept[0].id, run="r")


async def test_an_estimate_over_the_bound_is_measured_before_anything_goes(
    project: Project, clock: ManualClock
) -> None:
    """A size that was counted wrong, as by a kill, costs no checkpoint."""
    store = await project.store(clock, size=10_000_000)
    saved = [await store.create("one", run="r")]
    (used,) = (project.root / ".git" / "unstuck" / "checkpoints").rglob("used")
    used.write_text("20000000")
    for number in range(2):
        project.write({"app.py": f"{number}"})
        await clock.advance(1)
        saved.append(await store.create("two", run="r"))
    assert {one.id for one in await store.list()} == {one.id for one in saved}
    assert int(used.read_text()) < 10_000_000


async def test_what_a_run_has_to_go_back_to_is_never_dropped(project: Project, clock: ManualClock) -> None:
    """A long run's baseline, its last good state and what undoes the last restore outlive everything around them."""
    store = await project.store(clock, count=4)
    baseline = await store.create("baseline", run="r", task="t")
    for number in range(12):
        project.write({"app.py": f"{number}"})
        saved = await store.create("pivot", run="r", task="t")
        await clock.advance(1)
    undone = await store.restore(saved.id, run="r")
    kept = {checkpoint.id for checkpoint in await store.list()}
    assert {baseline.id, saved.id, undone.safety.id} <= kept
    assert len(kept) <= 5
    await store.restore(baseline.id, run="r")
    assert (project.root / "app.py").read_text() == "one\n"


async def test_borrowed_files_outlive_the_commit_they_came_from(project: Project, clock: ManualClock) -> None:
    """Unchanged files are the user's own objects: rewriting history and cleaning up loses none of them."""
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "rewritten\n"})
    project.git("commit", "-q", "-a", "--amend", "-m", "rewritten")
    for arguments in (("stash", "clear"), ("reflog", "expire", "--expire=now", "--all"), ("gc", "-q", "--prune=now")):
        project.git(*arguments)
    await store.restore(saved.id, run="r")
    assert (project.root / "app.py").read_text() == "one\n"


async def test_room_is_freed_where_the_borrowed_files_are_lost(project: Project, clock: ManualClock) -> None:
    """A tool has rewritten all history, pins included. A checkpoint is deleted with its files, and all others stay."""
    project.write({"part/one.txt": "one\n"})
    project.commit()
    store = await project.store(clock)
    saved = [await store.create("before", run="r")]
    project.write({"part/one.txt": "rewritten\n"})
    project.git("commit", "-q", "-a", "--amend", "-m", "rewritten")
    pins = project.git("for-each-ref", "--format=%(refname)", "refs/unstuck/pins").split()
    for arguments in (
        *(("update-ref", pin, "HEAD") for pin in pins),
        ("stash", "clear"), ("reflog", "expire", "--expire=now", "--all"), ("gc", "-q", "--prune=now"),
    ):  # fmt: skip
        project.git(*arguments)
    for number in (1, 2):
        project.write({"part/one.txt": f"{number}\n"})
        saved.append(await store.create("after", run="r"))
    repository = await project.repository()
    home = project_home(project.root, repository)
    objects = home / "checkpoints" / "store.git" / "objects"
    before = set(objects.glob("??/*"))
    await drop_checkpoints(home, repository, [saved[1].id])
    assert len(before - set(objects.glob("??/*"))) == 3, "the file, its folder and the top"
    project.write({"part/one.txt": "later\n"})
    await store.restore(saved[2].id, run="r")
    assert (project.root / "part" / "one.txt").read_text() == "2\n"


async def test_a_mirror_gets_nothing_that_was_saved(project: Project, clock: ManualClock, tmp_path: Path) -> None:
    """Pushing everything ships no checkpoint: only a commit of the user's own is pinned in their repository."""
    project.write({"secret.txt": "not for others"})
    await (await project.store(clock)).create("a", run="r")
    mirror = tmp_path / "mirror.git"
    project.git("init", "-q", "--bare", str(mirror))
    project.git("push", "-q", "--mirror", str(mirror))
    pushed = project.git("for-each-ref", "--format=%(refname)", "refs/unstuck", cwd=mirror).split()
    assert [name.rpartition("/")[0] for name in pushed] == ["refs/unstuck/pins"]
    assert "secret.txt" not in project.git("log", "--all", "--name-only", "--format=", cwd=mirror)


async def test_the_pin_goes_with_the_last_that_needs_it(project: Project, clock: ManualClock) -> None:
    """Once nothing borrows from a commit any more it is let go of."""
    repository = await project.repository()
    other = project.root.parent / "linked"
    project.git("worktree", "add", "-q", "--detach", str(other))
    project.write({"app.py": "two"})
    second = project.commit()
    home = project_home(project.root, repository)
    linked = CheckpointStore(other, home, repository, clock=clock)
    await linked.create("a", run="r")
    store = CheckpointStore(project.root, home, repository, clock=clock, bounds=Bounds(count=1))
    assert len(project.git("for-each-ref", "refs/unstuck/pins").splitlines()) == 1
    await store.create("a", run="r")
    assert len(project.git("for-each-ref", "refs/unstuck/pins").splitlines()) == 2
    project.git("worktree", "remove", "--force", str(other))
    await clock.advance(1)
    project.write({"app.py": "three"})
    await store.create("b", run="r")
    assert len(await find_checkpoints(home, repository)) == 1
    assert project.git("for-each-ref", "--format=%(objectname)", "refs/unstuck/pins").split() == [second]


async def test_tasks_that_begin_together_pin_the_same_commit(
    project: Project, git_that: Callable[[str, str], Path], clock: ManualClock
) -> None:
    """A git that pins the commit just now is waited for, also where the disk is slow: the files are saved."""
    commit = project.git("rev-parse", "HEAD").strip()
    pin = f"refs/unstuck/pins/{commit}"
    made = project.root / ".git" / pin
    lock = made.with_name(f"{commit}.lock")
    orders = f"echo start; echo update {pin} {commit}; echo prepare; sleep 0.4; echo commit"
    git_that("update-ref", f"({orders}) | $GIT update-ref --stdin >&2 & until test -e {lock} -o -e {made}; do :; done")
    saved = await (await project.store(clock)).create("a", run="r")
    assert saved.base == commit
    assert project.git("for-each-ref", "--format=%(objectname)", "refs/unstuck/pins").split() == [commit]


async def test_dropping_none_waits_for_no_save(project: Project, clock: ManualClock) -> None:
    """A deletion without checkpoints of its own goes on while another program saves, and makes no store."""
    repository = await project.repository()
    home = project_home(project.root, repository)
    store = ObjectStore(home, repository)
    await drop_checkpoints(home, repository, ["chk-20260101-000000"])
    assert not store.exists
    await (await project.store(clock)).create("a", run="r")
    async with store.alone() as alone:
        assert alone
        await drop_checkpoints(home, repository, [])


async def test_a_damaged_checkpoint_is_refused_before_anything_changes(project: Project, clock: ManualClock) -> None:
    """A restore with a missing object names the file and changes nothing."""
    store = await project.store(clock)
    project.write({"app.py": "two\n", "lib/util.py": "two\n"})
    saved = await store.create("a", run="r")
    project.write({"app.py": "three\n", "lib/util.py": "three\n"})
    top = project.root / ".git" / "unstuck" / "checkpoints" / "store.git"
    lost = project.git("rev-parse", f"refs/unstuck/checkpoints/{saved.id}:app.py", cwd=top).strip()
    (top / "objects" / lost[:2] / lost[2:]).unlink()
    before = project.files()
    with pytest.raises(Exception, match=r"the checkpoint is damaged: what app\.py was is not there any more"):
        await store.restore(saved.id, run="r")
    assert project.files() == before
