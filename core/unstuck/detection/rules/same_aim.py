"""Rule for calls in other words that have one aim and learn nothing: always nothing, or only what was said before.

Other work between them does not end the tries, because their results do not depend on it; an edit does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from unstuck.detection.repetition import ROUNDS, Finding, new_round
from unstuck.detection.similarity import stems
from unstuck.detection.steps.results import finds_nothing, is_absent, is_bare_status
from unstuck.detection.steps.tool_call_kind import (
    SQL,
    CallKind,
    address_of,
    asks_for_output,
    file_of,
    has_arguments,
    only_sleeps,
)
from unstuck.detection.steps.tool_steps import Step
from unstuck.detection.steps.volatile_text import digest

AIMS_KEPT = 12
TRIES_KEPT = 6
STEPS_KEPT = 30
NEEDED = 4
LOOKS = 6
CALL_LIMIT = 400
PROSE_LIMIT = 160
HEAD = 48
WORDS = 4
LONG_RESULT = 60
FEW_WORDS = 8
SHORT_NAME = 4
MARGIN = 0.08
PART = 0.25
TEMPLATE = 0.6
HEARD_KEPT = 1_000
RESET = "an edit, or a result that says something new"

# What a call does beside what it is about: waits before it, a cut of its output.
_BEFORE = re.compile(r"(?:\s*(?:sleep\s+\S+\s*(?:&&|;)|time\s|sudo\s))+")
_BEGINS = " \tst"
_BEHIND = re.compile(r"2>&1|\|\s*(?:tail|head|tee)\b[^|;&]*|\|\|\s*(?:true|:)(?!\S)|;\s*(?:true\b|echo\b.*)")
_VALUES = re.compile(r'(?<=":)(?: ?"(?:[^"\\]|\\.)+"| ?[^",}]+)')
# What stands around the names of a command, beside blanks.
_AROUND = bytes.maketrans(b"'\"()[]{};|&<>=,", b" " * 15)
_PART = re.compile(r"[^\W\d_]{5,}")
_ESCAPED = re.compile(r"\\.")
_PROSE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")
_NONE = frozenset({"0", "null", "none", "undefined"})
_VALUE = re.compile(r"(?:^|[=:])-?\d[\d.e-]*\W*$")
_TALK = re.compile(r"\W*[A-Za-z]+\W*|\W*\w+\W+[A-Za-z]+")
_PROGRAM_FOLLOWS = ("|", ";", "&")
# Ages and ids of queries.
_PASSING = re.compile(r"\d(?<!\w\d)\d* msec\b|(?<=\bid: )\d+")
# A number by itself, or that of a file. A pattern that begins with the digit is several times as fast.
_NUMBER = re.compile(r"\d(?:(?<![\w.]\d)\d*(?:\.\d+)?(?![\w.])(?! ?\w+/s)|(?<=[a-z_-][a-z_-]\d)\d{0,2}(?!\w))")
# Letters of any language stay, as bytes: to mask and to split them is cheap.
_LETTERS = bytes(
    code if code > 127 or chr(code) == "_" else ord(chr(code).lower()) if chr(code).isalpha() else 32
    for code in range(256)
)
_NO_TRY: frozenset[CallKind] = frozenset({"edit", "plan", "idle", "advance", "tell", "tree"})


class _Said:
    """Words and numbers of the result of a step."""

    __slots__ = ("numbers", "step", "words")

    def __init__(self, step: Step) -> None:
        self.step = step
        self.words = _words(step.text)
        self.numbers = set(_NUMBER.findall(_PASSING.sub("", step.masked)))


class _Aim:
    """Tries with one aim, and all that their results have said."""

    __slots__ = ("acts", "begun", "empty", "ends", "forms", "heard", "names", "numbers", "read", "steps")

    def __init__(self, step: Step, names: frozenset[str], ends: list[bytes], empty: bool, acts: bool) -> None:
        self.steps = [step]
        self.acts = acts
        self.names, self.ends, self.empty = names, ends, empty
        self.begun = names
        self.forms = [step]
        self.heard: set[bytes] = set()
        self.numbers: set[str] = set()
        self.read = False

    def news(self, said: _Said) -> float:
        """Return the part of a result that the tries have not said, without the words of its own call. Record it."""
        if not self.read:
            self._hear(_Said(self.steps[0]))
            self.read = True
        more = said.words - self.heard - _words(said.step.call)
        numbers = said.numbers - self.numbers
        if len(said.words) >= FEW_WORDS and said.step.action != self.steps[-1].action:
            # A number that rises by one counts the tries.
            numbers = {one for one in numbers if not one.isdigit() or str(int(one) - 1) not in self.numbers}
        news = (len(more) + len(numbers)) / (len(said.words) + len(said.numbers) + 1)
        self._hear(said)
        return max(news, 2 * MARGIN) if numbers else news

    def _hear(self, said: _Said) -> None:
        if len(self.heard) < HEARD_KEPT:
            self.heard |= said.words
            self.numbers |= said.numbers


class Tries:
    """Detector of tries that learn nothing, bounded by ``AIMS_KEPT`` aims with ``TRIES_KEPT`` tries each."""

    def __init__(self) -> None:
        self._aims: list[_Aim] = []

    def clear(self) -> None:
        """Forget all tries."""
        self._aims.clear()

    def add(self, step: Step) -> Finding | None:
        """Return a finding where a call learns nothing again."""
        if step.kind in ("edit", "tree") and not step.failed:
            self.clear()
        if step.kind in _NO_TRY or step.opaque or (step.kind == "wait" and only_sleeps(step.call)):
            return None
        searched = step.needle[0]
        empty = step.empty or is_bare_status(step.text) or (step.kind != "work" and is_absent(step.text))
        asks = bool(searched) or step.kind == "query" or not empty or _asks(step)
        # A call of the same program is silent for the same reason.
        joins = not asks and any(one.empty and _program(step) == _program(one.steps[-1]) for one in self._aims)
        if empty:
            if not (asks or joins or step.kind == "wait" or step.text.strip()):
                return None
        elif step.failed or not step.informative:
            return None
        if not (searched or empty) and step.kind == "query" and file_of(step.shown):
            return None
        if not empty and step.kind == "work" and len(step.text) < LONG_RESULT and has_arguments(step.call):
            # A receipt is the same for other orders.
            return None
        acts = step.kind == "work" and not (asks or joins)
        return self._try(step, searched or _names(step), empty, acts, not joins)

    def _try(self, step: Step, names: frozenset[str], empty: bool, acts: bool, begins: bool) -> Finding | None:
        ends = [] if empty or len(step.text) < LONG_RESULT else _ends(step.text)
        form: list[str] = []
        said: _Said | None = None
        # Most aims have no name in common.
        near = [
            known
            for known in self._aims
            if known.empty == empty and (empty or not names.isdisjoint(known.names) or (ends and ends == known.ends))
        ]
        for known in reversed(near):
            one = not names.isdisjoint(known.names) and _share(names, known.names)
            spelt = empty and not one and _spells(names, known.names)
            if not (one or spelt or (ends and ends == known.ends)):
                continue
            if step.number - known.steps[-1].number > STEPS_KEPT:
                break
            form = form or _form(step)
            otherwise = spelt or all(_asks_otherwise(form, _form(other)) for other in known.forms)
            if not (otherwise or step.needle[0] or step.action == known.steps[-1].action):
                # The same names in another form, or nothing under one name in another spelling.
                otherwise = names <= known.names or known.names <= names or (empty and _respells(form, known.forms))
            if not (one or otherwise) or (not step.needle[0] and _asks_elsewhere(step, known.steps[-1])):
                continue
            if not empty:
                said = said or _Said(step)
            news = known.news(said) if said else 0.0
            if news > MARGIN:
                if one and (news > PART or step.waits):
                    known.steps = [step]
                if one:
                    return None
                continue
            if not (otherwise and new_round(step, known.steps)):
                return None
            known.forms = [*known.forms[1 - TRIES_KEPT :], step]
            known.steps = [*known.steps[1 - TRIES_KEPT :], step]
            known.names = names
            known.acts = known.acts or acts
            self._aims.remove(known)
            self._aims.append(known)
            return self._finding(known)
        if begins:
            self._aims.append(_Aim(step, names, ends, empty, acts))
        del self._aims[:-AIMS_KEPT]
        return None

    def _finding(self, known: _Aim) -> Finding | None:
        steps = known.steps
        if len({one.action for one in steps}) < min(len(steps), ROUNDS):
            return None
        waits = sum(not (one.waits or one.kind == "wait") for one in steps) < min(len(steps), NEEDED)
        if known.acts and not waits:
            return None
        return Finding(
            kind="waiting" if waits else "loop",
            pattern=digest("aim", *sorted(known.begun)),
            steps=steps,
            rounds=len(steps),
            needed=LOOKS if waits else NEEDED,
            resets_on=RESET,
        )


def _asks(step: Step) -> bool:
    """Return whether a call that found nothing was made for its output."""
    said = step.text.strip().lower()
    nothing = said in _NONE or (step.empty and bool(said) and "output" not in said and "true" not in said)
    return nothing or asks_for_output(step.call[:CALL_LIMIT])


def _program(step: Step) -> str:
    return f"{step.tool} {step.call[:CALL_LIMIT].partition(' ')[0]}"


def _letters(text: str) -> bytes:
    return text.encode("utf-8", "replace").translate(_LETTERS)


def _spaced(call: str) -> str:
    return call.encode("utf-8", "surrogatepass").translate(_AROUND).decode("utf-8", "surrogatepass")


def _form(step: Step) -> list[str]:
    return _bare(step.call[:CALL_LIMIT]).replace(",", " ").split()


@lru_cache(maxsize=256)
def _bare(call: str) -> str:
    """Return a command without what it does beside what it is about."""
    if has_arguments(call):
        return call
    begin = _BEFORE.match(call) if call[:1] in _BEGINS else None
    rest = call[begin.end() :] if begin else call
    return (_BEHIND.sub("", rest) if "|" in rest or ">" in rest or ";" in rest else rest) or call


def _ends(text: str) -> list[bytes]:
    """Return the first and the last words of a result."""
    words = _letters(text[:HEAD] + text[-HEAD:]).split()
    return words[:WORDS] + words[-WORDS:]


def _words(text: str) -> frozenset[bytes]:
    return frozenset(_letters(text).split())


def _names(step: Step) -> frozenset[str]:
    """Return what a call names, without programs and options."""
    call = _bare(step.call[:CALL_LIMIT]).lower()
    if not has_arguments(call):
        words = _spaced(call).split()[1:]
    elif "select" not in call and _PROSE.search(call):
        return stems(" ".join(_VALUES.findall(call))[:PROSE_LIMIT])
    else:
        words = _spaced(" ".join(_VALUES.findall(call))).split()
    names = frozenset([word.strip("./*") for word in words if word[0] != "-" and word[-9:] != "/dev/null"])
    return (names - SQL if "select" in call else names) or frozenset((call,))


def _asks_otherwise(words: list[str], others: list[str]) -> bool:
    """Return whether a call differs in more than what it is about: in its form, an option, or several numbers."""
    if len(words) != len(others) or words == others:
        return True
    differ = [place for place, (one, two) in enumerate(zip(words, others, strict=True)) if one != two]
    if len(differ) > 1 and all(_VALUE.search(words[place]) or _TALK.fullmatch(words[place]) for place in differ):
        return True
    return any(
        words[place].partition("=")[0] != others[place].partition("=")[0]
        and (
            words[place][0] == "-"
            or (not place and words[0][0] != "{")
            or (words[place - 1][-1] in _PROGRAM_FOLLOWS and "(" not in words[place])
        )
        for place in differ
    )


def _asks_elsewhere(step: Step, other: Step) -> bool:
    """Return whether two calls name other addresses, or give another agent one order on other things.

    Where the one answer is that there is nothing, the things are one thing in other words.
    """
    here, there = address_of(step.call), address_of(other.call)
    if here or there:
        return bool(here and there) and here != there
    if not (has_arguments(step.call) and has_arguments(other.call) and _PROSE.search(step.call)):
        return False
    if finds_nothing(step.text):
        return False
    one, two = frozenset(_form(step)), frozenset(_form(other))
    return len(one & two) >= TEMPLATE * max(len(one), len(two)) and not (one <= two or two <= one)


def _respells(words: list[str], forms: Sequence[Step]) -> bool:
    """Return whether calls differ in words that are no paths and end in the same name, such as a field."""
    return all(len(words) == len(others := _form(step)) and all(map(_ends_alike, words, others)) for step in forms)


def _ends_alike(word: str, other: str) -> bool:
    if word == other:
        return True
    one, two = (_PART.findall(_ESCAPED.sub(" ", text).lower())[-1:] for text in (word, other))
    return one == two != [] and "/" not in word + other


def _spells(names: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether half of the names of the shorter search are part of one of the other, or the other way round."""
    few, many = sorted(([name.replace("_", "") for name in one] for one in (names, others)), key=len)
    long = [name for name in many if len(name) > SHORT_NAME]
    return sum(any(one in two or two in one for two in long) for one in few if len(one) > SHORT_NAME) * 2 >= len(few)


def _share(names: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether at least half of the names of the shorter call are in both."""
    return len(names & others) * 2 >= min(len(names), len(others))
