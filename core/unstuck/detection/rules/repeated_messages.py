"""Words without work: the same message again, the same in other words, a phrase that repeats itself within one."""

from __future__ import annotations

import re
from collections import deque
from typing import Literal

from unstuck.detection.repetition import ROUNDS, WAITING_ROUNDS, Finding
from unstuck.detection.similarity import keywords
from unstuck.detection.steps.volatile_text import comparable, digest

__all__ = ["Talk"]

MESSAGE_LIMIT = 6_000
SHOWN = 200
MESSAGES_KEPT = 6
RESTATED = 0.6
RESTATED_WORDS = 3
CHANTS = 8
CHANTED_WORDS = 16
CHANTED_ALPHABETIC = 0.7
RESET = "a step that does something, or a word from the user"

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TABLE_OR_DATA = re.compile(r"^\s*(?:\||[-*+] \[|[{}\[\]<]).*$", re.MULTILINE)
_SPECIFIC = re.compile(r"[\d_./\\:]")
_SUFFIX = re.compile(r"(?:ings?|ations?|ions?|e[sd]|[esd])$")
_FILLER = frozenset(
    {"i", "will", "am", "is", "are", "be", "now", "then", "still", "ll", "m", "my", "it", "this", "that", "of"}
)


class Talk:
    """What the agent and the system said since the last step; bounded by ``MESSAGES_KEPT`` messages."""

    def __init__(self) -> None:
        self._said: deque[tuple[str, frozenset[str], frozenset[str]]] = deque(maxlen=MESSAGES_KEPT)
        self._same = self._restated = self._trimmed = 0
        self._system = ""
        self._asked = ""
        self._open, self._text, self._looked = "", "", 0

    def work(self) -> None:
        """A step was taken."""
        self._said.clear()
        self._same = self._restated = self._trimmed = 0
        self._system = self._asked = self._open = self._text = ""

    def is_real(self, text: str) -> bool:
        """Whether a message in the user's name is one: the same words again, with no step since, came by themselves."""
        asked = digest(text)
        again, self._asked = asked == self._asked, asked
        if again:
            return False
        self._said.clear()
        self._same = self._restated = 0
        return True

    def hear(self, text: str) -> Finding | None:
        """A message of the system: trimming the context ten times with nothing between gets nowhere."""
        said = comparable(text)
        self._trimmed = self._trimmed + 1 if said == self._system else 1
        self._system = said
        if self._trimmed < WAITING_ROUNDS:
            return None
        return _finding("loop", "system", said, text, self._trimmed, WAITING_ROUNDS)

    def say(self, text: str, name: str = "") -> Finding | None:
        """A message of the agent, or a piece of one: ``name`` is ``message:index`` where it comes in pieces."""
        message, _, index = name.rpartition(":")
        pieced = bool(message) and index.isdigit()
        if pieced and message == self._open:
            self._text = (self._text + text)[-MESSAGE_LIMIT:]
            return self._chant_in_pieces()
        found = self._close() if self._open else None
        if pieced:
            self._open, self._text, self._looked = message, text[:MESSAGE_LIMIT], 0
            return found
        return _chant(text) or self._whole(text) or found

    def _close(self) -> Finding | None:
        text, self._open, self._text = self._text, "", ""
        return self._whole(text)

    def _chant_in_pieces(self) -> Finding | None:
        """Looked for whenever the message has grown by half, so that the cost stays linear in its length."""
        if len(self._text) < max(self._looked * 3 // 2, CHANTED_WORDS * 8):
            return None
        self._looked = len(self._text) if len(self._text) < MESSAGE_LIMIT else MESSAGE_LIMIT // 2
        return _chant(self._text)

    def _whole(self, text: str) -> Finding | None:
        said = comparable(text[:MESSAGE_LIMIT])
        words, specific = _stems(said), _specific(said)
        same = bool(self._said) and self._said[-1][0] == said
        self._same = self._same + 1 if same else 1
        restated = any(_restates(words, earlier) for _, earlier, _ in self._said)
        known = restated and specific <= frozenset().union(*(one for _, _, one in self._said))
        self._restated = self._restated + 1 if same or known else 0
        self._said.append((said, words, specific))
        if self._same > 1:
            return _finding("loop", "message", said, text, self._same, ROUNDS)
        pattern = " ".join(sorted(words))
        return _finding("loop", "restated", pattern, text, self._restated + 1, ROUNDS + 1) if self._restated else None


def _finding(kind: Literal["loop"], what: str, pattern: str, text: str, rounds: int, needed: int) -> Finding:
    shown = " ".join(text[:SHOWN].split())
    return Finding(
        kind=kind,
        pattern=digest(what, pattern),
        steps=(),
        rounds=rounds,
        needed=needed,
        evidence=f"said: {shown}" if shown else "said nothing",
        resets_on=RESET,
    )


def _stems(said: str) -> frozenset[str]:
    return frozenset(_SUFFIX.sub("", word) if len(word) > 4 else word for word in keywords(said) - _FILLER)


def _specific(said: str) -> frozenset[str]:
    """The words that name something: numbers, files, identifiers."""
    return frozenset(bare for word in said.split() if (bare := word.strip("()[]`'\",.:;!?")) and _SPECIFIC.search(bare))


def _restates(words: frozenset[str], earlier: frozenset[str]) -> bool:
    shared = len(words & earlier)
    return shared >= RESTATED_WORDS and shared >= RESTATED * min(len(words), len(earlier)) and shared * 2 >= len(words)


def _chant(text: str) -> Finding | None:
    """A phrase that stands at least ``CHANTS`` times in a row at the end of what is prose in ``text``."""
    text = text[-MESSAGE_LIMIT:]
    if len(text) < CHANTED_WORDS * 2:
        return None
    words = _TABLE_OR_DATA.sub("", _FENCED.sub("", text)).lower().split()
    if len(words) < CHANTED_WORDS or len(set(words)) * 2 > len(words):
        return None
    period = _period(words[::-1])
    phrase = words[-period:] if period else []
    prose = [word for word in phrase if word.strip("'\"’,.:!?…").isalpha()]
    if len(set(prose)) < 2 or len(prose) < CHANTED_ALPHABETIC * len(phrase):
        return None
    shown = " ".join(phrase)
    turn = min(tuple(phrase[start:] + phrase[:start]) for start in range(len(phrase)))
    return _finding("loop", "chant", " ".join(turn), f"{shown} {shown} …", CHANTS, CHANTS)


def _period(words: list[str]) -> int:
    """The shortest period with which ``words`` begin ``CHANTS`` times or more, 0 for none: the failure function of
    Knuth, Morris and Pratt gives the period of every beginning in linear time.
    """
    borders = [0] * len(words)
    length = 0
    for index in range(1, len(words)):
        while length and words[index] != words[length]:
            length = borders[length - 1]
        length += words[index] == words[length]
        borders[index] = length
        period = index + 1 - length
        if index + 1 >= max(period * CHANTS, CHANTED_WORDS):
            return period
    return 0
