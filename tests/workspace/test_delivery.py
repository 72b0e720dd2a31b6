"""Results go into my own branch whole or not at all, and never over anything of mine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Start
from tests.workspace.conftest import Project

from unstuck.errors import DeliveryRefused
from unstuck.workspace.worktrees.delivery import Delivery
from unstuck.workspace.worktrees.worktrees import Worktrees


@pytest.fixture
async def trees(project: Project, tmp_path: Path) -> Worktrees:
    """The work trees of a run in which one task has changed a file, deleted one and made others."""
    project.write({"big.txt": "line\n" * 2_000, "old.txt": "old\n"})
    project.commit("more")
    found = Worktrees(await project.repository(), tmp_path / "state", "r1")
    await found.prepare()
    place = await found.create("web")
    (place / "app.py").write_text("two\n")
    (place / "big.txt").write_text("other\n" * 3_000)
    (place / "old.txt").unlink()
    (place / "new").mkdir()
    (place / "new/page.txt").write_text("page\n")
    (place / "link").symlink_to("app.py")
    await found.integrate("web", "Make the web")
    return found


@pytest.fixture
async def delivery(project: Project, trees: Worktrees) -> Delivery:
    """The way of that run's results to ``main``."""
    return Delivery(await project.repository(), trees, "r1", "main")


def photograph(project: Project):
    """Every file, and everything of mine in the git directory but git's own notes of what it was asked."""
    mine = {name: digest for name, digest in project.belongings().items() if name != "ORIG_HEAD"}
    return project.files(), mine


def results(project: Project):
    return {"app.py", "big.txt", "lib/util.py", "link", "new/page.txt", ".gitignore"} == set(
        project.git("ls-files").split()
    )


async def test_results_reach_a_branch_that_has_not_moved(
    project: Project, trees: Worktrees, delivery: Delivery
) -> None:
    """With nothing new on my branch it goes forward to the results: branch, index and files together, and once."""
    commit = await delivery.deliver("fast_forward")
    assert commit == await trees.tip() == project.git("rev-parse", "main").strip()
    assert project.git("status", "--porcelain") == ""
    assert results(project)
    assert (project.root / "link").is_symlink()
    assert "unstuck: results of r1" in project.git("reflog", "-1", "main")
    assert await delivery.deliver("merge") == commit
    assert project.git("for-each-ref", "refs/unstuck/deliveries") == ""


async def test_results_are_merged_with_what_i_did_meanwhile(
    project: Project, trees: Worktrees, delivery: Delivery
) -> None:
    """My own commits of the meantime stay: the two are merged; by fast-forward only it is refused and nothing moves."""
    project.write({"lib/util.py": "mine\n"})
    mine = project.commit("mine")
    before = photograph(project)
    with pytest.raises(DeliveryRefused, match="main has commits that the run did not begin with"):
        await delivery.deliver("fast_forward")
    assert photograph(project) == before
    commit = await delivery.deliver("merge")
    assert project.git("rev-parse", "main^1", "main^2").split() == [mine, await trees.tip()]
    assert (project.root / "lib/util.py").read_text() == "mine\n"
    assert (project.root / "app.py").read_text() == "two\n"
    assert await delivery.deliver("merge") == commit
    assert "_delivery" not in project.git("worktree", "list")


@pytest.mark.parametrize("staged", [True, False])
async def test_a_dirty_tree_is_left_alone(project: Project, delivery: Delivery, staged: bool) -> None:
    """Uncommitted changes, staged or not, wherever they are: the paths are named, and nothing has moved."""
    project.write({"lib/util.py": "unfinished\n"})
    if staged:
        project.git("add", "-A")
    before = photograph(project)
    with pytest.raises(DeliveryRefused, match=r"uncommitted changes.*: lib/util\.py") as caught:
        await delivery.deliver("merge")
    assert caught.value.paths == ("lib/util.py",)
    assert photograph(project) == before


