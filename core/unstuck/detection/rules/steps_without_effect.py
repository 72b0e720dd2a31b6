"""Rules for steps without effect: a call that does nothing, the same text written again, plan after plan."""

from __future__ import annotations

from collections import deque

from unstuck.detection.recent import Recent
from unstuck.detection.repetition import ROUNDS, Finding, new_round
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

STEPS_KEPT = 12
REWORDED_ROUNDS = 4
FILES_KEPT = 32
RESET = "a step that changes or says something new"


class WithoutEffect:
    """Detector of steps without effect, bounded by ``STEPS_KEPT`` steps and ``FILES_KEPT`` files."""

    def __init__(self) -> None:
        self._noops: deque[Step] = deque(maxlen=STEPS_KEPT)
        self._plans: list[Step] = []
        self._done = 0
        self._texts: Recent[str, list[Step]] = Recent(FILES_KEPT)
        self._news = 0

    def clear(self) -> None:
        """Forget all steps."""
        self._noops.clear()
        self._plans.clear()
        self._texts.clear()

    def add(self, step: Step) -> Finding | None:
        """Return the steps without effect that this one continues, or None."""
        if step.kind == "noop":
            return self._noop(step)
        if step.kind == "plan":
            return self._plan(step)
        if step.new:
            self._news = step.number
        self._plans.clear()
        return self._text(step) if step.written else None

    def _noop(self, step: Step) -> Finding | None:
        if not step.empty:
            return None
        while self._noops and step.number - self._noops[0].number > STEPS_KEPT:
            self._noops.popleft()
        if not new_round(step, self._noops):
            return None
        self._noops.append(step)
        same = sum(step.action == earlier.action for earlier in self._noops)
        # Other words may have been slips where a call has had an answer since.
        since = sum(earlier.number > self._news for earlier in self._noops)
        rounds, needed = (same, ROUNDS) if same >= ROUNDS else (since, REWORDED_ROUNDS)
        return _finding("noop", (step,), rounds, needed)

    def _plan(self, step: Step) -> Finding | None:
        """Return a finding for plans one after another in which no further item is done."""
        if step.done > self._done:
            self._plans.clear()
        self._done = max(step.done, self._done) if self._plans else step.done
        if step.failed or not new_round(step, self._plans):
            return None
        self._plans = [*self._plans[-STEPS_KEPT:], step]
        return _finding("plan", (step,), len(self._plans), REWORDED_ROUNDS)

    def _text(self, step: Step) -> Finding | None:
        """Return a finding for a file that gets the text that it has, with nothing new since."""
        assert step.written is not None
        file, old, _ = step.written
        same = self._texts.get(file, [])
        if old:
            self._texts.pop(file, None)
            return None
        if not same or same[-1].action != step.action or self._news > same[-1].number:
            same = []
        self._texts[file] = same = [*same[-STEPS_KEPT:], step]
        return _finding(f"text {file} {step.action}", (step,), len(same), ROUNDS)


def _finding(what: str, steps: tuple[Step, ...], rounds: int, needed: int) -> Finding | None:
    if rounds < 2:
        return None
    return Finding(kind="loop", pattern=digest(what), steps=steps, rounds=rounds, needed=needed, resets_on=RESET)
