"""The commands. A command's own imports happen when it is known which one it is."""

from __future__ import annotations

import importlib
import os
import sys

import click

from unstuck.errors import UnstuckError

__all__ = ["main"]

_COMMANDS = {
    "answer": "Answer an open gate, from anywhere.",
    "diagnose": "What is this failure, and what would be done about it.",
    "doctor": "What is installed, what is in the way, and where everything lies.",
    "run": "Run a plan of tasks, or one command, until it is done or needs you.",
    "runs": "The runs of this project.",
    "show": "One run: its tasks and open gates.",
    "verify": "Check that a run's record can be trusted.",
}


class _Commands(click.Group):
    """Commands by name; only the one that is called is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        if ctx.resilient_parsing or ctx.invoked_subcommand is not None or cmd_name in sys.argv[1:]:
            module = importlib.import_module(f"unstuck_tui.cli.{cmd_name}")
            command: click.Command = module.command
            command.short_help = _COMMANDS[cmd_name]
            return command
        return click.Command(cmd_name, help=_COMMANDS[cmd_name], short_help=_COMMANDS[cmd_name])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in _COMMANDS:
            return name, importlib.import_module(f"unstuck_tui.cli.{name}").command, args[1:]
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="unstuck", prog_name="unstuck")
def cli() -> None:
    """Supervise coding agents: see who is stuck, let the ladder answer what it can, and answer the rest once.

    Exit codes: 0 every task succeeded, 1 not everything is done, 2 wrong usage, plan or settings, 3 a person is needed,
    4 halted, 5 a budget ended it, 6 the record cannot be trusted, 130 interrupted.
    """


def main() -> None:
    """The ``unstuck`` command."""
    try:
        # Without its standalone mode click returns the exit code of a command that chose one.
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except UnstuckError as error:
        click.echo(f"unstuck: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader has gone; what is left in the buffer must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