@pytest.mark.parametrize(
    ("mine", "named"),
    [
        ("new/page.txt", "new/page.txt"),
        ("new", "new"),
        ("link/deep", "link/deep"),
        ("link", "link"),
    ],
)
@pytest.mark.parametrize("ignored", [True, False])
async def test_what_git_does_not_know_is_never_overwritten(
    project: Project, delivery: Delivery, mine: str, named: str, ignored: bool
) -> None:
    """A file of mine in the place of a result, ignored or not, stays byte for byte, and is named."""
    if ignored:
        (project.root / ".git/info").mkdir(exist_ok=True)
        (project.root / ".git/info/exclude").write_text("new\nlink\n")
    project.write({mine: "precious\n"})
    before = photograph(project)
    with pytest.raises(DeliveryRefused, match="stand in the place of results") as caught:
        await delivery.deliver("merge")
    assert caught.value.paths == (named,)
    assert photograph(project) == before


async def test_untracked_files_elsewhere_are_no_hindrance(project: Project, delivery: Delivery) -> None:
    """Notes of mine beside the project do not keep the results away, and stay."""
    project.write({"notes.txt": "mine\n", "noise.log": "ignored\n", "new/mine.txt": "beside\n"})
    await delivery.deliver("fast_forward")
    assert (project.root / "notes.txt").read_text() == "mine\n"
    assert (project.root / "new/mine.txt").read_text() == "beside\n"
    assert (project.root / "new/page.txt").exists()


async def test_a_conflict_names_the_files_and_moves_nothing(
    project: Project, trees: Worktrees, delivery: Delivery
) -> None:
    """A conflict in the same line names the file and how to merge it by hand; then the result has arrived."""
    project.write({"app.py": "mine\n"})
    project.commit("mine")
    before = photograph(project)
    with pytest.raises(DeliveryRefused, match=r"git merge unstuck/r1/_run: app\.py") as caught:
        await delivery.deliver("merge")
    assert caught.value.paths == ("app.py",)
    assert photograph(project) == before
    with pytest.raises(subprocess.CalledProcessError):
        project.git("merge", "-q", trees.branch)
    project.write({"app.py": "both\n"})
    merged = project.commit("by hand")
    assert await delivery.deliver("merge") == merged


async def test_a_branch_that_is_checked_out_nowhere_moves_alone(
    project: Project, trees: Worktrees, delivery: Delivery
) -> None:
    """I am on another branch by now: that one, its files and index stay as they are, and main has the results."""
    project.git("checkout", "-q", "-b", "other")
    project.write({"app.py": "unfinished\n"})
    files = project.files()
    index = (project.root / ".git/index").read_bytes()
    await delivery.deliver("fast_forward")
    assert project.git("rev-parse", "main").strip() == await trees.tip()
    assert project.git("symbolic-ref", "HEAD").strip() == "refs/heads/other"
    assert project.files() == files
    assert (project.root / ".git/index").read_bytes() == index


async def test_a_branch_in_another_work_tree_moves_with_its_files(
    project: Project, trees: Worktrees, delivery: Delivery, tmp_path: Path
) -> None:
    """A worktree of mine that has main checked out moves with it; a dirty one is refused."""
    project.git("checkout", "-q", "-b", "other")
    second = tmp_path / "second"
    project.git("worktree", "add", "-q", str(second), "main")
    (second / "app.py").write_text("unfinished\n")
    with pytest.raises(DeliveryRefused, match="second has uncommitted changes"):
        await delivery.deliver("merge")
    (second / "app.py").write_text("one\n")
    await delivery.deliver("merge")
    assert (second / "app.py").read_text() == "two\n"
    assert project.git("status", "--porcelain", cwd=second) == ""
    assert (project.root / "app.py").read_text() == "one\n"


async def test_hooks_signing_and_odd_settings_cannot_interfere(
    project: Project, delivery: Delivery, tmp_path: Path
) -> None:
    """Failing hooks, forced signatures and settings of a merge do not bend what arrives."""
    for key, value in {
        "commit.gpgSign": "true",
        "gpg.program": "false",
        "merge.verifySignatures": "true",
        "merge.ff": "no",
        "merge.autoStash": "true",
        "branch.main.mergeOptions": "--squash --no-commit",
    }.items():
        project.git("config", key, value)
    hooked = tmp_path / "hooked"
    for hook in ("pre-merge-commit", "post-merge", "post-checkout", "reference-transaction", "post-index-change"):
        file = project.root / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {hooked}\nexit 1\n")
        file.chmod(0o755)
    project.write({"lib/util.py": "mine\n"})
    project.commit_quietly("mine")
    hooked.unlink(missing_ok=True)
    await delivery.deliver("merge")
    assert not hooked.exists()
    assert project.git("status", "--porcelain") == ""
    assert (project.root / "app.py").read_text() == "two\n"


