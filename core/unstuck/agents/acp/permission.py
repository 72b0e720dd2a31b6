"""Which of an agent's own options an answer stands for. Pure.

Options are chosen by their kind, never by their name: one that begins with *allow* may well mean for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstuck.agents.streams.stream import items, text

__all__ = ["CANCELLED", "outcome"]

_KINDS = {True: ("allow_once", "allow_always"), False: ("reject_once", "reject_always")}
CANCELLED: Mapping[str, Any] = {"outcome": {"outcome": "cancelled"}}


def outcome(request: Mapping[str, Any], *, allowed: bool) -> Mapping[str, Any]:
    """The answer to a request for permission; *cancelled* where it has no option for it."""
    options = items(request, "options")
    for kind in _KINDS[allowed]:
        for option in options:
            if text(option, "kind") == kind and text(option, "optionId"):
                return {"outcome": {"outcome": "selected", "optionId": text(option, "optionId")}}
    return CANCELLED
