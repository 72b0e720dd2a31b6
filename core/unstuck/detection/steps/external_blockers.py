"""Failures with a cause outside of the agent's work: an outage, a missing permission, a missing tool."""

from __future__ import annotations

import re

LOOKED_AT = 600

_OUTAGE = re.compile(
    r"connection (?:was )?(?:refused|reset|aborted|closed by|timed out)|\beconn(?:refused|reset|aborted)"
    r"|\b(?:etimedout|enotfound|eai_again)\b"
    r"|could ?n[o']t resolve|could not (?:resolve|connect)|failed to connect|cannot connect|unable to connect"
    r"|temporary failure in name resolution|name or service not known|network is unreachable|no route to host"
    r"|host is (?:down|unreachable)|read timed out|too many requests|rate[- ]?limit(?:ed|s)? (?:exceeded|reached|hit)"
    r"|rate[ -]limited|quota (?:was )?exceeded|overloaded|service (?:is )?(?:temporarily )?unavailable|bad gateway"
    r"|gateway time-?out|\b(?:http|status|error)[ /:\d.]*(?:429|502|503|504)\b|no space left on device"
    r"|server has gone away",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"permission denied|access denied|operation not permitted|\beacces\b|\beperm\b|not authori[sz]ed|unauthori[sz]ed"
    r"|\b(?:http|status|error)[ /:\d.]*(?:401|403)\b|authentication (?:failed|required)|invalid (?:api key|credentials)"
    r"|permission (?:to use|for) .{0,80}(?:denied|refused)|requires? (?:approval|root|sudo)",
    re.IGNORECASE,
)
_MISSING_TOOL = re.compile(
    r"command not found|is not recognized as an internal or external command|executable file not found"
    r"|\b[\w.+-]+: not found$|unknown tool|no such tool|tool .{0,60}(?:not found|not available|does not exist)",
    re.IGNORECASE | re.MULTILINE,
)
_TESTED = re.compile(r"^FAILED |assert|--- FAIL|\bexpected\b", re.IGNORECASE | re.MULTILINE)


def is_outage(result: str) -> bool:
    """Return whether ``result`` reports that a service is down, full or busy. A failing test does not count."""
    end = result[-LOOKED_AT:]
    return _OUTAGE.search(end) is not None and _TESTED.search(end) is None


def is_blocked(result: str) -> bool:
    """Return whether ``result`` reports a failure with an external cause."""
    if is_outage(result):
        return True
    end = result[-LOOKED_AT:]
    found = _REFUSED.search(end) or _MISSING_TOOL.search(end)
    return found is not None and _TESTED.search(end) is None
