"""The rules that a person has given for always: kept in one private file, whatever stands in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstuck.eventlog.memory.permission_file import drop_rule, keep_rules, kept_rules, permission_file


@pytest.fixture(autouse=True)
def _own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_rules_are_kept_once_in_their_order_and_dropped_one_by_one() -> None:
    """A rule that is given twice counts once, one that is dropped is gone, and the others stay."""
    assert kept_rules() == ()
    keep_rules(["Bash(git status)", "Read(*)"])
    keep_rules(["Read(*)", "Edit(src/*)"])
    assert kept_rules() == ("Bash(git status)", "Read(*)", "Edit(src/*)")
    assert drop_rule("Read(*)") is True
    assert kept_rules() == ("Bash(git status)", "Edit(src/*)")
    assert drop_rule("Read(*)") is False
    assert kept_rules() == ("Bash(git status)", "Edit(src/*)")


def test_the_newest_rules_stay_and_only_their_owner_reads_them() -> None:
    """Of very many rules the oldest go."""
    keep_rules([f"Bash(make t{number})" for number in range(501)])
    assert len(kept_rules()) == 500
    assert kept_rules()[0] == "Bash(make t1)"
    assert permission_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "said", ["", "[]", "{", '{"allow": "Read(*)"}', '{"deny": []}', "[" * 100_000, " " * 1_000_001]
)
def test_a_file_of_another_form_gives_no_permission(said: str) -> None:
    """Somebody else's file, half a file and a flood allow nothing, and the next rule is kept all the same."""
    permission_file().parent.mkdir(parents=True)
    permission_file().write_text(said)
    assert kept_rules() == ()
    keep_rules(["Read(*)"])
    assert kept_rules() == ("Read(*)",)


def test_a_rule_that_would_not_be_shown_as_it_stands_allows_nothing() -> None:
    """A rule with escape sequences, or of no text, is passed over; those beside it count."""
    permission_file().parent.mkdir(parents=True)
    permission_file().write_text(json.dumps({"allow": ["Read(*)\x1b[2K", 7, None, "x" * 301, "Edit(*)"]}))
    assert kept_rules() == ("Edit(*)",)
