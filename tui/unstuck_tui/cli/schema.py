"""``unstuck schema``: JSON Schemas of what commands print and of what the socket speaks."""

from __future__ import annotations

import json

import click

from unstuck_tui.cli.common import echo
from unstuck_tui.cli.names import schemas


@click.command(name="schema")
@click.argument("name", required=False, default="", shell_complete=schemas)
def command(name: str) -> None:
    """Print the JSON Schema of NAME: a command with --json, socket-request, socket-reply, or an event.

    Without NAME it lists the names. The version of a schema rises with every change.
    """
    from unstuck.schemas.catalogue import json_schema, schema_names

    if name:
        echo(json.dumps(json_schema(name), indent=2))
        return
    for one in schema_names():
        echo(one)
