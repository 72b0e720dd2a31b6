"""One agent on one task: every rule sees what it does and says, and one verdict at most comes of it."""

from __future__ import annotations

from unstuck.contract import Observation, Verdict
from unstuck.detection.nudge_policy import Flags
from unstuck.detection.repetition import ROUNDS, Finding
from unstuck.detection.rules.cycles import Cycles
from unstuck.detection.rules.repeated_failures import Streaks
from unstuck.detection.rules.repeated_messages import Talk
from unstuck.detection.rules.requested_repeats import times_asked_for
from unstuck.detection.rules.reverted_state import Trees
from unstuck.detection.rules.stalled_exploration import Looking
from unstuck.detection.steps.external_blockers import is_blocked
from unstuck.detection.steps.tool_call_kind import TALKING_TOOLS, says_nothing
from unstuck.detection.steps.tool_steps import Pairing, Step

__all__ = ["Window"]


class Window:
    """What one agent did lately on one task; every part of it is bounded.

    ``rounds`` is how often what it is doing now was there already, for ``↻ 2/3``; ``progressed`` whether the last
    observation was measured progress.
    """

    def __init__(self, allowed: int = 0) -> None:
        """``allowed``: how often the person asked for something to be repeated."""
        self._pairing = Pairing()
        self._cycles = Cycles()
        self._streaks = Streaks()
        self._looking = Looking()
        self._trees = Trees()
        self._talk = Talk()
        self._flags = Flags()
        self._allowed = allowed
        self._last: Step | None = None
        self._count = 0
        self.rounds = 0
        self.progressed = False

    def observe(self, observation: Observation) -> Verdict | None:
        """Take note of one observation; a verdict when it closes a repetition that nobody dismissed."""
        self.progressed = False
        if observation.kind == "message":
            return self._judge(self._message(observation))
        if observation.tool in TALKING_TOOLS:
            return self._judge(self._thought(observation))
        step = self._pairing.feed(observation)
        if step is None:
            return None
        self._talk.work()
        self.rounds = 0
        return self._judge(self._step(step, observation.tree))

    @property
    def counts(self) -> bool:
        """Whether the last step failed in a way that says something, and that the agent can do something about."""
        step = self._last
        if step is None or not step.failed or step.waits:
            return False
        return bool(step.text.strip()) and not says_nothing(step.text) and not is_blocked(step.text)

    def dismiss(self, pattern: str) -> None:
        """A person said that this is no loop."""
        self._flags.dismiss(pattern)

    def reset(self) -> None:
        """Start again, as after an answer; the calls that are on their way stay known."""
        for part in (self._cycles, self._streaks, self._looking, self._trees, self._flags):
            part.clear()
        self.rounds = 0

    def _step(self, step: Step, tree: str | None) -> list[Finding | None]:
        self._last = step
        streaks = self._streaks.note(step)
        self.progressed = self._streaks.progressed
        if self.progressed:
            self._trees.clear()
            self._flags.clear()
        returned = self._trees.see(tree, step.number, meant=step.kind == "tree") if tree else None
        undone = self._trees.edit(step)
        return [*streaks, returned, undone, self._cycles.note(step), *self._looking.note(step)]

    def _message(self, observation: Observation) -> list[Finding | None]:
        text = str(observation.text)
        if observation.role == "system":
            return [self._talk.hear(text)]
        if observation.role != "user":
            return [self._talk.say(text, observation.id)]
        if self._talk.is_real(text):
            self._allowed = times_asked_for(text)
            self._pairing.clear()
            self.reset()
        return []

    def _thought(self, observation: Observation) -> list[Finding | None]:
        return [self._talk.say(str(observation.text))] if observation.kind == "action" else []

    def _judge(self, found: list[Finding | None]) -> Verdict | None:
        findings = [one for one in found if one is not None]
        self._count += 1
        self.rounds = max((one.rounds for one in findings if one.needed == ROUNDS), default=self.rounds)
        return self._flags.verdict(findings, self._allowed, self._count)
