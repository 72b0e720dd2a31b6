"""The colours of the screen: every text can be read on every line, in every theme, with few colours and with none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.screen.conftest import Showing, Stage

from unstuck.errors import SettingsError
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.keys.preferences import preferences
from unstuck_tui.widgets.styles import CURSORS, TONES
from unstuck_tui.widgets.task_table import TaskTable

OURS = ["unstuck-dark", "unstuck-light", "unstuck-contrast"]
THEMES = [*OURS, "nord"]
FRAMES = " " + "".join(map(chr, range(0x2500, 0x25A0)))
LOOKS = {
    "needs you": [],
    "words to look for": ["table.filter"],
    "Search for commands": ["view.back", "app.palette"],
    "Signs and words": ["view.back", "app.help"],
    "Decide about": ["view.back", "task.decide"],
    "log of run": ["dialog.back", "view.log", "logs.filter"],
    "critical path": ["logs.back", "logs.back", "view.plan"],
    "[1 failures]": ["graph.back", "view.browse"],
    "[3 changes]": ["browse.back", "view.pager", "pager.changes"],
    "Leave the screen?": ["pager.back", "app.quit"],
    "Show me how": ["dialog.back", "gate.answer"],
    "again": ["stuck.abandon"],
    "What should the agent do?": ["stuck.show_me"],
}
"""Words of a screen, and what leads there from the one before."""


def contrast(style: Any, *, few: bool = False) -> float:
    """The contrast of WCAG 2 of a text to its background, also as a terminal of 256 colours shows them."""
    from rich.color import Color, ColorSystem

    def luminance(colour: Color) -> float:
        shown = colour.downgrade(ColorSystem.EIGHT_BIT) if few else colour
        parts = [part / 255 for part in shown.get_truecolor()]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(style.color), luminance(style.bgcolor)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def faint(stage: Stage, *, few: bool) -> list[tuple[str, float]]:
    """Texts and signs of the frame with less contrast than 4.5 : 1. Only frames and bars may have less."""
    from rich.style import Style
    from textual._context import visible_screen_stack
    from textual.filter import dim_color

    visible_screen_stack.set([])
    found = []
    for strip in stage.app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if style is None or not segment.text.strip(FRAMES):
                continue
            assert style.color is not None
            assert style.bgcolor is not None
            if style.dim:
                style += Style(color=dim_color(style.bgcolor, style.color))
            if (measured := contrast(style, few=few)) < 4.5:
                found.append((segment.text.strip(), round(measured, 2)))
    return found


@pytest.mark.parametrize("few", [False, True], ids=["all", "256"])
async def test_every_text_of_a_frame_can_be_read(showing: Showing, few: bool, monkeypatch: Any) -> None:
    """4.5 : 1 at least, in our themes and in others, on selected, changed and finished lines and in all dialogs."""
    async with showing(story=True, settings=ScreenSettings(dialogs="list")) as stage:
        if few:
            monkeypatch.setattr(type(stage.app.console), "color_system", "256")
        for look, actions in LOOKS.items():
            await stage.press(*actions)
            await stage.pass_time(1)
            assert look in stage.text
            for theme in THEMES:
                stage.app.theme = theme
                await stage.pilot.pause()
                assert (look, theme, faint(stage, few=few)) == (look, theme, [])


@pytest.mark.parametrize("theme", OURS)
async def test_few_colours_change_no_ground(showing: Showing, theme: str) -> None:
    """The grounds of our themes are among the 256, so that the selected line looks there as it does elsewhere."""
    from rich.color import ColorSystem

    async with showing(story=True, pops=False) as stage:
        stage.app.theme = theme
        await stage.settled()
        table = stage.main.query_one(TaskTable)
        for ground in ("", *CURSORS):
            colour = table._styles(ground, "plain").bgcolor
            assert colour is not None
            assert colour.downgrade(ColorSystem.EIGHT_BIT).get_truecolor() == colour.get_truecolor()


async def test_a_selected_line_is_one_line_in_the_terminals_own_colours(showing: Showing) -> None:
    """With sixteen colours the whole line is reversed, and no cell of it keeps a colour of its own."""
    async with showing(story=True, pops=False, settings=ScreenSettings(theme="ansi")) as stage:
        table = stage.main.query_one(TaskTable)
        table.focus()
        await stage.settled()
        assert len({table._styles("cursor-focused", tone) for tone in TONES}) == 1
        assert table._styles("cursor-focused", "plain").reverse


@pytest.mark.parametrize(
    "colours",
    [
        '{background: "#303a30", foreground: "#405040"}',
        '{background: "#777777", surface: "#777777", panel: "#7a7a7a", foreground: "#777777", cursor: "#808080"}',
        '{surface: "#ffff00", cursor: "#ffffff", error: "#ffeeee", removed: "#ff0000", boost: "#00ff00"}',
    ],
)
async def test_my_own_colours_hold_and_stay_readable(showing: Showing, tmp_path: Path, colours: str) -> None:
    """The setting colours changes those of my theme; a text that could not be read on them gets another shade."""
    file = tmp_path / "config.yaml"
    file.write_text(f"colours: {colours}\ndialogs: list\n", encoding="utf-8")
    own = preferences({}, file)
    async with showing(story=True, settings=own) as stage:
        assert own.colours.items() <= (vars(stage.app.current_theme) | stage.app.current_theme.variables).items()
        assert faint(stage, few=False) == []
        await stage.press("gate.answer")
        await stage.pass_time(1)
        await stage.press("stuck.abandon")
        assert "again" in stage.text
        assert faint(stage, few=False) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{primry: "#ffffff"}', "has no colour 'primry': the names are accent,"),
        ("{primary: red}", "must give primary a colour in quotes such as"),
        ("blue", "must be a mapping of names to colours"),
    ],
)
def test_a_colour_that_is_none_is_said(tmp_path: Path, text: str, said: str) -> None:
    """In one line, with the file and what to write instead."""
    file = tmp_path / "config.yaml"
    file.write_text(f"colours: {text}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as problem:
        preferences({}, file)
    assert said in str(problem.value)
    assert str(file) in str(problem.value)
