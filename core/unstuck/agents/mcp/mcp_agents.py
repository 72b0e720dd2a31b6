"""Agents with settings that can hold the MCP server: their settings files and entries.

Each entry makes its agent wait for the server before the first turn: the model does not see a tool that comes later.
It also makes the agent wait for a call as long as a person may take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from unstuck.agents.config.settings_files import ConfiguredAgent, Scope, SettingsFile
from unstuck.agents.mcp.server_entries import PROGRAM, JsonEntry, TomlEntry
from unstuck.agents.mcp.tools import SERVER
from unstuck.agents.optional_packages import has_mcp, install_words
from unstuck.text import one_line

CALL_S = 24 * 60 * 60
"""Seconds an agent waits for one call: a person may sleep over it."""
START_S = 60
PASSED_ON = ("UNSTUCK_ATTEMPT", "UNSTUCK_RUNTIME_DIR", "UNSTUCK_SOCKET", "XDG_RUNTIME_DIR")
"""Variables that the server needs from its agent's environment: some agents pass on few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallingAgent(ConfiguredAgent):
    """An agent that starts the server. ``more`` completes its entry beside the command; ``note`` is a next step."""

    PROGRAM: ClassVar[str] = PROGRAM
    BACKUPS: ClassVar[str] = "mcp"

    more: Mapping[str, Any]
    note: str = ""

    def file(self, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Path:
        """Return the settings file that holds the entry."""
        home = Path(environ.get("HOME") or Path.home())
        if self.name == "claude":
            # This file holds one person's settings, also those for a single project.
            return Path(environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
        if scope == "project":
            return root / ".codex" / "config.toml"
        return Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"

    def editor(self, scope: Scope, root: Path) -> JsonEntry | TomlEntry:
        """Return the editor of the entry: JSON for Claude Code, TOML for Codex."""
        if self.name == "claude":
            return JsonEntry((*(("projects", str(root)) if scope == "project" else ()), "mcpServers", SERVER))
        return TomlEntry(("mcp_servers", SERVER))

    def entry(self, command: str) -> dict[str, Any]:
        """Return the entry of the server."""
        return {"command": command, "args": ["mcp"], **self.more}

    def commands(self, found: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the program of a ``found`` entry."""
        return (found["command"],)

    def backup_key(self, path: str, scope: Scope, root: Path) -> str:
        """Return the path and the project: one file may hold the entries of several projects."""
        return f"{path}\n{root if scope == 'project' else ''}"


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


def trouble_with(file: SettingsFile[CallingAgent]) -> tuple[str, str]:
    """Return the problem of a settings file and its remedy; both empty if there is none."""
    again = f"unstuck mcp install {file.agent.name}{' --here' if file.scope == 'project' else ''}"
    if file.state == "unreadable":
        return one_line(file.problem, 300), f"edit {file.path}"
    if file.missing:
        return f"{file.path} starts {file.missing}, which does not exist", again
    if file.state == "outdated":
        return f"{file.path} is not as this version writes it", again
    if file.state == "installed" and not has_mcp():
        return f"{file.path} starts a server that needs the package mcp", install_words("mcp")
    return "", ""
