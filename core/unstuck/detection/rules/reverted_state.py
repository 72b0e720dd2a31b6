"""The files come back to a state they were in before: by the hash of the tree, or by an edit that takes one back."""

from __future__ import annotations

from collections import OrderedDict

from unstuck.detection.repetition import Finding
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

__all__ = ["Trees"]

STATES_KEPT = 64
RETURNS = 2
RESET = "the check getting further, or a word from the user"


class Trees:
    """Bounded by ``STATES_KEPT`` states and as many edits."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, int] = OrderedDict()
        self._now = ""
        self._replaced: OrderedDict[str, int] = OrderedDict()
        self._returned: list[tuple[str, int, int]] = []

    def clear(self) -> None:
        """Start again from the files as they are."""
        self._seen.clear()
        self._replaced.clear()
        self._returned.clear()

    def see(self, tree: str, number: int, *, meant: bool) -> Finding | None:
        """The hash of the tree after step ``number``; ``meant``: that step was to go to another state."""
        if meant:
            self.clear()
        if tree == self._now and not meant:
            return None
        self._now = tree
        before = _put(self._seen, tree, number)
        return None if before is None else self._back(tree, before, number, ())

    def edit(self, step: Step) -> Finding | None:
        """An edit that puts back what an earlier one has replaced."""
        if step.edit is None or step.failed:
            return None
        file, old, new = step.edit
        before = self._replaced.get(digest(file, new))
        _put(self._replaced, digest(file, old), step.number)
        return None if before is None else self._back(digest(file, new), before, step.number, (step,))

    def _back(self, state: str, before: int, number: int, steps: tuple[Step, ...]) -> Finding:
        self._returned = [*self._returned[1 - RETURNS :], (state, before, number)]
        where = " and ".join(f"after step {later} as after step {earlier}" for _, earlier, later in self._returned)
        return Finding(
            kind="loop",
            pattern=digest("tree", *sorted({one for one, _, _ in self._returned})),
            steps=steps,
            rounds=len(self._returned) + 1,
            needed=RETURNS + 1,
            evidence=f"the files are again as they were: {where}",
            resets_on=RESET,
        )


def _put(seen: OrderedDict[str, int], state: str, number: int) -> int | None:
    """Remember ``state``; the step at which it was seen last, or None."""
    before = seen.pop(state, None)
    seen[state] = number
    if len(seen) > STATES_KEPT:
        seen.popitem(last=False)
    return before
