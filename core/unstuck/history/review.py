"""Review of one session: where it went round in circles, what failed, and what was claimed. Pure.

The detector sees what it would have seen beside the agent, so each loop is noticed where Unstuck would have spoken.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from unstuck.contract import CheckResult, Observation, Verdict
from unstuck.detection import LoopDetector
from unstuck.diagnosis.claim import claim_in
from unstuck.diagnosis.enums import Claim
from unstuck.history.checks import is_check, result_of
from unstuck.supervision.attempt.repetition import STEP_LIMIT, failure_fields
from unstuck.text import Clean, admit, one_line, shorten

_TASK = "session"
_CALLS_KEPT = 256
_AGENTS_KEPT = 64
_ACTIONS_KEPT = 128
_SHOWN = 150
"""Characters by which a step of a verdict is found among the actions."""
_LOOPS_KEPT = 200
_FAILURES_KEPT = 200
_MOMENTS_KEPT = 200
_TEXT = 200

MomentKind = Literal["asked", "failure", "check_passed", "check_failed", "first", "nudge", "question", "last", "claim"]


@dataclass(frozen=True, slots=True)
class Used:
    """Use of a session up to a step. ``tokens`` and ``cost`` (US dollars) are None as long as no use was reported."""

    steps: int = 0
    at: float = 0.0
    tokens: int | None = None
    cost: float | None = None

    def since(self, before: Used) -> Used:
        """Return the use after ``before``; ``at`` is the number of seconds between them."""
        cost = None if self.cost is None else self.cost - (before.cost or 0.0)
        return Used(
            steps=self.steps - before.steps,
            at=max(0.0, self.at - before.at) if before.at else 0.0,
            tokens=None if self.tokens is None else self.tokens - (before.tokens or 0),
            cost=cost,
        )


@dataclass(slots=True)
class Loop:
    """A repetition. ``first`` is its first repeated step, ``noticed`` the step at which Unstuck would speak.

    ``last`` is the last step at which it was still seen. ``asked`` is the step of the question that follows a nudge,
    None if none does. ``used`` is the use up to ``noticed``.
    """

    first: int
    noticed: int
    last: int
    kind: str
    action: Literal["nudge", "question"]
    evidence: Clean
    pattern: str
    used: Used
    asked: int | None = None


@dataclass(slots=True)
class FailureGroup:
    """Failures that match. ``first`` and ``last`` are the steps of the first and the last of ``count``."""

    signature: str
    error_type: str
    headline: str
    location: str
    first: int
    last: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of a session's timeline: ``step`` is that of the tool result it belongs to."""

    step: int
    at: float
    kind: MomentKind
    text: str


@dataclass(slots=True)
class Review:
    """Result of a review. ``failed`` counts failed steps; ``groups`` are the failures, the most frequent first.

    ``last_check`` is the result of the last check that ran, with its command and step.
    """

    used: Used = field(default_factory=Used)
    failed: int = 0
    loops: list[Loop] = field(default_factory=list)
    groups: list[FailureGroup] = field(default_factory=list)
    claim: Claim = "unknown"
    last_check: CheckResult = "none"
    check_command: str = ""
    check_step: int = 0
    moments: list[Moment] = field(default_factory=list)

    @property
    def after(self) -> Used | None:
        """Return the use after the first step at which Unstuck would speak; None without a loop."""
        if not self.loops:
            return None
        return self.used.since(min((loop.used for loop in self.loops), key=lambda used: used.steps))


