"""Which of many rules can fit a text at all: told by the whole words in it, for all of them in one look."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from unstuck.diagnosis.matching.lazy_regex import Lazy

__all__ = ["Either", "Gate", "Gated", "Gates", "Overview", "kinds_of_lines"]

_LETTERS_ALONE = bytes(code if chr(code) in string.ascii_letters else ord(" ") for code in range(256))
_WORD = Lazy(r"[A-Za-z]+")
_EITHER_CASE = Lazy(r"\[(\w)(\w)\]")
_SIGNS = "*>│└❯✖"
# Below this many characters searching costs less than making the kinds.
_SHORT = 4_096
_WITHOUT_DIGITS = dict.fromkeys(map(ord, string.digits))


def words_in(text: str) -> set[bytes]:
    """The runs of ASCII letters in ``text``. Bytes are cut up in half the time that text is."""
    return set(text.encode("utf-8", "surrogatepass").translate(_LETTERS_ALONE).split())


class Overview:
    """A text, its ``kinds`` of lines, and the ``words`` in it, which are looked for when they are first needed."""

    __slots__ = ("_words", "kinds", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds = kinds_of_lines(text)
        self._words: set[bytes] | None = None

    @property
    def words(self) -> set[bytes]:
        """The runs of ASCII letters in it."""
        if self._words is None:
            self._words = words_in(self.kinds)
        return self._words

    def may_have(self, gates: Either) -> bool:
        """Whether one of the parts is there: for a few gates of a text whose words nothing else needs."""
        return self.has(gates) if self._words is not None else any(map(self.kinds.__contains__, gates.parts))

    def has(self, gates: Either) -> bool:
        """Whether one of ``gates`` is open."""
        words, kinds = self.words, self.kinds
        if gates.words is not None and gates.words.isdisjoint(words):
            return False
        return any(gate.words <= words and gate.part in kinds for gate in gates.gates)


def kinds_of_lines(text: str) -> str:
    """Each kind of line of ``text`` once, after a line feed: without digits, in which most lines of a log differ.

    Whatever part without digits is in a line of ``text`` is in here too, and searching here is many times cheaper.
    """
    if len(text) < _SHORT:
        return f"\n{text}"
    return "\n" + "\n".join(dict.fromkeys(text.translate(_WITHOUT_DIGITS).split("\n")))


@dataclass(frozen=True, slots=True)
class Gate:
    """What every line that a rule fits has in it: a ``part`` without digits, and the whole ``words`` of that part."""

    part: str
    words: frozenset[bytes]


class Either:
    """Gates of which one has to be open.

    A part begins with the beginning of a word and a single word is a whole one, unless an ellipsis says that letters
    may stand there (``…Error``); the last of several words may go on in lower case (``syntax error`` is in ``syntax
    errors``). ``[Ff]ailed`` may begin with either letter.
    """

    gates: list[Gate]
    part: str
    parts: tuple[str, ...]
    words: frozenset[bytes] | None

    def __init__(self, *said: str) -> None:
        self._said = said

    def __getattr__(self, name: str) -> Any:
        self._parse()
        return object.__getattribute__(self, name)

    def _parse(self) -> None:
        gates: list[Gate] = []
        for one in self._said:
            case = _EITHER_CASE.match(one)
            part = one[case.end() :] if case else one.strip("…")
            for letter in case.groups() if case else ("",):
                gates.append(Gate(part, _whole_words(letter + part if case else one)))
        parts = dict.fromkeys(gate.part for gate in gates)
        # One of these is in a text that has one of the gates, but for those without words.
        words = [max(gate.words, key=len, default=b"") for gate in gates]
        self.gates, self.part = gates, gates[0].part
        # Where a shorter one is not, no longer one is.
        self.parts = tuple(part for part in parts if not any(other in part for other in parts if other != part))
        self.words = None if b"" in words else frozenset(words)


def _whole_words(said: str) -> frozenset[bytes]:
    words = _WORD.findall(said)
    if words and said.startswith("…"):
        del words[0]
    if words and (said.endswith("…") or (len(words) > 1 and said[-1].islower())):
        del words[-1]
    return frozenset(map(str.encode, words))


class Gated(Protocol):
    """What stands behind gates, of which one has to be open."""

    @property
    def gates(self) -> Either: ...


Entry = TypeVar("Entry", bound=Gated)


class Gates(Generic[Entry]):
    """Entries in their order, and which of them what is in a text leaves in question."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: Sequence[Entry] = tuple(entries)
        self._words: frozenset[bytes] | None = None

    def _index(self) -> frozenset[bytes]:
        """Once, when it is first asked for; the words last, because several threads may do it."""
        gates = [(number, gate) for number, entry in enumerate(self.entries) for gate in entry.gates.gates]
        often = Counter(word for _, gate in gates for word in gate.words)
        by_word: dict[bytes, list[tuple[frozenset[bytes], int]]] = {}
        by_sign: dict[str, set[int]] = {}
        for number, gate in gates:
            if gate.words:
                rarest = min(gate.words, key=lambda word: (often[word], -len(word), word))
                by_word.setdefault(rarest, []).append((gate.words - {rarest}, number))
            else:
                by_sign.setdefault(_sign_in(gate.part), set()).add(number)
        self._always = by_sign.pop("", set())
        self._without_any = [self.entries[number] for number in sorted(self._always)]
        self._by_word, self._by_sign = by_word, by_sign
        self._words = frozenset(by_word)
        return self._words

    def in_question(self, seen: Overview) -> Iterable[Entry]:
        """The entries with a gate whose words, or whose sign, are all in ``seen``, in their order."""
        asked_for = self._index() if self._words is None else self._words
        words = seen.words
        if asked_for.isdisjoint(words) and not self._by_sign:
            return self._without_any
        numbers: set[int] = set()
        for word in asked_for & words:
            for others, number in self._by_word[word]:
                if not others or others <= words:
                    numbers.add(number)
        for sign, behind in self._by_sign.items():
            if sign in seen.kinds:
                numbers |= behind
        if not numbers:
            return self._without_any
        return map(self.entries.__getitem__, sorted(numbers | self._always))


def _sign_in(part: str) -> str:
    """A character that few lines have and that is looked for faster than anything else."""
    return next((sign for sign in _SIGNS if sign in part), "")
