"""Last words of a program: the end of what it printed, short enough to be shown beside something else. Pure."""

from __future__ import annotations

import re

from unstuck.text import end_of

SAID_LIMIT = 2_000
"""Largest number of characters of the last words that are kept."""
_LINES, _LINE_LIMIT = 20, 400
_USAGE = re.compile(r"\s*usage: ", re.IGNORECASE)
_ERROR = re.compile(r"(?:[\w.-]{1,40}: )?(?:error|fatal)\b", re.IGNORECASE)
_FRAME = re.compile(r"at |File \"|\d+: 0x|[\^~-]+$|Node\.js v\d|[})\]];?$")

# Node.js prints dozens of them after the words that say why.
_NATIVE = re.compile(r" {0,3}\d{1,3}: 0x[0-9a-f]{4,16}\b|-{3,} Native stack trace -{3,}$")


def last_words(text: str) -> str:
    """Return the last lines of ``text`` that are not blank: at most 20 of them, and 2,000 characters.

    The help that follows a message about a wrong option is left out, and the frames of a runtime that aborted.
    """
    ends = (line.rstrip()[:_LINE_LIMIT] for line in end_of(text, 100 * _LINE_LIMIT).splitlines() if line.strip())
    found = [line for line in ends if not _NATIVE.match(line)]
    lines = _without_help(found)[-_LINES:]
    while len(lines) > 1 and sum(map(len, lines)) + len(lines) > SAID_LIMIT:
        del lines[0]
    return "\n".join(lines)


def _without_help(lines: list[str]) -> list[str]:
    """Return ``lines`` up to the usage text that ends them; all where an error follows it, or nothing precedes it."""
    for place in range(len(lines) - 1, 0, -1):
        if _ERROR.match(lines[place]):
            break
        if _USAGE.match(lines[place]):
            return lines[:place]
    return lines


def last_line(said: str) -> str:
    """Return the line of ``said`` that tells most: the last one that is no frame of a stack."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = (line for line in reversed(lines) if not _FRAME.match(line))
    return next(telling, lines[-1] if lines else "")
