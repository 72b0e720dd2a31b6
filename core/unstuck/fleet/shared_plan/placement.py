"""The place where the tasks of a run are worked: hosts of a fleet."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from unstuck.contract import Agent, Task
from unstuck.errors import UsageError
from unstuck.fleet.nats.keys import Credentials
from unstuck.fleet.nats.session import FleetError
from unstuck.fleet.shared_plan.entries import LEASE_S
from unstuck.fleet.shared_plan.owner import PlanOwner, SharedWorktrees, refuse_secrets
from unstuck.fleet.shared_plan.plan_table import PlanTable
from unstuck.fleet.shared_plan.remote_agent import RemoteAgent
from unstuck.fleet.shared_plan.transport import remote_of
from unstuck.runs.plans.plan import Plan
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import secret_values, set_secret_values
from unstuck.workspace.project import Project

_CONNECT_S = 15.0


class Placement:
    """Works the tasks of a run on hosts of a fleet. ``via`` is the git remote of files, or ``bundle``.

    ``warn`` gets a line about tasks that no host can work.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        via: str = "",
        lease_s: float = LEASE_S,
        warn: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._credentials, self._via, self._lease_s, self._warn = credentials, via, lease_s, warn

    @asynccontextmanager
    async def table(self, *, patient: bool = False) -> AsyncIterator[PlanTable]:
        """Yield the entries of all plans, once they are known.

        Where the server cannot be reached, ``patient`` waits for it and warns of that; else it raises FleetError.
        """
        table = PlanTable(self._credentials)
        running = asyncio.create_task(table.run())
        try:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    await table.connected()
            except TimeoutError:
                if not patient:
                    raise FleetError(table.problem) from None
                self._warn(f"{table.problem} The run goes on once it is.")
                await table.connected()
            yield table
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def require(self, plan: Plan, place: Project) -> None:
        """Raise UsageError, FleetError or WorkspaceError for what would keep the run from its hosts."""
        from unstuck.agents.command.presets import require_agent

        if plan.remediation:  # it repairs the baseline, which is the owner's
            require_agent(plan.agents[plan.remediation].command, place.directory, os.environ)
        await remote_of(place.root, self._via)
        set_secret_values(secret_values(os.environ))
        refuse_secrets(json.dumps([plan.setup, dict(plan.settings), [agent.command for agent in plan.agents.values()]]))
        async with self.table():
            pass

    @asynccontextmanager
    async def placed(self, supervisor: Supervisor, plan: Plan) -> AsyncIterator[Callable[[Task], Agent]]:
        """Yield what makes the agent of a task. Raises UsageError, FleetError and WorkspaceError."""
        core = supervisor.core
        if core.worktrees is None or not core.head.run.base:
            raise UsageError("--fleet needs a git repository with a commit: hosts work on its files")
        remote = await remote_of(core.root, self._via)
        async with self.table(patient=True) as table:  # the server was there when the run was asked for
            owner = PlanOwner(table, core, plan, remote, self._lease_s, self._warn)
            await owner.begin()
            core.worktrees = SharedWorktrees(core, owner)
            keeping = asyncio.create_task(owner.keep())
            worker = asyncio.current_task()
            assert worker is not None
            keeping.add_done_callback(lambda ended: None if ended.cancelled() else worker.cancel())
            try:
                yield lambda task: RemoteAgent(owner, task)
            except asyncio.CancelledError:
                if keeping.done() and not keeping.cancelled() and (problem := keeping.exception()) is not None:
                    raise problem from None
                raise
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
                await owner.end()
