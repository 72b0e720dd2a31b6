"""``unstuck help``: the help of a command, as its ``--help`` prints it."""

from __future__ import annotations

import click

from unstuck_tui.cli.catalogue import COMMANDS
from unstuck_tui.cli.names import names_in


@click.command(name="help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...", shell_complete=names_in(lambda _: COMMANDS))
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Print the help of COMMAND, or the list of commands."""
    root = ctx.find_root()
    root.command.main([*words, "--help"], root.info_name, standalone_mode=False)
