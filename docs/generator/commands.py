"""Every command with its options, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from docs.generator.markdown import code, table

from unstuck_tui.cli import cli

__all__ = ["commands"]


def commands() -> str:
    """All commands, each below a heading of its own."""
    return "\n\n".join(_described(cli, click.Context(cli, info_name="unstuck")))


def _described(command: click.Command, context: click.Context, level: int = 1) -> Iterator[str]:
    if level > 1:
        yield f"{'#' * level} `{context.command_path}`"
        yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```"
        yield _plain(command.help or "")
        if command.epilog:
            lines = [line.strip() for line in command.epilog.splitlines() if line.startswith("  ")]
            yield f"```text\n{chr(10).join(lines)}\n```"
        if options := [_row(option) for option in command.params if isinstance(option, click.Option)]:
            yield table(("option", "meaning"), options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (found := command.get_command(context, name)) is not None:
                yield from _described(found, click.Context(found, context, name), level + 1)


def _plain(text: str) -> str:
    """Help text, with its commands as code: it is text and no Markdown."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.replace("\b", "").split("\n\n")]
    return "\n\n".join(code(one) if one.startswith("unstuck ") else _escaped(one) for one in paragraphs)


def _escaped(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>*_\[\]])", r"\\\1", part) for part in parts)


def _row(option: click.Option) -> tuple[str, str]:
    names = " ".join((*option.opts, *option.secondary_opts))
    if isinstance(option.type, click.Choice):
        names += " " + "|".join(map(str, option.type.choices))
    elif not option.is_flag:
        names += f" {option.metavar or option.type.name.upper()}"
    # A callback takes one of them only.
    again = " May be given more than once." if option.multiple and option.callback is None else ""
    return code(names), _escaped((option.help or "") + again)
