"""The colours of the screen: every text can be read on every line, in every theme, with few colours and with none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.screen.conftest import Showing, Stage
from textual.theme import BUILTIN_THEMES

from unstuck.errors import SettingsError
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.dialogs.dialog import Choices
from unstuck_tui.keys.preferences import preferences
from unstuck_tui.widgets.lines import Lines
from unstuck_tui.widgets.styles import CODE, CURSORS, GROUNDS, TONES
from unstuck_tui.widgets.task_table import TaskTable

WITH_COLOURS = [name for name, theme in BUILTIN_THEMES.items() if not theme.ansi]
OURS = ["unstuck-dark", "unstuck-light", "unstuck-contrast"]


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


def styles(stage: Stage) -> Iterator[tuple[str, str, str, Any]]:
    """Every tone on every ground of every list and text of the screen."""
    for widget in stage.app.screen.query(Lines):
        for ground in ("", *GROUNDS, *CURSORS):
            for tone in (*TONES, *CODE):
                yield str(widget.id), ground, tone, widget._styles(ground, tone)


@pytest.mark.parametrize("few", [False, True], ids=["all", "256"])
@pytest.mark.parametrize("theme", [*OURS, *WITH_COLOURS])
async def test_every_text_can_be_read(showing: Showing, theme: str, few: bool, monkeypatch: Any) -> None:
    """4.5 : 1 at least, on plain, selected, added and removed lines; also in themes that are not ours."""
    async with showing(story=True, pops=False) as stage:
        if few:
            monkeypatch.setattr(type(stage.app.console), "color_system", "256")
        stage.app.theme = theme
        await stage.settled()
        found = [(place, round(contrast(style, few=few), 2)) for *place, style in styles(stage)]
        assert len(found) > 200
        assert [told for told in found if told[1] < 4.5] == []


@pytest.mark.parametrize("few", [False, True], ids=["all", "256"])
@pytest.mark.parametrize("theme", OURS)
async def test_every_choice_of_a_question_can_be_read(showing: Showing, theme: str, few: bool) -> None:
    """4.5 : 1 at least, also on the line that is selected, where 256 colours are all there are."""
    async with showing(story=True, settings=ScreenSettings(theme=theme.removeprefix("unstuck-"))) as stage:
        await stage.settled()
        choices = stage.app.screen.query_one(Choices)
        assert choices.highlighted == 0
        shown = [
            (segment.text, round(contrast(segment.style, few=few), 2))
            for strip in choices.render_lines(choices.size.region)
            for segment in strip
            if segment.text.strip() and segment.style is not None
        ]
        assert len(shown) > 10
        assert [told for told in shown if told[1] < 4.5] == []


def faint(stage: Stage, *, few: bool) -> list[tuple[str, float]]:
    """Texts of the frame with less contrast than 4.5 : 1, without frames and bars."""
    from rich.style import Style
    from textual._context import visible_screen_stack
    from textual.filter import dim_color

    visible_screen_stack.set([])
    found = []
    for strip in stage.app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if style is None or not any(letter.isalnum() for letter in segment.text):
                continue
            assert style.color is not None
            assert style.bgcolor is not None
            if style.dim:
                style += Style(color=dim_color(style.bgcolor, style.color))
            if (measured := contrast(style, few=few)) < 4.5:
                found.append((segment.text.strip(), round(measured, 2)))
    return found


@pytest.mark.parametrize("few", [False, True], ids=["all", "256"])
@pytest.mark.parametrize("theme", OURS)
async def test_every_text_of_a_frame_can_be_read(showing: Showing, theme: str, few: bool, monkeypatch: Any) -> None:
    """Hints in fields, keys, titles, commands of the palette and choices that are not possible, too."""
    own = ScreenSettings(theme=theme.removeprefix("unstuck-"), dialogs="list")
    async with showing(story=True, pops=False, settings=own) as stage:
        if few:
            monkeypatch.setattr(type(stage.app.console), "color_system", "256")
            stage.app.theme = "nord"
            stage.app.theme = theme
        looks = {
            "main": [],
            "filter": ["table.filter"],
            "palette": ["view.back", "app.palette"],
            "decide": ["view.back", "task.decide"],
            "log": ["dialog.back", "view.log", "logs.filter"],
        }
        for name, actions in looks.items():
            for action in actions:
                await stage.press(action)
            await stage.pass_time(0.3)
            assert (name, faint(stage, few=few)) == (name, [])


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


async def test_my_own_colours_hold_and_stay_readable(showing: Showing, tmp_path: Path) -> None:
    """The setting colours changes those of my theme; a text that could not be read on them is made lighter."""
    file = tmp_path / "config.yaml"
    file.write_text('colours: {background: "#303a30", foreground: "#405040"}\n', encoding="utf-8")
    async with showing(story=True, pops=False, settings=preferences({}, file)) as stage:
        assert stage.app.current_theme.background == "#303a30"
        assert all(contrast(style) >= 4.5 for *_, style in styles(stage))


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
