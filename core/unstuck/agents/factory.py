"""Factory of the agent for a command: most only run, some have a protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.agents.command.presets import EXPERIMENTAL, protocol_of
from unstuck.contract import Agent
from unstuck.errors import UsageError


def require_allowed(name: str, command: tuple[str, ...], *, experimental: bool) -> None:
    """Raise UsageError for a protocol that its own makers call experimental, unless the user allows it."""
    protocol = protocol_of(command)
    if protocol in EXPERIMENTAL and not experimental:
        raise UsageError(
            f"agent {name} speaks {protocol}, which Codex itself calls experimental: "
            "allow it with the setting `experimental: accept` (or UNSTUCK_EXPERIMENTAL=accept)"
        )


def made_agent(
    spec: CommandSpec,
    *,
    hold: Literal["step", "freeze", "none"] | None,
    folder: Path,
    environ: Mapping[str, str],
    limit: int,
    prompt_limit: int,
    used: Callable[[str], tuple[int, int, float]],
) -> Agent:
    """Return the agent for ``spec``. The module of a protocol is imported only when needed.

    ``used`` returns the tokens of a session in this run, those of them that were written, and its cost.
    """
    protocol = protocol_of(spec.command)
    if protocol == "app-server":
        from unstuck.agents.appserver.conversation import AppServerAgent

        return AppServerAgent(spec, folder=folder, environ=environ, limit=limit, hold=hold or "freeze")
    if protocol == "claude-sdk":
        from unstuck.agents.sdk.conversation import SdkAgent

        return SdkAgent(spec, folder=folder, environ=environ, limit=limit)
    if protocol == "acp":
        from unstuck.agents.acp.turns import AcpAgent

        return AcpAgent(spec, folder=folder, environ=environ, limit=limit, used=lambda session: used(session)[::2])
    return CommandAgent(
        spec,
        folder=folder,
        environ=environ,
        limit=limit,
        prompt_limit=prompt_limit,
        used=lambda session: used(session)[:2],
    )
