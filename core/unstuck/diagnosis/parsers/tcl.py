"""Parser of Tcl: a message with its stack below, the innermost call first."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, place

DOING = ("    while executing", "    invoked from within")
IN_PROCEDURE = Lazy(r'    \(procedure "(?P<function>[^"\n]{1,200})" line \d{1,7}\)$')
IN_FILE = Lazy(r'    \(file "(?P<file>[^"\n]{1,400})" line (?P<line>\d{1,7})\)$')


def tcl(text: str, lines: list[str]) -> Finding | None:
    """Return the line above the stack, in the innermost procedure, at the line of the file that called it.

    A procedure counts its own lines from its head: only the file's line is a place.
    """
    start = next((number for number, line in enumerate(lines) if line in DOING), 0)
    while start > 1 and lines[start - 1].startswith("    ("):
        start -= 1
    if not start:
        return None
    below = lines[start:]
    parsed = lines[start - 1].startswith("in expression ")
    procedure = next(filter(None, map(IN_PROCEDURE.match, below)), None)
    spot = next(filter(None, map(IN_FILE.match, below)), None)
    return Finding(
        weight=84,
        headline=lines[start - 2 if parsed else start - 1].strip(),
        name="SyntaxError" if parsed else "TclError",
        location=place(spot["file"], spot["line"]) if spot else None,
        function=procedure["function"] if procedure else "",
    )
