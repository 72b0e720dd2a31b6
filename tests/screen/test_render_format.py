"""Times, bars and widths as a person reads them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from unstuck.words.amounts import span
from unstuck_tui.render.format import bar, clock, fit, wrapped

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

HOSTILE = "\x1b[31mred\x1b]52;c;aGk=\x07\x9b2J\u202etfel\u200b[/nope]\r\nnext\tline\x00"


@pytest.mark.parametrize(
    ("seconds", "said"), [(-5, "0:00"), (9.9, "0:09"), (768, "12:48"), (3723, "1:02:03"), (360_000, "100:00:00")]
)
def test_countdown(seconds: float, said: str) -> None:
    """A countdown is minutes and seconds, with hours only where there are some, and never below zero."""
    assert clock(seconds) == said


@pytest.mark.parametrize(("seconds", "said"), [(8.2, "8s"), (130, "2m 10s"), (3900, "1h 05m")])
def test_how_long_it_took(seconds: float, said: str) -> None:
    """A span names its units."""
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("fraction", "drawn"), [(1.0, "━━━━"), (0.5, "━━  "), (0.625, "━━╸ "), (0.0, "    "), (7, "━━━━"), (-1, "    ")]
)
def test_bar_shows_what_is_left(fraction: float, drawn: str) -> None:
    """The bar is as long as what is left of the limit, to half a cell, and never longer than its place."""
    assert bar(fraction, 4) == drawn


@given(st.text(CHARACTERS, max_size=60), st.integers(1, 30))
def test_every_text_fits_its_column(text: str, width: int) -> None:
    """Whatever the text is, it takes exactly its column, and nothing in it acts on a terminal."""
    fitted = fit(text, width)
    assert cell_len(fitted) == width
    assert not [c for c in fitted if unicodedata.category(c) in ("Cc", "Cs")]


def test_what_is_cut_says_so() -> None:
    """A text that is too long ends with an ellipsis, also where a wide character stands at the edge."""
    assert fit("webhook", 5) == "webh…"
    assert fit("日本語テスト", 6) == "日本 …"
    assert fit("12", 5, right=True) == "   12"


def test_nothing_acts_on_the_terminal() -> None:
    """Escapes, eight-bit controls, directions and invisible characters are gone; markup is only text."""
    assert fit(HOSTILE, 40).rstrip() == "redtfel[/nope] next line"


def test_long_text_is_cheap_to_fit() -> None:
    """Of a hundred kilobytes only what may be shown is looked at."""
    assert fit("x" * 100_000, 10) == "xxxxxxxxx…"


def test_wrapping_keeps_words_and_its_limit() -> None:
    """Lines break between words; what does not fit into the last one is cut there."""
    assert wrapped("one two three four", 9, 5) == ["one two", "three", "four"]
    assert wrapped("one two three four five", 9, 2) == ["one two", "three fo…"]
    assert wrapped("unbreakable", 6, 2) == ["unbre…"]
