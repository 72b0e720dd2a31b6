"""A look at everything a run needs: what is installed and attached, where it all lies, and what is in the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import chain

from unstuck.runs.doctor.finding import Finding
from unstuck.runs.doctor.locations import places
from unstuck.runs.doctor.orphans import orphans
from unstuck.runs.doctor.programs import agents, git, hooks, mcp_servers, versions
from unstuck.workspace.project import Project

__all__ = ["Finding", "check_up"]


async def check_up(place: Project, environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """One finding after the other; nothing is changed, and nothing takes longer than a few seconds."""
    asked = asyncio.ensure_future(agents(environ))
    for finding in chain(versions(), [await git()], await asyncio.to_thread(places, place, environ)):
        yield finding
    for finding in await asked:
        yield finding
    attached = await asyncio.to_thread(lambda: [*hooks(place, environ), *mcp_servers(place, environ)])
    for finding in chain(attached, await orphans(place, environ)):
        yield finding
