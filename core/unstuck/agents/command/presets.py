"""Agents that are known by name: how each is started, how a session of it goes on, and how it tells of its work. Pure.

A preset lets the agent edit files; what else it may do is its own settings' to say, or the caller's by more arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Literal, NamedTuple

from unstuck.agents.acp_agents import KNOWN as ACP
from unstuck.agents.acp_agents import PREFIX, is_spoken
from unstuck.agents.command.prompt_delivery import named_prompt
from unstuck.errors import UsageError

__all__ = [
    "EXPERIMENTAL",
    "KNOWN",
    "PRESETS",
    "Protocol",
    "goes_on",
    "preset_command",
    "protocol_of",
    "resumed",
    "stream_of",
]

Protocol = Literal["", "acp", "app-server", "claude-sdk"]
EXPERIMENTAL: frozenset[Protocol] = frozenset({"app-server"})
"""What the agents' own makers call experimental."""

_HERE = "{arguments}"


class _Preset(NamedTuple):
    """How an agent is started. Arguments stand at ``{arguments}``: the caller's, and ``allowed`` before them.

    ``allowed`` is what the agent may do; it is left out where the caller says it with one of the options ``instead``.
    """

    command: tuple[str, ...]
    allowed: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


PRESETS: Mapping[str, _Preset] = {
    "claude": _Preset(
        ("claude", "-p", "{prompt}", "--output-format", "stream-json", "--verbose", _HERE),
        ("--permission-mode", "acceptEdits"),
        ("--permission-mode", "--dangerously-skip-permissions"),
    ),
    "codex": _Preset(
        ("codex", "exec", "--json", "--skip-git-repo-check", _HERE, "{prompt}"),
        ("--sandbox", "workspace-write"),
        ("--sandbox", "-s", "--approve-for-me", "--dangerously-bypass-approvals-and-sandbox", "--profile", "-p"),
    ),
    "gemini": _Preset(
        ("gemini", "-p", "{prompt}", "-o", "stream-json", "--skip-trust", _HERE),
        ("--approval-mode", "auto_edit"),
        ("--approval-mode", "--yolo", "-y"),
    ),
    "qwen": _Preset(
        ("qwen", "-p", "{prompt}", "-o", "stream-json", _HERE),
        ("--approval-mode", "auto-edit"),
        ("--approval-mode", "--yolo", "-y"),
    ),
    "opencode": _Preset(("opencode", "run", "--format", "json", _HERE, "{prompt}")),
}
"""The agents by name that are run and listened to."""

_SPOKEN_WITH: Mapping[str, _Preset] = {
    # What comes later on the command line wins, so the caller's own `-c` does.
    "codex-app-server": _Preset(
        ("codex", "app-server", "-c", 'sandbox_mode="workspace-write"', "-c", 'approval_policy="on-request"', _HERE)
    ),
    "claude-sdk": _Preset(
        (
            *("claude", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
            *("--permission-prompt-tool", "stdio", "--replay-user-messages", _HERE),
        ),
        ("--permission-mode", "acceptEdits"),
        ("--permission-mode", "--dangerously-skip-permissions"),
    ),
    # What these may do is a mode of their session.
    **{f"{PREFIX}{name}": _Preset((*command, _HERE)) for name, command in ACP.items()},
}
KNOWN: Mapping[str, _Preset] = {**PRESETS, **_SPOKEN_WITH}
"""All agents by name, also those that are spoken with."""


class _Manner(NamedTuple):
    """What makes a program speak in JSON (an option, or one with a value), and how it goes on with a session."""

    options: tuple[str, ...]
    value: str
    resume: str
    taken: tuple[str, ...]


_MANNERS = {
    "claude": _Manner(("--output-format",), "stream-json", "--resume", ("-r", "--resume", "-c", "--continue")),
    "codex": _Manner(("--json",), "", "resume", ("resume", "fork", "review")),
    "gemini": _Manner(("-o", "--output-format"), "stream-json", "--resume", ("-r", "--resume")),
    "qwen": _Manner(("-o", "--output-format"), "stream-json", "--resume", ("-r", "--resume", "-c", "--continue")),
    "opencode": _Manner(("--format",), "json", "--session", ("-s", "--session", "-c", "--continue")),
}
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def preset_command(name: str, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """The command of a preset, with more ``arguments`` for its program. Raises UsageError for another name."""
    if name not in KNOWN:
        raise UsageError(f"no agent is known as `{name}`: {', '.join(KNOWN)}; any other program goes after --")
    preset = KNOWN[name]
    says_itself = any(word.partition("=")[0] in preset.instead for word in arguments)
    more = (*(() if says_itself else preset.allowed), *arguments)
    return tuple(word for part in preset.command for word in (more if part == _HERE else (part,)))


def protocol_of(command: Sequence[str]) -> Protocol:
    """In which protocol ``command`` is spoken with; empty for one that is only run."""
    program = PurePath(command[0]).name if command else ""
    if program == "codex" and "app-server" in command[1:]:
        return "app-server"
    said = " ".join(command).replace("--input-format=", "--input-format ")
    if program == "claude" and " --input-format stream-json" in said:
        return "claude-sdk"
    return "acp" if is_spoken(command) else ""


def stream_of(command: Sequence[str]) -> str:
    """Which agent's stream of JSON ``command`` prints; empty for plain text."""
    program = PurePath(command[0]).name if command else ""
    manner = _MANNERS.get(program)
    if manner is None:
        return ""
    for place, part in enumerate(command[1:], 1):
        name, is_one, value = part.partition("=")
        if name not in manner.options:
            continue
        if not is_one:
            value = command[place + 1] if manner.value and place + 1 < len(command) else ""
        if value == manner.value:
            return program
    return ""


def goes_on(command: Sequence[str]) -> bool:
    """Whether a session of ``command`` can be gone on with; one that names its session itself is left as it is."""
    if any("{session}" in part for part in command):
        return True
    name = stream_of(command)
    return bool(name) and not any(part.partition("=")[0] in _MANNERS[name].taken for part in command)


def resumed(command: Sequence[str], session: str | None) -> tuple[str, ...]:
    """``command`` going on with ``session``; the same where there is none, or where it cannot be."""
    words, name = named_prompt(command), stream_of(command)
    if not session or not name or not goes_on(command) or not _SESSION.fullmatch(session):
        return tuple(command)
    more = (_MANNERS[name].resume, session)
    if name == "codex":
        # A command of its own, whose first argument is the session and whose second one is the prompt.
        at = next((place for place, part in enumerate(words) if part in ("{prompt}", "-")), len(words))
    else:
        at = words.index("run") + 1 if name == "opencode" else 1
    return (*words[:at], *more, *words[at:])
