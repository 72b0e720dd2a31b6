"""Where an attempt's text goes in a command. Pure.

``{prompt}`` and ``{prompt_file}`` are replaced; without either, a known agent's own prompt argument is taken for the
task and rewritten; any other program finds the text in the file that ``UNSTUCK_PROMPT_FILE`` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

__all__ = ["Placed", "place", "stated_task"]

# The options that carry the prompt as their value or as the next free argument, and subcommands it comes after.
_PROMPT_OPTIONS = {
    "claude": ("-p", "--print"),
    "gemini": ("-p", "--prompt"),
    "qwen": ("-p", "--prompt"),
    "aider": ("-m", "--message", "--msg"),
}
_PROMPT_COMMANDS = {"codex": "exec", "opencode": "run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The command to run, the file with the text, and whether standard input reads that file."""

    command: tuple[str, ...]
    file: Path
    stdin: bool = False


def place(
    command: Sequence[str], text: str, file: Path, *, session: str | None, limit: int, stdin: bool = False
) -> Placed:
    """Put ``text`` into ``command``; past ``limit`` bytes an argument only points to ``file``."""
    argument = text if len(text.encode()) <= limit else f"Your task is in the file {file}. Read it first."
    if argument.startswith("-"):
        # An option parser would take it for an option; a leading blank changes nothing for a reader.
        argument = f" {argument}"
    replaced = tuple(_replaced(part, argument, file, session) for part in command)
    if replaced != tuple(command) or stdin:
        return Placed(command=replaced, file=file, stdin=stdin)
    position = _prompt_position(command)
    if position is not None:
        return Placed(command=(*command[:position], argument, *command[position + 1 :]), file=file)
    return Placed(command=tuple(command), file=file)


def stated_task(command: Sequence[str]) -> str | None:
    """The task that a known agent's command line states; None where there is none."""
    if any("{prompt}" in part or "{prompt_file}" in part for part in command):
        return None
    position = _prompt_position(command)
    return command[position] if position is not None else None


def _replaced(part: str, argument: str, file: Path, session: str | None) -> str:
    # One pass, so that a placeholder inside the prompt stays what it is.
    pieces = {"{prompt}": argument, "{prompt_file}": str(file), "{session}": session or ""}
    result, rest = "", part
    while rest:
        found = min(((rest.find(key), key) for key in pieces if key in rest), default=None)
        if found is None:
            return result + rest
        at, key = found
        result += rest[:at] + pieces[key]
        rest = rest[at + len(key) :]
    return result


def _prompt_position(command: Sequence[str]) -> int | None:
    program = PurePath(command[0]).name if command else ""
    options = _PROMPT_OPTIONS.get(program)
    if options is not None:
        for index, part in enumerate(command[1:-1], 1):
            if part in options and not command[index + 1].startswith("-"):
                return index + 1
        has_option = any(part in options for part in command)
        last = len(command) - 1
        return last if has_option and last > 0 and not command[last].startswith("-") and last > 1 else None
    subcommand = _PROMPT_COMMANDS.get(program)
    if subcommand is not None and subcommand in command[1:]:
        start = command.index(subcommand) + 1
        last = len(command) - 1
        return last if last >= start and not command[last].startswith("-") else None
    return None