class Reviewer:
    """Review of one session, one observation after another; memory is bounded. ``is_begun`` after the first one."""

    def __init__(self, window_size: int = 3) -> None:
        self.is_begun = False
        self._review = Review()
        self._detector = LoopDetector(window_size=window_size)
        self._calls: OrderedDict[str, Observation] = OrderedDict()
        self._actions: OrderedDict[str, deque[tuple[int, str]]] = OrderedDict()
        self._open: dict[str, Loop] = {}
        self._groups: dict[str, FailureGroup] = {}
        self._early: list[Moment] = []
        self._late: deque[Moment] = deque(maxlen=_MOMENTS_KEPT // 2)

    def add(self, observation: Observation) -> None:
        """Take the next observation, with ``at`` in seconds since 1970."""
        review, kind = self._review, observation.kind
        self.is_begun = True
        if observation.at:
            review.used = replace(review.used, at=observation.at)
        if kind == "usage":
            self._count(observation)
            return
        if kind == "action":
            self._keep(observation)
        elif kind in ("success", "failure"):
            self._step(observation)
        elif kind == "message" and observation.role == "user":
            self._tell("asked", observation.text)
        seen = replace(observation, text=Clean(shorten(observation.text, STEP_LIMIT)), task_id=_TASK)
        verdict = self._detector.observe(seen)
        if verdict is not None:
            self._judge(verdict, observation.agent_id)

    def done(self, last_message: str) -> Review:
        """Return the review; ``last_message`` is the agent's."""
        review = self._review
        review.claim = claim_in(last_message)
        review.groups = sorted(self._groups.values(), key=lambda group: (-group.count, group.first))
        if last_message:
            self._tell("claim", last_message)
        moments = [*self._early, *self._late, *self._moments_of_loops()]
        review.moments = sorted(moments, key=lambda moment: moment.step)
        return review

    def _count(self, use: Observation) -> None:
        used = self._review.used
        cost = used.cost if use.cost is None else (used.cost or 0.0) + use.cost
        self._review.used = replace(used, tokens=(used.tokens or 0) + use.tokens, cost=cost)

    def _keep(self, call: Observation) -> None:
        self._calls[call.id] = call
        if len(self._calls) > _CALLS_KEPT:
            self._calls.popitem(last=False)

    def _step(self, result: Observation) -> None:
        """Count a tool result; steps are counted from 0."""
        review = self._review
        step, call = review.used.steps, self._calls.pop(result.id, None)
        review.used = replace(review.used, steps=step + 1)
        actions = self._actions.pop(result.agent_id, None) or deque(maxlen=_ACTIONS_KEPT)
        self._actions[result.agent_id] = actions
        if len(self._actions) > _AGENTS_KEPT:
            self._actions.popitem(last=False)
        command = str(call.text) if call is not None else ""
        actions.append((step, command[:_SHOWN]))
        checked = call is not None and call.tool == "bash" and is_check(command)
        if result.kind == "failure":
            review.failed += 1
            headline = self._group(result, step)
            if not checked:
                self._tell("failure", headline)
        if checked:
            review.last_check, review.check_command, review.check_step = result_of(result), one_line(command), step
            passed = review.last_check == "passed"
            self._tell("check_passed" if passed else "check_failed", command)

    def _group(self, result: Observation, step: int) -> str:
        """Count a failure with those that match it. Return its headline."""
        found = failure_fields(result, result.text, _TASK)
        signature, headline = str(found["identity"]), one_line(found.get("headline") or result.text, _TEXT)
        group = self._groups.pop(signature, None)
        if group is None:
            kind, place = str(found.get("error_type", "UNKNOWN")), one_line(found.get("location", ""))
            group = FailureGroup(one_line(signature), kind, headline, place, step, step)
            if len(self._groups) >= _FAILURES_KEPT:
                # The rarest goes, the oldest of those first: memory stays bounded over any session.
                del self._groups[min(self._groups, key=lambda one: self._groups[one].count)]
        else:
            group.count, group.last = group.count + 1, step
        self._groups[signature] = group
        return headline

    def _judge(self, verdict: Verdict, agent: str) -> None:
        review = self._review
        step = max(0, review.used.steps - 1)
        loop = self._open.get(verdict.pattern)
        # After a nudge that is forgotten, the same repetition is a new loop.
        if loop is not None and not verdict.nudge:
            loop.last = step
            if loop.action == "nudge" and loop.asked is None:
                loop.asked = step
            return
        if len(review.loops) >= _LOOPS_KEPT:
            return
        loop = Loop(
            first=self._first_of(verdict, agent, step),
            noticed=step,
            last=step,
            kind=verdict.kind,
            action="nudge" if verdict.nudge else "question",
            evidence=admit(verdict.evidence, limit=400),
            pattern=verdict.pattern,
            used=replace(review.used, steps=step + 1),
        )
        review.loops.append(loop)
        self._open[verdict.pattern] = loop

    def _first_of(self, verdict: Verdict, agent: str, step: int) -> int:
        """Return the step at which the repetition began: the second of the repeated ones."""
        wanted = {shown[:_SHOWN] for shown in verdict.steps}
        found = [at for at, action in self._actions.get(agent, ()) if action in wanted]
        return first_repetition(found, len(wanted), verdict.repeats, step)

    def _tell(self, kind: MomentKind, text: str) -> None:
        moment = Moment(max(0, self._review.used.steps - 1), self._review.used.at, kind, one_line(text, _TEXT))
        if len(self._early) < _MOMENTS_KEPT // 2:
            self._early.append(moment)
        else:
            self._late.append(moment)

    def _moments_of_loops(self) -> Iterator[Moment]:
        for loop in self._review.loops:
            yield Moment(loop.first, 0.0, "first", loop.evidence)
            yield Moment(loop.noticed, loop.used.at, loop.action, loop.evidence)
            if loop.asked is not None:
                yield Moment(loop.asked, 0.0, "question", loop.evidence)
            if loop.last > (loop.asked if loop.asked is not None else loop.noticed):
                yield Moment(loop.last, 0.0, "last", loop.evidence)


def first_repetition(found: Sequence[int], kinds: int, repeats: int, noticed: int) -> int:
    """Return the first repeated step; ``found`` are the steps with one of ``kinds`` actions, ``noticed`` is the last.

    The same actions again and again make ``repeats`` rounds; reworded ones stand in ``found`` once each, and may be
    only the last of ``repeats``.
    """
    if not found:
        return noticed
    if len(found) > kinds:
        rounds = found[-repeats * kinds :]
        return rounds[min(kinds, len(rounds) - 1)]
    return found[max(0, min(1 - (repeats - len(found)), len(found) - 1))]