async def test_my_filters_hold(project: Project, trees: Worktrees, delivery: Delivery) -> None:
    """A filter of mine (as LFS has one) turns what arrives into what I work with, as git itself would."""
    project.git("config", "filter.shout.clean", "tr A-Z a-z")
    project.git("config", "filter.shout.smudge", "tr a-z A-Z")
    (project.root / ".git/info").mkdir(exist_ok=True)
    (project.root / ".git/info/attributes").write_text("*.txt filter=shout\n")
    project.git("rm", "-q", "--cached", "-r", ".")
    project.git("reset", "-q", "--hard")
    await delivery.deliver("fast_forward")
    assert (project.root / "new/page.txt").read_text() == "PAGE\n"
    assert project.git("show", "main:new/page.txt") == "page\n"
    assert project.git("status", "--porcelain") == ""


@pytest.mark.parametrize("saved", ["all", "not that", "nothing"])
async def test_what_a_filter_keeps_out_of_commits_is_saved_first(project, trees, saved):
    """My files are saved first if a result replaces outputs that no commit holds; else nothing moves."""
    project.git("config", "filter.nb.clean", "sed /^out:/d")
    (project.root / ".git/info").mkdir(exist_ok=True)
    (project.root / ".git/info/attributes").write_text("*.py filter=nb\n")
    project.write({"app.py": "one\nout: 14 hours\n", "lib/util.py": "def helper():\n    return 1\nout: 3 hours\n"})
    project.git("add", "-A")
    assert project.git("status", "--porcelain") == ""
    seen = []

    async def save(tree):
        seen.append({name: content for name, (_, content) in type(project)(tree).files().items()})
        return ["app.py"] if saved == "not that" else []

    delivery = Delivery(await project.repository(), trees, "r1", "main", save=None if saved == "nothing" else save)
    before = photograph(project)
    if saved == "all":
        await delivery.deliver("fast_forward")
        assert seen[0]["app.py"] == b"one\nout: 14 hours\n"
        assert (project.root / "app.py").read_text() == "two\n"
    else:
        with pytest.raises(DeliveryRefused, match="your filters keep out of commits") as caught:
            await delivery.deliver("fast_forward")
        assert caught.value.paths == ("app.py",)
        assert photograph(project) == before
    assert (project.root / "lib/util.py").read_text().endswith("out: 3 hours\n")


async def test_what_git_can_write_again_is_not_saved(project, trees):
    """Files that git has converted itself, and would again, are in a commit: nothing has to be saved for them."""
    project.git("config", "core.autocrlf", "true")
    project.git("rm", "-q", "--cached", "-r", ".")
    project.git("reset", "-q", "--hard")
    assert (project.root / "big.txt").read_bytes().startswith(b"line\r\n")
    delivery = Delivery(await project.repository(), trees, "r1", "main")
    await delivery.deliver("fast_forward")
    assert (project.root / "big.txt").read_bytes() == b"other\r\n" * 3_000


@pytest.mark.parametrize("operation", ["merge", "rebase", "cherry-pick", "bisect"])
async def test_a_repository_in_the_middle_of_something_is_left_to_it(
    project: Project, delivery: Delivery, operation: str
) -> None:
    """In the middle of a merge, rebase, cherry-pick or bisect of mine nothing moves; it says what to end first."""
    project.git("checkout", "-q", "-b", "side")
    project.write({"lib/util.py": "side\n"})
    side = project.commit("side")
    project.git("checkout", "-q", "main")
    project.write({"lib/util.py": "main\n"})
    project.commit("main")
    commands = {
        "merge": ["merge", "side"],
        "rebase": ["rebase", "side"],
        "cherry-pick": ["cherry-pick", side],
        "bisect": ["bisect", "start", "main", "main~2"],
    }
    project.attempt(*commands[operation])
    before = photograph(project)
    with pytest.raises(DeliveryRefused, match=f"in the middle of a {operation}"):
        await delivery.deliver("merge")
    assert photograph(project) == before


async def test_a_held_lock_is_left_to_who_holds_it(project: Project, delivery: Delivery) -> None:
    """While somebody's git holds the index nothing moves; it names the file, in case that git has died."""
    (project.root / ".git/index.lock").write_text("")
    before = photograph(project)
    with pytest.raises(DeliveryRefused, match=r"index\.lock"):
        await delivery.deliver("merge")
    assert photograph(project) == before
    (project.root / ".git/index.lock").unlink()
    await delivery.deliver("merge")


