"""Our entries in an agent's settings, as text: put in, taken out, and every other byte left alone."""

from __future__ import annotations

import json
import string
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstuck.agents.hooks.hook_agents import KNOWN
from unstuck.agents.hooks.hook_entries import entries, with_entries, without_entries

CLAUDE = KNOWN["claude"]
COMMAND = "/opt/un stuck/bin/unstuck-hook".replace(" ", "\\ ") + " claude"
GROUPS = CLAUDE.entry(COMMAND)
MINE = '{"hooks": [{"type": "command", "command": "./mine.sh"}]}'

TEXTS = [
    '{"model":"opus"}',
    '{\n  "model": "opus"\n}\n',
    '{\n    "model": "opus", // the dear one\n    "hooks": {\n        "Stop": [\n            '
    + MINE
    + "\n        ]\n    }\n}",
    '{\r\n\t"hooks": {"Stop": [' + MINE + ']},\r\n\t"a": [1,2 , 3]\r\n}\r\n',
    '{\n  /* none\n     yet */\n  "hooks": {\n    "Stop": [\n      ' + MINE + ",\n    ],\n  },\n}\n",
    '{"env": {"A": "b"}, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type":"command","command":"x"}]}]}}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_goes_in_comes_out_to_the_byte(text: str) -> None:
    """However the file is laid out, with comments or commas too many: in, in again, and out leaves what was there."""
    installed = with_entries(text, GROUPS)
    assert with_entries(installed, GROUPS) == installed
    assert set(entries(installed)) == set(CLAUDE.events)
    assert without_entries(installed, keep=text) == text


def test_what_others_wrote_meanwhile_stays() -> None:
    """Somebody else's hook and setting, added between our coming and going, are there afterwards."""
    installed = with_entries('{\n  "model": "opus"\n}\n', GROUPS)
    edited = installed.replace('"Stop": [', f'"Stop": [{MINE}, ').replace('"opus"', '"haiku"')
    left = json.loads(without_entries(edited))
    assert left == {"model": "haiku", "hooks": {"Stop": [json.loads(MINE)]}}


def test_an_older_entry_is_replaced() -> None:
    """Another path or time-out of ours does not stay beside the new one."""
    old = {
        event: {"hooks": [{"type": "command", "command": "unstuck-hook claude", "timeout": 60}]} for event in ("Stop",)
    }
    text = with_entries(with_entries("{}", old), GROUPS)
    assert entries(text) == {event: group["hooks"] for event, group in GROUPS.items()}
    assert "60}" not in text


def test_a_handler_of_ours_in_somebody_elses_group() -> None:
    """Only the handler goes."""
    mixed = '{"hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "unstuck-hook claude"}, {"command": "b"}]}]}}'
    left = json.loads(without_entries(mixed))
    assert left == {"hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "b"}]}]}}


def test_commands_that_only_look_like_ours_are_left() -> None:
    """Another program whose arguments or path hold our name, and a command that no shell would read."""
    for command in ("echo run unstuck-hook claude", "./unstuck-hook-mine", "'unstuck-hook", "/x/unstuck-hook/run"):
        text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})
        assert entries(text) == {}
        assert without_entries(text) == text


def test_what_was_empty_stays_empty() -> None:
    """A file that has nothing of ours is not tidied."""
    text = '{"hooks": {"Stop": [], "PreToolUse": [ ]}}'
    assert without_entries(text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "a": nonsense\n}', "line 2"),
        ('{"a": 1} x', "line 1"),
        ('{"a" 1}', "line 1"),
        ('{"a": 1', "too early"),
        ("[" * 100_000, "nested"),
        ('{"hooks": []}', "no JSON object"),
        ('{"hooks": {"Stop": {}}}', "no list"),
        ("[]", "no JSON object"),
    ],
)
def test_a_file_that_cannot_be_edited_says_where(text: str, words: str) -> None:
    """Broken settings are refused with the place, and never written."""
    with pytest.raises(ValueError, match=words):
        with_entries(text, GROUPS)


def values() -> st.SearchStrategy[Any]:
    """Anything that JSON holds."""
    names = st.text(string.printable, max_size=8)
    plain = st.none() | st.booleans() | st.integers() | names
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))


@settings(max_examples=30)
@given(
    rest=st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=8), values(), min_size=1, max_size=4),
    hooks=st.dictionaries(st.sampled_from(CLAUDE.events), st.just([json.loads(MINE)]), max_size=3),
    indent=st.sampled_from([None, 2, 4, "\t"]),
)
def test_any_settings_survive(rest: dict[str, Any], hooks: dict[str, Any], indent: Any) -> None:
    """For whatever settings: still the same settings with ours added, and back to the very bytes."""
    before = {**rest, **({"hooks": hooks} if hooks else {})}
    before.pop("hooks", None) if not hooks else None
    text = json.dumps(before, indent=indent)
    installed = with_entries(text, GROUPS)
    parsed = json.loads(installed)
    for event in CLAUDE.events:
        assert parsed["hooks"][event] == [*hooks.get(event, []), GROUPS[event]]
    assert {key: value for key, value in parsed.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    assert without_entries(installed, keep=text) == text


def test_hooks_that_stand_there_twice() -> None:
    """Ours go into those that readers take, and come out of those; the others are not ours to tidy."""
    text = json.dumps({"hooks": {"Stop": [json.loads(MINE)]}})[:-1] + ', "hooks": {}}'
    left = without_entries(with_entries(text, GROUPS))
    assert json.loads(left, object_pairs_hook=list) == [("hooks", [("Stop", [[("hooks", [ANY])]])])]
