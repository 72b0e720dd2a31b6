"""``unstuck hooks``: set up, take out and look at the hooks of agents that run in their own terminals."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from unstuck.agents.config.settings_files import Scope, SettingsFile, installation, removal, settings_files
from unstuck.agents.hooks.codex_trust import trust_of
from unstuck.agents.hooks.hook_agents import KNOWN, OPEN, HookedAgent, hooked_agent
from unstuck.text import one_line
from unstuck_tui.cli.common import echo, end_with_status, here, json_option, project_option, scope_option, yes_option
from unstuck_tui.cli.names import OneOf
from unstuck_tui.cli.settings_change import applied

_agent_argument = click.argument("agent", metavar="AGENT", type=OneOf(list(KNOWN)))


@click.group(name="hooks")
def command() -> None:
    """Install, remove and check the hooks through which `unstuck watch` supervises agents in other terminals.

    AGENT is claude, codex, gemini or qwen. Only the entries of unstuck in its settings change.
    """


@command.command()
@_agent_argument
@scope_option
@yes_option
@json_option("One JSON object; needs --yes.")
@project_option
def install(agent: str, scope: Scope, yes: bool, project: Path, as_json: bool) -> None:
    """Add the hooks to the settings of an agent. Shows the change first, and keeps a copy."""
    known = hooked_agent(agent)
    change = installation(known, scope, root=here(project).root, environ=dict(os.environ))
    if applied(change, f"The hooks for {known.title} are set up already: {change.path}", yes, as_json=as_json):
        if known.trust:
            echo(f"{known.title} calls them once you trust them: start it, type /hooks, and check them there.")
        echo(f"Run `unstuck watch` in your project, and start {known.title} there in another terminal.")
        echo("Without a watch the hooks do nothing.")


@command.command()
@_agent_argument
@scope_option
@yes_option
@json_option("One JSON object; needs --yes.")
@project_option
def remove(agent: str, scope: Scope, yes: bool, project: Path, as_json: bool) -> None:
    """Remove the hooks; the file is then as before."""
    known = hooked_agent(agent)
    change = removal(known, scope, root=here(project).root, environ=dict(os.environ))
    applied(change, f"No hooks of ours for {known.title} are in {change.path}", yes, as_json=as_json)


@command.command()
@click.argument("agent", metavar="[AGENT]", required=False, type=OneOf(list(KNOWN)))
@json_option("One JSON object per row.")
@project_option
@click.pass_context
def status(ctx: click.Context, agent: str | None, as_json: bool, project: Path) -> None:
    """List agents and whether their hooks are installed. Exits with 1 if there are problems."""
    environ, root = dict(os.environ), here(project).root
    files = [file for file in settings_files(KNOWN, root, environ) if agent in (None, file.agent.name)]
    rows = [row(file, root, environ) for file in files]
    end_with_status(ctx, rows, as_json)


def row(file: SettingsFile[HookedAgent], root: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """One settings file as a row: ``ok`` says whether what is there works, for work in ``root``."""
    name, where = file.agent.name, " --here" if file.scope == "project" else ""
    note: str = one_line(str(file.path))
    ok = True
    if file.state == "unreadable":
        note, ok = one_line(file.problem), False
    elif file.missing:
        note, ok = f"{one_line(file.missing)} does not exist: {OPEN}: unstuck hooks install {name}{where}", False
    elif file.state == "outdated":
        note, ok = f"{note} is not as this version writes it: unstuck hooks install {name}{where}", False
    elif file.state == "installed" and file.agent.trust:
        trust = trust_of(file.path, root, environ)
        ok = trust != "untrusted"
        note = f"{note} {_TRUST[trust]}"
    return {"agent": name, "scope": file.scope, "state": file.state, "path": str(file.path), "note": note, "ok": ok}


_TRUST = {
    "trusted": "(trusted)",
    "untrusted": "is not trusted, so codex ignores it: start codex, type /hooks, and check them there",
    "unknown": "(whether codex trusts it is not known)",
}
