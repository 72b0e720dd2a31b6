"""Rules for repeated failures: of one check in any words, of several calls in the same words.

A streak ends when the check passes, progresses or fails differently, when another commit is checked out, or after
``STEPS_KEPT`` steps. A failure that returns twice after others is a circular fix.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from unstuck.detection.recent import Recent
from unstuck.detection.repetition import ROUNDS, Finding, Kind, new_round
from unstuck.detection.rules.failing_output import FailingOutput, failing_output
from unstuck.detection.rules.test_progress import (
    MISS_LIMIT,
    Failure,
    comes_nearer,
    is_one_name,
    is_progress,
    is_same,
    is_trend,
    names_brought,
    pass_more,
    say_more,
    without_elapsed,
    without_names,
)
from unstuck.detection.similarity import SIMILAR, similarity
from unstuck.detection.steps.external_blockers import is_blocked, is_outage, is_refused, machine_trouble, misses_tool
from unstuck.detection.steps.results import finds_nothing, is_bare_status, is_http_error, says_well
from unstuck.detection.steps.tool_call_kind import check_of, has_arguments
from unstuck.detection.steps.tool_steps import Step, looks_in_vain
from unstuck.detection.steps.troubles import troubles_in
from unstuck.detection.steps.volatile_text import digest, without_digits
from unstuck.diagnosis.pipeline import diagnose

STEPS_KEPT = 30
CHECKS_KEPT = 8
FAILURES_KEPT = 6
TEXTS_KEPT = 16
ROUNDS_OF_DIFFERENT_CALLS = 4
RETURNS = 2
MISSES = 6
APPROACHES = 20
FURTHER = 1_000
ATTEMPTS = 6
SUMMED_UP = 400
# What cuts the output or stands behind a command gives its own exit code.
_HIDES = re.compile(r"\|\s*(?:tail|head|tee|cat|sed|grep)\b|\|\|\s*(?:true|:|echo)|;\s*(?:echo|true|:)")
# The log of a run elsewhere has no exit code of that run.
_LOG = re.compile(r"\blogs?\b|--log-failed\b|\bjournalctl\b")
_GOES_ON = re.compile(r"\b(?:ready|listening|healthy)\b| 20[0-4]\b[^:]{0,20}$")
_INSTALLS = re.compile(
    r"\b(?:pip3?|npm|pnpm|yarn|apt|apt-get|gem|cargo|go|brew|conda|mamba|composer|poetry|uv|dnf|yum|apk)\s+(?:\w+\s+)?"
    r"(?:install|add|get|require|i)\b"
)
_VALUE = re.compile(r'": ?"((?:[^"\\]|\\.)*)"')
_GUESS = "guess "
_A_PATH = re.compile(r"[\w.~-]*/[\w./~-]*\w|\.?\w[\w-]*\.\w[\w.-]*\w")
_ADDRESS = re.compile(r"(?<=://)[^\s'\"?#\\]+")
RESET = "the same check passing, fewer or other failing tests, the error further down, or a word from the user"


class Check:
    """Recent failures of one check: ``failures`` are the current one in a row, ``left`` those before it.

    ``passed`` are other forms of the call that passed since.
    """

    def __init__(self) -> None:
        self.best: Failure | None = None
        self.failures: deque[Failure] = deque(maxlen=FAILURES_KEPT)
        self.steps: deque[Step] = deque(maxlen=FAILURES_KEPT)
        self.count = 0
        self.left: Recent[str, int] = Recent(FAILURES_KEPT)
        self.passed: set[str] = set()
        self.number = 0

    def add(self, step: Step, failure: Failure) -> tuple[bool, int]:
        """Record a failure of another round. Return whether it is progress, and how often it has returned."""
        last = self.failures[-1] if self.failures else None
        further = self.best is not None and self.best.key != failure.key and is_progress(self.best, failure)
        # A failure that has also moved up a file moves with the edits.
        if further and last is not None and self.count > 1 and failure.is_shifted(last, FURTHER):
            further = False
        if further:
            self.left.clear()
        returned = 0
        if last is not None and (further or not is_same(last, failure)):
            returned = 0 if further else self._leave(last, failure)
            self.failures.clear()
            self.steps.clear()
            self.count = 0
        if further or self.best is None or failure.is_shifted(self.best):
            self.best = failure
        self.failures.append(failure)
        self.steps.append(step)
        self.count += 1
        self.number = step.number
        return further, returned

    def passes(self, step: Step) -> bool:
        """Record a step that passed. Return whether it is progress: not a form that passed before the same failure."""
        known = step.action in self.passed
        self.passed.add(step.action)
        return not known

    def goes_on(self, step: Step, failure: Failure) -> bool:
        """Return whether a failure continues the streak: other forms of its call may have passed, itself never."""
        return not self.passed or any(
            one.action == step.action and last.key == failure.key
            for one, last in zip(self.steps, self.failures, strict=True)
        )

    def _leave(self, last: Failure, now: Failure) -> int:
        if last.key not in self.left:
            self.left[last.key] = 0
        if now.key in self.left:
            self.left[now.key] += 1
        return self.left.get(now.key, 0)


class Streaks:
    """Detector of repeated failures, bounded by ``CHECKS_KEPT`` checks and ``TEXTS_KEPT`` texts."""

    def __init__(self) -> None:
        self._checks: Recent[str, Check] = Recent(CHECKS_KEPT)
        self._texts: Recent[str, deque[tuple[Step, str, Failure]]] = Recent(TEXTS_KEPT)
        # Checks and beginnings of guesses in the texts; None once these have changed.
        self._named: set[str] | None = None
        self._hidden: Recent[str, list[Step]] = Recent(CHECKS_KEPT)
        self._attempts: deque[tuple[str, str]] = deque(maxlen=ATTEMPTS)
        self._mended: Recent[tuple[str, str], tuple[int, list[Step]]] = Recent(TEXTS_KEPT)
        self._edited = 0
        self._approach = ""
        self._written: frozenset[str] = frozenset()
        self.progressed = False

    def clear(self) -> None:
        """Forget all failures."""
        self._checks.clear()
        self._texts.clear()
        self._hidden.clear()
        self._mended.clear()
        self._attempts.clear()

    def add(self, step: Step) -> list[Finding]:
        """Return the streaks that this failure makes longer; none for any other step."""
        self.progressed = False
        self._approach = step.approach or self._approach
        if step.kind == "tree" and not step.failed:
            self.clear()
        if step.kind == "edit" and not step.failed:
            self._edited = step.number
        if step.written is not None and step.written[1]:
            self._written |= names_brought(*step.written[1:])
        if not step.failed:
            hidden = self._of_hidden(step)
            if hidden is None:
                self._passed(step)
            return hidden or []
        if step.waits or not step.text.strip():
            return []
        output = failing_output(without_elapsed(step.text))
        failure = Failure(step.result, step.action, step.number, output, step.shown, self._written)
        self._written = frozenset()
        name = step.check
        found = (self._of_check(name, step, failure), self._of_text(name, step, failure))
        self._attempts.append((self._approach, failure.key))
        return [finding for finding in found if finding is not None]

    def _of_hidden(self, step: Step) -> list[Finding] | None:
        """Return the streak of a failure whose exit code is hidden: by a pipe, a list of commands, or in a log.

        None where the step is no failure.
        """
        # Another agent tells in its own words what it looked at, or that there is nothing.
        if step.kind not in ("work", "wait") or ('"prompt"' in step.call and not finds_nothing(step.text)):
            return None
        shown = step.shown
        works = step.kind == "work"
        logged = works and ("log" in shown or "journalctl" in shown) and _LOG.search(shown) is not None
        hides = logged or (works and ("|" in shown or ";" in shown) and _HIDES.search(shown) is not None)
        troubles = troubles_in(shown, step.text, hides=hides)
        if not (hides or troubles) or ((hides or not works) and _ends_well(step.text, logged or not works)):
            return None
        name = check_of(step.tool, without_digits(step.shown) if logged else step.shown)
        # A log that is read again is no other run.
        seen = [
            one
            for one in self._hidden.get(name, ())
            if step.answers_as(one) and not (logged and one.action == step.action)
        ]
        self._hidden[name] = [*seen, step][-FAILURES_KEPT:]
        output = FailingOutput(without_elapsed(step.text))
        output.errors = output.errors if hides and output.errors else troubles
        if not output.errors:
            return None
        failure = Failure(step.result, step.action, step.number, output, step.shown, is_hidden=True)
        own = self._finding([*seen, step], len(seen) + 1, step.result, ROUNDS) if seen and works else None
        # The same look again waits for another state, where no edit lies between.
        before = () if works else self._texts.get(self._same_text(name, step, failure), ())
        waited = any(one.action == step.action and one.number > self._edited for one, _, _ in before)
        found = None if logged or waited else self._of_text(name, step, failure)
        found = own if own is not None and (found is None or own.rounds >= ROUNDS) else found
        if found is None:
            return None if name in self._checks and diagnose(step.text, exit_code=None) is None else []
        fails = troubles or any(one.failed for one in found.steps) or diagnose(step.text, exit_code=None) is not None
        return [found] if fails else None

    def _passed(self, step: Step) -> None:
        if not (self._checks or self._texts):
            return
        check = step.check
        if check not in self._checks:
            self._forget_texts(check, step.tool)
        elif self._checks[check].passes(step):
            self._advance(step, check)

    def _advance(self, step: Step, check: str) -> None:
        """Forget the failures of a check that passed."""
        # Another form of the call, such as one that mends, may pass while the one that failed never does.
        if any(one.action == step.action for one in self._checks[check].steps):
            failed = self._checks.pop(check)
            mended = check, failed.failures[-1].key
            self._mended[mended] = step.number, [*self._mended.get(mended, (0, []))[1], failed.steps[-1]]
        self.progressed = True
        self._attempts.clear()
        self._forget_texts(check, step.tool)

    def _forget_texts(self, check: str, tool: str) -> None:
        guess = f"{_GUESS}{tool} "
        # This runs after each step that passes, and most of them are about nothing that failed.
        if self._named is None:
            self._named = {name for seen in self._texts.values() for _, name, _ in seen}
            self._named |= {_GUESS for text in self._texts if text[: len(_GUESS)] == _GUESS}
        if check not in self._named and _GUESS not in self._named:
            return
        for text in {
            text for text, seen in self._texts.items() for _, name, _ in seen if name == check or text.startswith(guess)
        }:
            del self._texts[text]

    def _of_check(self, name: str, step: Step, failure: Failure) -> Finding | None:
        check = self._checks.get(name)
        if check is None or step.number - check.number > STEPS_KEPT or not check.goes_on(step, failure):
            check = Check()
        self._checks[name] = check
        if not new_round(step, check.steps):
            return None
        further, returned = check.add(step, failure)
        if further:
            self.progressed = True
            self._attempts.clear()
            self._texts.clear()
        if returned >= RETURNS:
            return self._finding(list(check.steps), returned + 1, failure.key, ROUNDS, "circular_fix")
        if check.count == 1:
            return self._broken_again(name, step, failure)
        steps = list(check.steps)
        # Other flags each time, or another name in the same place of the work, are other words for the same try.
        last = list(check.failures)[-ROUNDS:]
        named = all(one.quotes for one in last) and len({one.key for one in last}) == len(last)
        reworded = named or len({one.action for one in steps[-ROUNDS:]}) == ROUNDS
        reworded = reworded or looks_in_vain(step)
        needed = _unless_more([*check.failures], ROUNDS_OF_DIFFERENT_CALLS if reworded else ROUNDS)
        return self._finding(steps, check.count, check.failures[0].key, needed)

    def _broken_again(self, name: str, step: Step, failure: Failure) -> Finding | None:
        """Return a circular fix where an edit brings back a failure that was mended twice."""
        passed, steps = self._mended.get((name, failure.key), (0, []))
        if len(steps) < RETURNS or self._edited < passed or step.number - steps[-1].number > STEPS_KEPT:
            return None
        return self._finding([*steps, step], len(steps) + 1, failure.key, ROUNDS, "circular_fix")

    def _of_text(self, name: str, step: Step, failure: Failure) -> Finding | None:
        """Return a streak of one failure of different calls."""
        if is_bare_status(step.text):
            return None
        key = self._same_text(name, step, failure)
        seen = self._texts.get(key) or deque(maxlen=TEXTS_KEPT)
        if seen and step.number - seen[-1][0].number > STEPS_KEPT:
            seen.clear()
        self._texts[key] = seen
        self._named = None
        steps = [one for one, _, _ in seen]
        if not new_round(step, steps):
            return None
        seen.append((step, name, failure))
        steps.append(step)
        if len(seen) == 1:
            return None
        own = [one for _, other, one in seen if other == name]
        one_call = failure.is_hidden and all(one.action == step.action for one in steps)
        needed = ROUNDS if one_call else _rounds_needed(steps)
        needed = _unless_more(own if len(own) == len(seen) else [], needed)
        last = list(seen)[-ROUNDS_OF_DIFFERENT_CALLS:]
        earlier = last[-2][2]
        said_again = failure.key == earlier.key or failure.ends_as(earlier) or failure.is_outcome_of(earlier)
        if key[: len(_GUESS)] == _GUESS and not (said_again or _guesses_one(steps)):
            needed = max(needed, MISSES)
        if len(seen) >= needed and is_trend([one for *_, one in last], all(other == name for _, other, _ in last)):
            needed = APPROACHES
        return self._finding(steps, len(steps), key, needed)

    def _same_text(self, name: str, step: Step, failure: Failure) -> str:
        """Return the key of the streak that this failure belongs to: the same words, or the same error at its end."""
        cause = machine_trouble(step.text)
        refused = not cause and len(step.text) <= MISS_LIMIT and is_refused(step.text)
        if refused or (not cause and len(step.text) <= MISS_LIMIT and misses_tool(step.text)):
            # A status alone says nothing about another address.
            call = step.call if is_http_error(step.call, step.text) else ""
            cause = call or without_names(f"{step.tool} {step.shown}", step.masked)
            if refused and cause not in self._texts and (asked := _asked_of(step)):
                cause = next((key for key, seen in self._texts.items() if _refuses(asked, seen)), cause)
        if cause:
            return cause
        if step.result in self._texts:
            return step.result
        outcome, output = failure.outcome, failure.output
        for key, seen in self._texts.items():
            last = seen[-1][2]
            if output.ending == last.output.ending and failure.ends_as(last):
                return key
            if not outcome.isdisjoint(last.outcome) and failure.is_outcome_of(last):
                return key
            # Runs of one check may have a remark in common, scripts that fail differently do not.
            shares = not output.long_errors.isdisjoint(last.output.long_errors)
            if shares and all(name != other for _, other, _ in seen):
                return key
        if "\n" not in step.text.strip() and has_arguments(step.shown):
            guess = without_names(" ".join(_VALUE.findall(step.shown)), step.text)
            if "NAME" in guess:
                return f"{_GUESS}{step.tool} {guess}"
        return step.result

    def _finding(self, steps: Sequence[Step], rounds: int, key: str, needed: int, kind: Kind | None = None) -> Finding:
        kind = kind or (self._kind(steps) if rounds >= ROUNDS else "loop")
        pattern, last = digest("failure", key), steps[-ROUNDS:]
        return Finding(kind=kind, pattern=pattern, steps=last, rounds=rounds, needed=needed, resets_on=RESET)

    def _kind(self, steps: Sequence[Step]) -> Kind:
        """Return ``circular_fix`` where two of the last six attempts at this failure followed the same approach."""
        failures = {step.result for step in steps}
        approaches = [approach for approach, key in self._attempts if approach and key in failures]
        similar = sum(similarity(self._approach, earlier) > SIMILAR for earlier in approaches)
        return "circular_fix" if similar >= ROUNDS - 1 else "loop"


def _ends_well(text: str, logged: bool) -> bool:
    """Return whether the last two lines, where tests or a build sum up, say that all is well, or a log goes on."""
    lines = text[-SUMMED_UP:].rstrip().split("\n")[-2:]
    return _GOES_ON.search(lines[-1].lower()) is not None if logged else says_well("\n".join(lines))


def _asked_of(step: Step) -> str:
    """Return what a call asks for access.

    It is an address, a path that the refusal names, or a program with its first word, such as ``git push``.
    """
    if address := _ADDRESS.search(step.call):
        return address[0]
    if path := next((path for path in _A_PATH.findall(step.text) if path in step.call), ""):
        return path
    words = step.call.split()[:2]
    return " ".join(words) if len(words) == 2 and all(word.isalpha() for word in words) else ""


def _refuses(asked: str, seen: Sequence[tuple[Step, str, Failure]]) -> bool:
    """Return whether the last failure of a streak is a refusal of the same access."""
    return bool(seen) and asked in seen[-1][0].call and is_refused(seen[-1][0].text)


def _unless_more(failures: Sequence[Failure], needed: int) -> int:
    """Return ``needed``, or more rounds where each failure of a check says more than those before, or comes nearer."""
    if len(failures) < needed:
        return needed
    return APPROACHES if comes_nearer(failures) or pass_more(failures) else MISSES if say_more(failures) else needed


def _rounds_needed(steps: Sequence[Step]) -> int:
    """Return the rounds that make a loop of different calls: three where only a person can help, else four.

    An installer that is tried in other versions gets more of them.
    """
    last = steps[-1]
    if is_blocked(last.text) and not is_outage(last.text):
        return ROUNDS
    if not _installed(last):
        return ROUNDS_OF_DIFFERENT_CALLS
    installed = {_installed(step) for step in steps}
    others = len(installed) == len(steps) and "" not in installed
    return MISSES if others and not _guesses_one(steps) else ROUNDS_OF_DIFFERENT_CALLS


def _guesses_one(steps: Sequence[Step]) -> bool:
    return is_one_name([(one.shown, one.text) for one in steps])


def _installed(step: Step) -> str:
    """Return what a call installs, without options; empty for other calls."""
    found = _INSTALLS.search(step.shown)
    return " ".join(word for word in step.shown[found.end() :].split() if word[0] != "-") if found else ""
