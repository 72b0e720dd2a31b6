"""Moments of a task in words: its attempts and questions, and the restores of its files. Pure, and light."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from unstuck.text import one_line
from unstuck.words.labels import ACTORS, Tone, level_word, via_words

_CHECKS: Mapping[str, tuple[str, Tone]] = {
    "passed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "could_not_run": ("?", "wait"),
    "contradicted": ("?", "wait"),
    "none": ("~", "wait"),
}
_STATES: Mapping[str, tuple[str, Tone]] = {"interrupted": ("↯", "wait"), "ended": ("▷", "work")}
PLANNED = {"change": "changes", "return": "returns", "disappear": "disappears"}
"""The change of a file in words, by its name in a plan."""
_OF_MANY = {word: kind for kind, word in PLANNED.items()}


class StoryLine(NamedTuple):
    """A moment: its ``time`` (ISO 8601), its length in ``seconds`` if that is known, and its checkpoint ``saved``."""

    time: str
    label: str
    glyph: str
    tone: Tone
    text: str
    seconds: float | None
    saved: str


def story_line(moment: Mapping[str, Any], limit: int = 90) -> StoryLine:
    """Return the words of an attempt or a question; ``limit`` is for the characters of an attempt's text."""
    about = str(moment["time"]), moment["seconds"], str(moment["checkpoint"])
    if moment["kind"] == "question":
        text = f"{moment['type']} {moment['id']}: {answer_words(moment)}"
        return StoryLine(about[0], "asked", "!", "ask", text, *about[1:])
    level = level_word(str(moment["rung"]))
    label = f"{level} {moment['turn']}" if moment["turn"] else level
    glyph, tone = _CHECKS.get(moment["check"]) or _STATES.get(moment["state"]) or ("▶", "work")
    how = "" if moment["how"] in ("", "ended") else str(moment["how"]).replace("_", " ")
    text = " · ".join(filter(None, (how, moment["headline"], moment["approach"])))
    return StoryLine(about[0], label, glyph, tone, one_line(text, limit), *about[1:])


def answer_words(moment: Mapping[str, Any]) -> str:
    """Return the answer to a question with its actor and how it came in, or that it waits for one."""
    if not moment["choice"]:
        return "waits for an answer" if moment["status"] == "open" else str(moment["status"])
    text = f" {one_line(moment['text'], 80)}" if moment["text"] else ""
    via = f" {words}" if (words := via_words(moment["via"])) else ""
    return f"{moment['choice']}{text}, by {ACTORS.get(moment['by'], moment['by'])}{via}"


def plan_text(checkpoint: str, tree: str, becomes: Iterable[str]) -> str:
    """The plan of a restore of ``checkpoint`` in ``tree``; ``becomes`` is what becomes of each file."""
    parts = [
        f"1 file {word}" if count == 1 else f"{count} files {_OF_MANY.get(word, word)}"
        for word, count in Counter(becomes).items()
    ]
    return f"{checkpoint} restores in {tree}: {', '.join(parts) or 'nothing, the files are the same'}"


def under_way_text(what: str) -> str:
    """The remark on ``what`` git is in the middle of, such as ``a rebase``."""
    return f"{what} is under way here: only files are restored, it stays as it is"
