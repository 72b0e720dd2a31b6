"""The documents that people read: README and every page of the documentation, with their marked blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["DOCUMENTS", "TOP", "block", "commands", "marked"]

TOP = Path(__file__).resolve().parents[1]
DOCUMENTS: Mapping[str, str] = {
    str(path.relative_to(TOP)): path.read_text("utf-8")
    for path in (TOP / "README.md", *sorted(TOP.glob("docs/**/*.md")))
}
"""The text of every document by its path."""
_BLOCK = re.compile(r"^<!-- (?P<marker>[^>]+) -->\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def marked(document: str) -> Iterator[tuple[str, str]]:
    """The marker and the text of every marked block of a document."""
    return ((found["marker"], found["text"]) for found in _BLOCK.finditer(DOCUMENTS[document]))


def block(marker: str) -> str:
    """The text of the only block with this marker, whichever document has it."""
    (text,) = [text for document in DOCUMENTS for found, text in marked(document) if found == marker]
    return text


def commands() -> frozenset[str]:
    """Every line with an ``unstuck`` command, without its comment."""
    lines = (line for text in DOCUMENTS.values() for line in text.splitlines() if line.startswith("unstuck "))
    return frozenset(line.partition("   #")[0].strip() for line in lines)
