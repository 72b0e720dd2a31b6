"""The footer follows the keys that mean something where the cursor is, and stands still while they are the same."""

from __future__ import annotations

from typing import Any

from textual.widgets import Input
from textual.widgets._footer import FooterKey

from unstuck_tui.widgets.key_hints import KeyHints


def hints(footer: KeyHints) -> list[FooterKey]:
    """The hints as they are now."""
    return list(footer.query(FooterKey))


async def test_hints_change_with_what_has_the_keys(showing: Any) -> None:
    """While words are typed into the filter the footer offers other keys, and afterwards those of the tasks again."""
    async with showing(story=True, pops=False) as stage:
        footer = stage.main.query_one(KeyHints)
        before = [hint.description for hint in hints(footer)]
        await stage.pilot.press("slash")
        await stage.settled()
        assert isinstance(stage.app.focused, Input)
        assert [hint.description for hint in hints(footer)] != before
        await stage.pilot.press("escape")
        await stage.settled()
        assert [hint.description for hint in hints(footer)] == before


async def test_hints_that_stay_the_same_are_not_made_anew(showing: Any) -> None:
    """Asking for the same keys again, as every change of focus does, leaves the very same hints on the screen."""
    async with showing(story=True, pops=False) as stage:
        footer = stage.main.query_one(KeyHints)
        before = hints(footer)
        assert before
        stage.main.refresh_bindings()
        await stage.settled()
        assert hints(footer) == before
