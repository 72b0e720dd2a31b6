"""Rules for exploration without new results: one result among other queries, one file in known slices, one query in
other words.
"""

from __future__ import annotations

import re
from collections import deque

from unstuck.detection.repetition import Finding
from unstuck.detection.similarity import keywords
from unstuck.detection.steps.tool_call_kind import file_of
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

STEPS_KEPT = 12
AGAIN = 5
LOOKS = 6
LINES_KEPT = 400
REWORDED = 0.4
REWORDED_WORDS = 3
REWORDED_ROUNDS = 5
RESET = "an edit, or an answer that was not seen yet"

_SYNTAX = re.compile(r"[/\\{}()=|<>*_]|(?:^|\s)-\w")


class Exploration:
    """Detector of stalled exploration, bounded by ``STEPS_KEPT`` steps and ``LINES_KEPT`` lines of one file."""

    def __init__(self) -> None:
        self._keys: deque[str] = deque(maxlen=STEPS_KEPT)
        self._file = ""
        self._lines: set[int] = set()
        self._looks: list[Step] = []
        self._asked: list[Step] = []

    def clear(self) -> None:
        """Forget all steps."""
        self._keys.clear()
        self._file = ""
        self._lines.clear()
        self._looks.clear()
        self._asked.clear()

    def add(self, step: Step) -> list[Finding]:
        """Record a step. Return the queries that it repeats; a step other than an answered query starts again."""
        if step.kind not in ("query", "work") or (step.kind == "work" and step.key not in self._keys):
            self.clear()
        found = [self._again(step), self._same_file(step), self._reworded(step)]
        return [finding for finding in found if finding is not None]

    def _again(self, step: Step) -> Finding | None:
        self._keys.append(step.key)
        times = self._keys.count(step.key)
        if times < 2 or not step.informative or step.opaque or step.waits:
            return None
        return Finding(
            kind="loop", pattern=digest("again", step.key), steps=(step,), rounds=times, needed=AGAIN, resets_on=RESET
        )

    def _same_file(self, step: Step) -> Finding | None:
        file = file_of(step.shown) if step.kind == "query" else ""
        if not file or file != self._file:
            self._file = file
            self._lines.clear()
            self._looks = [step]
            return None
        if not self._lines:
            self._lines |= _lines_of(self._looks[-1])
        lines = _lines_of(step)
        if not lines <= self._lines:
            self._looks.clear()
        if len(self._lines) < LINES_KEPT:
            self._lines |= lines
        self._looks = [*self._looks[1 - LOOKS :], step]
        if len(self._looks) < LOOKS:
            return None
        return Finding(
            kind="loop",
            pattern=digest("file", file),
            steps=tuple(self._looks),
            rounds=LOOKS,
            needed=LOOKS,
            resets_on=RESET,
        )

    def _reworded(self, step: Step) -> Finding | None:
        """Return a finding for a query in plain words that resembles the one before and has the same result."""
        if step.kind != "query" or _SYNTAX.search(step.shown):
            self._asked.clear()
            return None
        words = keywords(step.shown)
        if len(words) < REWORDED_WORDS:
            self._asked.clear()
            return None
        last = keywords(self._asked[-1].shown) if self._asked else frozenset()
        similar = len(words & last) >= max(REWORDED_WORDS - 1, REWORDED * len(words | last))
        if not similar or self._asked[-1].result != step.result:
            self._asked.clear()
        self._asked = [*self._asked[1 - REWORDED_ROUNDS :], step]
        return Finding(
            kind="loop",
            pattern=digest("asked", step.tool, step.result),
            steps=tuple(self._asked),
            rounds=len(self._asked),
            needed=REWORDED_ROUNDS,
            resets_on=RESET,
        )


def _lines_of(step: Step) -> set[int]:
    return {hash(line.strip()) for line in step.text.split("\n") if line.strip()}
