"""Prefilter of rules: those whose literal text can be in an output, by the words of the output."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from unstuck.diagnosis.matching.lazy_regex import Lazy

_LETTERS_ALONE = bytes(code if chr(code) in string.ascii_letters else ord(" ") for code in range(256))
_WORD = Lazy(r"[A-Za-z]+")
_EITHER_CASE = Lazy(r"\[(\w)(\w)\]")


class IndexedText:
    """A ``text``, its ``lines`` (the text after a line feed), and the set of its ``words``: runs of ASCII letters."""

    __slots__ = ("lines", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = f"\n{text}"
        # Bytes split in half the time of text.
        self.words = set(text.encode("utf-8", "surrogatepass").translate(_LETTERS_ALONE).split())

    def has(self, literals: Literals) -> bool:
        """Return whether one of ``literals`` is in the text."""
        return any(words <= self.words and part in self.lines for part, words in literals.pairs)


class Literals:
    """Literal texts of which a rule needs one. ``pairs`` holds each part with its whole words; ``part`` is the first.

    A part begins with the beginning of a word and a single word is a whole one, unless an ellipsis says that letters
    may stand there (``…Error``); the last of several words may go on in lower case (``syntax error`` is in ``syntax
    errors``). ``[Ff]ailed`` may begin with either letter.
    """

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    @cached_property
    def pairs(self) -> list[tuple[str, frozenset[bytes]]]:
        """Each part with the words that a text with it has."""
        pairs = []
        for text in self.texts:
            case = _EITHER_CASE.match(text)
            part = text[case.end() :] if case else text.strip("…")
            spellings = [letter + part for letter in case.groups()] if case else [text]
            pairs += [(part, _whole_words(spelling)) for spelling in spellings]
        return pairs

    @cached_property
    def part(self) -> str:
        """The part of the first text."""
        return self.pairs[0][0]


def _whole_words(text: str) -> frozenset[bytes]:
    words = _WORD.findall(text)
    if words and text.startswith("…"):
        del words[0]
    if words and (text.endswith("…") or (len(words) > 1 and text[-1].islower())):
        del words[-1]
    return frozenset(map(str.encode, words))


class HasLiterals(Protocol):
    """A rule that can apply only to a text with one of its literals."""

    @property
    def literals(self) -> Literals: ...


Entry = TypeVar("Entry", bound=HasLiterals)


class Prefilter(Generic[Entry]):
    """Rules in their order. :meth:`candidates` selects those that can apply to a text."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: Sequence[Entry] = tuple(entries)

    @cached_property
    def _index(self) -> tuple[dict[bytes, list[tuple[frozenset[bytes], int]]], set[int]]:
        """Each rule by the rarest of its words, with all of them; and the rules without words."""
        pairs = [(number, words) for number, entry in enumerate(self.entries) for _, words in entry.literals.pairs]
        uses = Counter(word for _, words in pairs for word in words)
        by_word: dict[bytes, list[tuple[frozenset[bytes], int]]] = {}
        for number, words in pairs:
            if words:
                by_word.setdefault(min(words, key=lambda word: (uses[word], word)), []).append((words, number))
        return by_word, {number for number, words in pairs if not words}

    def candidates(self, seen: IndexedText) -> list[Entry]:
        """The rules whose words are all in ``seen``, and those without words, in their order."""
        by_word, wordless = self._index
        found = wordless.union(
            number for word in by_word.keys() & seen.words for words, number in by_word[word] if words <= seen.words
        )
        return [self.entries[number] for number in sorted(found)]
