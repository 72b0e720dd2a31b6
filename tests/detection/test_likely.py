"""Search of likely texts: with RE2 or without, no rule reads a result otherwise."""

from __future__ import annotations

import sys

import pytest

from unstuck.detection.steps import volatile_text
from unstuck.detection.steps.likely import search_for
from unstuck.detection.steps.volatile_text import comparable

VOLATILE = (
    ("took 20ms to build", "took TIME to build"),
    ("at 2026-01-02T10:11:12Z", "at TIME"),
    ("since 12:34:56", "since TIME"),
    ("stamp 1712345678", "stamp TIME"),
    ("commit 1a2b3c4 is broken", "commit ID is broken"),
    ("pod web-7f9c8d6b5-x2x4z is down", "pod web-ID is down"),
    ("from 10.0.0.1", "from ID"),
    ("at 0x7ffe12", "at ID"),
    ("python [12345] ended", "python ID ended"),
    ("session_id=abc", "ID"),
    ("PID:4321 is gone", "ID is gone"),
    ("call_ab1 is open", "ID is open"),
    ("wrote /tmp/tmpabc12/out", "wrote /tmp/out"),
    ("listens on localhost:43211", "listens on localhost:ID"),
    ('click ref="e12"', 'click ID"'),
    ("stayed 3 minutes", "stayed TIME minutes"),
)
PLAIN = ("3 failed, 2 passed", "app.py:12: error", "version 1.2 of 14", "results: 3", "a lone \ud800", "x" * 500, "")


@pytest.mark.parametrize(("text", "masked"), VOLATILE)
def test_each_volatile_part_is_masked(text: str, masked: str) -> None:
    """One volatile part is enough, in a text that has nothing else of the kind."""
    assert comparable(text) == masked


@pytest.mark.parametrize("text", PLAIN)
def test_all_else_stays(text: str) -> None:
    """Counts, places and versions are no volatile parts."""
    assert comparable(text) == text


def test_without_re2_all_is_masked_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pattern is tried where RE2 cannot be loaded, as with little memory."""
    texts = [*(text for text, _ in VOLATILE), *PLAIN]
    masked = [comparable(text) for text in texts]
    monkeypatch.setitem(sys.modules, "re2", None)
    search = search_for("loss", "goal")
    assert list(search("neither")) == [0, 1]
    monkeypatch.setattr(volatile_text, "_shapes_in", search)
    volatile_text._word.cache_clear()
    assert [comparable(text) for text in texts] == masked


def test_a_search_tells_its_patterns_apart() -> None:
    """A search gives the numbers of the patterns that a text may have, and nothing for a text with none."""
    search = search_for(r"(?i)loss|score", "goal")
    assert [list(search(text)) for text in ("Loss 3", "the goal", "score of the goal", "\ud800")] == [
        [0],
        [1],
        [0, 1],
        [],
    ]
