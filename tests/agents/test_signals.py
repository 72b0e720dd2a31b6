"""The agent's signal line: read as it is documented, whatever stands round it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.agents.command.signal_line import Signal, read_approach, read_signal

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""


def test_complete_with_an_approach() -> None:
    """The first documented form."""
    signal = read_signal('done\nUNSTUCK {"signal": "complete", "task": "web", "approach": "raw body"}\n', "web")
    assert signal.kind == "complete"
    assert signal.approach == "raw body"
    assert signal.problem == ""


def test_a_question_with_options() -> None:
    """The second: a person will see these words."""
    line = 'UNSTUCK {"signal": "needs_guidance", "question": "Which port?", "options": ["80", "8080"]}'
    signal = read_signal(line, "web")
    assert signal.kind == "needs_guidance"
    assert signal.question == "Which port?"
    assert signal.options == ("80", "8080")


def test_blocked() -> None:
    """The third, with a colon."""
    signal = read_signal('UNSTUCK: {"signal": "blocked", "question": "There is no database here"}', "web")
    assert signal.kind == "blocked"
    assert signal.question == "There is no database here"


def test_what_it_was_at_and_what_a_person_has_to_know() -> None:
    """The phase and the context of a question come along, short and clean; other kinds of value are left out."""
    line = '{"signal": "needs_guidance", "question": "Which?", "context": "Both \\u001b[1mare free", "phase": "%s"}' % (
        "x" * 900
    )
    signal = read_signal(f"UNSTUCK {line}", "web")
    assert signal.context == "Both are free"
    assert signal.phase is not None
    assert len(signal.phase) <= 200
    odd = read_signal('UNSTUCK {"signal": "complete", "phase": 3, "context": ["a"]}', "web")
    assert odd.kind == "complete"
    assert odd.phase is None
    assert odd.context is None


def test_alternatives_and_session() -> None:
    """Other approaches the agent sees, and its own session."""
    line = 'UNSTUCK {"signal": "complete", "alternatives": ["a", "", 3, "b"], "session": "abc-1"}'
    signal = read_signal(line, "web")
    assert signal.alternatives == ("a", "b")
    assert signal.session == "abc-1"


@pytest.mark.parametrize(
    "line",
    [
        '> UNSTUCK {"signal": "complete"}',
        '- UNSTUCK {"signal": "complete"}',
        '`UNSTUCK {"signal": "complete"}`',
        '**UNSTUCK** {"signal": "complete"}',
        '**UNSTUCK:** {"signal": "complete"}',
        '**UNSTUCK {"signal": "complete"}**',
        '    UNSTUCK   {"signal": "complete"}  ',
        'UNSTUCK{"signal": "complete"}',
        'UNSTUCK {"signal": "complete"}\r',
        '```\nUNSTUCK {"signal": "complete"}\n```',
    ],
)
def test_markdown_round_it(line: str) -> None:
    """Models like to decorate; the signal is read all the same."""
    assert read_signal(f"text\n{line}\nmore", "web").kind == "complete"


def test_the_last_one_counts() -> None:
    """An agent that first asks and then finishes has finished; and the other way round."""
    done, asks = 'UNSTUCK {"signal": "complete"}', 'UNSTUCK {"signal": "blocked"}'
    assert read_signal(f"{asks}\n{done}\n", "web").kind == "complete"
    assert read_signal(f"{done}\n{asks}\n", "web").kind == "blocked"
    assert read_signal(f"{done}\nUNSTUCK {{broken\n", "web").problem == "malformed"


def test_prose_about_the_word_is_no_signal() -> None:
    """A sentence that begins with the word does not undo a signal."""
    assert read_signal('UNSTUCK {"signal": "complete"}\nUNSTUCK is a word.\n', "web").kind == "complete"
    assert read_signal('The format is UNSTUCK {"signal": "complete"}', "web").problem == "missing"


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("", "missing"),
        ("nothing here", "missing"),
        ("UNSTUCK complete", "malformed"),
        ("UNSTUCK {}", "malformed"),
        ("UNSTUCK []", "malformed"),
        ('UNSTUCK {"signal": "finished"}', "malformed"),
        ('UNSTUCK {"signal": ["complete"]}', "malformed"),
        ('UNSTUCK {"signal": "complete"', "malformed"),
        ('UNSTUCK {"signal": "complete"} and more', "malformed"),
        ('UNSTUCK {"signal": "complete", "task": "shop"}', "foreign"),
        ('UNSTUCK {"signal": "complete", "task": 3}', "foreign"),
    ],
)
def test_what_cannot_be_used_says_why(output: str, problem: str) -> None:
    """Missing, malformed and another task's signal are three different troubles."""
    signal = read_signal(output, "web")
    assert signal.kind is None
    assert signal.problem == problem
    assert signal.sample is not None


