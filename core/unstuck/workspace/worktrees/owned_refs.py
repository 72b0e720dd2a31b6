"""Work trees, branches and references of unstuck in a person's repository: their run, and what only they hold.

Nothing is guessed: a git that fails raises, because a deletion of what is found here must not take *cannot be
told* for *there is nothing*.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from unstuck.workspace.git.refs import branch_in
from unstuck.workspace.git.repository import Repository, run_git, split_paths
from unstuck.workspace.worktrees.unmerged_work import held_in
from unstuck.workspace.worktrees.worktree import MARKER, TRASH, TreePlace, belongs_elsewhere, registered_tree

_BRANCH = re.compile(r"refs/heads/unstuck/(\d{8}-\d{6}(?:-\d{1,9})?)/.+")
_OTHER = re.compile(r"refs/unstuck/(?:bases|deliveries|fleet)/([^/]+)(?:/.+)?")
_PIN = "refs/unstuck/pins/"
_OURS_ALONE = ("_run", "_baseline-", "_delivery", TRASH)
_OWN_FOLDER = ".unstuck"
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTree:
    """A work tree of ours, or what is left of one. ``git_dir`` is None where git does not know it.

    ``branch`` is the short name of what is checked out in it, empty where HEAD is detached or unknown. ``is_copied``:
    the tree is that of the repository from which this one was copied, and only what git keeps of it here is ours.
    """

    path: Path
    run: str
    git_dir: Path | None = None
    branch: str = ""
    is_copied: bool = False

    @property
    def ours(self) -> Path:
        """Return the parts of it that may be removed."""
        return self.git_dir if self.is_copied and self.git_dir is not None else self.path


def run_of(reference: str) -> str:
    """The run to which a reference belongs; empty for a person's own, and for what belongs to no single run."""
    found = _BRANCH.fullmatch(reference) or _OTHER.fullmatch(reference)
    return found[1] if found else ""


async def own_references(repo: Repository) -> dict[str, str]:
    """Every reference of ours with its commit, the pins of borrowed files among them."""
    return {name: commit for name, commit in (await _references(repo)).items() if _is_own(name)}


async def own_trees(repo: Repository, folder: Path) -> tuple[OwnTree, ...]:
    """The work trees of ours, moved or not; ``folder`` is where they are made. Raises OSError."""
    return await asyncio.to_thread(_own_trees, repo, folder)


def _own_trees(repo: Repository, folder: Path) -> tuple[OwnTree, ...]:
    found: dict[Path, OwnTree] = {}
    registered = repo.common / "worktrees"
    for git_dir in sorted(registered.iterdir()) if registered.is_dir() else ():
        path = registered_tree(git_dir)
        if path is None or not (path.is_relative_to(folder) or (git_dir / MARKER).exists()):
            continue
        branch = branch_in(git_dir)
        run = path.relative_to(folder).parts[0] if path.is_relative_to(folder) else run_of(f"refs/heads/{branch}")
        copied = belongs_elsewhere(path, repo)
        found[path] = OwnTree(path=path, run=run, git_dir=git_dir, branch=branch, is_copied=copied)
    for place in sorted(folder.glob("*/*")) if folder.is_dir() else ():
        found.setdefault(place, OwnTree(path=place, run=place.parent.name))
    return tuple(found.values())


async def users_heads(repo: Repository, own: Collection[Path]) -> dict[str, str]:
    """Return what others have checked out: path to the branch, or to the commit of a detached HEAD."""
    listed = await run_git(repo.root, "worktree", "list", "--porcelain", "-z")
    heads: dict[str, str] = {}
    for part in listed.out.split(b"\0\0"):
        fields = dict(row.partition(" ")[::2] for row in split_paths(part))
        if "worktree" in fields and Path(fields["worktree"]) not in own:
            heads[fields["worktree"]] = fields.get("branch") or fields.get("HEAD", "")
    return heads


async def commits_only_in(repo: Repository, commit: str, heads: Mapping[str, str]) -> int:
    """Return the number of commits up to ``commit`` in none of the person's references and ``heads``, up to 1,000."""
    references = await _references(repo)
    theirs = {value for name, value in references.items() if not _is_own(name)}
    theirs |= {references.get(value, value) for value in heads.values()}
    kept = "".join(f"^{value}\n" for value in sorted(theirs) if value.strip("0"))
    arguments = ("rev-list", "--count", f"--max-count={_MOST}", "--stdin")
    result = await run_git(repo.root, *arguments, stdin=f"{commit}\n{kept}".encode())
    return int(result.line)


async def held_by(repo: Repository, tree: OwnTree, heads: Mapping[str, str]) -> str:
    """Return the work that only this worktree holds; empty if there is none.

    Commits on its branch are the branch's; ignored files do not count.
    """
    name = tree.path.name
    if tree.is_copied or not tree.path.exists() or name.startswith(_OURS_ALONE):
        return ""
    place = TreePlace(repo, tree.path)
    if not place.is_linked:
        empty = tree.path.is_dir() and not any(tree.path.iterdir())
        return "" if empty else "git does not know it any more, and there may be work in it"
    if place.start is None:
        return ""  # never handed to anybody
    head = await place.commit()
    if head is None:
        return "nothing is checked out in it, so it is not known what is new"
    if not tree.branch and (count := await commits_only_in(repo, head, heads)):
        return f"{count} commit{'s' if count > 1 else ''} on no branch"
    return await held_in(place, head, tree.branch, _OWN_FOLDER)


async def _references(repo: Repository) -> dict[str, str]:
    listed = await run_git(repo.root, "for-each-ref", "--format=%(refname) %(objectname)")
    rows = (row.rpartition(" ") for row in listed.line.split("\n") if row)
    return {name: commit for name, _, commit in rows}


def _is_own(name: str) -> bool:
    return bool(run_of(name)) or name.startswith(_PIN)
