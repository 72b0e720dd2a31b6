"""Rule for exploration without new results: one call again, one file in known slices, one search in other words."""

from __future__ import annotations

import re
from collections import deque

from unstuck.detection.repetition import ROUNDS, Finding, new_round
from unstuck.detection.similarity import keywords
from unstuck.detection.steps.tool_call_kind import file_of, needle_of
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

STEPS_KEPT = 12
AGAIN = 5
WORK_AGAIN = 4
LOOKS = 6
LINES_KEPT = 400
REWORDED_WORDS = 3
REWORDED_ROUNDS = 5
EMPTY_ROUNDS = 4
RESET = "an edit, or an answer that was not seen yet"

_SYNTAX = re.compile(r"[/\\{}()=|<>*_]|(?:^|\s)-\w")
_WITHOUT_EFFECT = frozenset({"noop", "idle", "plan", "wait"})


class Exploration:
    """Detector of stalled exploration, bounded by ``STEPS_KEPT`` steps and ``LINES_KEPT`` lines of one file."""

    def __init__(self) -> None:
        self._recent: deque[Step] = deque(maxlen=STEPS_KEPT)
        self._file = ""
        self._lines: set[int] = set()
        self._looks: list[Step] = []
        self._asked: list[Step] = []
        self._words: frozenset[str] = frozenset()
        self._place = ""

    def clear(self) -> None:
        """Forget all steps."""
        self._recent.clear()
        self._file = ""
        self._lines.clear()
        self._looks.clear()
        self._asked.clear()

    def add(self, step: Step) -> list[Finding]:
        """Record a step. Return the queries that it repeats; a step that changes something starts again."""
        if step.kind in _WITHOUT_EFFECT:
            return []
        words, place = needle_of(step.call)
        known = [earlier for earlier in self._recent if step.repeats(earlier)]
        if not (step.kind == "query" or words or step.failed or (step.kind == "work" and known)):
            self.clear()
        found = [self._again(step, bool(words)), self._same_file(step), self._reworded(step, words, place)]
        self._recent.append(step)
        return [finding for finding in found if finding is not None]

    def _again(self, step: Step, searches: bool) -> Finding | None:
        """Return a finding for a call with the result that it had before, whatever was looked at between."""
        if step.opaque or step.waits or not (step.informative or (step.empty and (searches or step.kind == "query"))):
            return None
        reads = step.kind == "query" and not step.empty and bool(file_of(step.shown))
        times = 1
        for earlier in reversed(self._recent):
            if step.repeats(earlier):
                times += 1
            elif step.action == earlier.action and step.failed != earlier.failed:
                return None
            elif reads and earlier.new:
                # A file is read again to go with what was found since.
                break
        if times < 2:
            return None
        needed = ROUNDS if step.empty else WORK_AGAIN if step.kind == "work" else AGAIN
        return Finding(
            kind="loop", pattern=digest("again", step.key), steps=(step,), rounds=times, needed=needed, resets_on=RESET
        )

    def _same_file(self, step: Step) -> Finding | None:
        file = file_of(step.shown) if step.kind == "query" and not step.empty else ""
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

    def _reworded(self, step: Step, words: frozenset[str], place: str) -> Finding | None:
        """Return a finding for a search that resembles the one before and has the same result."""
        if not words and step.kind == "query" and not _SYNTAX.search(step.shown):
            words = keywords(step.shown)
            words = words if len(words) >= REWORDED_WORDS else frozenset()
        if not words:
            return None
        last = self._asked[-1] if self._asked else None
        resembles = last is not None and _resembles(words, self._words) and _within(place, self._place)
        if last is None or not resembles or not ((step.empty and last.empty) or step.result == last.result):
            self._asked.clear()
        self._words, self._place = words, place
        if not new_round(step, self._asked):
            return None
        self._asked = [*self._asked[1 - REWORDED_ROUNDS :], step]
        return Finding(
            kind="loop",
            pattern=digest("asked", step.tool, "" if step.empty else step.result),
            steps=tuple(self._asked),
            rounds=len(self._asked),
            needed=EMPTY_ROUNDS if step.empty else REWORDED_ROUNDS,
            resets_on=RESET,
        )


def _resembles(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether at least half of the words of the shorter search, and two of three, are in both."""
    least = min(len(words), len(others))
    return len(words & others) >= max(least / 2, 2 if least >= REWORDED_WORDS else 1)


def _within(place: str, other: str) -> bool:
    """Return whether one place is part of the other: a search somewhere else is another search."""
    one, two = place.strip("./*"), other.strip("./*")
    return one.startswith(two) or two.startswith(one)


def _lines_of(step: Step) -> set[int]:
    return {hash(line.strip()) for line in step.text.split("\n") if line.strip()}