async def test_a_branch_that_is_gone_is_said(project: Project, delivery: Delivery) -> None:
    """Renamed or deleted meanwhile: no branch is made again behind my back."""
    project.git("branch", "-m", "main", "trunk")
    with pytest.raises(DeliveryRefused, match="the branch main is gone"):
        await delivery.deliver("merge")
    assert project.git("branch", "--list", "main") == ""


async def test_names_that_are_no_text_arrive(project: Project, trees: Worktrees, delivery: Delivery) -> None:
    """A newline, an escape or bytes that are no UTF-8 in a name: the file arrives, or is named where it cannot."""
    name = os.fsdecode(b"odd\n\xff\x1b[31m.txt")
    (await trees.create("odd") / name).write_text("odd\n")
    await trees.integrate("odd", "Odd")
    (project.root / name).write_text("mine\n")
    with pytest.raises(DeliveryRefused) as caught:
        await delivery.deliver("merge")
    assert caught.value.paths == (name,)
    (project.root / name).unlink()
    await delivery.deliver("merge")
    assert (project.root / name).read_text() == "odd\n"


HALF = """$GIT "$@" && $GIT update-ref refs/heads/main {before} && cp {saved} {root}/.git/index
head -c 100 {root}/big.txt > {root}/part; mv {root}/part {root}/big.txt
rm {root}/new/page.txt; exit 1"""


async def test_a_git_that_fails_half_way_leaves_everything_as_it_was(
    project: Project, delivery: Delivery, tmp_path: Path, git_that: Callable[[str, str], Path]
) -> None:
    """A full disk in the middle of writing the files: what was half written is set back, byte for byte."""
    before, saved = photograph(project), tmp_path / "index"
    saved.write_bytes((project.root / ".git/index").read_bytes())
    start = project.git("rev-parse", "main").strip()
    action = HALF.format(before=start, saved=saved, root=project.root)
    wrapper = git_that("merge --ff-only", action)
    with pytest.raises(DeliveryRefused, match="git could not bring the results to main"):
        await delivery.deliver("merge")
    files, mine = photograph(project)
    assert files == before[0]
    assert {name for name in mine if mine[name] != before[1].get(name)} <= {"logs/HEAD", "logs/refs/heads/main"}
    wrapper.unlink()
    await delivery.deliver("merge")
    assert project.git("status", "--porcelain") == ""
    assert results(project)


async def test_a_git_that_only_says_that_it_went_is_not_believed(
    project: Project, delivery: Delivery, git_that: Callable[[str, str], Path]
) -> None:
    """Whatever its exit code is: the results have arrived when my branch has them."""
    before = photograph(project)
    wrapper = git_that("merge --ff-only", "exit 0")
    with pytest.raises(DeliveryRefused, match="git could not bring the results to main"):
        await delivery.deliver("merge")
    assert photograph(project) == before
    wrapper.unlink()
    await delivery.deliver("merge")
    assert results(project)


SCRIPT = """
import asyncio, sys
from pathlib import Path
from unstuck.workspace.worktrees.delivery import Delivery
from unstuck.workspace.git.repository import find_repository
from unstuck.workspace.worktrees.worktrees import Worktrees

async def main():
    repo = await find_repository(Path(sys.argv[1]))
    await Delivery(repo, Worktrees(repo, Path(sys.argv[2]), "r1"), "r1", "main").deliver("merge")

asyncio.run(main())
"""


STEPS = [
    ("merge --quiet --ff", "after"),
    ("update-ref refs/unstuck/deliveries/r1", "before"),
    ("update-ref refs/unstuck/deliveries/r1", "after"),
    ("merge --ff-only", "half"),
    ("merge --ff-only", "after"),
    ("update-ref -d", "before"),
    ("update-ref -d", "after"),
]


