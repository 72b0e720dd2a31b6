"""Facts of each known agent, from its preset, the first look at it, and its settings files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from docs.generator.markdown import code, table
from tests.real_agents.programs import ADAPTERS, CLINE, PROGRAMS

from unstuck.agents.acp_agents import KNOWN as ACP
from unstuck.agents.acp_agents import PREFIX, quirks_of
from unstuck.agents.command.presets import (
    KNOWN,
    PRESETS,
    allow_arguments,
    can_resume,
    preset_command,
    protocol_of,
    reports_cost,
)
from unstuck.agents.hooks.hook_agents import KNOWN as HOOKED
from unstuck.agents.mcp.mcp_agents import KNOWN as CALLING
from unstuck.diagnosis.agent_messages.troubles import CURES
from unstuck.runs.doctor.first_look import AGENTS

__all__ = ["AGENT_TABLES", "acp_agents", "known_agents"]

_PROGRAMS = {**PROGRAMS, **ADAPTERS, CLINE.name: CLINE}


def known_agents() -> str:
    """Every agent that only runs, with its command."""
    return table(("name", "started as"), [(code(name), code(_command(name))) for name in PRESETS])


def acp_agents() -> str:
    """Every known agent of the Agent Client Protocol."""
    rows = []
    for name, command in ACP.items():
        quirks = quirks_of(command)
        rows.append(
            (
                code(PREFIX + name),
                code(_command(PREFIX + name)),
                code(quirks.mode) or "its own settings",
                code(quirks.sign_in),
            )
        )
    return table(("agent", "started as", "mode of its session", "signed in with"), rows)


def _facts(name: str) -> str:
    return table(("fact", name), _rows(name))


def _rows(name: str) -> Iterator[tuple[str, str]]:
    command = preset_command(name)
    program = command[0]
    yield "started as", code(_command(name))
    if KNOWN[name].allowed:
        yield "its permissions are left to you with", ", ".join(map(code, KNOWN[name].instead))
    if arguments := allow_arguments(program, ["make test *"]):
        yield "one command is allowed with", code(f"-- {shlex.join(arguments)}")
    if not protocol_of(command):
        yield "a retry", "continues its session" if can_resume(command) else "starts a new session"
    yield "reports", _reports(command)
    if look := AGENTS.get(program):
        places = [*look.variables.split(), *(f"~/{file}" for file in look.files)]
        if places:
            yield "is taken for signed in by one of", ", ".join(map(code, places))
    if cure := CURES.get((program, "login")):
        yield "to sign in", cure
    if hooks := HOOKED.get(name):
        where = f"~/{hooks.directory}/{hooks.home}"
        yield "hooks go to", f"{code(where)}; with `--here` {code(hooks.project)}"
    if name in CALLING:
        yield "questions over MCP", f"`unstuck mcp install {name}`"
    if known := _PROGRAMS.get(program):
        yield "tried with", f"{code(known.package)} {known.version}"


def _command(name: str) -> str:
    return shlex.join("…" if word == "{prompt}" else word for word in preset_command(name)).replace("'…'", "…")


def _reports(command: tuple[str, ...]) -> str:
    return "tokens and cost" if reports_cost(command) else "tokens"


AGENT_TABLES: Mapping[str, Callable[[], str]] = {
    f"agent_{name.replace('-', '_')}": partial(_facts, name) for name in (*PRESETS, "claude-sdk", "codex-app-server")
}
"""A table of facts for each agent that has a page."""
