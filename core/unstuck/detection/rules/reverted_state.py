"""Rule for files that return to an earlier state: by the hash of the tree, or by an edit that reverts one."""

from __future__ import annotations

from unstuck.detection.recent import Recent
from unstuck.detection.repetition import Finding
from unstuck.detection.steps.tool_call_kind import replacing
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

STATES_KEPT = 64
RETURNS = 2
UNDONE = 4
RESET = "the check getting further, or a word from the user"


class Trees:
    """Detector of reverted states, bounded by ``STATES_KEPT`` states and as many edits."""

    def __init__(self) -> None:
        self._seen: Recent[str, int] = Recent(STATES_KEPT)
        self._now = ""
        self._replaced: Recent[str, int] = Recent(STATES_KEPT)
        self._restored: Recent[str, int] = Recent(STATES_KEPT)
        self._whole: Recent[str, str] = Recent(STATES_KEPT)
        self._returned: list[tuple[str, int, int]] = []
        self._again: Recent[str, tuple[int, int]] = Recent(STATES_KEPT)
        self._ran = 0
        self._undone = ""
        self._files: set[str] = set()

    def clear(self) -> None:
        """Forget all earlier states and edits."""
        self._seen.clear()
        self._replaced.clear()
        self._restored.clear()
        self._whole.clear()
        self._returned.clear()
        self._again.clear()
        self._files.clear()

    def add_state(self, tree: str, number: int, *, intended: bool) -> Finding | None:
        """Record the hash of the tree after step ``number``. ``intended`` marks a step such as a checkout."""
        if intended:
            self.clear()
        if tree == self._now and not intended:
            return None
        self._now = tree
        before = self._seen.get(tree)
        self._seen[tree] = number
        return None if before is None else self._back(tree, before, number, ())

    def add_edit(self, step: Step) -> Finding | None:
        """Record an edit. Return a finding where it restores text that an earlier one replaced.

        Edits one after the other are one change: a rename that is undone in many files returns once.
        """
        if step.kind == "tree":
            self._again.clear()
        written = step.written or (replacing(step.call) if step.kind == "work" else None)
        if written is None or step.failed:
            if step.kind not in ("idle", "plan"):
                self._files.clear()
            if step.kind == "work":
                self._ran = step.number
            return None
        file, old, new = written
        if not old:
            old, self._whole[file] = self._whole.get(file, ""), new
            if old == new:
                return None
        elif finding := self._undone_elsewhere(step, file, old, new):
            return finding
        before = self._replaced.get(digest(file, new)) if old else None
        self._replaced[digest(file, old)] = step.number
        if before is None:
            return None
        if file == self._undone and digest(file, old) not in self._restored:
            # Experiments that are taken back one after the other differ in what they try.
            self._returned.clear()
        self._undone = file
        self._restored[digest(file, new)] = step.number
        counted = bool(self._files) and file not in self._files
        self._files.add(file)
        return None if counted else self._back(digest(file, new), before, step.number, (step,))

    def _undone_elsewhere(self, step: Step, file: str, old: str, new: str) -> Finding | None:
        """Return a finding where a text that edits have replaced is there again and again, and no edit restores it."""
        self._again.pop(digest(file, new), None)
        if old in new:
            return None
        state = digest(file, old)
        rounds, number = self._again.get(state, (0, 0))
        # Several places of a file are edited one after the other.
        rounds += not rounds or self._ran > number
        self._again[state] = rounds, step.number
        if rounds < UNDONE:
            return None
        return Finding(
            kind="loop", pattern=digest("undone", state), steps=(step,), rounds=rounds, needed=UNDONE, resets_on=RESET
        )

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
