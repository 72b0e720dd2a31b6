"""Directories of the sessions that agents keep on this machine, and the sessions in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from unstuck.agents.hooks.hook_agents import KNOWN
from unstuck.history.opencode_store import is_store, stored_sessions

AGENTS = ("claude", "codex", "gemini", "qwen", "opencode")
_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "claude": ("projects/*/*.jsonl",),
    "codex": ("sessions/**/rollout-*.jsonl", "archived_sessions/**/rollout-*.jsonl"),
    "gemini": ("tmp/*/chats/session-*.json*",),
    "qwen": ("projects/*/chats/*.jsonl", "tmp/*/chats/session-*.json*"),
    "opencode": ("opencode*.db",),
}
_FILES: Mapping[str, str] = {
    "claude": "projects/*/{}.jsonl",
    "codex": "sessions/**/rollout-*-{}.jsonl",
    "gemini": "tmp/*/chats/session-*-{}.jsonl",
    "qwen": "projects/*/chats/{}.jsonl",
}
"""File of one session of each agent that calls hooks."""
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SUBAGENTS = "agent-"
Complain = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One session: a file, or the ``session`` in a database. ``modified`` is in seconds since 1970.

    ``size`` is in bytes; a session in a database has an equal share of it.
    """

    path: Path
    size: int
    modified: float
    session: str = ""


def directory_of(agent: str, environ: Mapping[str, str]) -> Path:
    """Return the directory below which ``agent`` keeps its sessions."""
    if agent in KNOWN:
        return KNOWN[agent].file("home", root=Path(), environ=environ).parent
    data = environ.get("XDG_DATA_HOME") or Path(environ.get("HOME") or Path.home()) / ".local" / "share"
    return Path(data) / agent


def places_of(agent: str, environ: Mapping[str, str]) -> list[str]:
    """Return the patterns of the files of ``agent``, to say where was looked."""
    return [str(directory_of(agent, environ) / pattern) for pattern in _PATTERNS[agent]]


def kept_sessions(agents: Iterable[str], environ: Mapping[str, str], complain: Complain) -> Iterator[Source]:
    """Yield the sessions that ``agents`` keep; ``complain`` gets a line for each file that cannot be read."""
    for agent in agents:
        directory = directory_of(agent, environ)
        for pattern in _PATTERNS[agent]:
            for path in sorted(directory.glob(pattern)):
                if not path.name.startswith(_SUBAGENTS):
                    yield from sources_in(path, complain)


def kept_session(agent: str, session: str, environ: Mapping[str, str]) -> Path | None:
    """Return the transcript that ``agent`` keeps of its own ``session``; None if there is none."""
    if agent not in _FILES or not _SESSION.fullmatch(session):
        return None
    # Gemini CLI names its files after the first part of the id.
    name = session.partition("-")[0] if agent == "gemini" else session
    return max(directory_of(agent, environ).glob(_FILES[agent].format(name)), default=None)


def sources_in(path: Path, complain: Complain) -> Iterator[Source]:
    """Yield the sessions in one file; ``complain`` gets a line if it cannot be read."""
    try:
        found = path.stat()
        if not path.is_file():
            raise OSError("it is no file")
        if not is_store(path):
            yield Source(path=path, size=found.st_size, modified=found.st_mtime)
            return
        stored = stored_sessions(path)
    except OSError as error:
        complain(f"{path}: {error.strerror or error}")
        return
    share = found.st_size // max(1, len(stored))
    yield from (Source(path=path, size=share, modified=one.updated, session=one.id) for one in stored)


def subagent_files(path: Path) -> list[Path]:
    """Return the transcripts of the sub-agents of the session of Claude Code at ``path``."""
    return sorted((path.with_suffix("") / "subagents").glob(f"{_SUBAGENTS}*.jsonl"))
