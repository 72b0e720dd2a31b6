"""``unstuck completion``: the completion script of a shell, and the words as each shell divides them."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
)

from unstuck_tui.cli.names import OneOf

_BREAKS = frozenset("=:")
# A new zsh has no completion before its user asks for it.
_WITH_COMPLETION = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"


@click.command(name="completion")
@click.argument("shell", metavar="SHELL", type=OneOf(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: bash, zsh or fish. Put it where your shell reads it at its start."""
    if (found := get_completion_class(shell)) is not None:
        script = found(ctx.find_root().command, {}, "unstuck", "_UNSTUCK_COMPLETE").source()
        # A key that interrupts the program while it completes leaves no traceback on the person's line.
        script = re.sub(r" (\$1|unstuck)\)", r" \1 2>/dev/null)", script)
        click.echo(script.replace("#compdef unstuck\n", f"#compdef unstuck\n{_WITH_COMPLETION}", 1))


class _WithOption(ShellComplete):
    """Completion of ``--option=value``, whose values begin with the option: a shell replaces the whole word."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        items = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if option.startswith("-") and equals:
            for item in items:
                item.value = f"{option}={item.value}"
        return items


class _Zsh(_WithOption, ZshComplete):
    pass


class _Fish(_WithOption, FishComplete):
    pass


class _Bash(_WithOption, BashComplete):
    """Completion for bash, which divides a word at ``=`` and ``:``, and replaces only its last piece."""

    replaced = ""
    """The typed part of the word before that piece."""

    def get_completion_args(self) -> tuple[list[str], str]:
        before, last = super().get_completion_args()
        words: list[str] = []
        for word in (*before, last):
            is_break = bool(word) and _BREAKS.issuperset(word)
            if words and word and (is_break or words[-1][-1:] in _BREAKS):
                self.replaced = words[-1] + (word if is_break else "")
                words[-1] += word
            else:
                self.replaced = ""
                words.append(word)
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem[Any]) -> str:
        is_quoted = os.environ["COMP_WORDS"].rstrip().rpartition("\n")[2][:1] in ("'", '"')
        value = item.value.removeprefix(self.replaced)
        if item.type == "plain" and not is_quoted:
            value = shlex.quote(value)
        return f"{item.type},{value}"


def complete_whole_words() -> None:
    """Complete with the classes of this module."""
    for one in (_Bash, _Zsh, _Fish):
        add_completion_class(one)
