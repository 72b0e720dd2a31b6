"""The agents that call hooks: where their settings lie, which events are asked for, and in what unit they count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unstuck.errors import UsageError

__all__ = ["HOLD_LIMIT_S", "KNOWN", "TIMEOUT_S", "HookedAgent", "Scope", "hooked_agent"]

Scope = Literal["home", "project"]

TIMEOUT_S = 600
"""How long an agent waits for one hook; written into its settings, because past it every agent simply goes on."""
HOLD_LIMIT_S = 540.0
"""How long a hook is held: well below that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedAgent:
    """One agent. ``events`` are its own names for what it is asked to tell; ``tools`` those that want a matcher.

    ``home`` is below its own directory, which ``variable`` may move; ``project`` is below the project's root.
    """

    name: str
    title: str
    variable: str
    directory: str
    home: str
    project: str
    events: tuple[str, ...]
    tools: tuple[str, ...] = ()
    milliseconds: bool = False
    trust: bool = False

    def file(self, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Path:
        """The settings file that holds the hooks."""
        if scope == "project":
            return root / self.project
        moved = environ.get(self.variable, "") if self.variable else ""
        home = Path(moved) if moved else Path(environ.get("HOME") or Path.home()) / self.directory
        return home / self.home

    def group(self, event: str, command: str) -> dict[str, Any]:
        """What the settings hold for one event."""
        timeout = TIMEOUT_S * 1000 if self.milliseconds else TIMEOUT_S
        matcher = {"matcher": "*"} if event in self.tools else {}
        return {**matcher, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}


_CLAUDE_TOOLS = ("PreToolUse", "PostToolUse")

KNOWN: Mapping[str, HookedAgent] = {
    agent.name: agent
    for agent in (
        HookedAgent(
            name="claude",
            title="Claude Code",
            variable="CLAUDE_CONFIG_DIR",
            directory=".claude",
            home="settings.json",
            # Its own file for what is one person's and not the project's: it is in nobody's repository.
            project=".claude/settings.local.json",
            events=(
                "SessionStart", "UserPromptSubmit", *_CLAUDE_TOOLS, "PostToolUseFailure", "PostToolBatch",
                "PermissionRequest", "SubagentStop", "Stop", "SessionEnd",
            ),
        ),
        HookedAgent(
            name="codex",
            title="Codex",
            variable="CODEX_HOME",
            directory=".codex",
            home="hooks.json",
            project=".codex/hooks.json",
            events=("SessionStart", "UserPromptSubmit", *_CLAUDE_TOOLS, "Stop", "SessionEnd"),
            trust=True,
        ),
        HookedAgent(
            name="gemini",
            title="Gemini CLI",
            variable="",
            directory=".gemini",
            home="settings.json",
            project=".gemini/settings.json",
            events=("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"),
            tools=("BeforeTool", "AfterTool"),
            milliseconds=True,
        ),
        HookedAgent(
            name="qwen",
            title="Qwen Code",
            variable="",
            directory=".qwen",
            home="settings.json",
            project=".qwen/settings.json",
            events=("SessionStart", "UserPromptSubmit", *_CLAUDE_TOOLS, "PostToolUseFailure", "Stop", "SessionEnd"),
            tools=(*_CLAUDE_TOOLS, "PostToolUseFailure"),
            milliseconds=True,
        ),
    )
}  # fmt: skip


def hooked_agent(name: str) -> HookedAgent:
    """The agent of this name. Raises UsageError with those that are known."""
    if name not in KNOWN:
        raise UsageError(f"no hooks are known for `{name}`: {', '.join(KNOWN)}")
    return KNOWN[name]
