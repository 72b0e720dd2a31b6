"""Who hears of a repetition: first the agent, then the person, and nobody where a person said that it is no loop."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from unstuck.contract import Verdict
from unstuck.detection.repetition import WAITING_ROUNDS, Finding, Kind
from unstuck.detection.steps.external_blockers import is_blocked
from unstuck.detection.steps.tool_steps import Step
from unstuck.text import Clean, admit

__all__ = ["Flags"]

FLAGS_KEPT = 64
STEPS_KEPT = 30
EVIDENCE_LIMIT = 400
MESSAGE = Clean("a message")


@dataclass(slots=True)
class _Flag:
    """A pattern the agent was told of. ``rounds`` and ``at`` are those of the nudge, ``last`` when it was seen last."""

    rounds: int
    at: int
    last: int


class Flags:
    """Bounded by ``FLAGS_KEPT`` patterns; one that was not seen for ``STEPS_KEPT`` observations is stale."""

    def __init__(self) -> None:
        self._flags: OrderedDict[str, _Flag] = OrderedDict()
        self._dismissed: OrderedDict[str, None] = OrderedDict()

    def clear(self) -> None:
        """What was told counts no more; what was dismissed stays so."""
        self._flags.clear()

    def dismiss(self, pattern: str) -> None:
        """A person said that this is no loop."""
        self._dismissed[pattern] = None
        if len(self._dismissed) > FLAGS_KEPT:
            self._dismissed.popitem(last=False)

    def is_flagged(self, pattern: str, now: int) -> bool:
        """Whether the agent was told of this pattern and it is not stale."""
        flag = self._flags.get(pattern)
        return flag is not None and now - flag.last <= STEPS_KEPT

    def verdict(self, findings: Sequence[Finding], allowed: int, now: int) -> Verdict | None:
        """What is to be said at observation ``now`` about what stands; ``allowed``: how often it was asked for."""
        due = [one for one in findings if self._is_due(one, allowed, now)]
        if not due or any(one.pattern in self._dismissed for one in due):
            return None
        first = due[0]
        flag = self._flags.get(first.pattern) if self.is_flagged(first.pattern, now) else None
        for one in due:
            known = self._flags.pop(one.pattern, None)
            if known is None or now - known.last > STEPS_KEPT:
                known = _Flag(one.rounds, now, now)
            known.last = now
            self._flags[one.pattern] = known
        while len(self._flags) > FLAGS_KEPT:
            self._flags.popitem(last=False)
        if flag is not None and not _is_next_round(first, flag, now):
            return None
        return _verdict(first, nudge=flag is None)

    def _is_due(self, finding: Finding, allowed: int, now: int) -> bool:
        if self.is_flagged(finding.pattern, now):
            return True
        return finding.rounds >= max(finding.needed, allowed + 1 if allowed else 0)


def _is_next_round(finding: Finding, flag: _Flag, now: int) -> bool:
    """A nudge is worth one more round, and a wait is worth as many as before."""
    if finding.kind == "waiting":
        return finding.rounds - flag.rounds >= WAITING_ROUNDS
    return now - flag.at >= finding.round


def _verdict(finding: Finding, *, nudge: bool) -> Verdict:
    return Verdict(
        kind=_kind(finding),
        pattern=finding.pattern,
        steps=tuple(str(admit(step.shown)) for step in finding.steps) or (MESSAGE,),
        repeats=finding.rounds,
        evidence=admit(finding.evidence or _evidence(finding.steps), limit=EVIDENCE_LIMIT),
        resets_on=Clean(finding.resets_on),
        nudge=nudge,
    )


def _kind(finding: Finding) -> Kind:
    """A failure that the agent cannot cure is a blockade, however it goes about it."""
    failed = [step for step in finding.steps if step.failed]
    if failed and all(is_blocked(step.text) for step in failed):
        return "blocked"
    return finding.kind


def _evidence(steps: Sequence[Step]) -> str:
    """The repeated call and its first error, or what it answers."""
    step = next((one for one in steps if one.failed), steps[-1])
    return f"{step.shown} → {step.said}" if step.said else step.shown
