"""Status of the user's repository: operations under way, branches that are checked out, changed files."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from unstuck.workspace.git.plain_file import read_text
from unstuck.workspace.git.refs import branch_in
from unstuck.workspace.git.repository import Repository, run_git, split_paths

_OPERATIONS = (
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer", "a cherry-pick or revert"),
    ("BISECT_LOG", "a bisect"),
)
_REBASED = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


@dataclass(frozen=True, slots=True)
class Tree:
    """Worktree of the repository. ``branch`` is the short name of its branch, also during a rebase."""

    path: Path
    git_dir: Path
    branch: str | None


def under_way(git_dir: Path) -> str:
    """Return the operation under way in a worktree, such as ``a rebase``; empty without one."""
    return next((what for name, what in _OPERATIONS if (git_dir / name).exists()), "")


def is_locked(git_dir: Path) -> bool:
    """Return whether a git, live or dead, holds the lock on the index of a worktree."""
    return (git_dir / "index.lock").exists()


async def branch_of(tree: Path) -> str | None:
    """Return the branch that is checked out, born or not; None with a detached HEAD."""
    with suppress(OSError):
        if branch := branch_in(git_dir_of(tree)):
            return branch
    result = await run_git(tree, "symbolic-ref", "--quiet", "--short", "HEAD", check=False)
    return result.line if result.code == 0 else None


def has_branch(git_dir: Path, branch: str) -> bool:
    """Return whether a worktree has the branch of this short name, also during a rebase."""
    if _left(git_dir) == branch:
        return True
    try:
        return branch_in(git_dir) == branch
    except OSError:
        return False


async def trees(repo: Repository) -> tuple[Tree, ...]:
    """Return every worktree of the repository, including those whose directory is missing."""
    listed = await run_git(repo.root, "worktree", "list", "--porcelain", "-z")
    found: list[Tree] = []
    for part in listed.out.split(b"\0\0"):
        fields = dict(row.partition(" ")[::2] for row in split_paths(part))
        if "worktree" not in fields or "bare" in fields:
            continue
        path = Path(fields["worktree"])
        if not found and repo.git_dir == repo.common:
            path = repo.root  # of a submodule git names the git directory instead
        git_dir = repo.common if not found else git_dir_of(path)
        found.append(Tree(path, git_dir, fields.get("branch", "").removeprefix("refs/heads/") or _left(git_dir)))
    return tuple(found)


async def changed_in(tree: Path) -> tuple[str, ...]:
    """Return the tracked files that differ from the last commit, staged or not; sorted, relative to the tree."""
    command = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
    result = await run_git(tree, *command, user_config=True)
    return tuple(sorted(row[3:] for row in split_paths(result.out)))


def git_dir_of(path: Path) -> Path:
    """Return the git directory of the worktree at ``path``, as its ``.git`` names it."""
    try:
        said = read_text(path / ".git")
    except OSError:
        return path / ".git"  # the tree is missing
    return (path / said.removeprefix("gitdir: ").rstrip("\n")).resolve()


def _left(git_dir: Path) -> str | None:
    """Return the branch to which a rebase or a bisect under way returns; None without one."""
    for name in _REBASED:
        try:
            return read_text(git_dir / name).strip().removeprefix("refs/heads/")
        except OSError:
            continue
    return None
