"""Every task works in a tree of its own; results come together on the run's branch."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Start
from tests.workspace.conftest import Project

from unstuck.errors import IntegrationConflict, ProjectError, WorkspaceError
from unstuck.workspace.git.repository import find_repository
from unstuck.workspace.worktrees.worktrees import Worktrees


@pytest.fixture
async def trees(project: Project, tmp_path: Path) -> Worktrees:
    """The prepared work trees of a run."""
    found = Worktrees(await project.repository(), tmp_path / "state", "r1")
    await found.prepare()
    return found


def show(project: Project, commit, path):
    return project.git("show", f"{commit}:{path}")


async def test_two_tasks_come_together(project: Project, trees: Worktrees) -> None:
    """Results of two separate tasks are on the run's branch, and the next task starts from it."""
    one, two = await trees.create("one"), await trees.create("two")
    (one / "one.txt").write_text("1\n")
    (two / "two.txt").write_text("2\n")
    (two / "app.py").unlink()
    await trees.integrate("one", "Do one")
    tip = await trees.integrate("two", "Do two")
    assert tip == await trees.tip()
    listed = project.git("ls-tree", "-r", "--name-only", tip).split()
    assert listed == [".gitignore", "lib/util.py", "one.txt", "two.txt"]
    three = await trees.create("three")
    assert (three / "one.txt").exists()
    assert (three / "two.txt").exists()
    assert "unstuck <unstuck@localhost>" in project.git("log", "-1", "--format=%an <%ae>", tip)


async def test_nothing_of_the_users_is_touched(project: Project, trees: Worktrees) -> None:
    """The user's files, index, HEAD, branches, stash, reflogs, hooks and configuration stay as they are."""
    project.write({"app.py": "staged\n", "untracked": "x"})
    project.git("add", "app.py")
    before, files = project.belongings(), project.files()
    place = await trees.create("t")
    (place / "app.py").write_text("theirs\n")
    await trees.integrate("t", "Work")
    async with trees.baseline():
        pass
    await trees.remove("t")
    assert project.belongings() == before
    assert project.files() == files


async def test_a_conflict_names_the_files_and_leaves_the_branch(project: Project, trees: Worktrees) -> None:
    """Two results for the same line: the first stays, the second is told where, and both can go on."""
    for task in ("one", "two"):
        (await trees.create(task) / "app.py").write_text(f"by {task}\n")
    tip = await trees.integrate("one", "One")
    for _ in range(2):
        with pytest.raises(IntegrationConflict, match=r"conflict in app\.py") as caught:
            await trees.integrate("two", "Two")
        assert caught.value.paths == ("app.py",)
        assert await trees.tip() == tip
    (await trees.create("three") / "three").write_text("3")
    tip = await trees.integrate("three", "Three")
    assert show(project, tip, "app.py") == "by one\n"
    assert show(project, "unstuck/r1/two", "app.py") == "by two\n"


async def test_integrating_again_changes_nothing(project: Project, trees: Worktrees) -> None:
    """A run that was killed after the merge, or half-way through it, repeats it without harm."""
    place = await trees.create("t")
    (place / "new").write_text("x")
    tip = await trees.integrate("t", "Work")
    assert await trees.integrate("t", "Work") == tip
    integration = place.with_name("_run")
    (integration / "app.py").write_text("half-merged\n")
    (integration / "other").write_text("left by a killed merge")
    (project.root / ".git/worktrees/_run/index.lock").write_text("")
    (place / "other").write_text("y")
    again = await trees.integrate("t", "More")
    assert project.git("diff", "--name-only", tip, again).split() == ["other"]
    assert show(project, again, "other") == "y"


async def test_a_task_that_did_nothing_adds_nothing(trees: Worktrees) -> None:
    """No empty commits, no new tip."""
    before = await trees.tip()
    await trees.create("idle")
    assert await trees.integrate("idle", "Nothing") is None
    assert await trees.tip() == before


