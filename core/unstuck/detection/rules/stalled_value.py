"""Rule for a measured value that does not improve over many tries, whichever direction would be better."""

from __future__ import annotations

import re
from collections import deque

from unstuck.detection.recent import Recent
from unstuck.detection.repetition import Finding
from unstuck.detection.steps.tool_call_kind import check_of
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

CHECKS_KEPT = 8
TRIES = 9
STALLED = 6
NOISE = 0.02
LOOKED_AT = 500
RESET = "a value that is better or worse than all before it"

_VALUE = re.compile(
    r"\b(?:accuracy|scores?|loss|latency|throughput|coverage|f1|precision|recall|reward|error rate|mean|median|rmse)\b"
    r"[^\n\d-]{0,20}(-?\d{1,12}(?:\.\d{1,12})?)",
    re.IGNORECASE,
)


class Values:
    """Detector of stalled values, bounded by ``CHECKS_KEPT`` checks with ``TRIES`` values each."""

    def __init__(self) -> None:
        self._checks: Recent[str, deque[float]] = Recent(CHECKS_KEPT)
        self._tried: set[str] = set()

    def clear(self) -> None:
        """Forget all values."""
        self._checks.clear()

    def add(self, step: Step) -> Finding | None:
        """Return a finding where the last values of a check stay between those before them."""
        if step.kind == "edit":
            self._tried.clear()
        found = _VALUE.search(step.text[-LOOKED_AT:]) if step.kind == "work" else None
        if found is None:
            return None
        check = check_of(step.tool, step.shown)
        values = self._checks.get(check) or deque(maxlen=TRIES)
        self._checks[check] = values
        # Another run without a change is a measurement and no try.
        if check in self._tried:
            values.pop()
        self._tried.add(check)
        values.append(float(found[1]))
        if len(values) < TRIES or not _stalled(list(values)):
            return None
        return Finding(
            kind="loop", pattern=digest("value", check), steps=(step,), rounds=TRIES, needed=TRIES, resets_on=RESET
        )


def _stalled(values: list[float]) -> bool:
    before, last = values[:-STALLED], values[-STALLED:]
    noise = NOISE * max(abs(value) for value in before)
    return max(last) <= max(before) + noise and min(last) >= min(before) - noise
