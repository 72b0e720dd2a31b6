"""Old names of commands, options and keys, from the tables that accept them."""

from __future__ import annotations

from collections.abc import Iterator

import click
from docs.generator.markdown import code, table

from unstuck.runs.plans.yaml_nodes import OLD_KEYS
from unstuck_tui.cli import cli
from unstuck_tui.cli.catalogue import COMMANDS, OLD_NAMES

__all__ = ["old_names"]


def old_names() -> str:
    """Every old name with the new one."""
    rows = [("command", code(f"unstuck {old}"), code(f"unstuck {new}")) for old, new in OLD_NAMES.items()]
    rows += [(f"option of {code(command)}", code(old), code(new)) for command, old, new in _options()]
    rows += [("key of a plan, a task or a scenario", code(old), code(new)) for old, new in OLD_KEYS.items()]
    return table(("what", "old name", "name"), rows)


def _options() -> Iterator[tuple[str, str, str]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        for option in command.params if command is not None else ():
            new, *old = [one for one in option.opts if one.startswith("--")] or [""]
            yield from ((name, one, new) for one in old)
