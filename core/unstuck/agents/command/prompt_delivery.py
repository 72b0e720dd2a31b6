"""Delivery of an attempt's prompt in a command. Pure.

``{prompt}`` and ``{prompt_file}`` are replaced. Without either, a known agent's own prompt argument is rewritten. Any
other program reads the prompt from the file that ``UNSTUCK_PROMPT_FILE`` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

# Agents that take the prompt as the value of an option.
_PROMPT_OPTIONS = {
    "gemini": ("-p", "--prompt"),
    "qwen": ("-p", "--prompt"),
    "aider": ("-m", "--message", "--msg"),
}
# Agents that take the prompt as a free argument after one of these words, or with one of these options anywhere.
_PROMPT_WORDS = {"claude": ("-p", "--print"), "codex": ("exec", "e"), "opencode": ("run",), "pi": ("-p", "--print")}
# Options of theirs whose value is the next argument, which is no prompt then.
_WITH_VALUE = {
    "claude": (
        "--add-dir --agent --agents --allowed-tools --allowedTools --append-system-prompt --betas --disallowed-tools"
        " --disallowedTools --fallback-model --input-format --json-schema --max-budget-usd --max-turns --mcp-config"
        " --model --output-format --permission-mode --permission-prompt-tool --plugin-dir --resume -r --session-id"
        " --setting-sources --settings --system-prompt --tools"
    ),
    "codex": (
        "--add-dir --ask-for-approval -a --cd -C --color --config -c --disable --enable --image -i --local-provider"
        " --model -m --output-last-message -o --output-schema --profile -p --sandbox -s"
    ),
    "pi": (
        "--api-key --append-system-prompt -e --extension --export --fork --mode --model --models --prompt-template"
        " --provider --session --session-dir --skill --system-prompt -t --theme --thinking --tools"
    ),
    "opencode": (
        "--agent --attach --command --file -f --format --log-level --model -m --port --session -s --title --variant"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Command with its prompt in place. ``file`` holds the prompt; with ``stdin`` it is the standard input."""

    command: tuple[str, ...]
    file: Path
    stdin: bool = False


@dataclass(frozen=True, slots=True)
class _Prompt:
    """Position of the task in a command: the arguments from ``start`` to ``end``, after ``prefix``."""

    start: int
    end: int
    prefix: str = ""

    def text(self, command: Sequence[str]) -> str:
        return " ".join(command[self.start : self.end]).removeprefix(self.prefix)


def place(
    command: Sequence[str], text: str, file: Path, *, session: str | None, limit: int, stdin: bool = False
) -> Placed:
    """Put ``text`` into ``command``; past ``limit`` bytes an argument only points to ``file``."""
    argument = text if len(text.encode()) <= limit else f"Your task is in the file {file}. Read it first."
    program = PurePath(command[0]).name if command else ""
    if argument.startswith("-") or (program in (*_PROMPT_WORDS, "cline") and len(argument.split()) == 1):
        # A leading blank keeps it from being an option, or a single word from being a subcommand (`review`, `update`).
        argument = f" {argument}"
    pieces = {"{prompt}": argument, "{prompt_file}": str(file), "{session}": session or ""}
    replaced = tuple(_replaced(part, pieces) for part in command)
    prompt = None if stdin or _names_prompt(command) else _stated(command)
    if prompt is not None:
        replaced = (*replaced[: prompt.start], f"{prompt.prefix}{argument}", *replaced[prompt.end :])
    return Placed(command=replaced, file=file, stdin=stdin)


def stated_task(command: Sequence[str]) -> str | None:
    """Return the task in a known agent's command; None if there is none."""
    prompt = None if _names_prompt(command) else _stated(command)
    return prompt.text(command) if prompt is not None else None


def delivered_by_file(command: Sequence[str]) -> bool:
    """Return whether the prompt of ``command`` is only in the file that ``UNSTUCK_PROMPT_FILE`` names.

    A command that names a variable of Unstuck's is written for it, and reads what it needs.
    """
    return not (_names_prompt(command) or _stated(command) or any("UNSTUCK_" in part for part in command))


def named_prompt(command: Sequence[str]) -> tuple[str, ...]:
    """Return ``command`` with ``{prompt}`` in place of its task."""
    prompt = None if _names_prompt(command) else _stated(command)
    if prompt is None:
        return tuple(command)
    return (*command[: prompt.start], f"{prompt.prefix}{{prompt}}", *command[prompt.end :])


def _names_prompt(command: Sequence[str]) -> bool:
    return any("{prompt}" in part or "{prompt_file}" in part for part in command)


def _replaced(part: str, pieces: Mapping[str, str]) -> str:
    # One pass keeps a placeholder inside the prompt unchanged.
    result, rest = "", part
    while rest:
        found = min(((rest.find(key), key) for key in pieces if key in rest), default=None)
        if found is None:
            return result + rest
        at, key = found
        result += rest[:at] + pieces[key]
        rest = rest[at + len(key) :]
    return result


def _stated(command: Sequence[str]) -> _Prompt | None:
    program = PurePath(command[0]).name if command else ""
    if program in _PROMPT_OPTIONS:
        return _option_value(command, _PROMPT_OPTIONS[program])
    if program in _PROMPT_WORDS:
        return _free_argument(command, _PROMPT_WORDS[program], frozenset(_WITH_VALUE[program].split()))
    return None


def _option_value(command: Sequence[str], options: Sequence[str]) -> _Prompt | None:
    for index, part in enumerate(command[1:], 1):
        if part == "--":
            return None
        if part in options:
            return _Prompt(index + 1, index + 2) if index + 1 < len(command) else None
        for option in options:
            if option.startswith("--") and part.startswith(f"{option}="):
                return _Prompt(index, index + 1, f"{option}=")
    return None


def _free_argument(command: Sequence[str], words: Sequence[str], with_value: frozenset[str]) -> _Prompt | None:
    """Return the last run of free arguments: no values of options, but everything after ``--``."""
    free = _free(command, with_value)
    if words[0].startswith("-"):
        # The prompt option is a flag; a text directly after it is the prompt.
        at = next((index for index, part in enumerate(command) if part in words), 0)
        if not at:
            return None
        if at + 1 in free:
            return _Prompt(at + 1, at + 2)
        return _Prompt(free[-1], free[-1] + 1) if free else None
    if not free or command[free[0]] not in words or len(free) == 1:
        return None
    end = free[-1] + 1
    start = end - 1
    while start - 1 in free[1:]:
        start -= 1
    return _Prompt(start, end)


def _free(command: Sequence[str], with_value: frozenset[str]) -> list[int]:
    """Return the positions of the arguments that are neither options nor values of options."""
    free: list[int] = []
    index = 1
    while index < len(command):
        part = command[index]
        if part == "--":
            return [*free, *range(index + 1, len(command))]
        if part in with_value:
            index += 1
        elif not part.startswith("-"):
            free.append(index)
        index += 1
    return free
