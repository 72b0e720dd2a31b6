"""Agents that call hooks: their settings files, the requested events, and the unit of their timeouts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from unstuck.agents.config.settings_files import ConfiguredAgent, Scope
from unstuck.agents.hooks.hook_entries import FORWARDER, HookEditor
from unstuck.errors import UsageError

OPEN = "the agent continues unsupervised"
"""Consequence of a hook that cannot be called: every agent fails open."""

TIMEOUT_S = 600
"""Seconds an agent waits for one hook. Every agent proceeds without an answer after it."""
HOLD_LIMIT_S = 540.0
"""Longest hold of a hook in seconds, well below the timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedAgent(ConfiguredAgent):
    """An agent that calls hooks. ``events`` are its names of the requested events; those in ``tools`` need a matcher.

    ``home`` is relative to its own ``directory``, which ``variable`` may move; ``project`` to the project's root.
    With ``milliseconds`` it counts timeouts in them; with ``trust`` a person has to trust its hooks first.
    """

    PROGRAM: ClassVar[str] = FORWARDER
    BACKUPS: ClassVar[str] = "hooks"

    variable: str
    directory: str
    home: str
    project: str
    events: tuple[str, ...]
    tools: tuple[str, ...] = ()
    milliseconds: bool = False
    trust: bool = False

    def file(self, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Path:
        """Return the settings file that holds the hooks."""
        if scope == "project":
            return root / self.project
        moved = environ.get(self.variable, "") if self.variable else ""
        home = Path(moved) if moved else Path(environ.get("HOME") or Path.home()) / self.directory
        return home / self.home

    def editor(self, scope: Scope, root: Path) -> HookEditor:
        """Return the editor of the hooks."""
        return HookEditor()

    def entry(self, command: str) -> dict[str, Any]:
        """Return the group of handlers of each event."""
        return {event: self._group(event, command) for event in self.events}

    def found(self, command: str) -> dict[str, Any]:
        """Return the handlers of each event for the program of ``command``, without their groups."""
        current = self.command(Path(self.program(command)))
        return {event: group["hooks"] for event, group in self.entry(current).items()}

    def command(self, program: Path) -> str:
        """Return the shell command of the hooks, which names the agent. It is silent where ``program`` is gone.

        The Python beside it starts without its packages, a fifth faster: the forwarder needs none.
        """
        path, python = shlex.quote(str(program)), program.with_name("python")
        call = f"{shlex.quote(str(python))} -IS {path}" if python.is_file() else path
        return f"[ ! -x {path} ] || {call} {self.name}"

    def commands(self, found: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the distinct commands of ``found`` handlers."""
        return tuple(dict.fromkeys(handler["command"] for handlers in found.values() for handler in handlers))

    def program(self, command: str) -> str:
        """Return the forwarder in the words of ``command``."""
        return next(word for word in shlex.split(command) if Path(word).name == FORWARDER)

    def _group(self, event: str, command: str) -> dict[str, Any]:
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
            # This file holds one person's settings and is never committed.
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
            events=("SessionStart", "UserPromptSubmit", *_CLAUDE_TOOLS, "PermissionRequest", "Stop", "SessionEnd"),
            trust=True,
        ),
        HookedAgent(
            name="gemini",
            title="Gemini CLI",
            variable="",
            directory=".gemini",
            home="settings.json",
            project=".gemini/settings.json",
            events=(
                "SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent", "SessionEnd",
            ),
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
            events=(
                "SessionStart", "UserPromptSubmit", *_CLAUDE_TOOLS, "PostToolUseFailure", "PermissionRequest", "Stop",
                "SessionEnd",
            ),
            tools=(*_CLAUDE_TOOLS, "PostToolUseFailure", "PermissionRequest"),
            milliseconds=True,
        ),
    )
}  # fmt: skip


def hooked_agent(name: str) -> HookedAgent:
    """Return the agent called ``name``. Raises UsageError with the known names."""
    if name not in KNOWN:
        raise UsageError(f"no hooks are known for `{name}`: {', '.join(KNOWN)}")
    return KNOWN[name]
