"""The agents into whose settings the server can be put: where these lie, and what they have to hold.

Each is told to wait for the server before its first turn, because a tool that comes later is not there when the model
looks, and to wait for a call as long as a person may take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unstuck.agents.mcp.server_entries import JsonEntry, TomlEntry
from unstuck.agents.mcp.tools import SERVER

__all__ = ["CALL_S", "KNOWN", "SCOPES", "CallingAgent", "Scope"]

Scope = Literal["home", "project"]
SCOPES: tuple[Scope, ...] = ("home", "project")

CALL_S = 24 * 60 * 60
"""How long an agent waits for one call: a person may sleep over it."""
START_S = 60
PASSED_ON = ("UNSTUCK_ATTEMPT", "UNSTUCK_RUNTIME_DIR", "UNSTUCK_SOCKET", "XDG_RUNTIME_DIR")
"""What the server has to know of its agent's environment, of which some agents pass on very little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallingAgent:
    """One agent. ``more`` is what its settings say of the server beside the command; ``note`` what is left to do."""

    name: str
    title: str
    more: Mapping[str, Any]
    note: str = ""

    def file(self, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Path:
        """The settings file that holds the entry."""
        home = Path(environ.get("HOME") or Path.home())
        if self.name == "claude":
            # Its file for what is one person's and no repository's, also for a single project.
            return Path(environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
        if scope == "project":
            return root / ".codex" / "config.toml"
        return Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"

    def editor(self, scope: Scope, root: Path) -> JsonEntry | TomlEntry:
        """How the entry is found, put in and taken out."""
        if self.name == "claude":
            return JsonEntry((*(("projects", str(root)) if scope == "project" else ()), "mcpServers", SERVER))
        return TomlEntry(("mcp_servers", SERVER))

    def entry(self, program: str) -> dict[str, Any]:
        """What the settings hold."""
        return {"command": program, "args": ["mcp"], **self.more}


KNOWN: Mapping[str, CallingAgent] = {
    agent.name: agent
    for agent in (
        CallingAgent(
            name="claude",
            title="Claude Code",
            # Servers with `alwaysLoad` are waited for; `timeout` (ms) goes before MCP_TOOL_TIMEOUT.
            more={"type": "stdio", "alwaysLoad": True, "timeout": CALL_S * 1000},
            note=f"It asks before it first calls a tool; with -p add --allowedTools mcp__{SERVER}.",
        ),
        CallingAgent(
            name="codex",
            title="Codex",
            more={
                "env_vars": list(PASSED_ON),
                "required": True,
                "startup_timeout_sec": START_S,
                "tool_timeout_sec": CALL_S,
                "default_tools_approval_mode": "approve",
            },
            note="It does not start without a server that it has to wait for: take it out before you remove unstuck.",
        ),
    )
}
