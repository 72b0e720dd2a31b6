"""Check-up: the findings of all checks, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import chain

from unstuck.runs.doctor.finding import Finding
from unstuck.runs.doctor.locations import places
from unstuck.runs.doctor.orphans import orphans
from unstuck.runs.doctor.programs import agents, git, hooks, looks, mcp_servers, versions
from unstuck.workspace.project import Project


async def check_up(place: Project, environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Yield the findings one by one. Changes nothing; each check takes a few seconds at most."""
    asked = asyncio.ensure_future(agents(environ))
    for finding in chain(versions(), [await git()], await asyncio.to_thread(places, place, environ)):
        yield finding
    for finding in await asked:
        yield finding
    attached = await asyncio.to_thread(
        lambda: [*looks(place, environ), *hooks(place, environ), *mcp_servers(place, environ)]
    )
    for finding in chain(attached, await orphans(place, environ)):
        yield finding
