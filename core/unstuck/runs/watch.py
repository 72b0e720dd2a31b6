"""Watch: a run that supervises agents in their own terminals, through their hooks and calls."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from unstuck.agents.hooks.bridge import HookBridge
from unstuck.agents.hooks.hook_agents import HOLD_LIMIT_S
from unstuck.agents.mcp.caller_identity import Visitors
from unstuck.agents.mcp.tool_handlers import ToolHandlers
from unstuck.channel import socket_path
from unstuck.channel.server import private_directory
from unstuck.clock import Clock
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.state import State
from unstuck.settings.models import Settings
from unstuck.settings.paths import runtime_dir
from unstuck.supervision.context.context import GatePolicy
from unstuck.supervision.run.finish import record_end
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import one_line
from unstuck.workspace.project import Project


@asynccontextmanager
async def watch(
    place: Project,
    settings: Settings | None = None,
    *,
    verify: str | None = None,
    hold_limit_s: float = HOLD_LIMIT_S,
    policy: Callable[[State], GatePolicy] | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    listener: Callable[[Record], None] | None = None,
    warn: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[Supervisor]:
    """Supervise every agent session in ``place`` until left; ``verify`` is the check of each.

    ``warn`` gets one line for each problem that was kept from the agent. Raises as ``Supervisor.open`` does,
    and ChannelError where sessions could not reach it.
    """
    environ = os.environ if environ is None else environ
    private_directory(socket_path(runtime_dir(environ), place.home, watch=True).parent)  # else it would hear no session
    start = e.RunStarted(project=one_line(place.root.name), kind="watch")
    async with Supervisor.open(
        place,
        settings,
        start=start,
        clock=clock,
        policy=policy,
        person=True,
        environ=environ,
        listener=listener,
    ) as supervisor:
        core = supervisor.core
        bridge = HookBridge(supervisor.session, verify=verify, clock=core.clock, hold_limit_s=hold_limit_s, warn=warn)
        supervisor.hooks = bridge
        visitors = Visitors(core, supervisor.session, verify)
        desk = supervisor.tools = ToolHandlers(core, sessions=bridge, visitors=visitors)
        try:
            yield supervisor
        finally:
            supervisor.hooks = supervisor.tools = None
            await bridge.close()
            await desk.close()
            for row in list(core.head.tasks.values()):
                if row.state == "running":
                    interrupted = e.AttemptInterrupted(
                        reason=f"the watch has ended: {supervisor.left}".removesuffix(": ")
                    )
                    core.append(interrupted, task=row.id, attempt=row.attempt)
            await record_end(core)
