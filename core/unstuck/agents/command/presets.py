"""Presets of known agents: the command, the way to resume a session, and the format of the output. Pure.

A preset lets the agent edit files. The agent's own settings, or further arguments, decide what else it may do.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple

from unstuck.agents.acp_agents import KNOWN as ACP
from unstuck.agents.acp_agents import PREFIX, program_of, speaks_acp
from unstuck.agents.optional_packages import require_acp, require_sdk, sdk_program
from unstuck.errors import AgentNotFound, UsageError
from unstuck.text import admit, one_line

if TYPE_CHECKING:
    from unstuck.contract import Denial

Protocol = Literal["", "acp", "app-server", "claude-sdk"]
EXPERIMENTAL: frozenset[Protocol] = frozenset({"app-server"})
"""Protocols that their own makers call experimental."""

_ARGUMENTS = "{arguments}"


class _Preset(NamedTuple):
    """Command of an agent. ``{arguments}`` is the place of ``allowed`` and of the caller's arguments after it.

    ``allowed`` grants permissions; it is left out if the caller's arguments have one of the options ``instead``.
    """

    command: tuple[str, ...]
    allowed: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


PRESETS: Mapping[str, _Preset] = {
    "claude": _Preset(
        ("claude", "-p", "{prompt}", "--output-format", "stream-json", "--verbose", _ARGUMENTS),
        ("--permission-mode", "acceptEdits"),
        ("--permission-mode", "--dangerously-skip-permissions"),
    ),
    "codex": _Preset(
        ("codex", "exec", "--json", "--skip-git-repo-check", _ARGUMENTS, "{prompt}"),
        ("--sandbox", "workspace-write"),
        ("--sandbox", "-s", "--approve-for-me", "--dangerously-bypass-approvals-and-sandbox", "--profile", "-p"),
    ),
    "gemini": _Preset(
        ("gemini", "-p", "{prompt}", "-o", "stream-json", "--skip-trust", _ARGUMENTS),
        ("--approval-mode", "auto_edit"),
        ("--approval-mode", "--yolo", "-y"),
    ),
    "qwen": _Preset(
        ("qwen", "-p", "{prompt}", "-o", "stream-json", _ARGUMENTS),
        ("--approval-mode", "auto-edit"),
        ("--approval-mode", "--yolo", "-y"),
    ),
    # Only its log tells of requests that its provider refuses, which it repeats without an end, and of a wrong model.
    "opencode": _Preset(
        ("opencode", "run", "--format", "json", _ARGUMENTS, "{prompt}"),
        ("--print-logs", "--log-level", "ERROR"),
        ("--print-logs", "--log-level"),
    ),
    # Whether the work becomes a commit is the person's choice, and its changes are looked at before. A prompt holds the
    # output of checks, and the addresses in it need not be fetched.
    "aider": _Preset(
        (
            *("aider", "--yes-always", "--no-check-update", "--no-show-release-notes", "--no-pretty", "--no-stream"),
            *("--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-detect-urls", _ARGUMENTS),
            *("--message", "{prompt}"),
        )
    ),
    "cline": _Preset(("cline", "--json", _ARGUMENTS, "{prompt}")),
    "pi": _Preset(("pi", "--mode", "json", _ARGUMENTS, "-p", "{prompt}")),
}
"""Agents that only run, by name."""

_WITH_PROTOCOL: Mapping[str, _Preset] = {
    # The last `-c` on the command line wins, so the caller's does.
    "codex-app-server": _Preset(
        (
            "codex",
            "app-server",
            "-c",
            'sandbox_mode="workspace-write"',
            "-c",
            'approval_policy="on-request"',
            _ARGUMENTS,
        )
    ),
    "claude-sdk": _Preset(
        (
            *("claude", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
            *("--permission-prompt-tool", "stdio", "--replay-user-messages", _ARGUMENTS),
        ),
        ("--permission-mode", "acceptEdits"),
        ("--permission-mode", "--dangerously-skip-permissions"),
    ),
    # The mode of their session sets their permissions.
    **{f"{PREFIX}{name}": _Preset((*command, _ARGUMENTS)) for name, command in ACP.items()},
}
KNOWN: Mapping[str, _Preset] = {**PRESETS, **_WITH_PROTOCOL}
"""All agents by name, also those with a protocol."""


class _JsonOptions(NamedTuple):
    """Options of a program: those for JSON output and their value, and the one that resumes a session."""

    options: tuple[str, ...]
    value: str
    resume: str
    own_session: tuple[str, ...]


_JSON_OPTIONS = {
    "claude": _JsonOptions(("--output-format",), "stream-json", "--resume", ("-r", "--resume", "-c", "--continue")),
    "codex": _JsonOptions(("--json",), "", "resume", ("resume", "fork", "review")),
    "gemini": _JsonOptions(("-o", "--output-format"), "stream-json", "--resume", ("-r", "--resume")),
    "qwen": _JsonOptions(("-o", "--output-format"), "stream-json", "--resume", ("-r", "--resume", "-c", "--continue")),
    "opencode": _JsonOptions(("--format",), "json", "--session", ("-s", "--session", "-c", "--continue")),
    "pi": _JsonOptions(("--mode",), "json", "--session", ("--session", "-c", "--continue", "--no-session", "--fork")),
    # It resumes a session in a terminal only, and its output does not name the session.
    "cline": _JsonOptions(("--json",), "", "--id", ("--id", "--json")),
}
_ALLOW = {
    "claude": ("--allowedTools", "Bash({}:*)", "Bash({})"),
    "gemini": ("--allowed-tools", "run_shell_command({})", "run_shell_command({})"),
    "qwen": ("--allowed-tools", "run_shell_command({})", "run_shell_command({})"),
}
"""Option that allows calls, with its value for a command with any arguments and for a whole command."""
_NOT_ALONE = {
    "codex": "Codex allows no single command: `--sandbox` and its settings say what its sandbox allows.",
    "opencode": "`permission` in opencode.json says what opencode may run, and `--auto` allows everything.",
}
_ASSIGNMENTS = re.compile(r"^(?:[A-Za-z_]\w*=\S* )+")
_MODEL_OPTIONS = ("--model", "-m")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def preset_command(name: str, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command of a preset with more ``arguments``. Raises UsageError for an unknown name."""
    if name not in KNOWN:
        from unstuck.words.did_you_mean import near

        raise UsageError(
            f"no agent is known as `{name}`{near(name, KNOWN)}: {', '.join(KNOWN)}; any other program goes after --"
        )
    preset = KNOWN[name]
    has_permissions = any(word.partition("=")[0] in preset.instead for word in arguments)
    more = (*(() if has_permissions else preset.allowed), *arguments)
    return tuple(word for part in preset.command for word in (more if part == _ARGUMENTS else (part,)))


