"""Limit of turns that a person has set for an agent, and that ended its work. Pure."""

from __future__ import annotations

import re

from unstuck.diagnosis.matching.lazy_regex import Lazy

OWN_LIMIT = "agent_own_limit"
"""Key in the metadata of a signature: the agent ended at a limit of its own, in the middle of its work."""
_TURNS = Lazy(
    r"^[^A-Za-z]{0,6}(?:error: )?reached (?:the )?max(?:imum)?(?: number of)?(?: session)? turns"
    r"(?: \(| for this session|\W*$)",
    re.IGNORECASE,
)


def at_own_limit(said: str) -> bool:
    """Return whether the last line of ``said`` reports that the agent had no turn left."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return bool(lines) and _TURNS.search(lines[-1][:400]) is not None
