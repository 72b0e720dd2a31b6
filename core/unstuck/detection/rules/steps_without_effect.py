"""Rule for steps that gain nothing: a block of them again, or one, whatever lies between.

A block has one to six steps with the same calls and results. One step has an answer again, no answer, changes nothing,
plans without doing, or guesses a name that is missing.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from unstuck.detection.recent import Recent
from unstuck.detection.repetition import ROUNDS, WAITING_ROUNDS, Finding, new_round
from unstuck.detection.rules.test_progress import is_one_name, without_names
from unstuck.detection.similarity import keywords
from unstuck.detection.steps.results import has_ended, is_bare_status, says_well, shows_image
from unstuck.detection.steps.tool_call_kind import SQL, CallKind, address_of, file_of, has_arguments, only_sleeps
from unstuck.detection.steps.tool_steps import SHOWN, Step, looks_in_vain
from unstuck.detection.steps.volatile_text import digest, without_digits

LONGEST_BLOCK = 6
SILENT_QUESTION_ROUNDS = 4
SILENT_ROUNDS = 6
ADVANCE_ROUNDS = 20
STANDING_ROUNDS = 6
IDENTITIES_KEPT = 64
STEPS_KEPT = 24
REWORDED_ROUNDS = 4
AGAIN = 5
LOOKS = MISSES = 6
LINES_KEPT = 400
QUESTION_WORDS = 3
LONG_ANSWER = 30
LONG_PAGE = 60
LONG_LOOK = 400
WAITS_APART = 6
LONG_SCREEN = 2_000
LONG_COPY = 400
RESET = "a step that changes or says something new"

_CHANGES_DIRECTORY = re.compile(r"\bcd\s")
_SYNTAX = re.compile(r"[/\\{}()=|<>*_]|(?:^|\s)-\w")
_SUBJECT = re.compile(r"[^\s\"',:{}()]*[\d/][^\s\"',:{}()]*")
_INPUT_WORDS = ("key", "text", "xdotool", "click", "tap", "press", "swipe", "terminal")
_INPUT = re.compile(
    r"(?:^|[\s_-])(?:send[-_ ]?(?:keys|text)|keyevent|xdotool|(?:left_|double_)?click|tap|press(?:_?key)?|swipe"
    r"|terminal_+(?:write|send|type))(?:[\s_]|$)"
)
_FIGURE = re.compile(r"\d{4}")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?")
# Ages and ids of queries.
_PASSING = re.compile(r"\d(?<!\w\d)\d*(?:[smhd](?:\d+[smh])?| msec)\b|(?<=\bid: )\d+|\d(?<!\w\d)\d?:\d\d\b(?!:)")
_CHECKS_OUT = re.compile(r"\s*git\s+(?:checkout|switch)(?:\s+-[qf])*\s+\w[\w./-]*\s*")
# What was begun is given up: each time after an attempt that did not go through.
_ABANDONS = re.compile(r"\bgit\s[^;&|]*--abort\b")
_BEGINS = re.compile(r"\bgit\s+(?:merge|cherry-pick)(?=\s)[^;&|]*\s(\w[\w./-]*)(?![\w./>-])")
_NAMED = re.compile(r'"\w+": ?(?:"(?:[^"\\]|\\.)*"|\d+)')
_VALUE = re.compile(r'": ?"((?:[^"\\]|\\.)*)"')
_CHANGES_NOTHING: frozenset[CallKind] = frozenset({"query", "idle", "plan", "wait"})


class WithoutEffect:
    """Detector of steps without effect, bounded by ``IDENTITIES_KEPT`` kinds of them with ``STEPS_KEPT`` steps each.

    What a step may be the same as is counted from the last step that makes it another one: one that changes or says
    something new, a plan with more done, lines that were not seen, another question.
    """

    def __init__(self) -> None:
        self._last: deque[Step] = deque(maxlen=LONGEST_BLOCK)
        self._equal = [0] * (LONGEST_BLOCK + 1)
        self._seen: Recent[str, list[Step]] = Recent(IDENTITIES_KEPT)
        self._calls: Recent[str, Step] = Recent(IDENTITIES_KEPT)
        self._news = self._change = self._planned = self._done = 0
        self._looked = self._asked = self._drafted = 0
        self._acted = self._silent = self._elsewhere = self._ran = self._awaited = 0
        self._edited = self._worked = self._moved = self._supplied = self._slept = self._turned = 0
        self._guesses: Recent[str, int] = Recent(IDENTITIES_KEPT)
        self._files: Recent[str, tuple[str, int]] = Recent(IDENTITIES_KEPT)
        self._acts: list[Step | None] = [None, None]
        self._told = self._tree = ""
        self._given = False
        self._missing = self._begun = ""
        self._lacked: set[str] = set()
        self._file = self._drafting = ""
        self._lines: set[int] = set()
        self._looks: Step | None = None
        self._question: tuple[frozenset[str], str, Step | None] = (frozenset(), "", None)

    def clear(self) -> None:
        """Forget all steps."""
        self._last.clear()
        self._equal = [0] * (LONGEST_BLOCK + 1)
        self._seen.clear()

    def add(self, step: Step) -> list[Finding]:
        """Return the steps without effect that this one continues."""
        called = _called(step)
        last = self._calls.get(called)
        self._calls[called] = step
        known = last is not None and step.kind != "advance" and step.answers_as(last)
        # A call that passes and fails in turns is not stuck.
        turned = last is not None and last.failed != step.failed
        if turned or not (step.failed or known or step.kind in _CHANGES_NOTHING or step.needle[0]):
            self._act(step)
        if step.kind != "plan" or step.done > self._done:
            self._planned = step.number - (step.kind == "plan")
        if step.done > self._done or step.kind in ("edit", "work"):
            self._worked = step.number
        self._done = step.done if step.kind == "plan" else self._done
        self._guess(step)
        if step.written is None or step.written[1] or self._drafting != step.written[0]:
            self._drafting, self._drafted = step.written[0] if step.written else "", step.number - 1
        found = [self._block(step)]
        for identity, since, needed, by_result in self._identities(step, called):
            found.append(self._counted(step, identity, since, needed, by_result))
        if step.new:
            self._news, self._told = step.number, called
            self._ran = step.number if step.kind == "work" else self._ran
        return [one for one in found if one is not None]

    def _block(self, step: Step) -> Finding | None:
        """Return the shortest block that this step continues. Each distance has a count of equal steps in a row."""
        size, equal = 0, self._equal
        for distance, earlier in enumerate(reversed(self._last), 1):
            if step.action != earlier.action or not step.answers_as(earlier):
                equal[distance] = 0
                continue
            equal[distance] += 1
            size = size or distance * (equal[distance] >= distance)
        self._last.append(step)
        if not size:
            return None
        block = list(self._last)[-size:]
        # A call that passes and fails in the same round is not stuck.
        failing = {one.action for one in block if one.failed}
        if not failing.isdisjoint(one.action for one in block if not one.failed):
            return None
        waits = any(one.waits for one in block) and all(one.waits or not one.failed for one in block)
        keys = [one.key for one in block]
        return Finding(
            kind="waiting" if waits else "loop",
            # The same for any start of the block.
            pattern=digest(*min(keys[turn:] + keys[:turn] for turn in range(size))),
            steps=block,
            rounds=self._equal[size] // size + 1,
            needed=WAITING_ROUNDS if waits else _needed(block),
            round=size,
            resets_on="another result of the same call",
        )

    def _act(self, step: Step) -> None:
        """Record a step that may change something. One that turns the value of the step before again does not count."""
        edits = step.written is not None
        before, self._acts[edits] = self._acts[edits], step
        self._turned = step.number - 1
        silent = step.empty or not step.informative
        self._silent = step.number if silent else self._silent
        if before is not None and _does_as(step, before):
            return
        self._acted = step.number if silent else self._acted
        self._change = step.number - 1
        if before is None or not silent or not _is_about(step, before):
            self._elsewhere = step.number - 1

    def _written(self, file: str, put: str, number: int) -> int:
        """Record a write. Return the step before which the file got other text than ``put``."""
        before, since = self._files.get(file, ("", 0))
        self._files[file] = put, since = put, since if before == put else number - 1
        return since

    def _known(self, file: str) -> str:
        """Return the longest path by which a file was named: a relative one is the end of it."""
        paths = (path for path in self._files if path.endswith(f"/{file}") or file.endswith(f"/{path}"))
        return max((file, *paths), key=len) if file not in self._files else file

    def _guess(self, step: Step) -> None:
        """Record the name that a failing step missed."""
        says = step.failed and not step.waits and not is_bare_status(step.text)
        missing = without_names(step.shown, step.text) if says else ""
        self._missing = missing
        if missing:
            self._lacked = {word for word in step.shown.split() if word in step.text}
        elif (
            self._lacked
            and not step.failed
            and step.kind in ("edit", "work")
            and not self._lacked.isdisjoint(step.shown.split())
        ):
            self._supplied = step.number
        if step.kind == "tree" and not step.failed:
            self._moved = step.number
            self._tree = step.action if _CHECKS_OUT.fullmatch(step.call) else ""
        if missing:
            self._guesses.setdefault(_begin(step), 0)
        elif self._guesses and not step.failed and (begin := _begin(step)) in self._guesses:
            self._guesses[begin] = step.number

    def _identities(self, step: Step, called: str) -> Iterator[tuple[str, int, int, bool]]:
        """Return what the step may be the same as, after which step, how often, and whether by its result as well."""
        if self._missing:
            since = max(self._moved, self._supplied, self._guesses.get(_begin(step), 0))
            guess = f"guess {self._missing}"
            tried = [(one.shown, one.text) for one in (*self._seen.get(guess, ()), step)]
            needed = REWORDED_ROUNDS if len(tried) >= REWORDED_ROUNDS and is_one_name(tried) else MISSES
            yield guess, since, needed, False
        if self._shows_screen(step):
            yield f"screen {step.masked}", self._edited, REWORDED_ROUNDS, False
        elif watched := self._watched(step):
            needed = ROUNDS if has_ended(step.text) else STANDING_ROUNDS
            yield f"watch {step.tool} {watched}", self._edited, needed, False
        if "git " in step.call and (begins := _BEGINS.search(step.call)):
            self._begun = begins[1]
        if "--abort" in step.call and not step.failed and _ABANDONS.search(step.call):
            yield f"abandoned {self._begun}", self._edited, ROUNDS, False
        elif step.kind in ("idle", "plan"):
            if not step.failed and step.kind == "plan":
                yield "plan", self._planned, REWORDED_ROUNDS, False
                yield "plan between looks", self._worked, MISSES, False
            elif not step.failed:
                yield f"idle {step.action}", 0, ROUNDS, False
                # Other words may have been slips where a call has had an answer since.
                yield "idle", self._news, REWORDED_ROUNDS, False
        elif step.written is not None:
            self._edited = step.number
            file, old, new = step.written
            file = self._known(file)
            if old:
                self._written(file, step.action, step.number)
            else:
                if len(new) >= LONG_COPY:
                    yield f"copy {digest(new)}", self._news, REWORDED_ROUNDS, False
                put = digest(new.strip())
                yield f"text {file} {put}", max(self._ran, self._written(file, put, step.number)), ROUNDS, False
                if not is_bare_status(" ".join(step.text.replace(file, "").split())):
                    yield f"draft {file}", self._drafted, REWORDED_ROUNDS, True
        elif step.kind == "wait" and only_sleeps(step.call):
            yield "sleep", max(self._news, self._awaited), REWORDED_ROUNDS, False
        elif step.waits:
            self._awaited = step.number
            if step.kind != "work" and not step.failed:
                last = self._seen.get(f"wait {step.action}")
                needed = STANDING_ROUNDS if last and _ages(step) != _ages(last[-1]) else WAITING_ROUNDS
                yield f"wait {step.action}", 0, needed, True
        elif step.kind == "tell" and not step.failed:
            yield f"told {step.action} {without_digits(step.masked[:SHOWN])}", 0, ROUNDS, False
        elif not step.opaque:
            if self._tree and step.informative and step.kind in ("query", "work"):
                identity = f"tree {self._tree} {step.key}"
                seen = self._seen.get(identity)
                if not seen or seen[-1].number < self._moved:
                    yield identity, self._edited, ROUNDS, False
            yield from self._answers(step, called)

    def _shows_screen(self, step: Step) -> bool:
        """Return whether a step gives keys, clicks or text to a screen and shows it, or shows it after such a step."""
        given, self._given = self._given, self._given and step.kind == "plan"
        if step.kind in ("plan", "edit", "tree") or step.failed or step.opaque or len(step.text) > LONG_SCREEN:
            return False
        gives = self._given = self._given or _gives_input(step)
        return (gives or (given and step.kind == "query")) and len(step.text) >= LONG_ANSWER

    def _watched(self, step: Step) -> str:
        """Return what a look shows apart from times and ages, where the looks at it have waits between them."""
        slept = step.kind == "wait" or step.waits
        self._slept = step.number if slept else self._slept
        if not self._slept or step.number - self._slept > WAITS_APART or step.kind not in ("wait", "query", "work"):
            return ""
        if not LONG_ANSWER <= len(step.text) <= LONG_LOOK:
            return ""
        return _PASSING.sub("", step.masked)

    def _answers(self, step: Step, called: str) -> Iterator[tuple[str, int, int, bool]]:
        asks = step.kind == "query"
        file = file_of(step.shown) if asks and not (step.empty or step.failed) else ""
        if step.informative or (step.empty and (asks or step.needle[0])):
            needed = ROUNDS if step.empty else REWORDED_ROUNDS if step.kind == "work" else AGAIN
            # A file is read again to go with what was found since.
            change = self._change
            if asks and (act := self._acts[False]) and _is_about(act, step):
                needed, change = REWORDED_ROUNDS, self._elsewhere
            elif self._turned > change and _turns_out_well(step):
                # A check that passes each time has nothing else to say.
                change = self._turned
            yield called, max(change, (self._news - (self._told == called)) * bool(file)), needed, True
        if _is_answer(step):
            begin = without_digits(step.text[:LONG_ANSWER])
            yield f"answer {step.tool} {begin}", max(self._acted, self._news - 1), REWORDED_ROUNDS, True
        if asks:
            self._look(step, file)
            if file:
                yield f"file {file}", max(self._change, self._looked), LOOKS, False
        if self._asks_again(step):
            yield f"asked {step.tool}", max(self._change, self._asked), AGAIN - step.empty, not step.empty

    def _look(self, step: Step, file: str) -> None:
        """Record the lines of a file that were not seen yet."""
        if not file or file != self._file:
            self._file, self._looks, self._looked = file, step, step.number - 1
            self._lines.clear()
            return
        self._lines |= set() if self._lines or self._looks is None else _lines_of(self._looks)
        lines = _lines_of(step)
        if not lines <= self._lines:
            self._looked = step.number - 1
            self._lines |= lines if len(self._lines) < LINES_KEPT else set()

    def _asks_again(self, step: Step) -> bool:
        """Record what a query asks for. Return False for a step that asks for nothing."""
        words, place = step.needle
        call = step.shown
        # A query may ask in words or by named arguments; a command or the name of a file is no question.
        if not words and step.kind == "query" and not (file_of(call) if has_arguments(call) else _SYNTAX.search(call)):
            words = keywords(" ".join(_VALUE.findall(call)) or call)
            words = words - SQL if "select" in words else words
            words = words if has_arguments(call) or len(words) >= QUESTION_WORDS else frozenset()
        if not words:
            return False
        before, where, last = self._question
        self._question = (words, place, step)
        resembles = last is not None and _resembles(words, before) and _within(place, where)
        if last is None or not resembles or not ((step.empty and last.empty) or step.result == last.result):
            self._asked = step.number - 1
        return True

    def _counted(self, step: Step, identity: str, since: int, needed: int, by_result: bool) -> Finding | None:
        seen = self._seen.get(identity)
        if not seen:
            self._seen[identity] = [step]
            return None
        since = max(since, step.number - STEPS_KEPT - 1)
        kept = [one for one in seen if one.number > since]
        self._seen[identity] = kept
        steps = [one for one in kept if not by_result or step.answers_as(one)]
        waits = identity[:5] == "wait " or (identity[:6] == "watch " and needed > ROUNDS)
        if by_result and waits and len(steps) < len(kept):
            # What was waited for has come on.
            kept[:], steps = [], []
        if steps and (
            not new_round(step, steps) or (identity[:7] == "answer " and self._asks_another(step, steps[-1]))
        ):
            return None
        kept.append(step)
        steps.append(step)
        # The same look again is counted as a wait.
        if len(steps) < 2 or (identity[:6] == "watch " and needed > ROUNDS and _all_alike(steps)):
            return None
        pattern = digest("idle" if step.kind == "idle" else identity, step.result if by_result else "")
        return Finding(
            kind="waiting" if waits else "loop",
            pattern=digest(step.key) if waits else pattern,
            steps=(step,) if steps[0].action == step.action else tuple(steps[-LOOKS:]),
            rounds=len(steps),
            needed=needed,
            resets_on=RESET,
        )

    def _asks_another(self, step: Step, before: Step) -> bool:
        """Return whether the same answer is to the same call, or to one about the next number, path or address."""
        here, there = address_of(step.call), address_of(before.call)
        if here and there and here != there:
            return True
        if step.action == before.action or (has_arguments(step.call) and len(step.text) >= LONG_PAGE):
            return step.action == before.action
        return before.number > self._silent and _worded(before) == _worded(step)


def _needed(block: Sequence[Step]) -> int:
    """Return the rounds that make a loop of a block: more where equal results may differ, or say nothing."""
    if any(step.kind == "advance" and not step.failed for step in block):
        return ADVANCE_ROUNDS
    if any(step.informative and not step.opaque and not looks_in_vain(step) for step in block):
        return ROUNDS
    if any(step.opaque for step in block):
        return ADVANCE_ROUNDS
    return SILENT_QUESTION_ROUNDS if all(step.kind == "query" or step.failed for step in block) else SILENT_ROUNDS


def _all_alike(steps: Sequence[Step]) -> bool:
    """Return whether all calls are the same but for digits."""
    return len({without_digits(step.shown) for step in steps}) == 1


def _gives_input(step: Step) -> bool:
    """Return whether a step gives keys, clicks or text to a screen."""
    given = f"{step.tool} {step.shown}"
    # Cheap first test: most calls have none of these words.
    return any(word in given for word in _INPUT_WORDS) and _INPUT.search(given) is not None


def _begin(step: Step) -> str:
    return f"{step.tool} {step.call[:SHOWN].partition(' ')[0]}"


def _called(step: Step) -> str:
    """Return the identity of a call. A check is the same one with other flags and pipes."""
    checks = step.kind == "work" and step.informative and not (_is_elsewhere(step.shown) or step.needle[0])
    return step.check if checks else step.action


def _is_elsewhere(shown: str) -> bool:
    return "=" in shown or ("cd" in shown and _CHANGES_DIRECTORY.search(shown) is not None)


def _is_answer(step: Step) -> bool:
    """Return whether a result says enough to be the same answer to another call."""
    if not step.informative or step.failed or step.empty or step.kind not in ("query", "work"):
        return False
    return len(step.text) >= LONG_ANSWER or "\n" in step.text.strip() or _FIGURE.search(step.text) is not None


def _worded(step: Step) -> str:
    """Return a call without numbers and paths, which say what it is about."""
    return _SUBJECT.sub("", step.shown)


def _does_as(step: Step, before: Step) -> bool:
    """Return whether two steps do the same but for digits: they turn one value, or say the same."""
    if step.written:
        return _valueless(step.written) == _valueless(before.written)
    if step.kind != "work" or len(step.text) < LONG_ANSWER:
        return False
    one, two = step.text[:SHOWN], before.text[:SHOWN]
    # Other first letters are enough to tell most results apart.
    if one[0] != two[:1] and not (one[0].isdigit() or two[:1].isdigit()):
        return False
    return without_digits(one) == without_digits(two)


def _is_about(act: Step, other: Step) -> bool:
    """Return whether a call is about the file of another one, or about all that the arguments of that one name."""
    if file := file_of(other.shown):
        return file == file_of(act.shown)
    named = set(_NAMED.findall(other.shown))
    shared = named.intersection(_NAMED.findall(act.shown))
    return bool(shared) and (shared == named or act.tool == other.tool)


def _turns_out_well(step: Step) -> bool:
    return not step.empty and (shows_image(step.text[-SHOWN:]) or says_well(step.text[-LONG_LOOK:]))


def _ages(step: Step) -> str:
    """Return a result without the time of day. An age that rises in it shows that all else stands."""
    return _TIME_OF_DAY.sub("", step.text)


def _valueless(written: tuple[str, str, str] | None) -> list[str]:
    return [without_digits(part) for part in written or ()]


def _lines_of(step: Step) -> set[int]:
    return {hash(line.strip()) for line in step.text.split("\n") if line.strip()}


def _resembles(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether at least half of the words of the shorter question, and two of three, are in both."""
    least = min(len(words), len(others))
    return least > 0 and len(words & others) >= max(least / 2, 2 if least >= QUESTION_WORDS else 1)


def _within(place: str, other: str) -> bool:
    """Return whether one place is part of the other: a search somewhere else is another search."""
    one, two = place.strip("./*"), other.strip("./*")
    return one.startswith(two) or two.startswith(one)
