"""Static look at a check's command: what hides its exit code, and whether its program exists. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Part", "check_warnings", "is_direct", "missing_program", "parts_of", "repaired"]

_OPERATORS = ("&&", "||", "|&", ";;", "|", ";", "&", "\n")
_LAUNCHERS = ("env", "time", "nice", "exec", "command", "npx", "bunx", "xvfb-run")
_RUN_LAUNCHERS = ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "pnpm", "yarn", "bun", "dotenv")
_RUNNERS = re.compile(
    r"(pytest|py\.test|cargo|go|gotestsum|jest|vitest|mocha|node|phpunit|pest|rspec|rake|ctest|dotnet|mvn|gradle|tox|nox"
    r"|deno|swift|sbt|mix|rebar3|ava|playwright|mypy|pyright|ruff|eslint|tsc|rubocop|prove|busted|nose2|trial)"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# Words of the shell, and constructs that hide which programs a command runs.
_SHELL_WORDS = re.compile(
    r"[\[!:.{}()]|test|true|false|cd|exit|set|unset|export|readonly|exec|shift|trap|umask|wait|then|else|elif|fi|until|do"
    r"|done|esac|in|echo|printf|read|return|command|type|ulimit|hash|alias|local|times|pwd|kill|break|continue"
)
_UNKNOWABLE = re.compile(r"\bPATH=|\bactivate\b|\beval\b|(?:^|[;&|\s])(?:\.|source)\s|\(\)|<<|^\s*function\b")
_BASH_ONLY = (
    (re.compile(r"\[\[ "), "[[ … ]]"),
    (re.compile(r"(?:^|[;&|]\s*)source\s"), "source"),
    (re.compile(r"[<>]\("), "<(…)"),
    (re.compile(r"<<<"), "<<<"),
    (re.compile(r"&>"), "&>"),
    (re.compile(r"\bset -o pipefail\b|\bset -[a-z]*o pipefail\b"), "set -o pipefail"),
    (re.compile(r"\bshopt\b"), "shopt"),
    (re.compile(r"(?:^|[;&|]\s*)function\s"), "function"),
    (re.compile(r"\{\d+\.\.\d+\}"), "{1..9}"),
)  # fmt: skip
# A loop or a condition: `;` and the end of a line join its parts.
_COMPOUND = re.compile(r"(?:if|for|while|until|case|function)\b|\w+\s*\(\)")
_IN_TURN = (";", "\n")
_HARMLESS = re.compile(r"(?:true|:|echo\b.*|printf\b.*|exit 0|date\b.*|sleep\b.*)")


@dataclass(frozen=True, slots=True)
class Part:
    """A command between two top-level operators, and the operator behind it (empty for the last one)."""

    text: str
    operator: str


def parts_of(command: str) -> tuple[Part, ...]:
    """The commands of ``command`` at its top level; a quote that is never closed makes the rest one command."""
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
        elif sign == "#" and (at == 0 or command[at - 1].isspace()):
            end = command.find("\n", at)
            at = len(command) if end < 0 else end
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
    """Return the parts of ``command`` that may hide a failure from its exit code, a sentence each.

    ``is_bash``: ``sh``, which runs every check, is bash.
    """
    parts, warnings = parts_of(command), list[str]()
    cure = repaired(command)
    instead = f": write {cure}" if cure else ""
    if any(_COMPOUND.match(part.text) for part in parts):
        return _in_bash(command, is_bash)
    if (piped := next((part for part in parts if part.operator in ("|", "|&")), None)) and "pipefail" not in command:
        warnings.append(
            f"the check's exit code is that of the last command of the pipe, not of `{piped.text}`{instead}"
        )
    for before, after in pairwise(parts):
        if before.operator == "||" and _HARMLESS.fullmatch(after.text):
            warnings.append(f"`|| {after.text}` turns every failure of the check into success{instead}")
        elif before.operator in _IN_TURN and before.text and after.text and not _is_strict(parts):
            warnings.append(f"only the last command decides: the exit code of `{before.text}` is lost{instead}")
        elif before.operator == "&":
            warnings.append(f"`{before.text} &` runs in the background: its exit code is lost")
    return warnings + _in_bash(command, is_bash)


def _in_bash(command: str, is_bash: Callable[[], bool]) -> list[str]:
    syntax = next((name for pattern, name in _BASH_ONLY if pattern.search(command)), "")
    if not syntax or is_bash():
        return []
    return [f"checks run in sh, which does not know `{syntax}`: write {shlex.join(['bash', '-c', command])}"]


def _is_strict(parts: tuple[Part, ...]) -> bool:
    return bool(parts) and re.fullmatch(r"set -\w*e\w*(?: .*)?", parts[0].text) is not None


def repaired(command: str) -> str:
    """Return ``command`` with its failures visible in the exit code; empty where no change is needed or known."""
    kept = list(parts_of(command))
    changed = False
    if any(_COMPOUND.match(part.text) for part in kept):
        return ""
    while len(kept) > 1 and kept[-2].operator in ("||", *_IN_TURN) and _HARMLESS.fullmatch(kept[-1].text or ":"):
        kept.pop()
        kept[-1] = Part(kept[-1].text, "")
        changed = True
    if not _is_strict(tuple(kept)):
        joined = [Part(part.text, "&&" if part.operator in _IN_TURN and part.text else part.operator) for part in kept]
        changed, kept = changed or joined != kept, joined
    if any(part.operator == "&" for part in kept):
        return ""
    text = " ".join(f"{part.text} {part.operator}".strip() for part in kept).removesuffix("&&").strip()
    if any(part.operator in ("|", "|&") for part in kept) and "pipefail" not in command:
        return shlex.join(["bash", "-o", "pipefail", "-c", text])
    return text if changed and text != command.strip() else ""


def is_direct(command: str) -> bool:
    """Whether the exit code of ``command`` is certainly that of the runner that speaks last."""
    parts = parts_of(command)
    if any(part.operator not in ("", "&&") for part in parts):
        return False
    programs = [_program(part.text) for part in parts]
    return bool(programs) and _RUNNERS.fullmatch(programs[-1].rsplit("/", 1)[-1]) is not None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _program(text: str) -> str:
    """The program that a simple command runs, behind assignments and launchers; ``python -m NAME`` is NAME."""
    words = _words(text)
    while words:
        first = words[0]
        if _ASSIGNMENT.match(first) or first in _LAUNCHERS or first.startswith("-"):
            words = words[1:]
        elif first in _RUN_LAUNCHERS and words[1:2] in (["run"], ["exec"]):
            words = words[2:]
        elif re.fullmatch(r"(?:.*/)?python[\d.]*", first) and words[1:2] == ["-m"]:
            return words[2] if len(words) > 2 else first
        else:
            return first
    return ""


def missing_program(command: str, exists: Callable[[str], bool]) -> str:
    """Return the first program of ``command`` that does not exist; empty where all do or it cannot be known.

    A path is never missing: the task may create the file.
    """
    parts = parts_of(command)
    if _UNKNOWABLE.search(command) or any(_COMPOUND.match(part.text) for part in parts):
        return ""
    for part in parts:
        words = [word for word in _words(part.text.lstrip("!({ \t")) if not _ASSIGNMENT.match(word)]
        program = words[0] if words else ""
        if _SHELL_WORDS.fullmatch(program) or not re.fullmatch(r"[\w.+-]+", program):
            continue
        if not exists(program):
            return program
    return ""
