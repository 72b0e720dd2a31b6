"""Rules for messages without steps between: the same message, a restated one, a repeated phrase within one."""

from __future__ import annotations

import re
from collections import deque
from functools import cached_property

from unstuck.detection.repetition import ROUNDS, WAITING_ROUNDS, Finding
from unstuck.detection.similarity import stems
from unstuck.detection.steps.volatile_text import comparable, digest

MESSAGE_LIMIT = 6_000
SHOWN = 200
MESSAGES_KEPT = 6
RESTATED = 0.6
RESTATED_WORDS = 3
RELATED = 0.3
THOUGHTS = 5
SENTENCE = 8
CHANTS = 8
CHANTED_WORDS = 16
CHANTED_ALPHABETIC = 0.7
RESET = "a step that does something, or a word from the user"

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TABLE_OR_DATA = re.compile(r"^[^\S\n]*(?:\||[-*+] \[|[{}\[\]<]).*$", re.MULTILINE)
_SPECIFIC = re.compile(r"[\d_./\\:]")
_THOUGHT = re.compile(r'"thought": ?"((?:[^"\\]|\\.)*)"')


class _Message:
    """Message of the agent, with its parts parsed at the first use: most have no other one to compare them with."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def masked(self) -> str:
        return comparable(self._text)

    @cached_property
    def words(self) -> frozenset[str]:
        return stems(self.masked)

    @cached_property
    def specific(self) -> frozenset[str]:
        return _specific(self.masked)


class Messages:
    """Messages since the last step, bounded by ``MESSAGES_KEPT`` of them."""

    def __init__(self) -> None:
        self._recent: deque[_Message] = deque(maxlen=MESSAGES_KEPT)
        self._thoughts: deque[_Message] = deque(maxlen=MESSAGES_KEPT)
        self._same = self._restated = self._trimmed = 0
        self._subject: frozenset[str] = frozenset()
        self._system = ""
        self._asked = ""
        self._open, self._text, self._looked = "", "", 0

    def clear(self) -> None:
        """Forget all messages, after a step."""
        self._recent.clear()
        if self._thoughts:
            self._thoughts.clear()
        self._same = self._restated = self._trimmed = 0
        self._system = self._asked = self._open = self._text = ""

    def is_new_request(self, text: str) -> bool:
        """Record a user message. Return False for the same words again without a step between: a program sent them."""
        asked = digest(text)
        again, self._asked = asked == self._asked, asked
        if again:
            return False
        # Word for word the same to other requests is an answer to none of them.
        kept = [one for one in self._recent if one.masked.count(" ") >= SENTENCE]
        self._recent.clear()
        for one in kept:
            one.words = one.specific = frozenset()
            self._recent.append(one)
        self._same = self._restated = 0
        return True

    def add_system(self, text: str) -> Finding | None:
        """Record a system message. Ten equal ones in a row, such as of a context being trimmed, are a loop."""
        message = comparable(text)
        self._trimmed = self._trimmed + 1 if message == self._system else 1
        self._system = message
        if self._trimmed < WAITING_ROUNDS:
            return None
        return _finding("system", message, text, self._trimmed, WAITING_ROUNDS)

    def add(self, text: str, name: str = "") -> Finding | None:
        """Record a message of the agent or a piece of one, whose ``name`` is ``message:index``."""
        message, _, index = name.rpartition(":")
        in_pieces = bool(message) and index.isdigit()
        if in_pieces and message == self._open:
            self._text = (self._text + text)[-MESSAGE_LIMIT:]
            return self._chant_in_pieces()
        found = self._close() if self._open else None
        if in_pieces:
            self._open, self._text, self._looked = message, text[:MESSAGE_LIMIT], 0
            return found
        return _chant(text) or self._whole(text) or found

    def add_thought(self, call: str) -> Finding | None:
        """Record a call that only thinks. Plans in other words, none of which names anything, are a loop."""
        found = _THOUGHT.search(call)
        if found is None:
            return self.add(call)
        now = _Message(found[1][:MESSAGE_LIMIT])
        # Thoughts that lead on have no subject in common from the first to the last.
        self._subject &= now.words
        if (
            now.specific
            or len(self._subject) < RESTATED_WORDS
            or not any(_relates(now.words, earlier.words) for earlier in self._thoughts)
        ):
            self._thoughts.clear()
            self._subject = now.words
        self._thoughts.append(now)
        rounds = len(self._thoughts)
        return self.add(call) or (_finding("thoughts", "", found[1], rounds, THOUGHTS) if rounds > 1 else None)

    def _close(self) -> Finding | None:
        text, self._open, self._text = self._text, "", ""
        return self._whole(text)

    def _chant_in_pieces(self) -> Finding | None:
        """Search for a chant each time the message has grown by half, so that the cost stays linear in its length."""
        if len(self._text) < max(self._looked * 3 // 2, CHANTED_WORDS * 8):
            return None
        self._looked = len(self._text) if len(self._text) < MESSAGE_LIMIT else MESSAGE_LIMIT // 2
        return _chant(self._text)

    def _whole(self, text: str) -> Finding | None:
        now = _Message(text[:MESSAGE_LIMIT])
        again = sum(one.masked == now.masked for one in self._recent) + 1
        same = bool(self._recent) and self._recent[-1].masked == now.masked
        self._same = max(self._same + 1, again) if same else 1
        restated = [earlier for earlier in self._recent if _restates(now.words, earlier.words)]
        known = bool(restated) and now.specific <= frozenset().union(*(one.specific for one in self._recent))
        self._restated = self._restated + 1 if same or known else 0
        self._recent.append(now)
        if self._same > 1:
            return _finding("message", now.masked, text, self._same, ROUNDS)
        if again >= ROUNDS > self._restated:
            # Other messages between are no steps either.
            return _finding("message", now.masked, text, again, ROUNDS)
        # A word on the way to a call that says nothing lies between.
        rounds = max(self._restated, sum(now.specific <= earlier.specific for earlier in restated))
        return _finding("restated", " ".join(sorted(now.words)), text, rounds + 1, ROUNDS + 1) if rounds else None


def _finding(what: str, pattern: str, text: str, rounds: int, needed: int) -> Finding:
    shown = " ".join(text[:SHOWN].split())
    said = f"said: {shown}" if shown else "said nothing"
    key = digest(what, pattern)
    return Finding(kind="loop", pattern=key, steps=(), rounds=rounds, needed=needed, evidence=said, resets_on=RESET)


def _specific(text: str) -> frozenset[str]:
    """Return the words that name something: numbers, files, identifiers."""
    return frozenset(bare for word in text.split() if (bare := word.strip("()[]`'\",.:;!?")) and _SPECIFIC.search(bare))


def _restates(words: frozenset[str], earlier: frozenset[str]) -> bool:
    shared = len(words & earlier)
    return shared >= RESTATED_WORDS and shared >= RESTATED * min(len(words), len(earlier)) and shared * 2 >= len(words)


def _relates(words: frozenset[str], earlier: frozenset[str]) -> bool:
    shared = len(words & earlier)
    return shared >= RESTATED_WORDS and shared >= RELATED * min(len(words), len(earlier))


def _chant(text: str) -> Finding | None:
    """Return a finding for a phrase that ends the prose of ``text`` at least ``CHANTS`` times in a row."""
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
    return _finding("chant", " ".join(turn), f"{shown} {shown} …", CHANTS, CHANTS)


def _period(words: list[str]) -> int:
    """Return the shortest period that ``words`` begin with ``CHANTS`` times or more, 0 for none.

    The failure function of Knuth, Morris and Pratt gives the period of every prefix in linear time.
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
