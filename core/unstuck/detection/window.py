"""One agent's recent steps: does it repeat itself.

A repetition counts only over pairs of call and result: the same call with another informative result is progress, and
a result that says nothing is no evidence. Three kinds are looked for: a block of 1 to 6 steps in three rounds, the
same failure three times whatever call it came from, and the same message three times with no step between.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from unstuck.contract import Observation, Verdict
from unstuck.detection.similarity import is_circular_fix
from unstuck.detection.steps import Pairing, Step
from unstuck.diagnosis import ErrorCategory, diagnose, steady
from unstuck.text import Clean, admit

__all__ = ["Window"]

STEPS_KEPT = 30
ROUNDS = 3
LONGEST_PERIOD = 6
SILENT_ROUNDS = 6
WAITING_ROUNDS = 10
FLAGGED_KEPT = 64
EVIDENCE_LIMIT = 400
PROGRESS = "the same check passing, another result of the same call, or a message from the user"

Kind = Literal["loop", "circular_fix", "blocked", "waiting"]


class Window:
    """What one agent did lately on one task; bounded by ``STEPS_KEPT`` steps and ``FLAGGED_KEPT`` patterns."""

    def __init__(self) -> None:
        self._pairing = Pairing()
        self._steps: deque[Step] = deque(maxlen=STEPS_KEPT)
        self._failures: OrderedDict[str, list[Step]] = OrderedDict()
        self._last_result: OrderedDict[str, str] = OrderedDict()
        self._messages: tuple[str, int] = ("", 0)
        self._flagged: OrderedDict[str, int] = OrderedDict()
        self._dismissed: set[str] = set()
        self._count = 0

    def observe(self, observation: Observation) -> Verdict | None:
        """Take note of one observation; a verdict when it closes a repetition that nobody dismissed."""
        if observation.kind == "message":
            return self._message(observation)
        step = self._pairing.feed(observation)
        if step is None:
            return None
        self._messages = ("", 0)
        self._count += 1
        self._note(step)
        return self._cycle() or self._same_failure(step)

    def dismiss(self, pattern: str) -> None:
        """A person said that this is no loop."""
        self._dismissed.add(pattern)

    def reset(self) -> None:
        """Start again: what a message from the user does."""
        self._pairing.clear()
        self._steps.clear()
        self._failures.clear()
        self._last_result.clear()
        self._flagged.clear()
        self._messages = ("", 0)

    def _note(self, step: Step) -> None:
        self._steps.append(step)
        if step.moves_tree:
            self._failures.clear()
        before = self._last_result.pop(step.action, None)
        self._last_result[step.action] = step.result
        if len(self._last_result) > STEPS_KEPT:
            self._last_result.popitem(last=False)
        if not step.failed or (before is not None and before != step.result):
            self._forget(step.action)
        if step.failed and step.result:
            self._failures.setdefault(step.result, []).append(step)
            self._failures.move_to_end(step.result)
            del self._failures[step.result][:-STEPS_KEPT]
        if len(self._failures) > STEPS_KEPT:
            self._failures.popitem(last=False)

    def _forget(self, action: str) -> None:
        """A check that passes, or fails in another way, ends the streaks it took part in."""
        for result in [key for key, steps in self._failures.items() if any(one.action == action for one in steps)]:
            del self._failures[result]

    def _cycle(self) -> Verdict | None:
        steps = list(self._steps)
        for period in range(1, min(LONGEST_PERIOD, len(steps) // ROUNDS) + 1):
            if not _same(steps[-1], steps[-1 - period]):
                continue
            block = steps[-period:]
            rounds = _rounds(steps, block)
            if rounds >= _needed(block):
                kind: Kind = "waiting" if all(step.waits for step in block) else "loop"
                return self._verdict(kind, block, rounds, _pattern(block), period)
        return None

    def _same_failure(self, step: Step) -> Verdict | None:
        alike = self._failures.get(step.result, []) if step.failed else []
        if len(alike) < ROUNDS:
            return None
        return self._verdict("loop", alike[-ROUNDS:], len(alike), _digest("failure", step.result), 1)

    def _message(self, observation: Observation) -> Verdict | None:
        if observation.role == "user":
            self.reset()
        if observation.role != "agent":
            return None
        text = steady(str(observation.text)[:2_000])
        said, times = self._messages
        self._messages = (text, times + 1 if times and said == text else 1)
        if self._messages[1] < ROUNDS:
            return None
        self._count += 1
        shown = str(observation.text)[:200]
        said_again = Step(action="message", result=text, failed=False, shown=shown, said=shown)
        return self._verdict("loop", [said_again], self._messages[1], _digest("message", text), 1)

    def _verdict(self, kind: Kind, block: Sequence[Step], rounds: int, pattern: str, period: int) -> Verdict | None:
        """First a nudge; after one more full round of the same, the gate."""
        if pattern in self._dismissed:
            return None
        nudged_at = self._flagged.get(pattern)
        if nudged_at is not None and self._count < nudged_at + period:
            return None
        self._flagged.setdefault(pattern, self._count)
        if len(self._flagged) > FLAGGED_KEPT:
            self._flagged.popitem(last=False)
        return Verdict(
            kind=_kind(kind, block, list(self._steps)),
            pattern=pattern,
            steps=tuple(str(admit(step.shown)) for step in block),
            repeats=rounds,
            evidence=admit(_evidence(block), limit=EVIDENCE_LIMIT),
            resets_on=Clean(PROGRESS),
            nudge=nudged_at is None,
        )


def _rounds(steps: list[Step], block: list[Step]) -> int:
    """How many times ``block`` stands at the end of ``steps``."""
    period, rounds, end = len(block), 1, len(steps) - len(block)
    while end >= period and all(_same(steps[end - period + index], block[index]) for index in range(period)):
        rounds += 1
        end -= period
    return rounds


def _same(one: Step, two: Step) -> bool:
    return one.action == two.action and one.result == two.result and one.failed == two.failed


def _needed(block: list[Step]) -> int:
    if all(step.waits for step in block):
        return WAITING_ROUNDS
    if any(step.informative for step in block):
        return ROUNDS
    return SILENT_ROUNDS if len(block) == 1 else STEPS_KEPT


def _kind(kind: Kind, block: Sequence[Step], steps: list[Step]) -> Kind:
    """A failure that only waiting can cure is a blockade; repeated approaches are a circular fix."""
    failed = [step for step in block if step.failed]
    if failed and all(_transient(step.said) for step in failed):
        return "blocked"
    approaches = [step.approach for step in steps if step.approach]
    if failed and approaches and is_circular_fix(approaches[-1], approaches[:-1]):
        return "circular_fix"
    return kind


def _transient(said: str) -> bool:
    found = diagnose(said, exit_code=1)
    return found is not None and found.category is ErrorCategory.TRANSIENT


def _evidence(block: Sequence[Step]) -> str:
    step = next((one for one in block if one.failed), block[-1])
    first = next((line for line in step.said.split("\n") if line.strip()), "")
    return f"{step.shown} → {first}" if first else step.shown


def _pattern(block: list[Step]) -> str:
    """The same id wherever in the cycle one looks."""
    names = [_digest(step.action, step.result) for step in block]
    return _digest(*min(names[turn:] + names[:turn] for turn in range(len(names))))


def _digest(*parts: str) -> str:
    return sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()[:12]
