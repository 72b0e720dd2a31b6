"""Clones of the repositories of shared plans on a host, and the worktrees in which small runs begin."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from unstuck.errors import GitError, WorkspaceError
from unstuck.eventlog.storage.durable_files import make_directory
from unstuck.fleet.shared_plan.entries import Files, PlanEntry, WorkEntry
from unstuck.fleet.shared_plan.plan_table import PlanTable
from unstuck.fleet.shared_plan.transport import Transport
from unstuck.settings.paths import state_dir
from unstuck.workspace.git.repository import run_git


class Slots:
    """One bare clone for each owner and repository, with a worktree for each task that is worked at once.

    A worktree stays for the next task. Its home with the event logs of its small runs is below the clone's.
    """

    def __init__(self, environ: Mapping[str, str], table: PlanTable) -> None:
        self._folder, self._table = state_dir(environ) / "fleet-plans", table
        self._taken: set[Path] = set()
        self._lock = asyncio.Lock()
        self._transports: dict[tuple[Path, str], Transport] = {}

    def transport(self, owner: str, plan: PlanEntry) -> Transport:
        """Return the way of files between this host and the owner of a run."""
        clone = self._clone(owner, plan)
        key = clone, plan.run
        if key not in self._transports:
            self._transports[key] = Transport(clone, plan.run, plan.remote, self._table, plan.base.commit)
        return self._transports[key]

    def _clone(self, owner: str, plan: PlanEntry) -> Path:
        return self._folder / hashlib.sha256(f"{owner} {plan.roots}".encode()).hexdigest()[:16] / "repo.git"

    @asynccontextmanager
    async def slot(self, owner: str, plan: PlanEntry, work: WorkEntry, so_far: Files | None) -> AsyncIterator[Path]:
        """Yield a worktree with the files ``so_far``, or those at the start where there are none or they are lost.

        Raises WorkspaceError and OSError.
        """
        clone, transport = self._clone(owner, plan), self.transport(owner, plan)
        async with self._lock:
            if not (clone / "HEAD").exists():
                make_directory(clone.parent)
                await run_git(clone.parent, "init", "--quiet", "--bare", str(clone))
            for one in (plan.base, work.base):
                await transport.fetch(one)
            commit = ""
            if so_far is not None:
                with suppress(WorkspaceError):  # its host died after it had sent newer ones, or the server was wiped
                    commit = await transport.fetch(so_far)
            commit = commit or await transport.fetch(work.start)
            number = next(n for n in range(1, len(self._taken) + 2) if clone.parent / f"slot-{n}" not in self._taken)
            slot = clone.parent / f"slot-{number}"
            self._taken.add(slot)
        try:
            async with self._lock:
                await self._check_out(clone, slot, commit)
            directory = slot / plan.directory
            directory.mkdir(parents=True, exist_ok=True)
            yield directory
        finally:
            self._taken.discard(slot)

    @staticmethod
    async def _check_out(clone: Path, slot: Path, commit: str) -> None:
        if (slot / ".git").exists():
            try:
                await run_git(slot, "checkout", "--quiet", "--force", "--detach", commit, user_config=True)
                await run_git(slot, "clean", "-fdq", user_config=True)
                return
            except GitError:  # a kill has left it half made
                pass
        await asyncio.to_thread(shutil.rmtree, slot, True)
        await run_git(clone, "worktree", "prune")
        await run_git(clone, "worktree", "add", "--quiet", "--force", "--detach", str(slot), commit, user_config=True)
