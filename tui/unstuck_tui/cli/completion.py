"""``unstuck completion``: the completion script of a shell. Also the values that are completed."""

from __future__ import annotations

import click


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL. Put it where your shell reads it at its start."""
    from click.shell_completion import get_completion_class

    if (found := get_completion_class(shell)) is not None:
        click.echo(found(ctx.find_root().command, {}, "unstuck", "_UNSTUCK_COMPLETE").source())
