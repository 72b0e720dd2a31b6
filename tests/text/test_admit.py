"""The door: what passes is clean, bounded, and stays as it is when it passes again."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.text import admit, one_line, redact, sanitise, shorten

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

FRAGMENTS = (
    *("\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\x9b", "\x9d", "\x9c", "31m", "0;t", "\r", "\x1b", "\r\n", "\t"),
    *("\u202e", "\u200b", "\u2028", "\ufeff", "\U000e0041", "\ud800", "\udc9b", "\udce2\udc82", "\x00", "\x08", "\x85"),
    *("password", "token", "api_key", "authorization", "Bearer ", "=", ": ", "://", "@", '"', "'", "\\", "--", " "),
    *("AKIA", "IOSFODNN7EXAMPLE", "sk-", "ghp_", "eyJhbGciOiJI", ".", "a1b2c3d4e5", "[redacted]", "[", "…", "]"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 64, " … 12 characters left out … ", "x" * 40),
)  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(CHARACTERS, max_size=8)), max_size=40).map("".join)


@given(raw=st.one_of(texts, st.binary(max_size=300)), limit=st.integers(0, 300))
def test_passing_twice_changes_nothing(raw: str | bytes, limit: int) -> None:
    """Text read back from the log is the text that was shown before."""
    once = admit(raw, limit=limit)
    assert admit(once, limit=limit) == once
    assert len(once) <= limit


@given(raw=texts, limit=st.integers(0, 120))
def test_one_line_is_one_line_and_stable(raw: str, limit: int) -> None:
    """A row on the screen is one line of bounded length, whatever an agent printed."""
    line = one_line(raw, limit)
    assert line.split("\n") == [line]
    assert len(line) <= limit
    assert one_line(line, limit) == line


@given(raw=texts)
def test_nothing_that_steers_a_terminal_gets_through(raw: str) -> None:
    """Only line feed and tab are left of all control, format and surrogate characters that can do harm."""
    left = {character for character in sanitise(raw) if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")}
    assert left <= {"\n", "\t"}
    assert not set("\u061c\u200b\u200e\u200f\u202a\u202e\u2066\u2069\ufeff\u00ad") & set(sanitise(raw))


@given(raw=texts)
def test_redacting_and_sanitising_are_stable(raw: str) -> None:
    """Each half of the door may be passed twice as well."""
    clean = sanitise(raw)
    assert sanitise(clean) == clean
    assert redact(redact(clean)) == redact(clean)


def test_nothing_is_the_empty_text() -> None:
    """A missing text needs no special case at the caller's."""
    assert admit(None) == admit("") == admit(b"") == one_line(None) == ""


def test_long_text_keeps_both_ends_and_says_how_much_is_gone() -> None:
    """The first error and the last line of a long output are both still there."""
    text = admit("first" + "x" * 50_000 + "last", limit=1_000)
    head, count, tail = text.partition(" … ")[0], text.split(" … ")[1], text.split(" … ")[2]
    assert head.startswith("first")
    assert tail.endswith("last")
    assert count == f"{50_009 - len(head) - len(tail)} characters left out"


def test_a_ten_megabyte_line_is_cut_before_it_is_cleaned() -> None:
    """One enormous line counts whole in the marker and comes out within the bound."""
    text = admit(b"a" + b"\x1b[31mx" * 1_500_000 + b"\nlast words", limit=2_000)
    assert len(text) <= 2_000
    assert text.startswith("ax")
    assert text.endswith("last words")
    assert 8_900_000 < int(text.split(" … ")[1].split()[0]) < 9_000_012


def test_a_secret_on_the_edge_of_the_cut_is_not_half_shown() -> None:
    """Neither half of a key is kept if a huge text is cut through it."""
    key = "ghp_" + "a1B2" * 9
    bound = 4 * 20_000 + 65_536
    for shift in range(0, 40, 3):
        head = "\x1b[0m" * ((bound // 2 - shift) // 4 - 10)
        raw = head + "x " * 18 + key + " " + "\x1b[0m" * 40_000
        assert "a1B2" not in admit(raw, limit=20_000)


@pytest.mark.parametrize("limit", range(12))
def test_a_tiny_bound_is_kept(limit: int) -> None:
    """A bound that has no room for the marker still holds, with an ellipsis."""
    assert len(shorten("a much longer text", limit)) <= limit
    assert shorten("a much longer text", limit)[1:] == "" or shorten("a much longer text", limit).endswith("…")


def test_white_space_collapses_in_one_line() -> None:
    """A headline reads as one sentence."""
    assert one_line("  two\r\n\twords\u00a0 here \n") == "two words here"


def test_a_line_that_is_joined_is_redacted_again() -> None:
    """A secret that stood on the next line does not appear when the lines become one."""
    assert one_line("password:\n  hunter2hunter2") == "password: [redacted]"
