"""Rows for looking back: a failure with its occurrences in a run, what was decided without a question, and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["RUNGS", "Decided", "DecidedBy", "Page", "SignatureRow"]

RUNGS = ("first", "waits", "retry", "pivot", "research", "asked")
"""How far a failure got, the least first."""

DecidedBy = Literal["rule", "timer", "policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureRow:
    """One failure by its identity: ``count`` occurrences between ``first`` and ``last`` (ISO 8601) in ``tasks``,
    of which the first 200 are named.

    ``rung`` is the highest it has led to, one of :data:`RUNGS`; ``worked`` what got past it, empty where nothing has.
    """

    identity: str
    first: str
    last: str
    count: int = 0
    tasks: tuple[str, ...] = ()
    error_type: str = ""
    headline: str = ""
    location: str = ""
    rung: str = "first"
    worked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision that a person might have taken: ``time`` (ISO 8601), which ``event``, and ``by`` whom."""

    time: str
    event: str
    by: DecidedBy
    task: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A notification that went out: its ``time`` (ISO 8601) and the ``tasks`` it was about."""

    time: str
    tasks: tuple[str, ...] = ()