async def test_an_agents_own_git_is_respected(project: Project, trees: Worktrees) -> None:
    """Commits of the agent, a branch it made and a lock it died with do not stop its work from coming in."""
    place = await trees.create("t")
    project.git("checkout", "-q", "-b", "feature", cwd=place)
    (place / "committed").write_text("by the agent")
    project.git("add", "-A", cwd=place)
    project.git("commit", "-q", "-m", "mine", cwd=place)
    feature = project.git("rev-parse", "feature")
    (place / "staged").write_text("x")
    project.git("add", "-A", cwd=place)
    (place / "loose").write_text("x")
    (project.root / ".git/worktrees/t/index.lock").write_text("")
    tip = await trees.integrate("t", "Work")
    assert show(project, tip, "committed") == "by the agent"
    assert {"loose", "staged"} <= set(project.git("ls-tree", "--name-only", tip).split())
    assert project.git("rev-parse", "feature") == feature


async def test_hooks_signing_and_our_own_files_stay_out(project: Project, trees: Worktrees) -> None:
    """Failing hooks and forced signing stop no result; what is ours, ignored or another repository is not in it."""
    project.git("config", "commit.gpgSign", "true")
    project.git("config", "gpg.program", "false")
    for hook in ("pre-commit", "commit-msg", "post-checkout", "pre-merge-commit", "reference-transaction"):
        file = project.root / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\nexit 1\n")
        file.chmod(0o755)
    (await trees.create("first") / "a").write_text("a")
    place = await trees.create("t")
    project.git("init", "-q", "nested", cwd=place)
    for name in (".unstuck/prompt", "noise.log", "nested/file", "odd\nname", ":(top)x"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("x")
    await trees.integrate("first", "First")
    tip = await trees.integrate("t", "Work")
    listed = project.git("ls-tree", "-r", "-z", "--name-only", tip).split("\0")
    assert [name for name in listed if name] == [".gitignore", ":(top)x", "a", "app.py", "lib/util.py", "odd\nname"]


async def test_the_users_global_ignore_rules_hold(project: Project, trees: Worktrees, isolated: Path) -> None:
    """Files that a person ignores everywhere are not committed for them."""
    (isolated / "ignore").write_text("*.swp\n")
    (isolated / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignore\n")
    place = await trees.create("t")
    (place / "a.swp").write_text("x")
    assert await trees.integrate("t", "Nothing to say") is None


async def test_creating_twice_gives_the_same_tree_with_its_work(trees: Worktrees) -> None:
    """A resumed run finds the task's unfinished work where it was."""
    place = await trees.create("t")
    (place / "unfinished").write_text("x")
    assert await trees.create("t") == place
    assert (place / "unfinished").exists()


@pytest.mark.parametrize("left", ["no marker", "no directory", "only a directory", "only a branch"])
async def test_a_half_made_tree_is_made_again(project: Project, trees: Worktrees, left: str) -> None:
    """Killed at any point while a tree was made, the next try makes a whole one."""
    place = await trees.create("t")
    admin = project.root / ".git/worktrees/t"
    if left == "no marker":
        (admin / "unstuck-start").unlink()
        (admin / "index.lock").write_text("")
        (place / "app.py").unlink()
    elif left == "no directory":
        shutil.rmtree(place)
        (admin / "locked").write_text("initializing")
    elif left == "only a directory":
        shutil.rmtree(admin)
        (place / "work").write_text("maybe precious")
    else:
        project.git("worktree", "remove", "--force", str(place))
    again = await trees.create("t")
    assert again == place
    assert (place / "app.py").read_text() == "one\n"
    assert project.git("status", "--porcelain", cwd=place) == ""
    aside = [tree for tree in place.parent.glob("t.aside-*") if (tree / "work").exists()]
    assert len(aside) == (left == "only a directory")


@pytest.mark.parametrize("work", ["untracked", "changed", "staged", "committed", "nested"])
async def test_a_tree_with_work_in_it_is_kept(project: Project, trees: Worktrees, work: str) -> None:
    """Nothing that has not reached the run's branch is ever removed."""
    place = await trees.create("t")
    if work == "nested":
        project.git("init", "-q", "inner", cwd=place)
    else:
        (place / ("new" if work == "untracked" else "app.py")).write_text("x")
    if work in ("staged", "committed"):
        project.git("add", "-A", cwd=place)
    if work == "staged":
        (place / "app.py").write_text("one\n")
    if work == "committed":
        project.git("commit", "-q", "-m", "x", cwd=place)
    assert await trees.remove("t")
    assert place.exists()
    assert project.git("branch", "--list", "unstuck/r1/t").strip()


async def test_a_merged_tree_is_removed_with_its_branch(project: Project, trees: Worktrees) -> None:
    """Once its work is in, the tree goes, also with ignored files in it; removing twice is fine."""
    place = await trees.create("t")
    (place / "new").write_text("x")
    (place / "build").mkdir()
    (place / "build" / "output").write_text("x")
    await trees.integrate("t", "Work")
    assert await trees.remove("t") == ""
    assert await trees.remove("t") == ""
    assert not place.exists()
    assert project.git("branch", "--list", "unstuck/r1/t") == ""
    assert str(place) not in project.git("worktree", "list")


async def test_the_base_stays_where_the_run_began(project: Project, trees: Worktrees, tmp_path: Path) -> None:
    """The user may commit while a run is on: its base does not move, and a resumed run has the same."""
    base = await trees.prepare()
    project.write({"later": "x"})
    project.commit("later")
    assert await Worktrees(await project.repository(), tmp_path / "state", "r1").prepare() == base
    assert await Worktrees(await project.repository(), tmp_path / "state", "r2").prepare() != base


async def test_the_baseline_is_the_start_and_goes_away(project: Project, trees: Worktrees) -> None:
    """A check can be tried on the state before any task; nothing of it remains, not even after an error."""
    (await trees.create("t") / "app.py").write_text("changed\n")
    await trees.integrate("t", "Work")
    places = []

    async def check():
        async with trees.baseline() as place:
            places.append(place)
            assert (place / "app.py").read_text() == "one\n"
            (place / "app.py").write_text("a check may write\n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await check()
    assert not places[0].exists()
    assert str(places[0]) not in project.git("worktree", "list")


async def test_what_a_kill_left_is_swept_at_the_next_start(project: Project, trees: Worktrees, tmp_path: Path) -> None:
    """A baseline, or a tree on its way out, of a killed run does not stay for ever."""
    place = await trees.create("t")
    async with trees.baseline() as live:
        baseline = live
        other = Worktrees(await project.repository(), tmp_path / "state", "r1")
        (place.parent / ".trash-1").mkdir()
        await trees.prepare()
        assert live.exists()
        await other.prepare()
    assert not baseline.exists()
    assert not (place.parent / ".trash-1").exists()
    assert place.exists()


async def test_many_at_once(trees: Worktrees) -> None:
    """Tasks start and end at the same time without getting into each other's way."""

    async def work(name):
        (await trees.create(name) / f"{name}.txt").write_text(name)
        return await trees.integrate(name, f"Work of {name}")

    names = [f"t{number}" for number in range(4)]
    tips = await asyncio.gather(*map(work, names))
    assert len(set(tips)) == 4
    final = await trees.create("final")
    assert all((final / f"{name}.txt").exists() for name in names)


async def test_without_a_commit_it_says_what_to_do(empty: Project, tmp_path: Path) -> None:
    """There is nothing to branch from in a new repository, and the message says how to get there."""
    with pytest.raises(ProjectError, match=r"no commit yet.*git commit"):
        await Worktrees(await empty.repository(), tmp_path, "r").prepare()


async def test_a_branch_of_the_same_name_is_said(project: Project, tmp_path: Path) -> None:
    """A user's branch called unstuck leaves no room for ours."""
    project.git("branch", "unstuck")
    with pytest.raises(ProjectError, match="branch unstuck is in the way"):
        await Worktrees(await project.repository(), tmp_path, "r").prepare()


@pytest.mark.parametrize("task", ["", "..", "a/b", "-x", "_run", "a b", "a\n", "x" * 101])
async def test_what_is_no_id_is_refused(trees: Worktrees, task: str) -> None:
    """No task name leads out of the run's own directory and branches."""
    with pytest.raises(WorkspaceError, match="not a usable id"):
        await trees.create(task)


async def test_odd_but_legal_ids_work(trees: Worktrees) -> None:
    """Names git would refuse for a branch are spelled differently, and stay apart."""
    tasks = ["a.lock", "a..b", "dot.", "v1.2", "a.b"]
    places = {await trees.create(task) for task in tasks}
    assert len(places) == len(tasks)
    for task in tasks:
        (await trees.create(task) / task).write_text("x")
        assert await trees.integrate(task, task)


async def test_a_run_that_is_over_leaves_only_what_holds_something(project: Project, trees: Worktrees) -> None:
    """Trees whose work has arrived go with their branches; untracked files and open commits keep theirs, said why."""
    for name in ("done", "idle", "notes", "open"):
        await trees.create(name)
    done, notes, unmerged = (trees.path(name) for name in ("done", "notes", "open"))
    (done / "new").write_text("x")
    (done / "build").mkdir()
    (done / "build/ignored").write_text("x")
    await trees.integrate("done", "Work")
    (notes / "notes.txt").write_text("precious")
    project.git("commit", "-q", "--allow-empty", "-m", "mine", cwd=unmerged)
    cleaned = await trees.clean()
    assert cleaned.removed == ("done", "idle")
    assert {kept.place: kept.reason for kept in cleaned.kept} == {
        str(notes): "untracked files: notes.txt",
        str(unmerged): "commits that are not on unstuck/r1/_run",
    }
    assert await trees.look() == cleaned.kept
    assert (notes / "notes.txt").read_text() == "precious"
    listed = project.git("branch", "--list", "unstuck/*", "--format=%(refname:short)").split()
    assert listed == ["unstuck/r1/_run", "unstuck/r1/notes", "unstuck/r1/open"]
    assert project.git("worktree", "list").count("\n") == 3
    assert (await trees.clean()).kept == cleaned.kept


async def test_a_tree_in_which_something_lives_is_kept(trees: Worktrees) -> None:
    """A server that an agent left running keeps its tree; once it has ended, the tree goes."""
    place = await trees.create("t")
    (place / "lib").mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec("cat", cwd=place / "lib", stdin=asyncio.subprocess.PIPE)
    (kept,) = (await trees.clean()).kept
    assert kept.reason == f"process {process.pid} works in it"
    process.stdin.close()
    await process.wait()
    assert (await trees.clean()).removed == ("t",)
    assert not place.parent.exists()


@pytest.mark.parametrize("state", ["locked", "rebase", "unregistered", "staged"])
async def test_a_tree_that_somebody_is_not_done_with_is_kept(project: Project, trees: Worktrees, state: str) -> None:
    """Locked, in the middle of a rebase, unknown to git or with something staged: it stays, whatever else it holds."""
    place = await trees.create("t")
    if state == "locked":
        project.git("worktree", "lock", "--reason", "I look at it", str(place))
        expected = "it is locked: I look at it"
    elif state == "rebase":
        (project.root / ".git/worktrees/t/rebase-merge").mkdir()
        expected = "in the middle of a rebase"
    elif state == "unregistered":
        shutil.rmtree(project.root / ".git/worktrees/t")
        expected = "it is no longer a worktree of this repository"
    else:
        (place / "app.py").write_text("staged\n")
        project.git("add", "-A", cwd=place)
        (place / "app.py").write_text("one\n")
        expected = "uncommitted changes: app.py"
    (kept,) = (await trees.clean()).kept
    assert kept.reason == expected
    assert (place / "app.py").exists()


async def test_a_missing_tree_is_forgotten_and_a_moved_one_is_found(
    project: Project, trees: Worktrees, tmp_path: Path
) -> None:
    """A tree that I deleted leaves nothing behind; one that I moved stays with its branch, and is asked back."""
    gone, moved = await trees.create("gone"), await trees.create("moved")
    shutil.rmtree(gone)
    project.git("worktree", "move", str(moved), str(tmp_path / "elsewhere"))
    with pytest.raises(WorkspaceError, match=r"git worktree move .*/elsewhere .*/moved"):
        await trees.create("moved")
    cleaned = await trees.clean()
    assert cleaned.removed == ("gone",)
    assert [kept.reason for kept in cleaned.kept] == [f"its worktree was moved to {tmp_path / 'elsewhere'}"]
    assert "gone" not in project.git("worktree", "list")
    project.git("worktree", "move", str(tmp_path / "elsewhere"), str(moved))
    assert await trees.create("moved") == moved


async def test_in_a_moved_project_the_trees_are_asked_back(project: Project, trees: Worktrees, tmp_path: Path) -> None:
    """The command that is named works as it stands, and the work in the tree is there again."""
    ((await trees.create("t")) / "work.txt").write_text("mine\n")
    moved = project.root.rename(tmp_path / "moved")
    again = Worktrees(await find_repository(moved), tmp_path / "state", "r1")
    with pytest.raises(WorkspaceError, match="was moved: git worktree repair") as refused:
        await again.create("t")
    subprocess.run(["sh", "-c", str(refused.value).partition(": ")[2]], cwd=moved, check=True, capture_output=True)
    assert ((await again.create("t")) / "work.txt").read_text() == "mine\n"


async def test_a_submodule_with_commits_of_its_own_keeps_its_tree(
    project: Project, trees: Worktrees, tmp_path: Path
) -> None:
    """A worktree with commits inside a submodule stays, though the rest has arrived."""
    other = tmp_path / "other"
    project.git("clone", "-q", str(project.root), str(other))
    place = await trees.create("t")
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part", cwd=place)
    project.git("commit", "-q", "--allow-empty", "-m", "inside", cwd=place / "part")
    assert await trees.integrate("t", "With a part")
    (kept,) = (await trees.clean()).kept
    assert kept.reason == "a submodule with commits of its own: part"


async def test_whatever_lies_where_results_are_merged_is_no_hindrance(project: Project, trees: Worktrees) -> None:
    """A stray file in the worktree for merges is deleted, also between two results of one run."""
    (await trees.create("a") / "a").write_text("a")
    (await trees.create("b") / "b").write_text("b")
    await trees.integrate("a", "A")
    merging = trees.path("a").with_name("_run")
    (merging / "b").write_text("in the way")
    (merging / "app.py").write_text("changed")
    tip = await trees.integrate("b", "B")
    assert show(project, tip, "b") == "b"
    assert show(project, tip, "app.py") == "one\n"


async def test_results_are_let_go_only_where_they_have_arrived(project: Project, trees: Worktrees) -> None:
    """When an old run's record goes, the branch with its results goes only if another branch has them."""
    (await trees.create("t") / "new").write_text("x")
    tip = await trees.integrate("t", "Work")
    await trees.clean()
    await trees.forget()
    assert await trees.tip() == tip
    project.git("merge", "-q", tip)
    await trees.forget()
    assert project.git("for-each-ref", "refs/heads/unstuck", "refs/unstuck") == ""


async def test_one_that_cannot_be_cleaned_does_not_keep_the_others(project: Project, trees: Worktrees) -> None:
    """A branch that git cannot let go of at the moment is said, and the rest is cleaned; the next time it goes, too."""
    for name in ("a", "b"):
        await trees.create(name)
    lock = project.root / ".git/refs/heads/unstuck/r1/a.lock"
    lock.write_text("")
    cleaned = await trees.clean()
    assert cleaned.removed == ("b",)
    assert "a.lock" in cleaned.kept[0].reason
    lock.unlink()
    assert (await trees.clean()).removed == ("a",)


INTEGRATING = """
import asyncio, sys
from pathlib import Path
from unstuck.workspace.git.repository import find_repository
from unstuck.workspace.git.repository import find_repository
from unstuck.workspace.worktrees.worktrees import Worktrees

async def main():
    repo = await find_repository(Path(sys.argv[1]))
    await Worktrees(repo, Path(sys.argv[2]), "r1").integrate("t", "Work")

asyncio.run(main())
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("word", ["commit-tree", "update-ref refs/heads/unstuck/r1/t", "merge --quiet --ff"])
async def test_killed_at_any_step_a_result_comes_in_once(
    project: Project,
    trees: Worktrees,
    tmp_path: Path,
    git_that: Callable[[str, str], Path],
    start: Start,
    word: str,
    when: str,
) -> None:
    """kill -9 before or after the commit, the reference and the merge: the next try has it in, once."""
    (await trees.create("other") / "other.txt").write_text("other\n")
    await trees.integrate("other", "Other")
    (await trees.create("t") / "app.py").write_text("two\n")
    (trees.path("t") / "new.txt").write_text("new\n")
    (trees.path("other") / "app.py").write_text("one\n")
    kill = "kill -9 $PPID; exit 1"
    wrapper = git_that(word, kill if when == "before" else f'$GIT "$@"; {kill}')
    died = start("-c", INTEGRATING, project.root, tmp_path / "state", program=sys.executable)
    assert died.wait(60) == -signal.SIGKILL
    wrapper.unlink()
    tip = await trees.integrate("t", "Work")
    assert await trees.integrate("t", "Work") == tip == await trees.tip()
    assert show(project, tip, "app.py") == "two\n"
    assert show(project, tip, "new.txt") == "new\n"
    assert show(project, tip, "other.txt") == "other\n"
    assert project.git("log", "--format=%s", "--no-merges", f"main..{tip}").split() == ["Work", "Other"]
    assert (await trees.clean()).kept == ()