def test_a_nest_without_end_is_malformed() -> None:
    """Brackets ten thousand deep end nothing."""
    assert read_signal(f'UNSTUCK {{"signal": {"[" * 10_000}', "web").problem == "malformed"


def test_texts_are_clean_and_bounded() -> None:
    """No escape, no secret and no novel gets through a signal."""
    secret = "ghp_" + "a1B2" * 10
    data = {
        "signal": "needs_guidance",
        "question": f"\x1b[31m{secret} {'q' * 9_000}",
        "approach": "a " * 4_000,
        "options": ["\u202e", *map(str, range(50))],
    }
    signal = read_signal(f"UNSTUCK {json.dumps(data)}", "web")
    assert signal.question is not None
    assert signal.approach is not None
    assert "\x1b" not in signal.question
    assert secret not in signal.question
    assert len(signal.question) <= 4_000
    assert len(signal.approach) <= 500
    assert signal.options == tuple(map(str, range(19)))


@pytest.mark.parametrize("session", ["a b", "-" * 200, "--yolo", "..", "x;rm", 3, None, "a\n"])
def test_a_session_that_is_no_id_is_none(session: int | str | None) -> None:
    """Only letters, digits, dots and dashes may later stand in a command."""
    assert read_signal(f"UNSTUCK {json.dumps({'signal': 'complete', 'session': session})}", "web").session is None


def test_a_line_of_ten_megabytes_is_searched_once() -> None:
    """Nothing in the patterns repeats without a bound, so no line costs more than a pass."""
    good = '\nUNSTUCK {"signal": "complete"}\n'
    for filler in ("{", "}", "} ", " ", "UNSTUCK {", "`" * 3 + "}", "UNSTUCK\t"):
        assert read_signal(filler * (2_000_000 // len(filler)) + good, "web").kind == "complete"
        assert read_signal(f"UNSTUCK {{{filler * 300_000}", "web").kind is None


@given(
    st.text(CHARACTERS),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(CHARACTERS),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.text(CHARACTERS) | st.sampled_from(["signal", "task"]), inner)
        ),
        max_leaves=20,
    ),
)
def test_no_output_breaks_the_reader(text: str, value: Any) -> None:
    """Whatever an agent prints, the answer is a signal or a reason."""
    for output in (text, f"UNSTUCK {text}", f"{text}\nUNSTUCK {json.dumps(value)}"):
        signal = read_signal(output, "web")
        assert isinstance(signal, Signal)
        assert (signal.kind is None) == bool(signal.problem)


# A signal line holds at most 20,000 characters, and JSON writes up to 12 for one of these.
SHORT = st.text(CHARACTERS, max_size=50)


@given(
    st.fixed_dictionaries(
        {"signal": st.just("complete")},
        optional={
            name: st.none() | st.integers() | SHORT | st.lists(SHORT | st.integers(), max_size=6)
            for name in ("approach", "question", "options", "alternatives", "session")
        },
    )
)
def test_a_signal_with_odd_values_is_still_one(value: dict[str, Any]) -> None:
    """A value of a wrong kind is left out; the signal counts."""
    assert read_signal(f"UNSTUCK {json.dumps(value)}", "web").kind == "complete"


@pytest.mark.parametrize(
    ("output", "approach"),
    [
        ("First words.\nApproach: raw body\nDone.", "raw body"),
        ("Approach: encode it\nlater\n- **Approach:** raw body\n", "raw body"),
        ("approach: `raw body`", "raw body"),
        ("All tests pass now.\nMy approach was to wait.\nThe approach: none", None),
        ("Approach:\nApproach: \n", None),
        ("Approach: Use one file.\n", None),
        ("Approach: raw body\n> Approach: Use one file.", "raw body"),
        ("Approach: " + "x" * 900, "x" * 200),
    ],
)
def test_an_approach_in_words(output: str, approach: str | None) -> None:
    """Only a line that names it counts, and never one of the task's own that the agent repeats."""
    named = read_approach(output, "Do it.\n\nApproach: Use one file.\n")
    assert (named or "")[:200] == (approach or "")
    assert len(named or "") <= 500
