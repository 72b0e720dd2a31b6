"""Which of many rules can fit a text at all: told by the whole words in it, for all of them in one look."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence, Set
from typing import Generic, Protocol, TypeVar

__all__ = ["Gate", "Gated", "Gates", "Overview", "either", "words_in"]

_FOLDED = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code) in string.ascii_letters else ord(" ") for code in range(256)
)
_WORD = re.compile(r"[A-Za-z]+")
_EITHER_CASE = re.compile(r"\[(\w)\w\]")
# Below this many characters searching costs less than making the kinds.
_SHORT = 4_096
_WITHOUT_DIGITS = dict.fromkeys(map(ord, string.digits))


def words_in(text: str) -> set[bytes]:
    """The runs of ASCII letters in ``text``, in lower case. As bytes, because those are cut up in half the time."""
    return set(text.encode("utf-8", "surrogatepass").translate(_FOLDED).split())


class Overview:
    """A text, its ``kinds`` of lines, and the ``words`` in it."""

    __slots__ = ("kinds", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds = kinds_of_lines(text)
        self.words = words_in(self.kinds)

    def has(self, gates: Iterable[Gate]) -> bool:
        """Whether one of ``gates`` is open."""
        return any(gate.part in self.kinds for gate in gates if not gate.word or gate.word in self.words)


def kinds_of_lines(text: str) -> str:
    """Each kind of line of ``text`` once, after a line feed: without digits, in which most lines of a log differ.

    Whatever part without digits is in a line of ``text`` is in here too, and searching here is many times cheaper.
    """
    if len(text) < _SHORT:
        return f"\n{text}"
    return "\n" + "\n".join(dict.fromkeys(text.translate(_WITHOUT_DIGITS).split("\n")))


class Gate:
    """A part, without digits, of every line that a rule fits.

    What it begins with is the beginning of a word and a single word is a whole one, unless an ellipsis says that
    letters may stand there (``…Error``); the last of several words may go on (``syntax error`` is in ``syntax
    errors``). ``[Ff]ailed`` may begin with either letter. ``part`` is the text to look for, ``word`` a whole word that
    is there wherever the part is; empty where it has none.
    """

    __slots__ = ("part", "word")

    def __init__(self, said: str) -> None:
        self.part = _EITHER_CASE.sub("", said).strip("…")
        words = _WORD.findall(_EITHER_CASE.sub(r"\1", said).lower())
        if words and said.startswith("…"):
            del words[0]
        if words and (said.endswith("…") or (len(words) > 1 and said[-1].isalpha())):
            del words[-1]
        self.word = max(words, key=len, default="").encode()


def either(*said: str) -> tuple[Gate, ...]:
    """Gates one of which is enough."""
    return tuple(map(Gate, said))


class Gated(Protocol):
    """What stands behind gates, of which one has to be open."""

    @property
    def gates(self) -> tuple[Gate, ...]: ...


Entry = TypeVar("Entry", bound=Gated)


class Gates(Generic[Entry]):
    """Entries in their order, and which of them the words of a text leave in question."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: Sequence[Entry] = tuple(entries)
        self._by_word: dict[bytes, set[int]] = {}
        for number, entry in enumerate(self.entries):
            for gate in entry.gates:
                self._by_word.setdefault(gate.word, set()).add(number)
        self._always = frozenset(self._by_word.pop(b"", ()))
        self._in_question = [self.entries[number] for number in sorted(self._always)]
        self._words = frozenset(self._by_word)

    def in_question(self, words: Set[bytes]) -> Sequence[Entry]:
        """The entries of which a gate may be open in a text with these words, in their order."""
        known = self._words & words
        if not known:
            return self._in_question
        numbers = self._always.union(*map(self._by_word.__getitem__, known))
        return [self.entries[number] for number in sorted(numbers)]