def protocol_of(command: Sequence[str]) -> Protocol:
    """Return the protocol of ``command``; empty for an agent that only runs."""
    program = PurePath(command[0]).name if command else ""
    if program == "codex" and "app-server" in command[1:]:
        return "app-server"
    said = " ".join(command).replace("--input-format=", "--input-format ")
    if program == "claude" and " --input-format stream-json" in said:
        return "claude-sdk"
    return "acp" if speaks_acp(command) else ""


def stream_of(command: Sequence[str]) -> str:
    """Return the agent whose JSON ``command`` prints; empty for plain text."""
    program = PurePath(command[0]).name if command else ""
    options_of = _JSON_OPTIONS.get(program)
    if options_of is None:
        return ""
    for place, part in enumerate(command[1:], 1):
        name, is_one, value = part.partition("=")
        if name not in options_of.options:
            continue
        if not is_one:
            value = command[place + 1] if options_of.value and place + 1 < len(command) else ""
        if value == options_of.value:
            return program
    return ""


def allow_arguments(program: str, rules: Sequence[str], call: str = "cd") -> tuple[str, ...]:
    """Return the arguments with which ``program`` allows what ``rules`` do; none where it has no such option.

    ``call`` is the call that they are for; any call may change its directory.
    """
    if program not in _ALLOW:
        return ()
    from unstuck.escalation.permission_rules import ANY  # a help allows nothing

    if program == "qwen":
        rules = [_ASSIGNMENTS.sub("", rule) for rule in rules]  # it compares what follows them
    if program == "gemini" and "cd" in call.split() and not all(rule.endswith("(*)") for rule in rules):
        rules = [*rules, "cd"]  # it asks about each command of a line, this one as well
    option, any_arguments, whole = _ALLOW[program]
    values = (
        rule.removesuffix("(*)")
        if rule.endswith("(*)")
        else any_arguments.format(rule.removesuffix(ANY))
        if rule.endswith(ANY)
        else whole.format(rule)
        for rule in rules
    )
    return tuple(word for value in values for word in (option, value))


