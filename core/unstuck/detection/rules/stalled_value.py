"""Rules for a measured value that does not improve, whichever direction would be better.

It stays over many tries of one check, or while one place of a file is changed again and again.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from unstuck.detection.recent import Recent
from unstuck.detection.repetition import ROUNDS, Finding
from unstuck.detection.steps.likely import search_for
from unstuck.detection.steps.results import says_well
from unstuck.detection.steps.tool_call_kind import has_arguments, replacing
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import comparable, digest

CHECKS_KEPT = 8
TRIES = 9
STALLED = 6
NOISE = 0.02
LOOKED_AT = 500
NUMBERS = 8
PLACES_KEPT = 4
ROUNDS_KEPT = 6
LOOKS_KEPT = 6
STEPS_KEPT = 30
NEEDED = 4
LEVEL = 0.03
NEWS = 0.05
DRIFT = 0.01
WILD = 0.25
RESET = "a value that is better or worse than all before it"

# Cheap first test: most calls have none of these.
_MEASURERS = ("bench", "measure", "evaluat", "time", "hyperfine", "wc -c", "du")
_MEASURES = re.compile(r"(?:^|[;&|]\s*)(?:time|hyperfine|wc -c|du)\s|bench|measure|evaluat")
_GOALS = ("goal", "target", "limit", "must be", "at most", "at least", "below", "under")
_GOAL = re.compile(rf"\b(?:{'|'.join(_GOALS)})\b[^\n\d]{{0,20}}\d")
_AIM = re.compile(rf"\b(?:{'|'.join(_GOALS)})\b[^\n\d]{{0,20}}\d[\d.]*")
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,12})?")
_METRICS = (
    *("accuracy", "score", "loss", "latency", "throughput", "coverage", "f1", "precision", "recall", "reward"),
    *("error rate", "mean", "median", "rmse"),
)
_VALUE = re.compile(
    rf"\b(?:{'|'.join(_METRICS)})s?\b(?: p\d+)?[^\n\d-]{{0,20}}(-?\d{{1,12}}(?:\.\d{{1,12}})?)",
)
# Most results have none of these words.
_METRIC, _AIMED = range(2)
_words_in = search_for(f"(?i){'|'.join(_METRICS)}", f"(?i){'|'.join(_GOALS)}")
# Parts of a line that differ in each build: the hash in the name of a file, the number that counts a run.
_BUILT = re.compile(r"[-.][\w-]{8,}(?=\.\w{1,4}\b)")
_AMOUNT = re.compile(r"(?<![A-Za-z_])-?\d+(?:\.\d+)*")
PROSE = (".md", ".mdx", ".rst", ".adoc")
_NAME = re.compile(r"([^/]*[/])?([A-Za-z]+)")
_TERM = re.compile(r"[^\W\d_]{4,}")
_HELP = re.compile(r"\s--(?:help|version)\b")
_TIME = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?) ?(?:ms|s|sec|seconds|min|us|µs)\b")
_Lines = dict[str, tuple[list[float], list[float]]]


class Values:
    """Detector of stalled values, bounded by ``CHECKS_KEPT`` checks with ``TRIES`` values each."""

    def __init__(self) -> None:
        self._checks: Recent[str, deque[tuple[float, ...]]] = Recent(CHECKS_KEPT)
        self._tried: set[str] = set()

    def clear(self) -> None:
        """Forget all values."""
        self._checks.clear()

    def add(self, step: Step) -> Finding | None:
        """Return a finding where the last values of a check stay between those before them."""
        if step.kind == "edit":
            self._tried.clear()
        measured = _measured(step)
        if not measured:
            return None
        check = step.check
        values = self._checks.get(check)
        if values is None or len(values[-1]) != len(measured):
            values = deque(maxlen=TRIES)
        self._checks[check] = values
        # Another run without a change is a measurement and no try.
        if check in self._tried and values:
            values.pop()
        self._tried.add(check)
        values.append(measured)
        if len(values) < TRIES or not all(_stalled(series) for series in zip(*values, strict=True)):
            return None
        return Finding(
            kind="loop", pattern=digest("value", check), steps=(step,), rounds=TRIES, needed=TRIES, resets_on=RESET
        )


class _Place:
    """Place of a file that is changed: what was put there last, and the looks after each change."""

    __slots__ = ("file", "looks", "put", "since", "whole")

    def __init__(self, file: str, put: str, number: int, whole: bool) -> None:
        self.file, self.put, self.since, self.whole = file, put, number, whole
        self.looks: deque[list[Step]] = deque([[]], maxlen=ROUNDS_KEPT)

    def turns(self, old: str, new: str) -> bool:
        """Return whether a change replaces what the last one put, and adds no lines to it."""
        if self.whole or not old:
            return self.whole and not old and self.put.strip() not in new
        grows = f"{old}\n" in new or f"\n{old}" in new
        return not grows and (old.strip() in self.put or self.put.strip() in old)


class Places:
    """Detector of places that are changed without effect, bounded by ``PLACES_KEPT`` places."""

    def __init__(self) -> None:
        self._places: Recent[str, _Place] = Recent(PLACES_KEPT)
        self._now: _Place | None = None
        self._lines: Recent[int, _Lines] = Recent(ROUNDS_KEPT * LOOKS_KEPT)
        self._measures: Recent[int, bool] = Recent(ROUNDS_KEPT * LOOKS_KEPT)

    def clear(self) -> None:
        """Forget all places."""
        self._places.clear()
        self._now = None

    def add(self, step: Step) -> Finding | None:
        """Return a finding where another change of one place leaves what is measured as it was."""
        written = step.written or (replacing(step.call) if step.kind == "work" and "sed -i" in step.call else None)
        if written is not None:
            # What is written for readers is not tuned.
            if not step.failed and ">>" not in step.shown and not written[0].endswith(PROSE):
                self._change(*written, step.number)
            return None
        now = self._now
        if now is None or step.kind != "work":
            return None
        if step.opaque:
            # A picture that was looked at may have changed.
            self.clear()
            return None
        if step.number - now.since > STEPS_KEPT or _shows_files(step.call) or _HELP.search(step.call):
            return None
        looks = now.looks[-1]
        if len(looks) < LOOKS_KEPT:
            looks.append(step)
        # Failures of one check are counted as such.
        if len(now.looks) < NEEDED or step.failed or not self._measured(step, now.put):
            return None
        measured = ([one for one in looks if self._measured(one, now.put)] for looks in now.looks)
        rounds = [one for one in measured if one]
        stands = len(rounds) >= NEEDED and self._stand(rounds, now.put) and not self._shows_effect(now.looks)
        return self._finding(now, rounds) if stands else None

    def _measured(self, step: Step, put: str) -> bool:
        known = self._measures.get(step.number)
        if known is None:
            known = self._measures[step.number] = _is_measure(step, put)
        return known

    def _change(self, file: str, old: str, new: str, number: int) -> None:
        key = file if old else _family(file)
        place = self._places.get(key)
        if place is None or number - place.since > STEPS_KEPT or not place.turns(old, new):
            place = _Place(file, new, number, not old)
        else:
            place.file, place.put, place.since = file, new, number
            if place.looks[-1]:
                place.looks.append([])
        self._places[key] = self._now = place

    def _stand(self, rounds: Sequence[Sequence[Step]], put: str) -> bool:
        said = [self._said(looks) for looks in rounds]
        shared = [line for line in said[-1] if all(line in one for one in said[-NEEDED:])]
        stands = False
        for line in shared:
            numbers, times = (
                [*zip(*(one[line][kind] for one in said if line in one), strict=False)] for kind in (0, 1)
            )
            if any(map(_moves, numbers)) or any(map(_runs_on, times)):
                return False
            stands = stands or (_stands(numbers) if numbers else _is_about(line, put))
        return stands

    def _shows_effect(self, rounds: Sequence[Sequence[Step]]) -> bool:
        """Return whether a check says something else than before."""
        told: dict[str, _Lines] = {}
        for step in (one for looks in list(rounds)[-NEEDED:] for one in looks):
            check, lines = step.check, self._lines_of(step)
            before = told.get(check, lines)
            if not (before.keys() <= lines.keys() or lines.keys() <= before.keys()):
                return True
            told[check] = lines
        return False

    def _said(self, looks: Sequence[Step]) -> _Lines:
        said: _Lines = {}
        for step in looks:
            said.update(self._lines_of(step))
        return said

    def _lines_of(self, step: Step) -> _Lines:
        """Return the lines of a result without their numbers, each with them."""
        known = self._lines.get(step.number)
        if known is None:
            known = self._lines[step.number] = dict(_numbered(step.text))
        return known

    def _finding(self, place: _Place, rounds: Sequence[Sequence[Step]]) -> Finding:
        return Finding(
            kind="loop",
            pattern=digest("place", place.file if not place.whole else _family(place.file)),
            steps=[looks[-1] for looks in rounds[-ROUNDS:]],
            rounds=len(rounds),
            needed=NEEDED,
            resets_on=RESET,
        )


def _family(file: str) -> str:
    """Return the path of a file with the first word of its name: other versions of it have it in common."""
    folder, _, name = file.rpartition("/")
    found = _NAME.match(name)
    return f"{folder}/{found[2] if found else name}"


def _shows_files(call: str) -> bool:
    return call[:4] == "git " or (has_arguments(call) and ("path" in call or "file" in call))


def _is_measure(step: Step, put: str) -> bool:
    """Return whether a result has a number or a word of what was put, and does not only say that all is well."""
    text = step.text[-LOOKED_AT:]
    told = _AMOUNT.search(text) is not None or _is_about(text, put)
    return told and not says_well(text)


def _is_about(text: str, put: str) -> bool:
    return not set(_TERM.findall(text.lower())).isdisjoint(_TERM.findall(put.lower()))


def _numbered(text: str) -> Iterator[tuple[str, tuple[list[float], list[float]]]]:
    for line in text.split("\n"):
        if plain := _BUILT.sub("#", comparable(line)):
            numbers = _AMOUNT.findall(_AIM.sub("", plain))
            yield (
                _AMOUNT.sub("#", plain),
                ([float(one) for one in numbers if one.count(".") < 2], [*map(float, _TIME.findall(line))]),
            )


def _stands(series: Sequence[Sequence[float]]) -> bool:
    """Return whether the numbers of a line differ by no more than noise, but for those that are of each try."""
    spread = [(max(values) - min(values)) / (max(map(abs, values)) or 1) for values in series]
    return min(spread) <= LEVEL and all(part <= LEVEL or part > WILD for part in spread)


def _runs_on(times: Sequence[float]) -> bool:
    """Return whether each try took less or more time than the one before, and the last much less or more.

    So does one of the last two that took much less than all before it.
    """
    last = list(times[-NEEDED:])
    if len(last) == NEEDED and min(last[-2:]) < (1 - WILD) * min(times[:-2]):
        return True
    return last in (sorted(last), sorted(last, reverse=True)) and max(last) - min(last) > WILD * max(last)


def _moves(values: Sequence[float]) -> bool:
    """Return whether a value rises or falls with each try, or one of the last two lies beyond all before it."""
    last = list(values[-NEEDED:])
    size = max(map(abs, values))
    steady = last in (sorted(last), sorted(last, reverse=True)) and len(set(last)) >= ROUNDS
    if steady and (len(set(last)) == NEEDED or max(last) - min(last) > DRIFT * size):
        return True
    before = values[:-2]
    return any(
        one > max(earlier) + NEWS * size or one < min(earlier) - NEWS * size
        for one, earlier in ((values[-2], before), (values[-1], values[:-1]))
    )


def _measured(step: Step) -> tuple[float, ...]:
    """Return the value that a step names, or all numbers of a measurement; none for any other step."""
    if step.kind not in ("work", "query"):
        return ()
    end = step.text[-LOOKED_AT:]
    words = _words_in(end)
    end = end.lower() if words else end
    if _METRIC in words and (found := _VALUE.search(end)):
        return (float(found[1]),)
    if len(step.text) > LOOKED_AT:
        return ()
    shown = step.shown.lower()
    measures = any(map(shown.__contains__, _MEASURERS)) and _MEASURES.search(shown)
    measures = measures or (_AIMED in words and _GOAL.search(end))
    numbers = _NUMBER.findall(end) if measures else ()
    return tuple(map(float, numbers)) if len(numbers) <= NUMBERS else ()


def _stalled(values: Sequence[float]) -> bool:
    before, last = values[:-STALLED], values[-STALLED:]
    if list(last) in (sorted(set(last)), sorted(set(last), reverse=True)):
        return False
    noise = NOISE * max(abs(value) for value in before)
    return max(last) <= max(before) + noise and min(last) >= min(before) - noise
