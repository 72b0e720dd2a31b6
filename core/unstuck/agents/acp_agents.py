"""The agents that are known to speak the protocol, and what each does in its own way. Pure.

Everything else is told by the agent itself: what it can do when it introduces itself, its kinds of permission, its
session's modes. What a failed command looks like differs, too, and is read wherever it may stand (``updates``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

__all__ = ["KNOWN", "PREFIX", "Quirks", "is_spoken", "program_of", "quirks_of"]

PREFIX = "acp:"
"""Before a program, or the name of a known one: it speaks the protocol."""


class Quirks(NamedTuple):
    """``words`` are those of its command, any of them, with which it speaks the protocol; none are always enough.

    ``mode`` is the session's mode in which it edits files without asking, and asks about the rest; a command with one
    of the options ``instead`` says itself what may be done. ``sums_session``: the count that ends a turn is the whole
    session's. ``sign_in`` is what its user does where it is not signed in.
    """

    words: tuple[str, ...] = ()
    mode: str = ""
    instead: tuple[str, ...] = ()
    sums_session: bool = False
    sign_in: str = ""


KNOWN: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude-agent-acp",),
    "codex": ("codex-acp",),
    "gemini": ("gemini", "--acp", "--skip-trust"),
    "qwen": ("qwen", "--acp"),
    "opencode": ("opencode", "acp"),
    "vibe": ("vibe-acp",),
}
"""How each is started, by its name."""

_FLAGS = ("--acp", "--experimental-acp")
_APPROVAL = ("--approval-mode", "--yolo", "-y")
_QUIRKS: Mapping[str, Quirks] = {
    # The defaults of these two let a model decide what is safe.
    "claude-agent-acp": Quirks(mode="acceptEdits", sign_in="claude"),
    "codex-acp": Quirks(mode="workspace-write", sign_in="codex login"),
    "claude-code-acp": Quirks(mode="acceptEdits", sign_in="claude"),
    "gemini": Quirks(words=_FLAGS, mode="autoEdit", instead=_APPROVAL, sign_in="gemini"),
    "qwen": Quirks(words=_FLAGS, mode="auto-edit", instead=_APPROVAL, sign_in="qwen"),
    "opencode": Quirks(words=("acp",), sign_in="opencode auth login"),
    "vibe-acp": Quirks(mode="accept-edits", sums_session=True, sign_in="vibe --setup"),
}


def is_spoken(command: Sequence[str]) -> bool:
    """Whether ``command`` speaks the protocol: a known one, or one that says so."""
    if not command:
        return False
    quirks = _QUIRKS.get(PurePath(command[0]).name)
    known = quirks is not None and (not quirks.words or any(word in command[1:] for word in quirks.words))
    return known or command[0].startswith(PREFIX)


def program_of(command: Sequence[str]) -> tuple[str, ...]:
    """``command`` as it is started."""
    return (command[0].removeprefix(PREFIX), *command[1:])


def quirks_of(command: Sequence[str]) -> Quirks:
    """What the program of ``command`` does in its own way."""
    quirks = _QUIRKS.get(PurePath(command[0]).name if command else "", Quirks())
    says_itself = any(word.partition("=")[0] in quirks.instead for word in command[1:])
    return quirks._replace(mode="") if says_itself else quirks
