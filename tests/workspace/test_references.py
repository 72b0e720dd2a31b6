"""References and HEAD, however git keeps them."""

from __future__ import annotations

from tests.workspace.conftest import Project

from unstuck.workspace.git.refs import commit_at, head
from unstuck.workspace.git.repository import find_repository

BRANCH = "refs/heads/work"


async def test_a_branch_is_found_wherever_git_keeps_it(project: Project) -> None:
    """Loose, packed, packed and moved on, named by another one: always the commit that git has."""
    repo = await find_repository(project.root)
    assert await commit_at(repo, BRANCH) is None
    project.git("branch", "work")
    first = project.git("rev-parse", "HEAD").strip()
    assert await commit_at(repo, BRANCH) == first
    project.git("pack-refs", "--all")
    assert not (project.root / ".git" / BRANCH).exists()
    assert await commit_at(repo, BRANCH) == first
    assert await commit_at(repo, "refs/heads/wor") is None
    project.git("commit", "-q", "--allow-empty", "-m", "More")
    project.git("branch", "-f", "work")
    assert await commit_at(repo, BRANCH) == project.git("rev-parse", "HEAD").strip() != first
    project.git("symbolic-ref", "refs/heads/other", BRANCH)
    assert await commit_at(repo, "refs/heads/other") == project.git("rev-parse", "HEAD").strip()


async def test_what_is_no_branch_is_none(project: Project) -> None:
    """A folder of branches, or a file that a power cut has emptied, is no commit."""
    repo = await find_repository(project.root)
    project.git("branch", "work/one")
    assert await commit_at(repo, BRANCH) is None
    (project.root / ".git" / BRANCH / "one").write_text("")
    assert await commit_at(repo, BRANCH + "/one") is None
    assert await commit_at(repo, BRANCH + "/one/more") is None


async def test_what_is_checked_out_is_found_wherever_git_keeps_it(project: Project) -> None:
    """On a branch, detached, as a file or in a pack: the commit that git has; None where that is gone, or none yet."""
    repo = await find_repository(project.root)
    commit = project.git("rev-parse", "HEAD").strip()
    assert await head(repo) == commit
    project.git("checkout", "-q", "--detach")
    assert await head(repo) == commit
    project.git("checkout", "-q", "--orphan", "fresh")
    assert await head(repo) is None
    project.git("checkout", "-q", "-f", "main")
    loose = project.root / ".git" / "objects" / commit[:2] / commit[2:]
    project.git("repack", "-q", "-a", "-d")
    assert not loose.exists()
    assert await head(repo) == commit
    for pack in (project.root / ".git" / "objects" / "pack").iterdir():
        pack.unlink()
    assert await head(repo) is None
