"""The glossary, the states of a task and the signs of the screen."""

from __future__ import annotations

from collections.abc import Iterable

from docs.generator.markdown import code, table

from unstuck.words.glossary import GLOSSARY
from unstuck.words.signs import COLUMNS, states

__all__ = ["glossary", "screen_signs", "task_states"]


def glossary() -> str:
    """A table of words for each part."""
    head = ("word", "meaning", "you may also see")
    parts = {
        part: table(head, ((f"**{word}**", text, also) for word, text, also, _ in terms))
        for part, terms in GLOSSARY.items()
    }
    return "\n\n".join(f"## {part}\n\n{rows}" for part, rows in parts.items())


def task_states() -> str:
    """Every state of a task with its sign."""
    return _signs("state", states())


def screen_signs() -> str:
    """The columns and marks of the screen."""
    return _signs("word", COLUMNS)


def _signs(word: str, rows: Iterable[tuple[str, str, str]]) -> str:
    return table(("sign", word, "meaning"), ((code(sign), name, text) for sign, name, text in rows))