def allowing(command: Sequence[str], program: str, rules: Sequence[str]) -> tuple[str, ...]:
    """Return ``command`` of the known agent ``program`` with the arguments that allow what ``rules`` do."""
    at = command.index("--") if "--" in command else len(command)
    return (*command[:at], *allow_arguments(program, rules), *command[at:])


def denials(program: str, calls: Sequence[tuple[str, str]]) -> tuple[Denial, ...]:
    """Return the ``calls``, each a tool and what it was to do, as denials with their cures."""
    from unstuck.contract import Denial  # a help needs no model of values
    from unstuck.escalation.permission_rules import rules_for

    found = []
    for tool, call in calls:
        rules = rules_for(tool, call)
        arguments = allow_arguments(program, rules, call)
        cure = f"`{shlex.join(arguments)}` allows it." if arguments else _NOT_ALONE.get(program, "")
        what = one_line(call if tool == "bash" else call.partition(" ")[0], 300)
        found.append(Denial(what=what, rules=rules, cure=admit(cure, limit=600), grants=bool(arguments)))
    return tuple(found)


def reports_cost(command: Sequence[str]) -> bool:
    """Return whether the agent of ``command`` reports its cost."""
    program = program_of(command)[0] if command else ""
    over_acp = speaks_acp(command) and PurePath(program).name in ("claude-agent-acp", "claude-code-acp", "opencode")
    return over_acp or protocol_of(command) == "claude-sdk" or stream_of(command) in ("claude", "opencode")


def reports_tokens(command: Sequence[str]) -> bool:
    """Return whether the agent of ``command`` reports its tokens."""
    program = PurePath(program_of(command)[0]).name if command else ""
    # Over ACP Cline reports none; aider prints them.
    return bool(stream_of(command)) or program == "aider" or (bool(protocol_of(command)) and program != "cline")


def model_in(command: Sequence[str]) -> str:
    """Return the model that the options of ``command`` name; empty without such an option."""
    for place, part in enumerate(command):
        name, is_one, value = part.partition("=")
        if name in _MODEL_OPTIONS:
            return value if is_one else "".join(command[place + 1 : place + 2])
    return ""


def can_resume(command: Sequence[str]) -> bool:
    """Return whether ``command`` can resume a session; one that names its own session cannot."""
    if any("{session}" in part for part in command):
        return True
    name = stream_of(command)
    return bool(name) and not any(part.partition("=")[0] in _JSON_OPTIONS[name].own_session for part in command)


def resumed(command: Sequence[str], session: str | None) -> tuple[str, ...]:
    """Return ``command`` with ``session`` resumed; unchanged without a session or if it cannot be resumed."""
    from unstuck.agents.command.prompt_delivery import named_prompt

    words, name = named_prompt(command), stream_of(command)
    if not session or not name or not can_resume(command) or not _SESSION.fullmatch(session):
        return tuple(command)
    more = (_JSON_OPTIONS[name].resume, session)
    if name == "codex":
        # `resume` is a subcommand that takes the session and then the prompt.
        at = next((place for place, part in enumerate(words) if part in ("{prompt}", "-")), len(words))
    else:
        at = words.index("run") + 1 if name == "opencode" else 1
    return (*words[:at], *more, *words[at:])


def require_agent(command: Sequence[str], directory: Path, environ: Mapping[str, str]) -> None:
    """Raise AgentNotFound with a one-line error unless ``command`` can start in ``directory``."""
    if protocol_of(command) == "claude-sdk":
        require_sdk()
        command = (sdk_program(command[0], environ), *command[1:])
    elif protocol_of(command) == "acp":
        require_acp()
        command = program_of(command)
    require_program(command, directory, environ)


def require_program(command: Sequence[str], directory: Path, environ: Mapping[str, str]) -> None:
    """Raise AgentNotFound with a one-line error unless ``command`` can start in ``directory``."""
    program = command[0]
    if "/" in program:
        path = Path(program) if Path(program).is_absolute() else directory / program
        if not path.is_file():
            raise AgentNotFound(f"agent program {admit(program, limit=200)} does not exist in {directory}")
        if shutil.which(str(path), path=environ.get("PATH")) is None:
            raise AgentNotFound(f"agent program {admit(program, limit=200)} may not be run (chmod +x?)")
    elif shutil.which(program, path=environ.get("PATH")) is None:
        cure = ": install it, and sign in to it once in its own terminal" if program in PRESETS else ""
        raise AgentNotFound(f"agent program {admit(program, limit=200)} was not found on PATH{cure}")
