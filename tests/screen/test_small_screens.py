"""At 60 by 16 cells nothing that decides is out of reach, and every line says something."""

from __future__ import annotations

from pathlib import Path

from tests.screen.conftest import Showing

from unstuck.eventlog.log.records import read_records
from unstuck_tui.render.log import record_cells

GOLDEN = Path(__file__).parent.parent / "data" / "golden"


async def test_a_low_dialog_leaves_no_line_unused_while_choices_are_hidden(showing: Showing) -> None:
    """Either all choices of what can be decided are there, or the dialog is as high as the screen lets it."""
    async with showing((60, 16), story=True, pops=False) as stage:
        await stage.press("table.down", "task.decide")
        await stage.pass_time(1)
        choices = stage.app.screen.query_one("#choices")
        below = stage.app.screen.query_one("#dialog").content_region.bottom
        hint = stage.app.screen.query_one("#hint").region
        assert choices.max_scroll_y == 0 or below - hint.bottom <= 1
        assert choices.size.height >= 9


def test_a_slim_log_says_what_happened() -> None:
    """At 60 columns each record has room for its words, and is as wide as the screen."""
    for log in sorted(GOLDEN.glob("*.jsonl")):
        for record in read_records(log):
            cells = record_cells(record, 60)
            assert 55 <= sum(len(cell.text) for cell in cells) <= 60
            assert len(cells[-1].text.strip()) > 3


async def test_what_was_said_in_passing_goes_with_a_key(showing: Showing) -> None:
    """A toast that covers half of a small screen closes with a key: over a dialog, and with esc if nothing is open."""
    async with showing((60, 16), story=True, pops=False) as stage:
        said = "Nothing to copy"
        await stage.press("table.first", "view.copy", "gate.answer")
        assert said not in stage.text, "it would cover the choices"
        stage.app.notify(f"{said} in the dialog", timeout=600)
        await stage.pilot.pause()
        assert said in stage.text
        await stage.press("app.clear")
        assert said not in stage.text
        assert stage.app.screen.is_modal
        await stage.set_aside()
        await stage.press("task.open", "view.copy", "view.back")
        assert said in stage.text
        await stage.press("view.back")
        assert said not in stage.text
