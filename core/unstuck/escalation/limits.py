"""Escalation levels with their costs, and the limits of a climb."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self

from unstuck.arguments import check_fields


class EscalationLevel(Enum):
    """Levels of the failure handler, 1 to 4, with their limits and costs."""

    RETRY = (1, "Retry", 3, "Low", "None")
    PIVOT = (2, "Pivot", 3, "Medium", "None")
    RESEARCH = (3, "Research", 2, "High", "None")
    ASK = (4, "Checkpoint/Ask", 1, "Low", "Required")

    level: int
    strategy: str
    max_attempts: int
    token_cost: str
    user_interaction: str

    def __new__(cls, level: int, strategy: str, max_attempts: int, token_cost: str, user_interaction: str) -> Self:
        """Return the member whose value is ``level``."""
        member = object.__new__(cls)
        member._value_ = member.level = level
        member.strategy, member.max_attempts = strategy, max_attempts
        member.token_cost, member.user_interaction = token_cost, user_interaction
        return member

    def __int__(self) -> int:
        return self.level


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a climb. ``max_attempts`` bounds all its directives; the others are per level or rule.

    ``parallel`` is how many new approaches are worked at the same time.

    ``auto_resolve`` holds (pattern, hint, command to run or empty), ``patterns`` (pattern, approach, confidence).
    A wait of more than ``long_wait`` seconds is one for a quota. Without a person, a task continues after it only with
    ``resume_after_quota``. A spent quota without a known time is waited for ``blind_wait`` seconds. An outage that the
    agent reports is waited for ``outage_limit`` seconds beyond ``transient_retries``. ``learned`` orders new
    approaches by their successes.

    Raises ArgumentError for a wrong value.

    Example::

        handler = FailureHandler(limits=Limits(max_retries=1))
    """

    max_retries: int = 3
    max_pivots: int = 3
    max_research: int = 2
    max_attempts: int = 20
    parallel: int = 1
    task_failure_limit: int = 3
    transient_retries: int = 3
    continuations: int = 3
    unknown_retries: int = 1
    skip_to_ask: tuple[str, ...] = ()
    verification_retries: int = 3
    long_wait: float = 600.0
    blind_wait: float = 3600.0
    outage_limit: float = 1800.0
    resume_after_quota: bool = False
    auto_resolve: tuple[tuple[str, str, str], ...] = ()
    patterns: tuple[tuple[str, str, float], ...] = ()
    learned: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
