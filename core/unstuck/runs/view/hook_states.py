"""Agents whose hooks are installed, for a screen that waits for their sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from unstuck.agents.config.settings_files import settings_files
from unstuck.agents.hooks.hook_agents import KNOWN


async def hook_states(root: Path, environ: Mapping[str, str]) -> dict[str, bool]:
    """Return for each agent whether its hooks are installed, for the user or for the project at ``root``."""

    def looked_up() -> dict[str, bool]:
        found = dict.fromkeys(KNOWN, False)
        for file in settings_files(KNOWN, root, environ):
            found[file.agent.name] |= file.state == "installed" and not file.missing
        return found

    return await asyncio.to_thread(looked_up)
