"""Static look at a check's command: what hides its exit code, and a program that does not exist. Pure.

It speaks only of plain commands. What it does not understand for certain (here-documents, nested quotes, commands that
read ``$?``) it leaves alone: a wrong warning costs trust, and a wrong suggestion could hide a failure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from unstuck.diagnosis.matching.lazy_regex import Lazy

_OPERATORS = ("&&", "||", "|&", ";;", "|", ";", "&", "\n")
_IN_TURN = (";", "\n")
_LAUNCHERS = ("env", "time", "nice", "exec", "npx", "bunx", "xvfb-run")
_RUN_LAUNCHERS = ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "pnpm", "yarn", "bun", "dotenv")
# Programs whose exit code is that of the tests, also where they start others.
_RUNNERS = Lazy(
    r"pytest|py\.test|unittest|jest|vitest|mocha|phpunit|pest|rspec|ctest|ava|playwright|prove|busted|nose2|trial"
    r"|mypy|pyright|ruff|eslint|tsc|rubocop|oxlint"
)
_SUBCOMMANDS = {
    "cargo": ("test", "nextest"),
    "go": ("test", "vet"),
    "node": ("--test",),
    "deno": ("test",),
    "dotnet": ("test",),
    "swift": ("test",),
    "mix": ("test",),
}
# What checks something, itself or by starting what does.
_CHECKERS = Lazy(
    rf"{_RUNNERS.pattern}|cargo|go|node|deno|dotnet|swift|mix|make|just|task|npm|pnpm|yarn|bun|tox|nox|mvn|gradle|rake|invoke"
    r"|black|flake8|pylint|prettier|stylelint|biome|golangci-lint|clippy-driver|shellcheck|coverage|hatch|sbt|lein|stack|cabal"
)
# Programs that only pass on what they read, so that the exit code of the one before them is what counts.
_PASSING_ON = (
    "tee", "tail", "head", "cat", "sed", "awk", "cut", "tr", "ts", "sort", "uniq", "column", "nl", "fold", "wc",
    "xargs", "less", "more", "perl", "ansi2txt", "jq",
)  # fmt: skip
# A search that only leaves lines out; any other one may be the check itself.
_LEAVING_OUT = Lazy(r"(?:[ef]?grep|rg)\b(?=.* (?:-\w*v\w*|--invert-match)\b)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL_WORDS = re.compile(
    r"[\[!:.{}()]|test|true|false|cd|chdir|exit|set|unset|export|readonly|exec|shift|trap|umask|wait|echo|printf|read|return"
    r"|command|type|ulimit|hash|alias|unalias|local|times|pwd|kill|break|continue|getopts|jobs|bg|fg|fc|let|builtin"
    r"|declare|typeset|pushd|popd|select|coproc|source|eval"
)
# A loop or a condition: `;` and the end of a line join its parts.
_COMPOUND = re.compile(r"(?:if|for|while|until|case|select|function|coproc)\b|\w+\s*\(\)")
_HARMLESS = Lazy(r"(?:true|:|exit 0|(?:echo|printf|date|sleep|cat|tail|head|ls)\b.*)")
# The exit code is used, or the order of the parts has a meaning that a suggestion would lose.
_UNCLEAR = Lazy(
    r"<<|\$\?|\$!|PIPESTATUS|\bwait\b|\btrap\b|\bset \+e|\bexit\s+\$|\"[^\"]*(?:\$\(|`)|\(\(|^\s*#|\s#", re.MULTILINE
)
_PROGRAM_UNKNOWN = re.compile(
    r"\bPATH=|\bactivate\b|\beval\b|(?:^|[;&|\s])(?:\.|source)\s|\(\)|\$\(|`|\(\(|\[\[|<<|\b(?:command|type|which|hash)\s|\s#|^\s*#"
    r"|\binstall\b|\balias\s|\bnvm\b",
    re.MULTILINE,
)
_BASH_ONLY = (
    (Lazy(r"(?:^|[\s;&|!(])\[\[ "), "[[ … ]]"),
    (Lazy(r"(?:^|[;&|]\s*)source\s"), "source"),
    (Lazy(r"(?:^|\s)[<>]\("), "<(…)"),
    (Lazy(r"<<<"), "<<<"),
    (Lazy(r"&>"), "&>"),
    (Lazy(r"\|&"), "|&"),
    (Lazy(r"\bset -[a-z]*o pipefail\b"), "set -o pipefail"),
    (Lazy(r"PIPESTATUS"), "PIPESTATUS"),
    (Lazy(r"(?:^|[;&|]\s*)shopt\b"), "shopt"),
    (Lazy(r"(?:^|[;&|]\s*)function\s"), "function"),
    (Lazy(r"(?:^|\s)\{\d+\.\.\d+\}"), "{1..9}"),
)
_QUOTED = Lazy(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.")


class Part(NamedTuple):
    """A command between two top-level operators, and the operator behind it (empty for the last one)."""

    text: str
    operator: str


def parts_of(command: str) -> tuple[Part, ...]:
    """Return the commands of ``command`` at its top level; behind a quote that is never closed it is one command."""
    return tuple(part for part in _split(command) if part.text or part.operator)


def _split(command: str) -> Iterator[Part]:
    start = at = depth = 0
    while at < len(command):
        sign = command[at]
        if sign == "\\":
            at += 2
        elif sign in "'\"`":
            at = _behind_quote(command, at)
        elif sign in "({":
            depth += sign == "(" or command[at : at + 2] in ("{ ", "{\n") or command[at - 1 : at] == "$"
            at += 1
        elif sign in ")}" and depth:
            depth -= 1
            at += 1
        elif not depth and (operator := _operator_at(command, at)):
            yield Part(command[start:at].strip(), operator)
            start = at = at + len(operator)
        else:
            at += 1
    yield Part(command[start:].strip(), "")


def _operator_at(command: str, at: int) -> str:
    if command[at] == "&" and (command[at - 1 : at] in (">", "<") or command[at : at + 2] == "&>"):
        return ""  # a redirection such as 2>&1
    if command[at] == "|" and command[at - 1 : at] == ">":
        return ""
    return next((operator for operator in _OPERATORS if command.startswith(operator, at)), "")


def _behind_quote(command: str, at: int) -> int:
    quote, at = command[at], at + 1
    while at < len(command) and command[at] != quote:
        at += 2 if command[at] == "\\" and quote != "'" else 1
    return at + 1


def check_warnings(command: str, *, is_bash: Callable[[], bool]) -> list[str]:
    """Return what in ``command`` may hide a failure from its exit code, a sentence each.

    ``is_bash`` tells whether ``sh``, which runs every check, knows what only bash knows.
    """
    return [*_hidden(command), *_in_bash(command, is_bash)]


def _hidden(command: str) -> Iterator[str]:
    parts = parts_of(command)
    if _UNCLEAR.search(command) or any(_COMPOUND.match(part.text) for part in parts):
        return
    cure = repaired(command)
    instead = f": write {cure}" if cure else ""
    if piped := _piped(parts):
        yield f"the check's exit code is that of the last command of the pipe, not of `{piped.text}`{instead}"
    if (end := _harmless_end(parts)) and parts[end - 1].operator == "||" and _checks(parts[end - 1].text):
        yield f"`|| {parts[end].text}` turns every failure of the check into success{instead}"
    for before, after in pairwise(parts):
        if before.operator in _IN_TURN and after.text and _checks(before.text) and not _is_strict(parts):
            yield f"only the last command decides: the exit code of `{before.text}` is lost{instead}"
    for part in parts:
        if part.operator == "&" and _checks(part.text):
            yield f"`{part.text} &` runs in the background: its exit code is lost"
    if inner := _inner(parts[-1].text) if parts else "":
        yield from _hidden(inner)


def _inner(text: str) -> str:
    """The commands of a subshell, of a group, or of ``sh -c``; empty for others, and for those that set options."""
    words = _words(text)
    if text[:1] + text[-1:] in ("()", "{}"):
        inner = text[1:-1].strip().removesuffix(";")
    elif len(words) == 3 and words[1] == "-c" and words[0].rsplit("/", 1)[-1] in ("sh", "bash", "dash", "zsh"):
        inner = words[2]
    else:
        return ""
    return "" if re.search(r"\bset -", inner) else inner


def _in_bash(command: str, is_bash: Callable[[], bool]) -> list[str]:
    bare = _QUOTED.sub("''", command)
    syntax = next((name for pattern, name in _BASH_ONLY if pattern.search(bare)), "")
    if not syntax or is_bash():
        return []
    return [f"checks run in sh, which does not know `{syntax}`: write {shlex.join(['bash', '-c', command])}"]


def _piped(parts: tuple[Part, ...]) -> Part | None:
    """The checking command whose exit code a pipe to a program that only passes on replaces; None without one."""
    for before, after in pairwise(parts):
        passes_on = _program(after.text) in _PASSING_ON or _LEAVING_OUT.match(after.text)
        if before.operator in ("|", "|&") and _checks(before.text) and passes_on:
            return before
    return None


def _harmless_end(parts: tuple[Part, ...]) -> int:
    """The position of the first of the harmless commands at the end; 0 where there are none."""
    end = len(parts)
    while end > 1 and parts[end - 2].operator in ("||", *_IN_TURN) and _HARMLESS.fullmatch(parts[end - 1].text or ":"):
        end -= 1
    return end if end < len(parts) else 0


def _checks(text: str) -> bool:
    program = _program(text)
    is_script = program.startswith(("{", "(", "./")) or re.fullmatch(r"(?:sh|bash|python[\d.]*|ruby|perl|php)", program)
    return bool(is_script) or _CHECKERS.fullmatch(program.rsplit("/", 1)[-1]) is not None


def _is_strict(parts: tuple[Part, ...]) -> bool:
    return bool(parts) and re.fullmatch(r"set -\w*e\w*(?: .*)?", parts[0].text) is not None


def repaired(command: str) -> str:
    """Return ``command`` written so that a failure shows in its exit code; empty where that is not certain.

    Only pipes to programs that pass on what they read, ``|| true`` and the like at the end, and checks one after
    another are rewritten.
    """
    parts = parts_of(command)
    if _UNCLEAR.search(command) or _is_strict(parts) or any(_COMPOUND.match(part.text) for part in parts):
        return ""
    if any(pattern.search(_QUOTED.sub("''", command)) for pattern, _ in _BASH_ONLY):
        return ""
    kept = parts[: _harmless_end(parts) or len(parts)]
    operators = [part.operator for part in kept[:-1]]
    if any(part.operator == "&" for part in parts) or any(
        operator not in ("&&", "|", *_IN_TURN) for operator in operators
    ):
        return ""
    if any(operator in _IN_TURN for operator in operators) and not all(_checks(part.text) for part in kept):
        return ""
    if any(operator == "|" for operator in operators) and (_piped(kept) is None or operators.count("|") > 1):
        return ""
    joined = "".join(f"{part.text} {'&&' if part.operator in _IN_TURN else part.operator} " for part in kept[:-1])
    text = f"{joined}{kept[-1].text}".strip() if kept else ""
    if "|" in operators:
        return shlex.join(["bash", "-o", "pipefail", "-c", text])
    return text if text != command.strip().rstrip(";").strip() else ""


def is_direct(command: str) -> bool:
    """Return whether the exit code of ``command`` is certainly that of the runner that speaks last."""
    parts = parts_of(command)
    if _UNCLEAR.search(command) or any(part.operator not in ("", "&&") for part in parts):
        return False
    words = _behind_launchers(parts[-1].text) if parts else []
    program = words[0].rsplit("/", 1)[-1] if words else ""
    if program in _SUBCOMMANDS:
        return any(word in _SUBCOMMANDS[program] for word in words[1:3])
    return _RUNNERS.fullmatch(program) is not None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _program(text: str) -> str:
    """The program that a simple command runs, behind assignments and launchers; ``python -m NAME`` is NAME."""
    return next(iter(_behind_launchers(text)), "")


def _behind_launchers(text: str) -> list[str]:
    words = _words(text)
    while words:
        first = words[0]
        if _ASSIGNMENT.match(first) or first in _LAUNCHERS or first.startswith("-"):
            words = words[1:]
        elif (first in _RUN_LAUNCHERS and words[1:2] in (["run"], ["exec"])) or _is_time_limit(words[:2]):
            words = words[2:]
        elif re.fullmatch(r"(?:.*/)?python[\d.]*", first) and words[1:2] == ["-m"] and len(words) > 2:
            return words[2:]
        else:
            break
    return words


def _is_time_limit(words: list[str]) -> bool:
    return len(words) == 2 and words[0] == "timeout" and re.fullmatch(r"[\d.]+[smhd]?", words[1]) is not None


def missing_program(command: str, exists: Callable[[str], bool]) -> str:
    """Return the first program of ``command`` where ``exists`` denies it; empty where it is there or cannot be known.

    A path is never missing: the task may make the file. Later programs may be optional, or installed by the first one.
    """
    parts = parts_of(command)
    if _PROGRAM_UNKNOWN.search(command) or any(_COMPOUND.match(part.text) for part in parts):
        return ""
    for part in parts:
        words = [word for word in _words(part.text.lstrip("!({ \t")) if not _ASSIGNMENT.match(word)]
        program = words[0] if words else ""
        if _SHELL_WORDS.fullmatch(program) or not program:
            if part.operator not in ("&&", *_IN_TURN) or program in ("[", "test"):
                return ""  # what follows may be left out
            continue
        known = re.fullmatch(r"[A-Za-z_][\w.+-]*", program) is None or exists(program)
        return "" if known or part.operator == "||" else program
    return ""
