"""Agents' settings files on the disk: the server's entry set up, looked at, and removed without a trace."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from unstuck.agents.config.config_installer import Change, installing, program_path, read_settings, removing
from unstuck.agents.mcp.mcp_agents import KNOWN, SCOPES, CallingAgent, Scope
from unstuck.agents.mcp.optional_package import EXTRA, is_possible
from unstuck.agents.mcp.server_entries import PROGRAM
from unstuck.errors import UsageError
from unstuck.settings.paths import state_dir
from unstuck.text import one_line

__all__ = ["EntryFile", "entry_files", "installation", "installed_entries", "removal", "trouble_with"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFile:
    """The entry in one settings file.

    ``state``: ``installed`` is as this version writes it, ``outdated`` is otherwise, ``absent`` none of ours,
    ``unreadable`` cannot be understood (``problem`` says why). ``missing`` is its program, where that does not exist.
    """

    agent: CallingAgent
    scope: Scope
    path: Path
    state: Literal["installed", "outdated", "absent", "unreadable"]
    missing: str = ""
    problem: str = ""


def entry_files(root: Path, environ: Mapping[str, str]) -> Iterator[EntryFile]:
    """Every settings file that could hold the entry, of the user's home and for the project at ``root``."""
    for agent in KNOWN.values():
        for scope in SCOPES:
            yield _look(agent, scope, root, environ)


def installed_entries(root: Path, environ: Mapping[str, str], *, scope: Scope) -> tuple[EntryFile, ...]:
    """Those of one ``scope`` that hold it."""
    found = (file for file in entry_files(root, environ) if file.scope == scope)
    return tuple(file for file in found if file.state in ("installed", "outdated"))


def installation(agent: CallingAgent, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Change:
    """What would set it up. Raises UsageError where the file cannot be edited."""
    path, backup = _places(agent, scope, root, environ)
    editor, entry = agent.editor(scope, root), agent.entry(str(program_path(PROGRAM, environ)))
    return installing(path, backup, editor, lambda text: editor.put(text, entry))


def removal(agent: CallingAgent, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Change:
    """What would take it out again. Raises UsageError where the file cannot be edited."""
    path, backup = _places(agent, scope, root, environ)
    return removing(path, backup, agent.editor(scope, root))


def trouble_with(file: EntryFile) -> tuple[str, str]:
    """What is wrong with it, and what mends it; empty where nothing is."""
    again = f"unstuck mcp install {file.agent.name}{' --here' if file.scope == 'project' else ''}"
    if file.state == "unreadable":
        return one_line(file.problem, 300), f"edit {file.path}"
    if file.missing:
        return f"{file.path} starts {file.missing}, which does not exist", again
    if file.state == "outdated":
        return f"{file.path} is not as this version writes it", again
    if file.state == "installed" and not is_possible():
        return f"{file.path} starts a server that needs the package mcp", EXTRA
    return "", ""


def _look(agent: CallingAgent, scope: Scope, root: Path, environ: Mapping[str, str]) -> EntryFile:
    path, _ = _places(agent, scope, root, environ)
    try:
        found = agent.editor(scope, root).find(read_settings(path) or "")
    except (UsageError, ValueError) as error:
        return EntryFile(agent=agent, scope=scope, path=path, state="unreadable", problem=str(error))
    if found is None:
        return EntryFile(agent=agent, scope=scope, path=path, state="absent")
    program = found["command"]
    missing = program if os.path.isabs(program) and not os.access(program, os.X_OK) else ""
    state: Literal["installed", "outdated"] = "installed" if found == agent.entry(program) else "outdated"
    return EntryFile(agent=agent, scope=scope, path=path, state=state, missing=missing)


def _places(agent: CallingAgent, scope: Scope, root: Path, environ: Mapping[str, str]) -> tuple[Path, Path]:
    path = agent.file(scope, root=root, environ=environ)
    what = f"{os.path.realpath(path)}\n{root if scope == 'project' else ''}"
    name = sha256(os.fsencode(what)).hexdigest()[:16]
    return path, state_dir(environ) / "mcp" / f"{agent.name}-{name}.json"
