"""Parts of calls and results that rules compare: what an edit writes, which tool is missing, what names a session."""

from __future__ import annotations

import json

import pytest

from unstuck.detection.rules.test_progress import without_names
from unstuck.detection.steps.external_blockers import misses_tool
from unstuck.detection.steps.tool_steps import written_by
from unstuck.detection.steps.volatile_text import comparable


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"old_string": "a", "new_string": "b"}, ("app.py", "a", "b")),
        ({"content": "all"}, ("app.py", "", "all")),
        ({"old_string": "a", "content": "all"}, ("app.py", "", "all")),
        ({"old_string": "", "new_string": "b"}, None),
        ({"old_string": "a", "new_string": ""}, None),
        ({"offset": 3}, None),
    ],
)
def test_an_edit_has_an_old_and_a_new_text(given: dict[str, object], written: tuple[str, str, str] | None) -> None:
    """An edit without one of its texts is none, and the text of a whole file needs no old one."""
    assert written_by("Edit", json.dumps({"file_path": "app.py", **given})) == written


def test_a_patch_of_a_new_file_has_no_old_text() -> None:
    """A patch that adds a file writes all of it; one that changes a file has an old text."""
    body = "\n keep\n-gone\n+come\n*** End Patch"
    added, changed = (
        written_by("apply_patch", json.dumps({"patch": f"*** Begin Patch\n*** {verb} File: app.py{body}"}))
        for verb in ("Add", "Update")
    )
    assert changed == ("app.py", "keep\ngone", "keep\ncome")
    assert added == ("app.py", "", "keep\ncome")


@pytest.mark.parametrize(
    ("result", "missing"),
    [
        ("Error: No such tool available: Searcher", True),
        ('Tool "searcher" does not exist.', True),
        ("bash: searcher: command not found", False),
        ("The tool has read 3 files", False),
    ],
)
def test_a_missing_tool_is_known_by_the_agents_words(result: str, missing: bool) -> None:
    """A command that is not found is no tool of the agent's."""
    assert misses_tool(result) is missing


def test_only_a_name_with_digits_stands_for_a_session() -> None:
    """A name after the word is masked where it looks given, and stays where it is a plain word or stands elsewhere."""
    assert comparable("session quiet-fox-31 ended") == comparable("session brave-owl-77 ended")
    assert comparable("session 42 ended") != comparable("session 43 ended")
    assert comparable("session storage ended") != comparable("session layout ended")
    assert comparable("session: a, branch quiet-fox-31") != comparable("session: a, branch brave-owl-77")


def test_names_of_a_call_are_masked_in_a_short_result() -> None:
    """Names that follow each other stand as one, and the other words stay."""
    assert without_names("grep alpha beta", "alpha beta are gone, alpha too") == "NAME are gone NAME too"
