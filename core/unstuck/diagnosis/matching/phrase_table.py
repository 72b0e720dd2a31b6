"""Phrases in headlines, and tables of them: the first row that matches decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import IndexedText, Literals, Prefilter


@dataclass(frozen=True, slots=True)
class Phrase:
    """Literal in lower case, and the pattern that contains it, if any."""

    literals: Literals
    pattern: Lazy | None
    kind: Any = None

    def matches(self, lowered: IndexedText) -> bool:
        """Return whether the phrase is in ``lowered``, a headline in lower case."""
        return self.literals.part in lowered.lines and (
            self.pattern is None or self.pattern.search(lowered.text) is not None
        )


class Phrases:
    """Alternatives in a headline: plain words, or a pattern with a literal that is part of every match."""

    def __init__(self, *phrases: str | tuple[str, str]) -> None:
        pairs = ((phrase, None) if isinstance(phrase, str) else (phrase[0], Lazy(phrase[1])) for phrase in phrases)
        self.prefilter: Prefilter[Phrase] = Prefilter(Phrase(Literals(literal), pattern) for literal, pattern in pairs)

    def match(self, lowered: IndexedText) -> bool:
        """Return whether one of them is in ``lowered``, a headline in lower case."""
        return any(phrase.matches(lowered) for phrase in self.prefilter.candidates(lowered))


Kind = TypeVar("Kind")


class Table(Generic[Kind]):
    """Kinds, such as error types, with their phrases; the first row that matches decides."""

    def __init__(self, *rows: tuple[Kind, Phrases]) -> None:
        self.rows = rows
        self.prefilter = Prefilter(
            replace(phrase, kind=kind) for kind, phrases in rows for phrase in phrases.prefilter.entries
        )

    def first_in(self, lowered: IndexedText) -> Kind | None:
        """Return the kind of the first row with a phrase in ``lowered``, a headline in lower case, or None."""
        for phrase in self.prefilter.candidates(lowered):
            if phrase.matches(lowered):
                kind: Kind = phrase.kind
                return kind
        return None
