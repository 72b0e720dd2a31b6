"""First look at a known agent before it costs anything: version, sign-in, and whether it may run the check.

Files and variables alone are looked at: an agent's own program may take seconds to say its version. So a look cannot
hang, and what it does not find may still be there: every result is a warning.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from unstuck.agents.command.presets import allow_arguments, protocol_of
from unstuck.diagnosis.agent_messages.troubles import CURES, known_agent
from unstuck.escalation.permission_rules import allowed, rules_for
from unstuck.text import one_line

_SIZE_LIMIT = 1_000_000
_READS = frozenset(
    {"[", "cat", "diff", "echo", "false", "grep", "head", "ls", "pwd", "rg", "tail", "test", "true", "wc"}
)
"""Programs that agents run without asking."""
_VALUE = re.compile(r"([\w.-]+)(?:\(([^)]*)\))?")
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")


_NO_WORK = ("does not seem to be signed in", "cannot change a file")
"""Words of the warnings about an agent that could do no work."""


class _Agent(NamedTuple):
    """Marks of an agent: its known major version; the variables, files and settings that sign it in.

    ``option`` allows commands, ``shell`` is its shell tool there. One of ``everything`` allows all. ``key`` leads to
    the allowed tools in its settings. Files are relative to the home directory, settings also to the project.
    ``modes`` is its option for a mode, and the value with which it edits files without asking.
    """

    major: int
    variables: str
    files: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    signing: str = ""
    option: tuple[str, ...] = ()
    shell: str = ""
    everything: tuple[str, ...] = ()
    key: tuple[str, str] = ("", "")
    modes: tuple[str, str] = ("", "")


_ASKING = ("plan", "default")
AGENTS: Mapping[str, _Agent] = {
    "claude": _Agent(
        2,
        "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX "
        "CLAUDE_CODE_USE_FOUNDRY",
        (".claude/.credentials.json",),
        (".claude/settings.json", ".claude/settings.local.json"),
        "apiKeyHelper",
        ("--allowedTools", "--allowed-tools"),
        "Bash",
        ("--dangerously-skip-permissions", "bypassPermissions"),
        ("permissions", "allow"),
        ("--permission-mode", "acceptEdits"),
    ),
    "codex": _Agent(
        0, "CODEX_API_KEY OPENAI_API_KEY", (".codex/auth.json",), (".codex/config.toml",), "model_provider"
    ),
    "gemini": _Agent(
        0,
        "GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_APPLICATION_CREDENTIALS GOOGLE_GENAI_USE_VERTEXAI GOOGLE_GENAI_USE_GCA",
        (".gemini/oauth_creds.json", ".gemini/gemini-credentials.json", ".gemini/google_accounts.json", ".gemini/.env"),
        (".gemini/settings.json",),
        "",
        ("--allowed-tools",),
        "run_shell_command",
        ("--yolo", "-y", "yolo"),
        ("tools", "allowed"),
        ("--approval-mode", "auto_edit"),
    ),
    "qwen": _Agent(
        0,
        "OPENAI_API_KEY DASHSCOPE_API_KEY QWEN_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY",
        (".qwen/oauth_creds.json", ".qwen/.env"),
        (".qwen/settings.json",),
        "apiKey",
        ("--allowed-tools",),
        "run_shell_command",
        ("--yolo", "-y", "yolo"),
        ("tools", "allowed"),
        ("--approval-mode", "auto-edit"),
    ),
    "opencode": _Agent(1, ""),
}


class Look(NamedTuple):
    """Version of an agent, empty if unknown, and warnings about it in one line each.

    ``refused`` is the one with which it could do no work; empty without one.
    """

    agent: str
    version: str
    warnings: tuple[str, ...]
    refused: str = ""


def first_look(command: Sequence[str], checks: Iterable[str], directory: Path, environ: Mapping[str, str]) -> Look:
    """Return a first look at the agent that ``command`` starts in ``directory``. Starts nothing."""
    name = known_agent(command)
    if name not in AGENTS:
        return Look(name, "", ())
    agent, home = AGENTS[name], Path(environ.get("HOME") or "/nonexistent")
    version = version_of(command[0], environ)
    warnings = []
    if version and int(version.partition(".")[0]) != agent.major:
        warnings.append(f"{name} {version} is none of the versions that this unstuck knows ({agent.major}.x)")
    if not _is_signed_in(name, agent, home, environ):
        warnings.append(f"{name} does not seem to be signed in here. {CURES[name, 'login']}")
    warnings += _may_not_run(name, agent, command, checks, [directory, home])
    told = tuple(one_line(warning, 500) for warning in warnings)
    return Look(name, version, told, next((one for one in told if any(mark in one for mark in _NO_WORK)), ""))


def version_of(program: str, environ: Mapping[str, str]) -> str:
    """Return the version of ``program`` as its package says; empty where it is not known without starting it."""
    found = shutil.which(program, path=environ.get("PATH"))
    if found is None:
        return ""
    real = Path(found).resolve()
    if _VERSION.fullmatch(real.name):
        return real.name  # a native installation keeps each version in a file of this name
    for folder in list(real.parents)[:4]:
        data = _read_json(folder / "package.json")
        if isinstance(data.get("version"), str) and data.get("name"):
            return str(data["version"]) if _VERSION.fullmatch(str(data["version"])) else ""
    return ""


def _is_signed_in(name: str, agent: _Agent, home: Path, environ: Mapping[str, str]) -> bool:
    """Return False where no variable, file or setting is known to sign the agent in."""
    if not agent.variables or (name == "claude" and sys.platform == "darwin"):
        return True  # opencode has models without an account, and a keychain is not looked into
    codex_home = environ.get("CODEX_HOME")
    at = {".codex": Path(codex_home)} if codex_home else {}

    def place(path: str) -> Path:
        first, _, rest = path.partition("/")
        return at.get(first, home / first) / rest

    return (
        any(environ.get(variable) for variable in agent.variables.split())
        or any(place(path).exists() for path in agent.files)
        or (bool(agent.signing) and any(agent.signing in _read(place(path)) for path in agent.settings))
    )


def _may_not_run(
    name: str, agent: _Agent, command: Sequence[str], checks: Iterable[str], places: Sequence[Path]
) -> Iterator[str]:
    """Yield a warning for each check that the agent may not run itself, with the argument that allows it."""
    if protocol_of(command):
        return  # it asks
    words = [part for word in command for part in (word.split("=", 1) if word.startswith("--") else [word])]
    if name == "codex" and "read-only" in words:
        yield "codex runs in a read-only sandbox, so it cannot change a file: give it `--sandbox workspace-write`"
    modes = [value for option, value in pairwise(words) if option == agent.modes[0] and value in _ASKING]
    if modes and not any(word in agent.option for word in words):
        mode = shlex.join(agent.modes)
        yield f"{name} cannot change a file with `{agent.modes[0]} {modes[0]}` and nobody to ask: give it `{mode}`"
    if not agent.option or any(word in agent.everything for word in words):
        return
    rules = set(_rules_in(agent, words))
    for file in (place / path for place in places for path in agent.settings):
        group = _read_json(file).get(agent.key[0])
        listed = group.get(agent.key[1]) if isinstance(group, dict) else None
        rules |= set(_rules(agent, " ".join(map(str, listed)) if isinstance(listed, list) else ""))
    for check in checks:
        needed = rules_for("bash", check)
        if "*" in rules or all(rule.partition(" ")[0] in _READS for rule in needed):
            continue
        whole = any(mark in rule for rule in needed for mark in "()<>|&;`$'\"\n")
        arguments = (agent.option[0], agent.shell) if whole else allow_arguments(name, needed, check)
        given = set(_rules_in(agent, arguments))
        if given <= rules or (allowed(rules, "bash", check) and not given & {"cd"} - rules):
            continue
        yield f"{name} may not run the check itself ({one_line(check, 80)}): `-- {shlex.join(arguments)}` allows it"


def _rules_in(agent: _Agent, words: Sequence[str]) -> Iterator[str]:
    """Yield the permission rules that the options in ``words`` give."""
    listing = False
    for word in words:
        if word.startswith("-"):
            listing = word in agent.option
        elif listing:
            yield from _rules(agent, word)


def _rules(agent: _Agent, listed: str) -> Iterator[str]:
    """Yield the rules in a list of tools such as ``Bash(make test:*) Edit``; ``*`` allows every command."""
    for found in _VALUE.finditer(listed):
        if found[1] not in (agent.shell, "ShellTool"):
            continue
        if not found[2]:
            yield "*"
            continue
        words = re.sub(r"[: ]?\*$", "", found[2])
        yield from (words, f"{words} *") if words != found[2] or agent.shell != "Bash" else (words,)


def _read(path: Path) -> str:
    """Return the text of a settings file; empty where it cannot be read or is too large to be one."""
    with suppress(OSError, ValueError):
        if path.is_file() and path.stat().st_size < _SIZE_LIMIT:
            return path.read_text("utf-8")
    return ""


def _read_json(path: Path) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        data = json.loads(_read(path) or "{}")
        return data if isinstance(data, dict) else {}
    return {}
