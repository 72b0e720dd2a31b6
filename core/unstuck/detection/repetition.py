"""Finding of a detection rule, before the nudge policy decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unstuck.detection.steps.tool_steps import Step

Kind = Literal["loop", "circular_fix", "blocked", "waiting"]

ROUNDS = 3
WAITING_ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A repetition as it stands after a step.

    ``pattern`` identifies it. ``rounds`` counts its occurrences and ``needed`` is the count that makes a loop. One
    round takes ``round`` observations. ``evidence`` is empty where the steps are enough.
    """

    kind: Kind
    pattern: str
    steps: Sequence[Step]
    rounds: int
    needed: int = ROUNDS
    round: int = 1
    evidence: str = ""
    resets_on: str


def new_round(step: Step, earlier: Sequence[Step]) -> bool:
    """Return whether a step is another round after ``earlier`` ones, of which it was not one.

    The calls of one turn are one round, as the agent saw no result between them; identical ones count each.
    """
    turn = [one for one in earlier if one.turn == step.turn]
    return not turn or any(one.action == step.action for one in turn)
