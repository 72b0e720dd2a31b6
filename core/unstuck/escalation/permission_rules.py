"""Permission rules: patterns of the calls that a person has allowed. Pure.

``make test *`` allows a command that begins with these words, ``rm build.log`` this very command, and ``WebFetch(*)``
any call of a tool that is no shell. Each command of a compound one needs a rule. A rule for a program that can do
anything is the whole command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

ANY = " *"
_OPERATORS = frozenset({"&&", "||", ";", "|"})
_SUBSTITUTION = re.compile(r"[`\n]|\$\(")
_MERGED_ERRORS = re.compile(r"\s2>&1(?=\s|$)")
_RUNNERS = {
    name: words
    for words, names in (
        (1, "pytest tox nox jest vitest mocha ctest phpunit rspec ruff mypy pyright eslint tsc prettier ls"),
        (2, "make just task npm pnpm yarn bun cargo go dotnet mvn gradle ./gradlew ./mvnw mix rake composer git deno"),
        (3, "python python3 uv poetry pipenv bundle hatch pdm rye npx"),
    )
    for name in names.split()
}
"""Number of the words that say what a program does; any other program needs all of them."""
_LIMIT = 300


def rules_for(tool: str, call: str) -> tuple[str, ...]:
    """Return the rules that allow ``call``, the narrowest that are of use again. ``bash`` is the tool of any shell."""
    if tool != "bash":
        return (f"{call.split(maxsplit=1)[0] if call.strip() else tool}(*)",)
    commands = _commands(call)
    return tuple(dict.fromkeys(map(_rule, commands))) if commands else (call[:_LIMIT],)


def allowed(rules: Iterable[str], tool: str, call: str) -> bool:
    """Return whether ``rules`` allow ``call``, every command of it."""
    known = set(rules)
    if tool != "bash":
        return rules_for(tool, call)[0] in known
    commands = _commands(call)
    return call in known or (bool(commands) and all(_fits(known, command) for command in commands))


def _fits(rules: Iterable[str], command: str) -> bool:
    return any(
        command == rule.removesuffix(ANY) or (rule.endswith(ANY) and command.startswith(rule.removesuffix("*")))
        for rule in rules
    )


def _commands(call: str) -> Sequence[str]:
    """Return the single commands of ``call`` without changes of directory; none where it does more than run them."""
    if _SUBSTITUTION.search(call):
        return ()
    lexer = shlex.shlex(_MERGED_ERRORS.sub("", call), posix=False, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    try:
        for token in lexer:
            if token in _OPERATORS:
                found.append([])
            elif set(token) <= set("();<>|&"):
                return ()
            else:
                found[-1].append(token)
    except ValueError:
        return ()
    return [" ".join(words) for words in found if words and words[0] != "cd"]


def _rule(command: str) -> str:
    words = command.split()
    count = _RUNNERS.get(words[0], 0)
    if not count or len(words) < count or (count > 1 and words[count - 1].startswith("-")):
        return command[:_LIMIT]
    if count == 3 and words[1] not in ("-m", "run", "exec", "--no-install"):
        return command[:_LIMIT]
    if words[1:2] == ["run"] and len(words) > 2 and not words[2].startswith("-"):
        count = 3
    return " ".join(words[:count]) + ANY
