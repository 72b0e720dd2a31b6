"""State rows for statistics: failures by signature, decisions without a question, notifications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RUNGS = ("first", "waits", "retry", "pivot", "research", "asked")
"""Escalation levels that a failure can reach, lowest first."""

DecidedBy = Literal["rule", "timer", "policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureRow:
    """A failure by its identity: ``count`` occurrences between ``first`` and ``last`` (ISO 8601).

    ``tasks`` names the first 200 tasks. ``rung`` is the highest escalation level reached, one of :data:`RUNGS`.
    ``worked`` is what resolved it, empty if nothing has.
    """

    identity: str
    first: str
    last: str
    count: int = 0
    tasks: tuple[str, ...] = ()
    error_type: str = ""
    headline: str = ""
    location: str = ""
    failure_type: str = ""
    category: str = ""
    rung: str = "first"
    worked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision without a person: ``time`` (ISO 8601), ``event`` name, and actor ``by``."""

    time: str
    event: str
    by: DecidedBy
    task: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A notification: its ``time`` (ISO 8601) and its ``tasks``."""

    time: str
    tasks: tuple[str, ...] = ()
