"""Monitor of one agent on one task: applies every rule to each observation and gives at most one verdict."""

from __future__ import annotations

from unstuck.contract import Observation, Verdict
from unstuck.detection.nudge_policy import Flags
from unstuck.detection.repetition import ROUNDS, Finding
from unstuck.detection.rules.repeated_failures import Streaks
from unstuck.detection.rules.repeated_messages import Messages
from unstuck.detection.rules.requested_repeats import times_asked_for
from unstuck.detection.rules.reverted_state import Trees
from unstuck.detection.rules.same_aim import Tries
from unstuck.detection.rules.stalled_value import Places, Values
from unstuck.detection.rules.steps_without_effect import WithoutEffect
from unstuck.detection.steps.external_blockers import is_blocked
from unstuck.detection.steps.results import is_bare_status
from unstuck.detection.steps.tool_call_kind import TALKING_TOOLS
from unstuck.detection.steps.tool_steps import Pairing, Step


class Window:
    """Recent steps and messages of one agent on one task, bounded in memory.

    ``rounds`` counts the repetitions of the current step, for ``↻ 2/3``. ``progressed`` is true when the last
    observation was measured progress.
    """

    def __init__(self, allowed: int = 0, window_size: int = ROUNDS) -> None:
        """Create an empty window. ``allowed`` is the number of repetitions that the person asked for.

        ``window_size`` rounds make a loop.
        """
        self._pairing = Pairing()
        self._streaks = Streaks()
        self._trees = Trees()
        self._without_effect = WithoutEffect()
        self._values = Values()
        self._places = Places()
        self._tries = Tries()
        self._messages = Messages()
        self._flags = Flags(window_size)
        self._allowed = allowed
        self._last: Step | None = None
        self._count = 0
        self.rounds = 0
        self.progressed = False

    def observe(self, observation: Observation) -> Verdict | None:
        """Record one observation. Return a verdict when it completes a repetition that is not dismissed."""
        self.progressed = False
        if observation.kind == "message":
            return self._judge(self._message(observation))
        if observation.tool.rpartition("_")[2] in TALKING_TOOLS:
            return self._judge(self._thought(observation))
        step = self._pairing.feed(observation)
        if step is None:
            return None
        if step.kind != "idle" or step.failed:
            self._messages.clear()
        self.rounds = 0
        return self._judge(self._step(step, observation.tree))

    @property
    def counts(self) -> bool:
        """True when the last step is an informative failure that the agent can act on."""
        step = self._last
        if step is None or not step.failed or step.waits:
            return False
        return bool(step.text.strip()) and not is_bare_status(step.text) and not is_blocked(step.text)

    def dismiss(self, pattern: str) -> None:
        """Exclude ``pattern``: a person has answered that it is no loop."""
        self._flags.dismiss(pattern)

    def reset(self) -> None:
        """Forget all repetitions, as after an answer. Pending calls stay known."""
        for part in (
            self._streaks,
            self._trees,
            self._without_effect,
            self._values,
            self._places,
            self._tries,
            self._flags,
        ):
            part.clear()
        self.rounds = 0

    def _step(self, step: Step, tree: str | None) -> list[Finding | None]:
        self._last = step
        streaks = self._streaks.add(step)
        self.progressed = self._streaks.progressed
        if self.progressed:
            self._trees.clear()
            self._flags.clear()
        returned = self._trees.add_state(tree, step.number, intended=step.kind == "tree") if tree else None
        undone = self._trees.add_edit(step)
        return [
            *streaks,
            returned,
            undone,
            *self._without_effect.add(step),
            self._values.add(step),
            self._places.add(step),
            self._tries.add(step),
        ]

    def _message(self, observation: Observation) -> list[Finding | None]:
        text = str(observation.text)
        if observation.role == "system":
            return [self._messages.add_system(text)]
        if observation.role != "user":
            return [self._messages.add(text, observation.id)]
        if self._messages.is_new_request(text):
            self._allowed = times_asked_for(text)
            self._pairing.clear()
            self.reset()
        return []

    def _thought(self, observation: Observation) -> list[Finding | None]:
        return [self._messages.add_thought(str(observation.text))] if observation.kind == "action" else []

    def _judge(self, found: list[Finding | None]) -> Verdict | None:
        findings = [one for one in found if one is not None]
        self._count += 1
        if not findings:
            return None
        self.rounds = max((one.rounds for one in findings if one.needed == ROUNDS), default=self.rounds)
        return self._flags.verdict(findings, self._allowed, self._count)
