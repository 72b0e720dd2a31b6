"""Tables that commands print: columns below a header, readable times, colour where it is wanted."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck

from unstuck.words.amounts import ago, used_of


@pytest.fixture
def ended(unstuck: Unstuck) -> Unstuck:
    """A project with one run."""
    words = ("run", "--headless", "--check", "true", "--task", "Write the greeting\nin every language that there is")
    assert unstuck.inside(*words, "--", "true").code == 0
    return unstuck


def test_runs_have_a_head_and_their_task(ended: Unstuck) -> None:
    """`runs` says when each run started and what it was for, in columns; `--json` has the same row as ever."""
    head, row = ended.inside("runs").out.splitlines()
    assert head.split() == ["RUN", "STATE", "STARTED", "TASKS", "TASK"]
    assert row.startswith(f"{ended.runs[0].name}  succeeded  ")
    assert row.endswith("1 succeeded  Write the greeting in every language th…")
    assert "ago" in row or "now" in row
    assert ended.inside("runs", "--json", "--color", "always").rows[0]["state"] == "ended"


def test_a_paused_run_says_so(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """A run that waits for an answer is paused, and its questions are counted."""
    assert unstuck.inside("run", "--headless", "--check", failing, "--", "true", env=no_climb).code == 3
    row = unstuck.inside("runs").out.splitlines()[1]
    assert "  paused  " in row
    assert ", 1 question  " in row


@pytest.mark.parametrize(
    ("words", "colour"),
    [((), False), (("--color", "always"), True), (("--color", "never"), False), (("--color", "auto"), False)],
)
def test_colour_is_given_where_it_is_asked_for(ended: Unstuck, words: tuple[str, ...], colour: bool) -> None:
    """Without a terminal only `--color always` colours: a head in bold, a state in green. The text stays the same."""
    plain = ended.inside("runs").out
    out = ended.inside("runs", *words).out
    assert ("\x1b[32msucceeded\x1b[0m" in out, "\x1b[1mRUN" in out) == (colour, colour)
    assert plain.split()[:4] == out.replace("\x1b[1m", "").replace("\x1b[0m", "").split()[:4]


@pytest.mark.parametrize(
    ("env", "colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)]
)
def test_a_terminal_gets_colour(ended: Unstuck, env: dict[str, str], colour: bool) -> None:
    """On a terminal signs and states are coloured, unless NO_COLOR is set or the terminal is dumb."""
    ours, theirs = pty.openpty()
    process = ended.start("show", stdout=theirs, env={"TERM": "xterm", "NO_COLOR": "", **env})
    os.close(theirs)
    assert process.wait(60) == 0
    said = os.read(ours, 65_536)
    os.close(ours)
    assert (b"\x1b[32m" in said) == colour
    assert "✓".encode() in said


def test_json_is_never_coloured(ended: Unstuck) -> None:
    """Beside --json colours are for nobody."""
    assert "\x1b" not in ended.inside("show", "--json", "--color", "always").out


def test_lines_for_screen_readers_are_never_coloured(unstuck: Unstuck) -> None:
    """`--plain` is words only, where the same run without it has coloured signs."""
    words = ("run", "--check", "true", "--color", "always")
    assert "\x1b[32m✓\x1b[0m" in unstuck.inside(*words, "--headless", "--", "true").out
    assert "\x1b" not in unstuck.inside(*words, "--plain", "--", "true").out


def test_other_lists_have_a_head(ended: Unstuck, repo: Path) -> None:
    """Checkpoints and settings come in columns, too; an empty list has no head."""
    assert ended.inside("checkpoints", "list").out.splitlines()[0].split() == [
        "CHECKPOINT", "SAVED", "FILES", "TASK", "REASON",
    ]  # fmt: skip
    assert ended.inside("memory", "list").out == "nothing is remembered here yet\n"


@pytest.mark.parametrize(
    ("before", "said"),
    [(0, "now"), (12, "12s ago"), (190, "3 min ago"), (7300, "2 h ago"), (3 * 86400, "3 d ago"), (-5, "now")],
)
def test_times_are_told_from_now(before: int, said: str) -> None:
    """A time is told as people say it."""
    assert ago("2026-11-22T14:30:00.000Z", 1_795_357_800 + before) == said


@pytest.mark.parametrize(
    ("kind", "used", "limit", "said"),
    [
        ("time", 1.61442, 2, "1.6 s of 2 s"),
        ("time", 477.2, 600, "7m 57s of 10m 00s"),
        ("cost", 0.0012, 5, "$0.0012 of $5.00"),
        ("tokens", 1240, 200_000, "1,240 of 200,000 tokens"),
        ("time", float("nan"), float("inf"), "nan of inf time"),
    ],
)
def test_amounts_are_told_as_people_write_them(kind: str, used: float, limit: float, said: str) -> None:
    """A used part has no more digits than anybody reads; what is no number is still told."""
    assert used_of(kind, used, limit) == said


def test_a_time_of_long_ago_is_a_date() -> None:
    """After a month the date says more."""
    assert ago("2026-01-22T14:30:00.000Z", 1_795_357_800) == "2026-01-22"
    assert (ago("", 0), ago("soon", 0)) == ("", "")
