"""Parsers of R and of programs built by GHC: an error's call, or its place in a call stack."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, is_library, place

HALTED = "\nExecution halted"
# A colon within the call, as in 1:3, has no blank before it.
R_ERROR = Lazy(r"Error(?: in (?P<call>.{1,300}?) :|\s?:) ?(?P<msg>.*)$")
NOT_TRUE = ("is not TRUE", "are not all TRUE")
# What R says of a file that it cannot open, before an error that only names the connection.
R_OPENED = Lazy(r"\s+(?P<msg>cannot open .*: \S.*)$")
CALL_STACK = "\nCallStack (from HasCallStack):"
CALLED = Lazy(r"  error, called at (?P<file>[^\s:]{1,300}):(?P<line>\d{1,7}):\d{1,7} in \S+$")


def r_error(text: str, lines: list[str]) -> Finding | None:
    """Return the first error of R, which may say its message on the next line."""
    for number, line in enumerate(lines):
        head = R_ERROR.match(line) if line.startswith("Error") else None
        if head is None:
            continue
        message = head["msg"] or next(iter(lines[number + 1 : number + 2]), "").strip()
        if message == "cannot open the connection":
            message = next((said["msg"] for said in map(R_OPENED.match, lines) if said), message)
        name = "AssertionError" if message.endswith(NOT_TRUE) else "simpleError"
        return Finding(72, message, name=name, function=(head["call"] or "").partition("(")[0])
    return None


def haskell_error(text: str, lines: list[str]) -> Finding | None:
    """Return the message above a call stack of GHC, at the user's own line that raised it."""
    start = lines.index(CALL_STACK.strip()) if CALL_STACK.strip() in lines else 0
    if not start:
        return None
    program, separator, message = lines[start - 1].partition(": ")
    spots = (spot for spot in map(CALLED.match, lines[start : start + 9]) if spot)
    where = next((place(spot["file"], spot["line"]) for spot in spots if not is_library(spot["file"])), None)
    return Finding(84, message if separator else program, name="ErrorCall", location=where)
