"""``unstuck mcp``: serve an agent's own calls, and set that up in its settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from unstuck.errors import UsageError
from unstuck_tui.cli.common import end_with_status, json_option, project_option, scope_option, yes_option
from unstuck_tui.cli.names import OneOf

# As in the table of agents, which is not needed to serve.
_AGENTS = ("claude", "codex")
_agent_argument = click.argument("agent", metavar="AGENT", type=OneOf(_AGENTS))


@click.group(name="mcp", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Serve ask_human, report_failure, report_progress and checkpoint to an agent (MCP on standard input and output).

    An agent starts this server after `unstuck mcp install`. Its calls go to the run or watch of its project. AGENT is
    claude or codex.
    """
    if ctx.invoked_subcommand is not None:
        return
    from unstuck.agents.mcp.server import serve

    if sys.stdin is None or sys.stdout is None:
        raise UsageError("an agent speaks to this over standard input and output, and one of them is closed")
    if sys.stdin.isatty():
        click.echo("unstuck mcp: an agent speaks to this, not a person: see unstuck mcp --help", err=True)
    ctx.exit(serve())


@command.command()
@_agent_argument
@scope_option
@yes_option
@json_option("One JSON object; needs --yes.")
@project_option
def install(agent: str, scope: Any, yes: bool, project: Path, as_json: bool) -> None:
    """Add the server to the settings of an agent. Shows the change first, and keeps a copy."""
    from unstuck.agents.config.settings_files import installation
    from unstuck.agents.mcp.mcp_agents import KNOWN
    from unstuck.agents.optional_packages import require_mcp
    from unstuck_tui.cli.common import echo, here
    from unstuck_tui.cli.settings_change import applied

    require_mcp()
    known = KNOWN[agent]
    change = installation(known, scope, root=here(project).root, environ=dict(os.environ))
    if (
        applied(change, f"The server is in the settings of {known.title} already: {change.path}", yes, as_json=as_json)
        and known.note
    ):
        echo(known.note)


@command.command()
@_agent_argument
@scope_option
@yes_option
@json_option("One JSON object; needs --yes.")
@project_option
def remove(agent: str, scope: Any, yes: bool, project: Path, as_json: bool) -> None:
    """Remove the server; the file is then as before."""
    from unstuck.agents.config.settings_files import removal
    from unstuck.agents.mcp.mcp_agents import KNOWN
    from unstuck_tui.cli.common import here
    from unstuck_tui.cli.settings_change import applied

    change = removal(KNOWN[agent], scope, root=here(project).root, environ=dict(os.environ))
    applied(change, f"No server of ours is in {change.path}", yes, as_json=as_json)


@command.command()
@click.argument("agent", metavar="[AGENT]", required=False, type=OneOf(_AGENTS))
@json_option("One JSON object per row.")
@project_option
@click.pass_context
def status(ctx: click.Context, agent: str | None, as_json: bool, project: Path) -> None:
    """List agents and whether the server is installed. Exits with 1 if there are problems."""
    from unstuck.agents.config.settings_files import settings_files
    from unstuck.agents.mcp.mcp_agents import KNOWN
    from unstuck_tui.cli.common import here

    found = settings_files(KNOWN, here(project).root, dict(os.environ))
    files = [file for file in found if agent in (None, file.agent.name)]
    rows = [_row(file) for file in files]
    end_with_status(ctx, rows, as_json)


def _row(file: Any) -> dict[str, Any]:
    """One settings file as a row: ``ok`` says whether what is there works."""
    from unstuck.agents.mcp.mcp_agents import trouble_with
    from unstuck.text import one_line

    trouble, mend = trouble_with(file)
    note = one_line(f"{trouble}: {mend}" if trouble else str(file.path), 400)
    found = {"agent": file.agent.name, "scope": file.scope, "state": file.state, "path": str(file.path)}
    return found | {"note": note, "ok": not trouble}
