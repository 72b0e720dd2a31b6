"""Commits between machines: as branches of the plan's git remote, or as bundles in the server's object store."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from pathlib import Path
from tempfile import TemporaryDirectory

from unstuck.errors import GitError, UsageError, WorkspaceError
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.session import FleetError
from unstuck.fleet.shared_plan.entries import Files
from unstuck.fleet.shared_plan.plan_table import PlanTable
from unstuck.text import one_line
from unstuck.workspace.git.repository import Result, run_git
from unstuck.workspace.worktrees.worktree import safe_name

BUNDLE = "bundle"
"""In place of a remote's name: files travel through the server."""
_PIECE = 512 * 1024
_AGAIN_S = 0.5
_SECRET = re.compile(r"^[a-z+]+://[^/@]*:[^/@]+@")
_TRIES = 3


async def remote_of(root: Path, wanted: str = "") -> str:
    """Return the address of the remote through which files travel; empty for bundles. Raises UsageError."""
    if wanted == BUNDLE:
        return ""
    listed = (await run_git(root, "remote", user_config=True)).line.split()
    if wanted and wanted not in listed:
        raise UsageError(f"--via {one_line(wanted, 80)}: no such git remote; there are: {', '.join(listed) or 'none'}")
    branch = (await run_git(root, "symbolic-ref", "--short", "-q", "HEAD", check=False)).line
    tracked = (await run_git(root, "config", f"branch.{branch}.remote", check=False)).line if branch else ""
    name = wanted or next((one for one in (tracked, "origin", *listed[:1]) if one in listed), "")
    if not name:
        return ""
    found = (await run_git(root, "remote", "get-url", "--push", name, user_config=True)).line
    if _SECRET.match(found):
        raise UsageError(f"the address of {name} holds a password, which would travel: use git's credential helper")
    return found


class Transport:
    """Sends and fetches commits of one run. ``directory`` is a work tree, or a git directory, of the repository."""

    def __init__(self, directory: Path, run: str, remote: str, table: PlanTable, base: str) -> None:
        self._directory, self._run, self._remote, self._table = directory, run, remote, table
        self._base, self._references = base, f"refs/unstuck/fleet/{safe_name(run)}"
        self._sent: dict[str, Files] = {}

    async def send(self, commit: str, name: str) -> Files:
        """Send ``commit`` under ``name``, once. Raises WorkspaceError."""
        if (known := self._sent.get(commit)) is not None:
            return known
        if self._remote:
            branch = f"unstuck/{safe_name(self._run)}/{safe_name(name) if name[0] != '_' else name}"
            await self._git("push", "--quiet", "--no-verify", self._remote, f"+{commit}:refs/heads/{branch}")
            files = Files(commit=commit, branch=branch)
        else:
            files = Files(commit=commit, bundle=await self._send_bundle(commit))
        self._sent[commit] = files
        return files

    async def has(self, commit: str) -> bool:
        """Return whether ``commit`` is here with its history."""
        found = await run_git(self._directory, "cat-file", "-e", f"{commit}^{{commit}}", check=False)
        return found.code == 0

    async def fetch(self, files: Files) -> str:
        """Fetch a commit and return it. Raises WorkspaceError where it cannot be had, or is another than was said."""
        if not await self.has(files.commit):
            keep = f"{self._references}/fetched/{files.commit}"
            if files.bundle:
                with TemporaryDirectory() as folder:
                    bundle = Path(folder) / "files"
                    await self._load(files.bundle, bundle)
                    await self._git(
                        "fetch",
                        "--quiet",
                        "--no-tags",
                        str(bundle),
                        f"+{self._references}/sent/*:{self._references}/fetched/*",
                    )
            elif files.branch and self._remote:
                wanted = f"+refs/heads/{files.branch}:{keep}"
                await self._git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self._remote, wanted)
            if not await self.has(files.commit):
                raise WorkspaceError(f"the files {files.commit[:12]} are not where they were said to be")
        return files.commit

    async def forget(self) -> None:
        """Delete what is kept of the files of tasks: the results have them. The remote may refuse it."""
        listed = (await run_git(self._directory, "for-each-ref", "--format=delete %(refname)", self._references)).out
        await run_git(self._directory, "update-ref", "--stdin", stdin=listed, check=False)
        names = [name for name in await self.branches() if name != "_run"]
        if names:
            wanted = [f":refs/heads/unstuck/{safe_name(self._run)}/{name}" for name in names]
            await run_git(self._directory, "push", "--quiet", "--no-verify", self._remote, *wanted, check=False)

    async def branches(self) -> list[str]:
        """Return the names of this run's branches on the remote."""
        if not self._remote:
            return []
        prefix = f"refs/heads/unstuck/{safe_name(self._run)}/"
        listed = (await self._git("ls-remote", "--", self._remote, f"{prefix}*")).line.splitlines()
        return [line.partition("\t")[2].removeprefix(prefix) for line in listed]

    async def tip(self, branch: str) -> Files | None:
        """Return where a branch of the remote is; None without it."""
        if not self._remote:
            return None
        listed = (await self._git("ls-remote", "--", self._remote, f"refs/heads/{branch}")).line
        return Files(commit=listed.split()[0], branch=branch) if listed else None

    async def _git(self, *arguments: str) -> Result:
        """Run git with the user's ways to a remote; what another process holds for a moment is tried again."""
        own = {name: value for name, value in os.environ.items() if name.startswith("GIT_SSH")}
        for left in reversed(range(_TRIES)):
            try:
                return await run_git(self._directory, *arguments, user_config=True, environment=own)
            except GitError as problem:
                if not left or problem.code < 0:
                    raise
            await asyncio.sleep(_AGAIN_S)
        raise AssertionError

    async def _send_bundle(self, commit: str) -> str:
        reference = f"{self._references}/sent/{commit}"
        await run_git(self._directory, "update-ref", reference, commit)
        with TemporaryDirectory() as folder:
            bundle = Path(folder) / "files"
            known = [f"^{self._base}"] if commit != self._base else []
            await self._git("bundle", "create", "--quiet", str(bundle), reference, *known)
            number, id = 0, secrets.token_hex(16)
            with bundle.open("rb") as file:
                while piece := await asyncio.to_thread(file.read, _PIECE):
                    await self._publish(s.files(self._table.name, f"{id}.{number}"), piece)
                    number += 1
        return f"{self._table.name}.{id}.{number}"

    async def _publish(self, subject: str, piece: bytes) -> None:
        while True:
            session = await self._table.connected()
            try:
                await session.publish(subject, piece, {s.MESSAGE_ID: subject})
                return
            except FleetError as problem:
                if "maximum" in str(problem) or "resource" in str(problem):
                    raise WorkspaceError(f"the server has no room for files: {problem}") from None
            await asyncio.sleep(_AGAIN_S)

    async def _load(self, bundle: str, path: Path) -> None:
        name, id, pieces = bundle.split(".")
        with path.open("wb") as file:
            for number in range(int(pieces)):
                while True:
                    session = await self._table.connected()
                    try:
                        message = await session.last(s.FILES, s.files(name, f"{id}.{number}"))
                        break
                    except FleetError:
                        await asyncio.sleep(_AGAIN_S)
                if message is None:
                    raise WorkspaceError(f"the server has lost piece {number + 1} of {pieces} of a bundle")
                file.write(message.payload)
