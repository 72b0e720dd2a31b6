"""Rule for a measured value that does not improve over many tries, whichever direction would be better."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

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
NUMBERS = 8
RESET = "a value that is better or worse than all before it"

# Cheap first test: most calls have none of these.
_MEASURERS = ("bench", "measure", "evaluat", "time", "hyperfine", "wc -c", "du")
_MEASURES = re.compile(r"(?:^|[;&|]\s*)(?:time|hyperfine|wc -c|du)\s|bench|measure|evaluat")
_GOALS = ("goal", "target", "limit", "must be", "at most", "at least", "below", "under")
_GOAL = re.compile(rf"\b(?:{'|'.join(_GOALS)})\b[^\n\d]{{0,20}}\d")
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,12})?")
_METRICS = (
    *("accuracy", "score", "loss", "latency", "throughput", "coverage", "f1", "precision", "recall", "reward"),
    *("error rate", "mean", "median", "rmse"),
)
_VALUE = re.compile(
    rf"\b(?:{'|'.join(_METRICS)})s?\b(?: p\d+)?[^\n\d-]{{0,20}}(-?\d{{1,12}}(?:\.\d{{1,12}})?)",
)


class Values:
    """Detector of stalled values, bounded by ``CHECKS_KEPT`` checks with ``TRIES`` values each."""

    def __init__(self) -> None:
        self._checks: Recent[str, deque[tuple[float, ...]]] = Recent(CHECKS_KEPT)
        self._tried: set[str] = set()

    def clear(self) -> None:
        """Forget all values."""
        self._checks.clear()

    def add(self, step: Step) -> Finding | None:
        """Return a finding where the last values of a check stay between those before them."""
        if step.kind == "edit":
            self._tried.clear()
        measured = _measured(step)
        if not measured:
            return None
        check = check_of(step.tool, step.shown)
        values = self._checks.get(check)
        if values is None or len(values[-1]) != len(measured):
            values = deque(maxlen=TRIES)
        self._checks[check] = values
        # Another run without a change is a measurement and no try.
        if check in self._tried and values:
            values.pop()
        self._tried.add(check)
        values.append(measured)
        if len(values) < TRIES or not all(_stalled(series) for series in zip(*values, strict=True)):
            return None
        return Finding(
            kind="loop", pattern=digest("value", check), steps=(step,), rounds=TRIES, needed=TRIES, resets_on=RESET
        )


def _measured(step: Step) -> tuple[float, ...]:
    """Return the value that a step names, or all numbers of a measurement; none for any other step."""
    if step.kind not in ("work", "query"):
        return ()
    end = step.text[-LOOKED_AT:].lower()
    if any(map(end.__contains__, _METRICS)) and (found := _VALUE.search(end)):
        return (float(found[1]),)
    if len(step.text) > LOOKED_AT:
        return ()
    shown = step.shown.lower()
    measures = any(map(shown.__contains__, _MEASURERS)) and _MEASURES.search(shown)
    measures = measures or (any(map(end.__contains__, _GOALS)) and _GOAL.search(end))
    numbers = _NUMBER.findall(end) if measures else ()
    return tuple(map(float, numbers)) if len(numbers) <= NUMBERS else ()


def _stalled(values: Sequence[float]) -> bool:
    before, last = values[:-STALLED], values[-STALLED:]
    if list(last) in (sorted(set(last)), sorted(set(last), reverse=True)):
        return False
    noise = NOISE * max(abs(value) for value in before)
    return max(last) <= max(before) + noise and min(last) >= min(before) - noise
