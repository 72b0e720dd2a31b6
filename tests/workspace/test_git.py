"""Git as a program, and what is found of a repository."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.workspace.conftest import Project

from unstuck.errors import GitError, WorkspaceError
from unstuck.workspace.git.refs import head
from unstuck.workspace.git.repository import dirty, find_repository, project_home, run_git


async def test_a_work_tree_is_found_from_a_folder_inside_it(project: Project) -> None:
    """A person may stand anywhere in their project."""
    repo = await find_repository(project.root / "lib")
    assert repo is not None
    assert repo.root == project.root
    assert repo.common == project.root / ".git"
    assert repo.git_dir == project.root / ".git"


async def test_a_linked_work_tree_has_its_own_git_directory_and_home(project: Project, tmp_path: Path) -> None:
    """Two work trees of one repository never share a record."""
    project.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    main, linked = await project.repository(), await find_repository(tmp_path / "linked")
    assert linked is not None
    assert linked.root == tmp_path / "linked"
    assert linked.common == main.common
    assert linked.git_dir == main.common / "worktrees" / "linked"
    home = project_home(linked.root, linked)
    assert home.parent == main.common / "unstuck" / "worktrees"
    assert project_home(main.root, main) == main.common / "unstuck"


async def test_no_repository_where_there_is_no_work_tree(plain: Project, tmp_path: Path) -> None:
    """A plain directory, a bare repository and the inside of .git are not places to work in git."""
    assert await find_repository(plain.root) is None
    plain.git("init", "-q", "--bare", "bare.git")
    assert await find_repository(plain.root / "bare.git") is None
    plain.git("init", "-q", "full")
    assert await find_repository(plain.root / "full" / ".git") is None


async def test_a_damaged_repository_is_said_not_overlooked(project: Project) -> None:
    """A repository that git refuses to read is an error, never "there is no git here"."""
    (project.root / ".git" / "config").write_text("[core\n")
    with pytest.raises(GitError, match="bad config"):
        await find_repository(project.root)


async def test_a_newline_in_the_project_path_is_just_a_name(tmp_path: Path) -> None:
    """An odd directory name does not confuse what git answers."""
    root = tmp_path / "odd\nname"
    root.mkdir()
    await run_git(root, "init", "-q")
    repo = await find_repository(root)
    assert repo is not None
    assert repo.root == root


async def test_head_is_none_until_the_first_commit(empty: Project) -> None:
    """A repository without a commit is told apart from one with."""
    repo = await empty.repository()
    assert await head(repo) is None
    empty.write({"a": "1"})
    commit = empty.commit()
    assert await head(repo) == commit


async def test_dirty_names_what_is_not_committed(project: Project) -> None:
    """Changed and new files are named with their own names; ignored ones are not."""
    repo = await project.repository()
    assert await dirty(repo) == ()
    project.write({"app.py": "two\n", "new\nfile ä.txt": "x", "noise.log": "x"})
    assert await dirty(repo) == ("app.py", "new\nfile ä.txt")


async def test_inherited_git_variables_do_not_lead_elsewhere(
    project: Project, plain: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started from a git hook, we still work in the project we were given."""
    monkeypatch.setenv("GIT_DIR", str(plain.root / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(plain.root / "index"))
    assert (await project.repository()).root == project.root


async def test_the_users_own_settings_count_only_where_asked_for(project: Project, isolated: Path) -> None:
    """Our own commands do not depend on what a user has in their configuration."""
    (isolated / ".gitconfig").write_text("[alias]\n\tgreet = !echo hello\n")
    assert (await run_git(project.root, "greet", user_config=True)).out == b"hello\n"
    assert (await run_git(project.root, "greet", check=False)).code == 1


async def test_a_failed_command_is_one_line(project: Project) -> None:
    """The error of git is kept, on one line."""
    with pytest.raises(GitError) as caught:
        await run_git(project.root, "rev-parse", "--verify", "no-such-thing")
    assert str(caught.value) == "git rev-parse --verify no-such-thing failed (128): fatal: Needed a single revision"


async def test_missing_git_and_missing_directory_are_told_apart(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to do about it."""
    with pytest.raises(WorkspaceError, match="cannot work in"):
        await run_git(project.root / "gone", "status")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WorkspaceError, match="git was not found"):
        await run_git(project.root, "status")


async def test_output_is_cut_off_at_the_bound(project: Project) -> None:
    """A search with millions of hits costs no more than what we want to read."""
    project.write({"big.txt": "needle\n" * 200_000})
    result = await run_git(project.root, "grep", "-h", "--untracked", "needle", most=1000)
    assert len(result.out) == 1000
    assert result.code == 0


async def test_a_cancelled_command_is_dead_afterwards(project: Project, tmp_path: Path) -> None:
    """Nothing of ours goes on in the background after it was called off."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = f"echo $$ > {pipe}; exec sleep 1000"
    working = asyncio.create_task(run_git(project.root, "-c", f"alias.wait=!{command}", "wait"))
    pid = int(await asyncio.to_thread(pipe.read_text))
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()


async def test_a_command_that_is_cancelled_twice_is_not_forgotten(
    project: Project, tmp_path: Path, git_that: Callable[[str, str], Path]
) -> None:
    """A caller that does not wait for the end of a command goes on at once, and the command leaves no trace."""
    pipe, door = tmp_path / "pipe", tmp_path / "door"
    os.mkfifo(pipe)
    os.mkfifo(door)
    git_that("version", f"trap '' TERM; echo $$ > {pipe}; read word < {door}; exit")
    working = asyncio.create_task(run_git(project.root, "version", "now"))
    pid = int(await asyncio.to_thread(pipe.read_text))
    for _ in range(2):
        working.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await working
    del working
    gc.collect()
    door.write_text("go\n")
    while psutil.pid_exists(pid):
        await asyncio.sleep(0)


async def test_an_exit_code_that_nobody_can_tell_is_no_success(project: Project) -> None:
    """Started by a program that ignores the ends of its children, a "no" of git does not count as a "yes"."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(WorkspaceError, match="SIGCHLD"):
            await run_git(project.root, "rev-parse", "--verify", "--quiet", "none", check=False)
    finally:
        signal.signal(signal.SIGCHLD, before)


async def test_without_git_the_home_ignores_itself(plain: Project) -> None:
    """The directory we keep in a project without git does not show up in a later one."""
    home = project_home(plain.root, None)
    assert home == plain.root / ".unstuck"
    plain.git("init", "-q")
    plain.write({".unstuck/log": "x", "work": "x"})
    assert await dirty(await plain.repository()) == ("work",)
