"""Troubles: lines of an output that say that what its call is about fails, although the call itself may have passed."""

from __future__ import annotations

import re

from unstuck.detection.steps.likely import search_for

LOOKED_AT = 600
LONG_LINE = 300

# As a word of its own: within a path or the name of a test it says nothing.
_TROUBLE = re.compile(
    r"(?<![\w/.-])(?:[a-z]*(?:error|exception)s?|errored|fatal|fail(?:ed|s|ures?|ing)?|crash[a-z]*|abort(?:ed|ing)?"
    r"|conflicts?|cannot|could not|unable|no such|not found|denied|refused|rejected|forbidden|invalid|expired"
    r"|unreachable|timed out|panic|died|defunct|restarting|exit-code|exited|unhealthy|core dumped|busy"
    r"|segmentation fault|not running|inactive|degraded|stopped|offline)(?![/.-]*\w)"
)
# Most results have none of these words.
_may_name_trouble = search_for(
    r"(?i)error|exception|fatal|fail|crash|abort|conflict|cannot|could not|unable|no such|not found|denied|refused"
    r"|rejected|forbidden|invalid|expired|unreachable|timed out|panic|died|defunct|restarting|exit-code|exited"
    r"|unhealthy|core dumped|busy|segmentation fault|not running|inactive|degraded|stopped|offline"
)
_BAD = r"(?:errors?|fail\w*|exceptions?|conflicts?)"
_DONE = r"\b(?:pass(?:ed)?|ok|done|success\w*|built|finished|completed?)\b|✓"
_WELL = re.compile(_DONE)
_GOOD = re.compile(
    rf"\b(?:0|no|without|zero)\s(?:\S+\s)?{_BAD}|\b[a-z]+\s?[=:]\s?0\b|\b(?:exited|code) \(?0\b"
    rf"|\bwarn|\bdeprecat|{_DONE}"
)
_NAME = re.compile(r"[\w.-]{3,}")
_COMMANDS = re.compile(r"(?:^|[;&|]\s*)(?:sudo\s+)?(?:\S*/)?(\w[\w.+-]*)")
# These put their name before good news, too.
_BUILDERS = frozenset({"make", "gmake", "ninja"})


def troubles_in(call: str, result: str, *, hides: bool) -> list[str]:
    """Return the lines at the end of ``result`` that name trouble, where one of them names something of ``call``.

    A program puts its own name before its complaints, which tells them apart where the call ``hides`` its exit code.
    """
    end = result[-LOOKED_AT:]
    may_complain = hides and ": " in end
    if not (may_complain or _may_name_trouble(end)):
        return []
    # A script that is given may name anything.
    command = call.partition("\n")[0]
    programs = set(_COMMANDS.findall(command)) - _BUILDERS if may_complain else ()
    complains = tuple(begin for program in programs if (begin := f"{program}: ") in end)
    names = [name for name in set(_NAME.findall(command)) if name in end]
    if not (names or complains):
        return []
    lowered = end.lower()
    if not (complains or _TROUBLE.search(lowered)):
        return []
    may_end_well = not hides and _WELL.search(lowered) is not None
    found = []
    about = False
    for line in end.splitlines():
        # What a complaint quotes of the call differs with it.
        complaint = line.startswith(complains) and not quotes(line, call)
        lowered = line.lower()
        trouble = _TROUBLE.search(lowered) is not None
        if may_end_well and not trouble and _WELL.search(lowered):
            # What ends well may have met trouble on its way.
            return []
        if complaint or (trouble and not _GOOD.search(lowered)):
            found.append(line[:LONG_LINE])
            about = about or complaint or any(name in line for name in names)
    return found if about else []


def quotes(line: str, call: str) -> bool:
    """Return whether a line ends in a part of the call that it complains about."""
    return line.rpartition(": ")[2] in call
