"""Known agents of the Agent Client Protocol and their quirks. Pure.

Each agent reports everything else: its capabilities, its kinds of permission, the modes of its session. The form of a
failed command differs, too, and ``acp.updates`` looks in every known place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

PREFIX = "acp:"
"""Prefix of a program, or of a known name, that speaks the protocol."""


class Quirks(NamedTuple):
    """Quirks of one agent. It speaks the protocol with any of ``words`` in its command, or always if there are none.

    ``mode`` is the session mode that edits files without a question and asks about the rest. An option of ``instead``
    in the command replaces it. ``sums_session``: the token count at the end of a turn is the whole session's.
    ``sign_in`` is the command that signs its user in. ``keeps`` is the file of a session below the user's home, by the
    beginning of its id, for an agent that counts cached tokens and does not report which they are. ``logs``: only a log
    whose file its environment names tells of requests that its provider refuses.
    """

    words: tuple[str, ...] = ()
    mode: str = ""
    instead: tuple[str, ...] = ()
    sums_session: bool = False
    sums_cost: bool = False
    sign_in: str = ""
    keeps: str = ""
    logs: bool = False


KNOWN: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude-agent-acp",),
    "codex": ("codex-acp",),
    "gemini": ("gemini", "--acp", "--skip-trust"),
    "qwen": ("qwen", "--acp"),
    "opencode": ("opencode", "acp"),
    "vibe": ("vibe-acp",),
    "cline": ("cline", "--acp"),
}
"""Command of each known agent by name."""

_FLAGS = ("--acp", "--experimental-acp")
_APPROVAL = ("--approval-mode", "--yolo", "-y")
_QUIRKS: Mapping[str, Quirks] = {
    # The defaults of these two let a model decide what is safe.
    "claude-agent-acp": Quirks(mode="acceptEdits", sums_cost=True, sign_in="claude"),
    "codex-acp": Quirks(mode="workspace-write", sign_in="codex login"),
    "claude-code-acp": Quirks(mode="acceptEdits", sums_cost=True, sign_in="claude"),
    "gemini": Quirks(
        words=_FLAGS,
        mode="autoEdit",
        instead=_APPROVAL,
        sign_in="gemini",
        keeps=".gemini/tmp/*/chats/session-*-{}.jsonl",
        logs=True,
    ),
    "qwen": Quirks(words=_FLAGS, mode="auto-edit", instead=_APPROVAL, sign_in="qwen"),
    "opencode": Quirks(words=("acp",), sign_in="opencode auth login"),
    "cline": Quirks(words=("--acp",), sign_in="cline auth"),
    "vibe-acp": Quirks(mode="accept-edits", sums_session=True, sign_in="vibe --setup"),
}


def speaks_acp(command: Sequence[str]) -> bool:
    """Return whether ``command`` speaks the protocol: a known agent, or one with the prefix."""
    if not command:
        return False
    quirks = _QUIRKS.get(PurePath(command[0]).name)
    known = quirks is not None and (not quirks.words or any(word in command[1:] for word in quirks.words))
    return known or command[0].startswith(PREFIX)


def program_of(command: Sequence[str]) -> tuple[str, ...]:
    """Return ``command`` without the prefix."""
    return (command[0].removeprefix(PREFIX), *command[1:])


def quirks_of(command: Sequence[str]) -> Quirks:
    """Return the quirks of the program of ``command``."""
    quirks = _QUIRKS.get(PurePath(command[0]).name if command else "", Quirks())
    has_mode = any(word.partition("=")[0] in quirks.instead for word in command[1:])
    return quirks._replace(mode="") if has_mode else quirks
