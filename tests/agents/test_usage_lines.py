"""Usage that aider prints in words."""

from __future__ import annotations

import pytest

from unstuck.agents.command.usage_lines import UsageLines

LINES = {
    "Tokens: 2.4k sent, 17 received. Cost: $0.0062 message, $0.0062 session.": (2417, 0.0062),
    "Tokens: 12k sent, 3.4k cache write, 10k cache hit, 133 received. Cost: $0.04 message, $0.10 session.": (
        2133,
        0.04,
    ),
    "> Tokens: 1,205 sent, 40 received.": (1245, None),
    "Tokens: 1.1M sent, 2k received. Cost: $3.10 message, $3.10 session.": (1_102_000, 3.10),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read(line: str) -> None:
    """Tokens without those from a cache, and the cost of the message; not the session's sum."""
    found = UsageLines().read(line)
    assert found is not None
    assert (found.kind, found.tokens, found.cost) == ("usage", *LINES[line])


@pytest.mark.parametrize("line", [line for line in LINES if len(line) > 60])
def test_a_broken_line_is_read(line: str) -> None:
    """Broken at any blank, as a narrow terminal does."""
    for place in (at for at, letter in enumerate(line) if letter == " " and at > 8):
        reader = UsageLines()
        whole = reader.read(line[:place]) or reader.read(line[place + 1 :])
        assert whole is not None or line[:place].endswith("received.")


@pytest.mark.parametrize(
    "line",
    ["", "Tokens: none", "The test prints Tokens: 3 sent, 4 received.", "Tokens: ..k sent, 5 received.", "Tokens:"],
)
def test_other_lines_are_not(line: str) -> None:
    """A text that speaks of tokens is no report."""
    reader = UsageLines()
    found = [one for one in (reader.read(line), reader.read("made 3 files")) if one is not None]
    assert sum(one.tokens for one in found) in (0, 5)
