"""Private parts of Textual that the screen uses still exist and behave as assumed."""

from __future__ import annotations

import os
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from textual import events, keys
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea

from unstuck_tui.textual_internals.fields import PasteInput, PasteTextArea
from unstuck_tui.textual_internals.screens import (
    RedirectedDriver,
    SteadyApp,
    SteadyScreen,
    XTermParser,
    bind_keys,
    driver_of,
    key_name,
)

USED = {
    "App._batch_count": lambda: App(),
    "App._bindings": lambda: App(),
    "App._clipboard": lambda: App(),
    "App._display": lambda: App,
    "App._driver": lambda: App(),
    "App._exit": lambda: App(),
    "App._exit_renderables": lambda: App(),
    "App._handle_exception": lambda: App,
    "App._print_error_renderables": lambda: App,
    "Input._on_paste": lambda: Input,
    "Screen._compositor_refresh": lambda: Screen,
    "Screen._push_result_callback": lambda: Screen,
    "Screen._on_screen_resume": lambda: Screen,
    "Screen._repaint_required": lambda: Screen(),
    "Screen._screen_resized": lambda: Screen,
    "Screen.stack_updates": lambda: Screen,
    "TextArea._on_paste": lambda: TextArea,
    "keys._character_to_key": lambda: keys,
}


@pytest.mark.parametrize("use", USED)
async def test_textual_still_has_it(use: str) -> None:
    """A release of Textual that drops one of these names is told by that name."""
    assert hasattr(USED[use](), use.partition(".")[2]), f"Textual has no {use}: see unstuck_tui/textual_internals.py"


async def test_what_breaks_the_app_is_kept_and_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The exception that ends the screen is at hand afterwards, and no page about it fills the terminal."""

    class Broken(SteadyApp):
        def on_mount(self) -> None:
            raise ValueError("broken")

    app = Broken()
    with suppress(ValueError):
        async with app.run_test():
            pass
    assert isinstance(app.failure, ValueError)
    assert "broken" not in "".join(capsys.readouterr())


async def test_what_is_copied_can_be_pasted() -> None:
    """Textual's own fields paste what was copied on this screen."""
    app = SteadyApp()
    app.keep_copied("a place")
    assert app.clipboard == "a place"


async def test_a_running_app_has_its_driver() -> None:
    """The driver is there while the app runs, and not before."""
    app = SteadyApp()
    assert driver_of(app) is None
    async with app.run_test():
        driver = driver_of(app)
        assert driver is not None
        assert driver.is_headless


async def test_a_screen_that_comes_up_is_styled_once() -> None:
    """Textual styles every widget of a screen twice when it comes up; a steady screen once."""
    counts = {}

    class Probe(Static):
        def notify_style_update(self) -> None:
            super().notify_style_update()
            counts[type(self.screen)] = counts.get(type(self.screen), 0) + 1

    class Plain(Screen[None]):
        def compose(self) -> ComposeResult:
            yield Probe()

    class Steady(SteadyScreen[None]):
        def compose(self) -> ComposeResult:
            yield Probe()

    async with SteadyApp().run_test() as pilot:
        for screen in (Plain(), Steady()):
            await pilot.app.push_screen(screen)
            await pilot.pause()
    assert 0 < counts[Steady] < counts[Plain]


@pytest.mark.parametrize("kind", [PasteInput, PasteTextArea])
async def test_a_pasted_text_is_changed_first(kind: type[Any]) -> None:
    """A field takes what it makes of a pasted text, once, and nothing of the text itself."""

    class Field(kind):  # type: ignore[misc]
        def pasted(self, text: str) -> str:
            return text.upper()

    class Fields(SteadyApp):
        def compose(self) -> ComposeResult:
            yield Field()

    async with Fields().run_test() as pilot:
        field = pilot.app.query_one(Field)
        field.post_message(events.Paste("words"))
        await pilot.pause()
        assert (field.value if kind is PasteInput else field.text) == "WORDS"


async def test_keys_are_bound_to_one_screen() -> None:
    """Keys that come with a question work on its dialog, and not on the next one."""
    chosen = []

    class Asks(SteadyScreen[None]):
        def action_choose(self, name: str) -> None:
            chosen.append(name)

    async with SteadyApp().run_test() as pilot:
        first, second = Asks(), Asks()
        bind_keys(first, "x,y", "choose('one')", "one")
        await pilot.app.push_screen(first)
        await pilot.press("x", "y")
        await pilot.app.push_screen(second)
        await pilot.press("x")
    assert chosen == ["one", "one"]


def test_a_character_has_the_name_that_textual_gives_its_key() -> None:
    """A key that somebody sets as a character is the one that Textual tells of."""
    assert [key_name(character) for character in "a?é;"] == ["a", "question_mark", "é", "semicolon"]


def test_bytes_of_a_terminal_become_keys() -> None:
    """The parser of terminal input takes text and gives events, at once and when its time has come."""
    parser = XTermParser()
    assert [event.key for event in parser.feed("a\x1b[A") if isinstance(event, events.Key)] == ["a", "up"]
    assert list(parser.tick()) == []


async def test_a_driver_writes_to_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the driver is given takes the place of standard error, under Textual's own name for it."""
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.__stdin__", nothing)
        driver = RedirectedDriver(App())
    before = vars(driver).copy()
    driver.redirect(file := StringIO())
    assert {name for name, value in vars(driver).items() if value is not before.get(name)} == {"_file"}
    assert vars(driver)["_file"] is file
