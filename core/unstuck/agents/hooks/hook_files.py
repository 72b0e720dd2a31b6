"""Agents' settings files on the disk: our hooks set up, looked at, and removed without a trace."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from unstuck.agents.config.config_installer import Change, installing, program_path, read_settings, removing
from unstuck.agents.hooks.hook_agents import KNOWN, HookedAgent, Scope
from unstuck.agents.hooks.hook_entries import FORWARDER, entries, with_entries, without_entries
from unstuck.errors import UsageError
from unstuck.settings.paths import state_dir

__all__ = [
    "OPEN",
    "Change",
    "HookFile",
    "forwarder_path",
    "hook_files",
    "installation",
    "installed_hooks",
    "removal",
]

SCOPES: tuple[Scope, ...] = ("home", "project")
OPEN = "the agent continues unsupervised"
"""What becomes of an agent whose hook cannot be called: all of them fail open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """The hooks in one settings file.

    ``state``: ``installed`` is as this version writes it, ``outdated`` holds ours otherwise, ``absent`` none of ours,
    ``unreadable`` is no JSON (``problem`` says where). ``commands`` are those that are called; ``missing`` is one whose
    program does not exist.
    """

    agent: HookedAgent
    scope: Scope
    path: Path
    state: Literal["installed", "outdated", "absent", "unreadable"]
    commands: tuple[str, ...] = ()
    missing: str = ""
    problem: str = ""


def hook_files(root: Path, environ: Mapping[str, str]) -> Iterator[HookFile]:
    """Every settings file that could hold hooks, of the user's home and of the project at ``root``."""
    for agent in KNOWN.values():
        for scope in SCOPES:
            yield _look(agent, scope, root, environ)


def installed_hooks(root: Path, environ: Mapping[str, str], *, scope: Scope | None = None) -> tuple[HookFile, ...]:
    """Those that hold hooks of ours; of one ``scope``, where it is given."""
    found = (file for file in hook_files(root, environ) if scope in (None, file.scope))
    return tuple(file for file in found if file.state in ("installed", "outdated"))


def installation(
    agent: HookedAgent, scope: Scope, *, root: Path, environ: Mapping[str, str], forwarder: Path
) -> Change:
    """What would set up the hooks. Raises UsageError where the file cannot be edited."""
    path, backup = _places(agent, scope, root, environ)
    groups = {event: agent.group(event, f"{shlex.quote(str(forwarder))} {agent.name}") for event in agent.events}
    return installing(path, backup, _Hooks(), lambda text: with_entries(text, groups))


def forwarder_path(environ: Mapping[str, str]) -> Path:
    """The installed forwarder. Raises UsageError without one."""
    return program_path(FORWARDER, environ)


def removal(agent: HookedAgent, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Change:
    """What would take the hooks out again. Raises UsageError where the file cannot be edited."""
    path, backup = _places(agent, scope, root, environ)
    return removing(path, backup, _Hooks())


class _Hooks:
    """Our hooks, as entries of a settings file."""

    def holds(self, text: str) -> bool:
        """Whether any is there."""
        return bool(entries(text))

    def without(self, text: str, keep: str) -> str:
        """The rest."""
        return without_entries(text, keep=keep)


def _look(agent: HookedAgent, scope: Scope, root: Path, environ: Mapping[str, str]) -> HookFile:
    path, _ = _places(agent, scope, root, environ)
    try:
        found = entries(read_settings(path) or "")
    except (UsageError, ValueError) as error:
        return HookFile(agent=agent, scope=scope, path=path, state="unreadable", problem=str(error))
    if not found:
        return HookFile(agent=agent, scope=scope, path=path, state="absent")
    commands = tuple(dict.fromkeys(handler["command"] for handlers in found.values() for handler in handlers))
    wanted = {event: agent.group(event, commands[0])["hooks"] for event in agent.events}
    missing = next(
        (word for word in map(_program, commands) if os.path.isabs(word) and not os.access(word, os.X_OK)), ""
    )
    state: Literal["installed", "outdated"] = "installed" if found == wanted else "outdated"
    return HookFile(agent=agent, scope=scope, path=path, state=state, commands=commands, missing=missing)


def _program(command: str) -> str:
    return next(word for word in shlex.split(command) if Path(word).name == FORWARDER)


def _places(agent: HookedAgent, scope: Scope, root: Path, environ: Mapping[str, str]) -> tuple[Path, Path]:
    path = agent.file(scope, root=root, environ=environ)
    name = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    return path, state_dir(environ) / "hooks" / f"{agent.name}-{name}.json"
