"""The commands. A command's own imports happen when it is known which one it is."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, NoReturn

import click

from unstuck.errors import UnstuckError
from unstuck.version import __version__
from unstuck_tui.cli.catalogue import COMMANDS, GROUPS, HIDDEN, OLD_NAMES, examples_of, module_of, path_of
from unstuck_tui.cli.streams import discard, keep_standard_streams
from unstuck_tui.terminal.stand_ins import use_stand_ins
from unstuck_tui.terminal.whole_writes import whole

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["main"]


class _Commands(click.Group):
    """Commands by name: the list, its short helps and completion come from the catalogue, a command from its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = OLD_NAMES.get(cmd_name, cmd_name)
        if name not in COMMANDS and name not in HIDDEN:
            return None
        command: click.Command = importlib.import_module(module_of(name)).command
        command.epilog = examples_of(name) if name in COMMANDS else None
        for below, one in command.commands.items() if isinstance(command, click.Group) else ():
            one.epilog = examples_of(f"{name} {below}")
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = (*COMMANDS, *HIDDEN, *OLD_NAMES)
        if not name.startswith("-") and name not in known and not ctx.resilient_parsing:
            from unstuck.words.did_you_mean import near

            cure = ": a project needs no setup, begin with `unstuck run`" if name == "init" else near(name, COMMANDS)
            ctx.fail(f"there is no command {name}{cure}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(widest), text) for name, text in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        # Past the group's own way of completing, which imports every command for its short help.
        return found + super(click.Group, self).shell_complete(ctx, incomplete)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="unstuck", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Supervise coding agents: detect stuck agents, recover automatically where possible, and ask you only when needed.

    Exit codes: 0 every task succeeded, 1 not everything is done, 2 wrong usage, plan or settings, 3 paused: a
    question needs an answer, 4 stopped without asking, 5 budget used up, 6 damaged event log, 7 no
    failure recognised, 130 interrupted.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False


def main() -> None:
    """The ``unstuck`` command."""
    keep_standard_streams()
    sys.stdout, sys.stderr = whole(sys.stdout), whole(sys.stderr)
    use_stand_ins()
    # A parent that ignores SIGCHLD hands that on, and then no exit status of our own children is known.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # What modules are made of is no garbage: to look for some in it, now and at the end, takes a sixth of a start.
    gc.disable()
    try:
        if "_UNSTUCK_COMPLETE" in os.environ:
            from unstuck_tui.cli.completion import complete_whole_words

            complete_whole_words()
        if len(sys.argv) == 1:
            from unstuck_tui.cli.default import begin

            if (code := begin()) is not None:
                sys.exit(code)
        # Without its standalone mode click returns the exit code of a command that chose one.
        sys.exit(cli.main(prog_name="unstuck", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else path_of(sys.argv[1:])
        cure = ""
        if isinstance(error, click.NoSuchOption) and path == "unstuck run":
            cure = " A program and its options go after --."
        _complain(f"{' '.join(error.format_message().split())}{cure} ({path} --help)", 2)
    except click.ClickException as error:
        _complain(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        # The interrupt may have come before the command's coroutine had begun.
        warnings.simplefilter("ignore", RuntimeWarning)
        sys.exit(130)
    except UnstuckError as error:
        _complain(str(error), error.exit_code)
    except BrokenPipeError:
        discard(sys.stdout)
        sys.exit(141)
    except (OSError, MemoryError) as error:
        from errno import ENOSPC

        from unstuck.errors import system_failure

        discard(sys.stdout)
        # A full disk without a file's name is the one behind standard output, and no run's.
        is_output = getattr(error, "errno", None) == ENOSPC and getattr(error, "filename", None) is None
        failure = None if is_output else system_failure(error)
        said = f"standard output cannot be written: {os.strerror(ENOSPC)}" if is_output else str(failure or error)
        _complain(said, failure.exit_code if failure is not None else 1)


def _complain(message: str, code: int) -> NoReturn:
    """Say what is wrong on standard error and end; nothing in the message can move the cursor."""
    from unstuck.text import sanitise

    try:
        click.echo(f"unstuck: {sanitise(message)}", file=sys.stderr)
    except OSError:
        discard(sys.stderr)
    sys.exit(code)
