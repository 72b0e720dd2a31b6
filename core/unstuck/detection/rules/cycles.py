"""Rule for cycles: a block of one to six steps that repeats with the same calls and the same results.

For each period a counter holds how many steps in a row equalled the one a period before. A step costs six comparisons.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from unstuck.detection.repetition import ROUNDS, WAITING_ROUNDS, Finding
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

LONGEST_PERIOD = 6
SILENT_QUESTION_ROUNDS = 4
SILENT_ROUNDS = 6
ADVANCE_ROUNDS = 20
RESET = "another result of the same call"


class Cycles:
    """Detector of cycles, bounded by ``LONGEST_PERIOD`` steps."""

    def __init__(self) -> None:
        self._last: deque[Step] = deque(maxlen=LONGEST_PERIOD)
        self._equal = [0] * (LONGEST_PERIOD + 1)

    def clear(self) -> None:
        """Forget all steps."""
        self._last.clear()
        self._equal = [0] * (LONGEST_PERIOD + 1)

    def add(self, step: Step) -> Finding | None:
        """Return the repetition of the shortest period that this step continues, or None."""
        period = self._period_of(step)
        self._last.append(step)
        if period is None:
            return None
        block = list(self._last)[-period:]
        if _passes_and_fails(block):
            return None
        waits = _waits(block)
        return Finding(
            kind="waiting" if waits else "loop",
            pattern=_pattern(block),
            steps=block,
            rounds=self._equal[period] // period + 1,
            needed=WAITING_ROUNDS if waits else _needed(block),
            round=period,
            resets_on=RESET,
        )

    def _period_of(self, step: Step) -> int | None:
        found = None
        equal = self._equal
        for period, earlier in enumerate(reversed(self._last), 1):
            if not step.repeats(earlier):
                equal[period] = 0
                continue
            equal[period] += 1
            if found is None and equal[period] >= period:
                found = period
        return found


def _passes_and_fails(block: Sequence[Step]) -> bool:
    """Return whether a call passes and fails in the same round, so that the agent is not stuck at it."""
    return not {step.action for step in block if step.failed}.isdisjoint(
        step.action for step in block if not step.failed
    )


def _waits(block: Sequence[Step]) -> bool:
    """Return whether the block waits for something and nothing else in it fails."""
    return any(step.waits for step in block) and all(step.waits or not step.failed for step in block)


def _needed(block: Sequence[Step]) -> int:
    if any(step.kind == "advance" and not step.failed for step in block):
        return ADVANCE_ROUNDS
    if any(step.informative and not step.opaque for step in block):
        return ROUNDS
    if any(step.opaque for step in block):
        return ADVANCE_ROUNDS
    if all(step.kind == "query" or step.failed for step in block):
        return SILENT_QUESTION_ROUNDS
    return SILENT_ROUNDS


def _pattern(block: Sequence[Step]) -> str:
    """Return a digest that does not depend on the start of the cycle."""
    keys = [step.key for step in block]
    return digest(*min(keys[turn:] + keys[:turn] for turn in range(len(keys))))
