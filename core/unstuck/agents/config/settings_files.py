"""Settings files of agents: inspection, and the changes that install and remove the entries of unstuck.

Hooks and the MCP server differ only in their tables of agents (:class:`ConfiguredAgent`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from unstuck.agents.config.config_installer import Change, Editor, installing, program_path, read_settings, removing
from unstuck.errors import UsageError
from unstuck.settings.paths import state_dir

Scope = Literal["home", "project"]
_SCOPES: tuple[Scope, ...] = ("home", "project")


class EntryEditor(Editor, Protocol):
    """Editor that also installs entries. Its methods raise ValueError for a text that cannot be edited."""

    def put(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return ``text`` with ``entry`` in place of any entry of unstuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredAgent(ABC):
    """An agent with settings that can hold entries of unstuck. ``title`` is its name in texts."""

    PROGRAM: ClassVar[str]
    """Program of unstuck that the entries start."""
    BACKUPS: ClassVar[str]
    """Folder of the backups in the user's state directory."""

    name: str
    title: str

    @abstractmethod
    def file(self, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Path:
        """Return the settings file of the user's home, or of the project at ``root``."""

    @abstractmethod
    def editor(self, scope: Scope, root: Path) -> EntryEditor:
        """Return the editor of its settings."""

    @abstractmethod
    def entry(self, command: str) -> dict[str, Any]:
        """Return the entries that start ``command``, as they are installed."""

    def found(self, command: str) -> dict[str, Any]:
        """Return the entries that start ``command``, as the editor finds them."""
        return self.entry(command)

    def command(self, program: Path) -> str:
        """Return the command of the entries for the installed ``program``."""
        return str(program)

    @abstractmethod
    def commands(self, found: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands of ``found`` entries."""

    def program(self, command: str) -> str:
        """Return the program that ``command`` starts."""
        return command

    def backup_key(self, path: str, scope: Scope, root: Path) -> str:
        """Return the text that identifies the backup of the settings at ``path``."""
        return path


A = TypeVar("A", bound=ConfiguredAgent)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile(Generic[A]):
    """The entries of unstuck in one settings file.

    ``state``: ``installed`` as this version writes them, ``outdated`` in another form, ``absent``, or ``unreadable``
    with the ``problem``. ``missing`` is the first program among the ``commands`` that does not exist.
    """

    agent: A
    scope: Scope
    path: Path
    state: Literal["installed", "outdated", "absent", "unreadable"]
    commands: tuple[str, ...] = ()
    missing: str = ""
    problem: str = ""

    @property
    def has_entries(self) -> bool:
        """Return whether the file holds entries of unstuck, current or outdated."""
        return self.state in ("installed", "outdated")


def settings_files(agents: Mapping[str, A], root: Path, environ: Mapping[str, str]) -> Iterator[SettingsFile[A]]:
    """Yield every settings file of ``agents``, of the user's home and of the project at ``root``."""
    for agent in agents.values():
        for scope in _SCOPES:
            yield _inspected(agent, scope, root, environ)


def installation(
    agent: ConfiguredAgent, scope: Scope, *, root: Path, environ: Mapping[str, str], program: Path | None = None
) -> Change:
    """Return the change that installs the entries for ``program``, by default the installed one. Raises UsageError."""
    command = agent.command(program or program_path(agent.PROGRAM, environ))
    path, backup = _paths(agent, scope, root, environ)
    editor, entry = agent.editor(scope, root), agent.entry(command)
    return installing(path, backup, editor, lambda text: editor.put(text, entry))


def removal(agent: ConfiguredAgent, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Change:
    """Return the change that removes the entries. Raises UsageError for a file that cannot be edited."""
    path, backup = _paths(agent, scope, root, environ)
    return removing(path, backup, agent.editor(scope, root))


def _inspected(agent: A, scope: Scope, root: Path, environ: Mapping[str, str]) -> SettingsFile[A]:
    path, _ = _paths(agent, scope, root, environ)
    try:
        found = agent.editor(scope, root).find(read_settings(path) or "")
    except (UsageError, ValueError) as error:
        return SettingsFile(agent=agent, scope=scope, path=path, state="unreadable", problem=str(error))
    if not found:
        return SettingsFile(agent=agent, scope=scope, path=path, state="absent")
    commands = agent.commands(found)
    programs = map(agent.program, commands)
    missing = next((word for word in programs if os.path.isabs(word) and not os.access(word, os.X_OK)), "")
    state: Literal["installed", "outdated"] = "installed" if found == agent.found(commands[0]) else "outdated"
    return SettingsFile(agent=agent, scope=scope, path=path, state=state, commands=commands, missing=missing)


def _paths(agent: ConfiguredAgent, scope: Scope, root: Path, environ: Mapping[str, str]) -> tuple[Path, Path]:
    """Return the settings file and its backup."""
    path = agent.file(scope, root=root, environ=environ)
    key = agent.backup_key(os.path.realpath(path), scope, root)
    name = sha256(os.fsencode(key)).hexdigest()[:16]
    return path, state_dir(environ) / agent.BACKUPS / f"{agent.name}-{name}.json"
