"""Safety of regular expressions: bounded matching time for any text. Pure."""

from __future__ import annotations

import re

__all__ = ["runs_away"]

MOST_REPEATS = 2
"""With as many unbounded repeats a text of 400 characters takes ten million steps at the very worst."""
_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"  # one character, or one of a class
    r"|\(\?(?:P=\w+|#[^)]*|[a-zA-Z-]+)\)"  # a group that holds nothing
    r"|\((?:\?(?:P<\w*>|[a-zA-Z-]*:|<?[=!]|>))?|\{\d*,\d*\}|.",
    re.DOTALL,
)


def runs_away(pattern: str) -> bool:
    """Return whether matching ``pattern`` may take exponential time.

    That is a repeat of a part that matches in several ways, or more than two unbounded repeats.
    """
    repeats, closed = 0, False
    groups = [False]  # whether what stands in each open group repeats or has a choice
    for token in _TOKEN.findall(pattern):
        unbounded = token in "*+" or token.endswith(",}")
        if unbounded:
            repeats += 1
            if closed:
                return True
            groups[-1] = True
        closed = False
        if token.startswith("(") and not token.endswith(")"):
            groups.append(False)
        elif token == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1] = groups[-1] or closed
        elif token in ("|", "?") or token.startswith("{"):
            groups[-1] = True
    return repeats > MOST_REPEATS
