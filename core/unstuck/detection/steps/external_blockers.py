"""Failures with a cause outside of the agent's work: an outage, a missing permission, a missing tool."""

from __future__ import annotations

import re
from functools import lru_cache

LOOKED_AT = 600

_MACHINE = (
    *("no space left on device", "disk quota exceeded", "read-only file system", "cannot allocate memory"),
    *("too many open files", "network is unreachable", "temporary failure in name resolution"),
)
_UNRESOLVED = (
    *("name resolution", "temporary failure resolving", "could not resolve", "couldn't resolve", "eai_again"),
    *("name or service not known", "getaddrinfo"),
)
_OUTAGE = re.compile(
    r"connection (?:was )?(?:refused|reset|aborted|closed by|timed out)|\beconn(?:refused|reset|aborted)"
    r"|\b(?:etimedout|enotfound|eai_again)\b"
    r"|could ?n[o']t resolve|could not (?:resolve|connect)|failed to connect|cannot connect|unable to connect"
    r"|name or service not known|no route to host"
    r"|host is (?:down|unreachable)|read timed out|too many requests|rate[- ]?limit(?:ed|s)? (?:exceeded|reached|hit)"
    r"|rate[ -]limited|quota (?:was )?exceeded|overloaded|service (?:is )?(?:temporarily )?unavailable|bad gateway"
    r"|gateway time-?out|\b(?:http|status|error)[ /:\d.]*(?:429|502|503|504)\b"
    rf"|{'|'.join(_MACHINE)}"
    r"|server has gone away",
)
_REFUSED = re.compile(
    r"permission denied|access denied|operation not permitted|\beacces\b|\beperm\b|not authori[sz]ed|unauthori[sz]ed"
    r"|\b(?:http|status|error|code)[ /:\d.]*(?:401|403)\b|^\s*(?:401|403)\s*$|authentication (?:failed|required)"
    r"|(?:incorrect|invalid|expired|missing|no) (?:api[ _-]key|credentials|access token)"
    r"|unable to (?:locate credentials|authenticate)"
    r"|invalid username or password|could not read (?:username|password)|terminal prompts disabled|publickey"
    r"|\b(?:auth login|login required|not logged in|please (?:log|sign) in)\b"
    r"|permission (?:to use|for) .{0,80}(?:denied|refused)|requires? (?:approval|root|sudo)"
    r"|(?:haven't|have not|has not been|not been) (?:yet )?(?:granted|approved|allowed)|is safe to fetch"
    r"|(?:rejected|refused|forbidden|blocked) by (?:the |your )?(?:user|policy|administrator|organi[sz]ation)",
)
_MISSING_TOOL = re.compile(
    r"command not found|is not recognized as an internal or external command|executable file not found"
    r"|\b[\w.+-]+: not found$|unknown tool|no such tool|tool .{0,60}(?:not found|not available|does not exist)",
    re.MULTILINE,
)
_NO_TOOL = re.compile(r"(?:unknown|no such|invalid) tool|\btool\b.{0,60}(?:not found|not available|does not exist)")
_TESTED = re.compile(r"^failed |assert|--- fail|\bexpected\b", re.MULTILINE)


# Cheap first tests: a pattern is tried only where one of its words occurs.
_OUTAGE_WORDS = (
    *(
        "connect",
        "econn",
        "etimed",
        "enotfound",
        "eai_again",
        "t resolve",
        "name or service",
        "unreachable",
        "no route",
    ),
    *("host is", "timed out", "too many", "rate limit", "rate-limit", "ratelimit", "quota", "overload", "unavailable"),
    *("gateway", "429", "502", "503", "504", "no space", "gone away", "read-only", "allocate", "name resolution"),
)
_REFUSED_WORDS = (
    *(
        "denied",
        "permi",
        "eacces",
        "eperm",
        "authori",
        "401",
        "403",
        "authentic",
        "api key",
        "api_key",
        "credential",
        "publickey",
        "prompts",
    ),
    *("access token", "username or", "login", "logged in", "log in", "sign in", "approval", " root", " sudo"),
    *("granted", "approved", "allowed", "safe to fetch", "rejected by", "refused by", "forbidden by", "blocked by"),
)
_MISSING_WORDS = ("not found", "not recogni", "not available", "unknown tool", "no such tool", "does not exist")


def is_outage(result: str) -> bool:
    """Return whether ``result`` reports that a service is down, full or busy. A failing test does not count."""
    return "outage" in _causes(result[-LOOKED_AT:])


def machine_trouble(result: str) -> str:
    """Return the trouble of the whole machine that ``result`` reports, whichever program met it; empty for none."""
    end = result[-LOOKED_AT:].lower()
    if any(map(end.__contains__, _UNRESOLVED)):
        return _UNRESOLVED[0]
    return next((trouble for trouble in _MACHINE if trouble in end), "")


def is_refused(result: str) -> bool:
    """Return whether ``result`` refuses a permission."""
    return "refused" in _causes(result[-LOOKED_AT:])


def misses_tool(result: str) -> bool:
    """Return whether ``result`` reports that the agent has no such tool."""
    end = result[-LOOKED_AT:].lower()
    return "tool" in end and _NO_TOOL.search(end) is not None


def is_blocked(result: str) -> bool:
    """Return whether ``result`` reports a failure with an external cause."""
    return bool(_causes(result[-LOOKED_AT:]))


@lru_cache(maxsize=256)
def _causes(end: str) -> frozenset[str]:
    """Return the external causes that the end of a result names."""
    lowered = end.lower()
    rules = (
        ("outage", _OUTAGE_WORDS, _OUTAGE),
        ("refused", _REFUSED_WORDS, _REFUSED),
        ("missing", _MISSING_WORDS, _MISSING_TOOL),
    )
    found = frozenset(
        cause for cause, words, rule in rules if any(map(lowered.__contains__, words)) and rule.search(lowered)
    )
    return found if found and not _TESTED.search(lowered) else frozenset()
