"""The footer follows the keys that mean something where the cursor is, and a click on one of them presses it."""

from __future__ import annotations

from tests.screen.conftest import Showing
from textual import events
from textual.command import CommandPalette
from textual.widgets import Input

from unstuck_tui.widgets.key_hints import KeyHints


async def test_hints_change_with_what_has_the_keys(showing: Showing) -> None:
    """While words are typed into the filter the footer offers other keys, and afterwards those of the tasks again.

    Asking for the same keys again, as every change of focus does, leaves the very same hints there.
    """
    async with showing(story=True, pops=False) as stage:
        footer = stage.main.query_one(KeyHints)
        before = footer.hints
        assert before
        stage.main.refresh_bindings()
        await stage.settled()
        assert footer.hints is before
        await stage.pilot.press("slash")
        await stage.settled()
        assert isinstance(stage.app.focused, Input)
        assert footer.hints != before
        await stage.pilot.press("escape")
        await stage.settled()
        assert footer.hints == before


RANKED = "open answer help", "next", "decide", "quit", "hold", "edit", "browse", "log graph", "output", "filter sort"
"""The hints of the main screen, the most important first."""


async def test_the_most_important_keys_are_shown_at_every_width(showing: Showing) -> None:
    """From 60 to 200 columns the footer holds whole hints only, and none gives way to a less important one.

    80 columns have room for the next question, for deciding and for editing; 160 for all of them.
    """
    async with showing(size=(60, 24), story=True, pops=False) as stage:
        footer = stage.main.query_one(KeyHints)
        shown: dict[int, list[str]] = {}
        for width in (*range(60, 201, 20), 73, 95):
            await stage.pilot.resize_terminal(width, 24)
            await stage.settled()
            hints, row = footer.hints, stage.rows()[-1]
            said = "".join(f" {hint.shown} {hint.label} " for hint in hints)
            assert row.startswith(said)
            assert row[len(said) :].split() == ["│^p", "palette"]
            labels = shown[width] = [hint.label for hint in hints]
            ranks = [[label in labels for label in rank.split()] for rank in RANKED]
            first = next((place for place, rank in enumerate(ranks) if not all(rank)), len(ranks))
            longest = max(len(f" {hint.shown} {hint.label} ") for hint in footer._hints)
            left = len(row) - len(said) - len("│^p palette ")
            assert left < longest or first == len(ranks)
        assert shown[60] == ["open", "answer", "next", "decide", "help"]
        assert shown[80] == ["open", "answer", "next", "hold", "decide", "edit", "help", "quit"]
        assert set(shown[120]) >= set(" ".join(RANKED[:8]).split())
        assert set(shown[160]) == set(" ".join(RANKED).split())


async def test_a_terminal_without_the_focus_has_its_footer(showing: Showing) -> None:
    """The screen opens in a pane that is not the active one: the keys stand in the footer all the same."""
    async with showing(story=True, pops=False) as stage:
        stage.app.app_focus = False
        footer = KeyHints()
        await stage.main.mount(footer)
        stage.main.refresh_bindings()
        await stage.settled()
        assert {"help", "quit"} <= {hint.label for hint in footer.hints}


async def test_a_click_presses_the_key(showing: Showing) -> None:
    """Each hint takes the mouse, and says more below it; where they do not all fit the wheel leads to the others."""
    async with showing(size=(60, 16), story=True, pops=False) as stage:
        footer = stage.main.query_one(KeyHints)

        async def over(word: str) -> int:
            """Return the hint's place in the footer, with the mouse over it."""
            column = stage.rows()[-1].index(word)
            await stage.pilot.hover(KeyHints, offset=(column, 0))
            await stage.pilot.pause()
            return column

        column = await over("n next")
        assert footer.tooltip == next(hint.tooltip for hint in footer.hints if hint.label == "next")
        await stage.press("table.last")
        assert stage.selected != "webhook"
        await stage.pilot.click(KeyHints, offset=(column, 0))
        await stage.settled()
        assert stage.selected == "webhook"
        assert "d graph" not in stage.rows()[-1]
        for wheel, word in ((events.MouseScrollDown, "d graph"), (events.MouseScrollUp, "a answer")):
            for _ in range(8):
                footer.post_message(wheel(footer, 0, 0, 0, 0, 0, False, False, False))
            await stage.settled()
            assert word in stage.rows()[-1]
        await stage.pilot.click(KeyHints, offset=(await over("palette"), 0))
        await stage.settled()
        assert isinstance(stage.app.screen, CommandPalette)


async def test_what_needs_a_row_is_offered_where_there_is_one(showing: Showing) -> None:
    """Without tasks, failures or records that are like what was looked for, no key is named that would do nothing."""
    async with showing(size=(120, 30)) as stage:

        async def offered() -> str:
            await stage.app.workers.wait_for_complete()
            await stage.settled()
            footer = stage.app.screen.query_one(KeyHints)
            return " ".join(hint.label for hint in footer.hints)

        assert await offered() == "browse log graph help quit"
        await stage.press("view.plan")
        assert await offered() == "back help quit"
        await stage.press("graph.back", "view.browse")
        assert await offered() == "back help quit"
        await stage.press("browse.back", "view.log")
        assert "details" in await offered()
        await stage.press("logs.filter")
        await stage.pilot.press(*"zebra", "enter")
        assert await offered() == "search follow automatic back help quit"
        await stage.press("logs.back", "logs.back")
        stage.story.task("web")
        assert await offered() == "open filter sort hold decide output browse log graph help quit"