@pytest.mark.parametrize(("word", "when"), STEPS)
async def test_killed_at_any_step_it_arrives_once(
    project: Project,
    trees: Worktrees,
    delivery: Delivery,
    tmp_path: Path,
    git_that: Callable[[str, str], Path],
    start: Start,
    word: str,
    when: str,
) -> None:
    """kill -9 of the supervisor and its git before, in and after every step: the next try brings all in, once."""
    project.write({"lib/util.py": "mine\n"})
    mine = project.commit("mine")
    kill = "kill -9 $PPID; exit 1"
    half = f'$GIT "$@"; head -c 100 {project.root}/big.txt > {tmp_path}/p; cp {tmp_path}/p {project.root}/big.txt'
    back = f"{half}; $GIT update-ref refs/heads/main {mine}; {kill}"
    action = {"before": kill, "after": f'$GIT "$@"; {kill}', "half": back}[when]
    wrapper = git_that(word, action)
    died = start("-c", SCRIPT, project.root, tmp_path / "state", program=sys.executable)
    assert died.wait(60) == -signal.SIGKILL
    wrapper.unlink()
    await delivery.deliver("merge")
    assert project.git("rev-parse", "main^1", "main^2").split() == [mine, await trees.tip()]
    assert project.git("status", "--porcelain") == ""
    assert results(project)
    assert (project.root / "big.txt").read_text() == "other\n" * 3_000
    assert project.git("rev-list", "--count", f"{mine}..main").strip() == "2"
    assert project.git("for-each-ref", "refs/unstuck/deliveries") == ""
    assert [kept.place for kept in (await trees.clean()).kept] == []
    assert project.git("worktree", "list").count("\n") == 1


async def test_a_git_that_outlives_its_supervisor_is_waited_for(
    project: Project,
    trees: Worktrees,
    delivery: Delivery,
    tmp_path: Path,
    git_that: Callable[[str, str], Path],
    start: Start,
) -> None:
    """Only the supervisor is killed: its git goes on to the end, and the next one waits for it instead of meddling."""
    door = tmp_path / "door"
    os.mkfifo(door)
    wrapper = git_that("merge --ff-only", f'kill -9 $PPID; : < {door}; exec $GIT "$@"')
    program = ("-c", SCRIPT, project.root, tmp_path / "state")
    assert start(*program, program=sys.executable).wait(60) == -signal.SIGKILL
    wrapper.unlink()
    again = start(*program, program=sys.executable)
    assert project.git("rev-parse", "main").strip() != await trees.tip()
    door.write_bytes(b"")
    assert again.wait(60) == 0
    assert project.git("rev-parse", "main").strip() == await trees.tip()
    assert project.git("status", "--porcelain") == ""


async def test_an_edit_after_a_kill_is_not_taken_back(
    project: Project,
    trees: Worktrees,
    delivery: Delivery,
    tmp_path: Path,
    git_that: Callable[[str, str], Path],
    start: Start,
) -> None:
    """An edit of mine between the kill and the next try is named and stays."""
    first = project.git("rev-parse", "main").strip()
    action = f'$GIT "$@"; $GIT update-ref refs/heads/main {first}; kill -9 $PPID; exit 1'
    wrapper = git_that("merge --ff-only", action)
    start("-c", SCRIPT, project.root, tmp_path / "state", program=sys.executable).wait(60)
    wrapper.unlink()
    (project.root / "app.py").write_text("edited since\n")
    with pytest.raises(DeliveryRefused, match=r"uncommitted changes.*app\.py"):
        await delivery.deliver("merge")
    assert (project.root / "app.py").read_text() == "edited since\n"


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
async def test_a_change_that_git_was_told_to_overlook_is_not_overwritten(
    project: Project, delivery: Delivery, flag: str
) -> None:
    """A file whose changes I keep from git with a flag is refused like any other change, and stays."""
    project.git("update-index", flag, "app.py")
    project.write({"app.py": "local settings\n"})
    before = photograph(project)
    with pytest.raises(DeliveryRefused) as caught:
        await delivery.deliver("merge")
    assert "app.py" in str(caught.value)
    assert photograph(project)[0] == before[0]
    assert project.git("ls-files", "-v", "app.py")[0] in "Sh"


async def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(project: Project, delivery: Delivery) -> None:
    """A pipe in the place of a file that git was told to overlook is refused and stays."""
    project.git("update-index", "--skip-worktree", "app.py")
    (project.root / "app.py").unlink()
    os.mkfifo(project.root / "app.py")
    async with asyncio.timeout(60):
        with pytest.raises(DeliveryRefused) as caught:
            await delivery.deliver("merge")
    assert "app.py" in str(caught.value)
    assert (project.root / "app.py").is_fifo()
