"""Policy for repetitions: the first verdict is a nudge to the agent, the next asks the person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unstuck.contract import Verdict
from unstuck.detection.recent import Recent
from unstuck.detection.repetition import ROUNDS, WAITING_ROUNDS, Finding, Kind
from unstuck.detection.steps.external_blockers import is_blocked
from unstuck.detection.steps.tool_steps import Step
from unstuck.text import Clean, admit

FLAGS_KEPT = 64
STEPS_KEPT = 30
EVIDENCE_LIMIT = 400
MESSAGE = Clean("a message")


@dataclass(slots=True)
class _Flag:
    """Nudged pattern. ``rounds`` and ``at`` are those of the nudge, ``last`` is its last observation."""

    rounds: int
    at: int
    last: int


class Flags:
    """Nudged and dismissed patterns, at most ``FLAGS_KEPT`` of each. One not seen for ``STEPS_KEPT`` steps is stale."""

    def __init__(self, window_size: int = ROUNDS) -> None:
        """Create the policy. ``window_size`` rounds make a loop where a rule needs the usual three."""
        self._window_size = window_size
        self._flags: Recent[str, _Flag] = Recent(FLAGS_KEPT)
        self._dismissed: Recent[str, None] = Recent(FLAGS_KEPT)

    def clear(self) -> None:
        """Forget the nudged patterns. Dismissed ones stay dismissed."""
        self._flags.clear()

    def dismiss(self, pattern: str) -> None:
        """Exclude ``pattern``: a person has answered that it is no loop."""
        self._dismissed[pattern] = None

    def is_flagged(self, pattern: str, now: int) -> bool:
        """Return whether the agent was nudged about this pattern and it is not stale."""
        flag = self._flags.get(pattern)
        return flag is not None and now - flag.last <= STEPS_KEPT

    def verdict(self, findings: Sequence[Finding], allowed: int, now: int) -> Verdict | None:
        """Return the verdict at observation ``now``, if any. ``allowed`` is the number of repetitions asked for."""
        due = [one for one in findings if self._is_due(one, allowed, now)]
        if not due or any(one.pattern in self._dismissed for one in due):
            return None
        first = due[0]
        flag = self._flags.get(first.pattern) if self.is_flagged(first.pattern, now) else None
        for one in due:
            known = self._flags.get(one.pattern)
            if known is None or now - known.last > STEPS_KEPT:
                known = _Flag(one.rounds, now, now)
            known.last = now
            self._flags[one.pattern] = known
        if flag is not None and not _is_next_round(first, flag, now):
            return None
        return _verdict(first, nudge=flag is None)

    def _is_due(self, finding: Finding, allowed: int, now: int) -> bool:
        if self.is_flagged(finding.pattern, now):
            return True
        return finding.rounds >= max(self._needed(finding), allowed + 1 if allowed else 0)

    def _needed(self, finding: Finding) -> int:
        """Return the rounds that make a loop; a rule for varied steps is no stricter about identical ones."""
        if finding.needed == ROUNDS:
            return self._window_size
        identical = len({step.key for step in finding.steps}) == 1
        return max(finding.needed, self._window_size) if identical else finding.needed


def _is_next_round(finding: Finding, flag: _Flag, now: int) -> bool:
    """Return whether enough rounds have passed since the nudge: one, or for a wait as many as before."""
    if finding.kind == "waiting":
        return finding.rounds - flag.rounds >= WAITING_ROUNDS
    return now - flag.at >= finding.round


def _verdict(finding: Finding, *, nudge: bool) -> Verdict:
    return Verdict(
        kind=_kind(finding),
        pattern=finding.pattern,
        steps=tuple(str(step.named) for step in finding.steps) or (MESSAGE,),
        repeats=finding.rounds,
        evidence=admit(finding.evidence or _evidence(finding.steps), limit=EVIDENCE_LIMIT),
        resets_on=Clean(finding.resets_on),
        nudge=nudge,
    )


def _kind(finding: Finding) -> Kind:
    """Return the kind of verdict: ``blocked`` where every failure has an external cause."""
    failed = [step for step in finding.steps if step.failed]
    if failed and all(is_blocked(step.text) for step in failed):
        return "blocked"
    return finding.kind


def _evidence(steps: Sequence[Step]) -> str:
    """Return the repeated call with its first error or its result."""
    step = next((one for one in steps if one.failed), steps[-1])
    headline = step.headline
    return f"{step.shown} → {headline}" if headline else step.shown
