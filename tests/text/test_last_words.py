"""The last words of a program: what is kept of its output, and the line that tells most."""

from __future__ import annotations

import pytest

from unstuck.text.last_words import SAID_LIMIT, last_line, last_words
from unstuck.words.exit_words import exit_words, signal_words

STACK = """Error: Not logged in
    at main (/app/cli.js:3:7)
    at node:internal/main/run_main_module:33:47

Node.js v22.1.0"""


def test_it_is_the_end_and_bounded() -> None:
    """At most twenty lines and two thousand characters, without the blank ones; a whole line goes before a part."""
    said = last_words("\n\n".join(f"line {number} {'x' * 300}" for number in range(100)))
    assert len(said) <= SAID_LIMIT
    assert said.splitlines()[-1].startswith("line 99 ")
    assert all(line.startswith("line ") for line in said.splitlines())
    assert len(last_words("\n".join("abc" for _ in range(100))).splitlines()) == 20
    assert last_words("\n \n") == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("starting\nno space left", "no space left"),
        (STACK, "Error: Not logged in"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\n    ^^^\nKeyError: 1',
            "KeyError: 1",
        ),
        ("", ""),
        ("    at only (frames.js:1:1)", "at only (frames.js:1:1)"),
    ],
)
def test_the_line_that_tells_most(text: str, line: str) -> None:
    """The last one that is no frame of a stack."""
    assert last_line(text) == line


def test_help_after_a_message_is_left_out() -> None:
    """A program's help after its message is left out, but not if the message follows the help."""
    assert last_words("Unknown argument: x\nUsage: acme [options]\n  --a  help\n  --b  help") == "Unknown argument: x"
    usage = "usage: acme [-h]\nacme: error: unrecognized arguments: --x"
    assert last_words(usage) == usage
    assert last_words("Usage: acme [options]\n  --a  help").startswith("Usage: acme")


def test_a_runtime_that_aborted_says_why() -> None:
    """Before the frames of its native stack, of which there are more than lines are kept."""
    why = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"
    frames = "\n".join(f"{number:2}: 0x{number + 0xB78DB3:x} node::OOMErrorHandler() [node]" for number in range(1, 30))
    said = last_words(f"<--- JS stacktrace --->\n\n{why}\n----- Native stack trace -----\n\n{frames}\n")
    assert last_line(said) == why


def test_signals_and_exit_codes() -> None:
    """A signal with its usual reason, also through the exit code of a shell; other codes are numbers."""
    assert signal_words(9) == "killed by signal 9: out of memory?"
    assert signal_words(15) == "killed by signal 15"
    assert exit_words(137) == "exit code 137 (killed by signal 9: out of memory?)"
    assert exit_words(1) == "exit code 1"
    assert exit_words(255) == "exit code 255"
