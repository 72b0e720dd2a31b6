"""Escalation state of a task: one frozen value, recorded with each decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent

Rung = Literal["first", "retry", "pivot", "research", "human", "continue"]

LOADS = "loads"
"""Reason of a checkpoint of files that are known to load, saved before a retry keeps them."""
REMEMBERED_APPROACHES = 6
REMEMBERED_ADVICE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """Counters of one climb: from the start of a task, or from a person's answer, to the next question.

    ``retries``, ``pivots`` and ``research`` count the used directives of each level and may start again. ``told_*``
    count every directive since the last question. ``waited`` counts the waits for transient failures, of which
    ``waited_for`` is the last type, ``outage`` the seconds waited for an outage that the agent reports. ``signature``
    is the identity of the last failure, ``seen`` those of this climb.
    ``fruitless`` counts the attempts in a row whose agent failed without changing a file, ``continuations`` the new
    sessions for a full context since the last progress.
    ``repeats`` counts the last failure in a row. ``best`` is the extent closest to passing. ``approach`` is that of a
    pivot or a person; ``named`` are the agent's own. ``advice`` holds earlier answers of persons. ``sizes`` are the
    changed lines at the last failures in a row. ``denied`` are the permission rules that this climb lacked.
    """

    rung: Rung = "first"
    retries: int = 0
    pivots: int = 0
    research: int = 0
    told_retries: int = 0
    told_pivots: int = 0
    told_research: int = 0
    directives: int = 0
    agent_failures: int = 0
    fruitless: int = 0
    transient: int = 0
    transient_over: bool = False
    waited: int = 0
    waited_for: str = ""
    outage: float = 0.0
    continuations: int = 0
    unknown: int = 0
    signature: str = ""
    seen: tuple[str, ...] = ()
    repeats: int = 0
    best: Extent = UNKNOWN_EXTENT
    resolved: tuple[str, ...] = ()
    approach: str = ""
    approaches: tuple[str, ...] = ()
    failed_approaches: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    insights: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    denied: tuple[str, ...] = ()

    def noting(self, signature: str, approach: str, named: Sequence[str] = (), size: int = 0) -> Climb:
        """Return this climb after a failure of an attempt that followed ``approach`` and ``named`` others.

        ``size`` is the number of lines that it changed.
        """
        approaches = self.approaches
        if approach and (not approaches or approaches[-1] != approach):
            approaches = (*approaches, approach)[-REMEMBERED_APPROACHES:]
        failed = self.failed_approaches
        if approach and approach not in failed:
            failed = (*failed, approach)
        return replace(
            self,
            signature=signature,
            repeats=self.repeats + 1 if signature == self.signature else 1,
            seen=self.seen if signature in self.seen else (*self.seen, signature),
            approaches=approaches,
            sizes=(*(self.sizes if signature == self.signature else ()), size)[-REMEMBERED_APPROACHES:],
            failed_approaches=failed,
            named=tuple(dict.fromkeys((*named, *self.named)))[:REMEMBERED_APPROACHES],
        )

    def handed_on(self) -> Climb:
        """Return a new climb for another agent, with the failed approaches, findings and advice of this one."""
        return replace(self.answered(), rung="first")

    def answered(self, choice: str = "", text: str = "") -> Climb:
        """Return a new climb after a person's answer, with the failed approaches, findings and advice of this one.

        ``retry`` with a text names the approach of the new climb. Any other text is advice.
        """
        return Climb(
            rung="human",
            approach=text if choice == "retry" else "",
            advice=(*self.advice, text)[-REMEMBERED_ADVICE:] if text and choice != "retry" else self.advice,
            failed_approaches=self.failed_approaches,
            named=self.named,
            insights=self.insights,
            resolved=self.resolved,
        )
