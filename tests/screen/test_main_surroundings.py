"""Surroundings of the main screen: help, palette, footer, mouse, colours, and a screen that fails."""

from __future__ import annotations

from typing import Any

import pytest
from rich.style import Style
from textual import events
from textual.containers import VerticalScroll
from textual.widgets import Input

from unstuck import Report
from unstuck.eventlog import events as e
from unstuck.settings.screen_settings import ScreenSettings
from unstuck.words.labels import ENDED, LIVE
from unstuck.words.signs import signs
from unstuck_tui.keys.actions import ACTIONS, Action, actions_of, key_of
from unstuck_tui.keys.palette import ActionCommands
from unstuck_tui.screens.plan import PlanScreen
from unstuck_tui.screens.reading import HelpScreen
from unstuck_tui.widgets.key_hints import KeyHints
from unstuck_tui.widgets.task_table import TaskTable

Showing = Any
Stage = Any


async def test_help_stands_in_columns_on_a_small_terminal(showing: Showing) -> None:
    """A long line of the help continues below its own text, not below its key."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        await stage.press("app.help")
        rows = [row[1:-1] for row in stage.rows()]
        first = next(row for row in rows if "Answer the question" in row)
        rest = rows[rows.index(first) + 1]
        assert len(rest) - len(rest.lstrip()) == first.index("Answer the question")


async def test_help_is_about_the_focused_pane(showing: Showing) -> None:
    """`?` explains the keys of the pane one is in, then those that work everywhere; esc closes it."""
    async with showing(story=True, pops=False) as stage:
        await stage.press("app.help")
        assert isinstance(stage.app.screen, HelpScreen)
        for action in actions_of("table", "main", "app")[:4]:
            assert action.help in stage.text
        assert "Go to the end and follow it." not in stage.text
        await stage.pilot.press("escape")
        await stage.press("task.open", "app.help")
        assert "Go to the end and follow it." in stage.text
        await stage.pilot.press("escape")
        await stage.settled()
        assert stage.app.screen is stage.main


async def test_the_help_is_read_with_the_keys_that_it_tells_of(showing: Showing) -> None:
    """On a small terminal j, k, G and g move through it as they do everywhere; the key that opened it closes it."""
    async with showing(size=(80, 24)) as stage:
        await stage.pilot.press("f1")
        await stage.pilot.pause()
        box = stage.app.screen.query_one(VerticalScroll)
        places = []
        for key in ("j", "G", "k", "g"):
            await stage.pilot.press(key)
            await stage.pilot.pause()
            places.append(box.scroll_offset.y)
        last = int(box.max_scroll_y)
        assert last > 2
        assert places == [1, last, last - 1, 0]
        await stage.pilot.press("f1")
        await stage.pilot.pause()
        assert stage.app.screen is stage.main


async def test_everything_is_in_the_palette(showing: Showing) -> None:
    """The palette finds an action by its words and does it."""
    async with showing(size=(120, 40)) as stage:
        stage.story.task("b")
        stage.story.task("a")
        await stage.settled()
        await stage.pilot.press(key_of("app.palette"))
        await stage.pilot.pause()
        await stage.pilot.press(*"by name")
        await stage.pilot.pause(0.3)
        await stage.pilot.press("enter")
        await stage.settled()
        assert stage.shown == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("pause", "Hold  (h)"),
        ("stop", "Hold  (h)"),
        ("theme", "Colours  (^t)"),
        ("retry", "Decide  (m)"),
        ("diff", "Changes  (3)"),
        ("webh", "Select task webhook"),
        ("what-if", "Browse what-if  (b 8)"),
        ("other settings", "Browse what-if  (b 8)"),
        ("restore", "Browse checkpoints  (b 2)"),
    ],
)
async def test_the_palette_is_asked_in_plain_words(showing: Showing, words: str, found: str) -> None:
    """Names are plain words with their keys; other words for the same thing find them, and so do names of tasks."""
    async with showing(size=(120, 40), story=True, pops=False) as stage:
        palette = ActionCommands(stage.main)
        hits = sorted([hit async for hit in palette.search(words)], key=lambda hit: -hit.score)
        assert found in [str(hit.match_display) for hit in hits][:3]
        listed = [str(hit.display) async for hit in palette.discover()]
        assert "Answer  (a)" in listed
        assert not [name for name in listed if name.startswith(("Down", "Page "))]


async def test_the_palette_opens_a_tab_of_browse(showing: Showing) -> None:
    """On the main screen I type a tab's name, and it is the tab that comes."""
    async with showing(size=(120, 40), story=True, pops=False) as stage:
        assert "b browse" in stage.rows()[-1]
        await stage.pilot.press(key_of("app.palette"), *"what-if")
        await stage.pilot.pause(0.3)
        await stage.pilot.press("enter")
        await stage.settled()
        assert "[8 what-if]" in stage.text


async def test_the_palette_selects_a_task(showing: Showing) -> None:
    """A task that is found by its name is under the cursor then."""
    async with showing(size=(120, 40), story=True, pops=False) as stage:
        await stage.pilot.press(key_of("app.palette"), *"migrate")
        await stage.pilot.pause(0.3)
        await stage.pilot.press("enter")
        await stage.settled()
        assert stage.selected == "migrate"


async def test_help_explains_signs_and_words(showing: Showing) -> None:
    """tab turns to a second page, which explains every sign of a state, every column and the words of the screen."""
    async with showing(size=(120, 60), story=True, pops=False) as stage:
        await stage.press("app.help")
        assert "Its check runs." not in stage.text
        await stage.pilot.press("tab")
        await stage.settled()
        for words in ("Its check runs.", "TRIED", "The identity of a failure", "! ", "‖", "↯"):
            assert words in stage.text
        await stage.pilot.press("tab")
        await stage.settled()
        assert "Answer the question" in stage.text


def test_every_state_is_explained() -> None:
    """No state of a task has a sign or a word that the help does not know."""
    explained = {(sign, word) for sign, word, _ in signs()}
    assert {(sign, word) for sign, word, *_ in LIVE.values()} <= explained
    assert {(told[0], status) for status, told in ENDED.items()} <= explained


async def test_escape_and_a_letter_that_come_at_once_are_two_keys(showing: Showing) -> None:
    """As over a slow line, where they look like alt and that letter; where a text is written alt is left alone."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.settled()
        await stage.press("app.help")
        stage.app.post_message(events.Key("alt+d", "d"))
        await stage.settled()
        assert isinstance(stage.app.screen, PlanScreen)
        await stage.press("graph.back")
        await stage.press("table.filter")
        stage.app.post_message(events.Key("alt+d", "d"))
        await stage.settled()
        assert stage.app.screen is stage.main
        assert isinstance(stage.app.focused, Input)


async def test_keys_that_come_with_the_end_of_a_word_are_keys(showing: Showing) -> None:
    """A word to look for and what I do then, typed faster than the screen looks: no letter goes astray either way."""
    async with showing(story=True, pops=False) as stage:

        async def at_once(typed: str) -> None:
            for sign in typed:
                named = {
                    "/": "slash",
                    "?": "question_mark",
                    "!": "exclamation_mark",
                    "\r": "enter",
                    "\x1b": "escape",
                }.get(sign, sign)
                stage.app.post_message(events.Key(named, sign))
            await stage.settled()

        field = stage.main.query_one("#filter", Input)
        await at_once("/!/?G\r")
        assert field.value == "!/?G"
        await at_once("\x1b/s\rgjj")
        assert field.value == "s"
        assert stage.app.focused == stage.main.query_one(TaskTable)
        assert stage.selected == stage.shown[2]
        await at_once("/\x1bGk")
        assert field.value == ""
        assert stage.selected == stage.shown[-2]


async def test_the_palette_needs_room(showing: Showing) -> None:
    """It closes when the window shrinks to a line, where turning its pages would end the screen, and opens again."""
    async with showing(size=(80, 24)) as stage:
        await stage.pilot.press(key_of("app.palette"))
        await stage.pilot.resize_terminal(300, 3)
        await stage.settled()
        await stage.pilot.press("pageup", key_of("app.palette"), "pageup")
        await stage.settled()
        assert stage.app.screen is stage.main
        await stage.pilot.resize_terminal(80, 24)
        await stage.pilot.press(key_of("app.palette"))
        await stage.settled()
        assert stage.app.screen is not stage.main


async def test_each_hint_of_the_footer_is_whole_and_leads_somewhere(showing: Showing) -> None:
    """At 80 columns the footer offers in every pane as many keys as it has room for, and none that leads nowhere."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        panes = [stage.main.query_one(TaskTable), *stage.main.query("Page"), stage.main.query_one("#attention")]
        for pane in panes:
            pane.focus()
            await stage.settled()
            hints, row = stage.main.query_one(KeyHints).hints, stage.rows()[-1]
            assert all(stage.main.active_bindings[hint.key].enabled for hint in hints)
            assert row.startswith("".join(f" {hint.shown} {hint.label} " for hint in hints))


async def test_a_wide_footer_has_the_keys_that_matter(showing: Showing) -> None:
    """A wide footer also has the keys to look further; those to answer, decide and leave stand in any."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        more = ("h hold", "m decide", "w edit", "b browse", "l log", "d graph")
        assert not any(hint in stage.rows()[-1] for hint in more[3:])
        await stage.pilot.resize_terminal(160, 40)
        await stage.settled()
        assert all(hint in stage.rows()[-1] for hint in (*more, "? help", "q quit"))
        await stage.pilot.resize_terminal(80, 24)
        await stage.settled()
        assert all(hint in stage.rows()[-1] for hint in ("a answer", "n next", "m decide", "? help", "q quit"))


async def test_the_mouse_selects_and_opens(showing: Showing) -> None:
    """A click puts the cursor on a task, a second one opens it; a click on a question points at its task."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        await stage.pilot.click("#tasks", offset=(5, 3))
        await stage.settled()
        assert stage.selected == "search"
        await stage.pilot.click("#attention", offset=(5, 0))
        await stage.settled()
        assert stage.selected == "webhook"
        await stage.pilot.click("#tasks", offset=(5, 2), times=2)
        await stage.settled()
        assert "cart · working" in stage.text


async def test_light_and_dark_can_be_read(showing: Showing) -> None:
    """In every theme each word of the table and of the choices stands out from its background (4.5 : 1).

    One key goes from dark to light, to high contrast, on to the terminal's own colours, and back.
    """

    def unreadable(region: Any) -> list[str]:
        strips = [strip.crop(region.x, region.right) for strip in stage.app.screen._compositor.render_strips()]
        parts = [part for strip in strips[region.y : region.bottom] for part in strip if part.text.strip()]
        assert len(parts) > 8
        return [part.text for part in parts if _contrast(part.style) < 4.5]

    async with showing(story=True) as stage:
        for theme in ("unstuck-contrast", "unstuck-light", "unstuck-dark"):
            stage.app.theme = theme
            await stage.settled()
            assert "models" in stage.text  # the run stays in view round the dialog
            assert unreadable(stage.app.screen.query_one("#choices").region) == []
        await stage.set_aside()
        for dark in (True, False, True):
            assert stage.app.current_theme.dark is dark
            await stage.press("table.down")
            assert unreadable(stage.main.query_one(TaskTable).region) == []
            await stage.press("app.theme")
        assert stage.app.native_ansi_color
        await stage.press("app.theme")
        assert stage.app.current_theme.dark
        assert not stage.app.native_ansi_color


async def test_the_terminals_own_colours_are_the_only_ones(showing: Showing) -> None:
    """With the ANSI theme every word has one of the sixteen colours, and none lies on the same one."""
    async with showing(story=True, settings=ScreenSettings(theme="ansi")) as stage:
        for _ in range(2):
            strips = stage.app.screen._compositor.render_strips()
            styles = [part.style for strip in strips for part in strip if part.text.strip() and part.style]
            assert len(styles) > 40
            for style in styles:
                assert {color.type.name for color in (style.color, style.bgcolor)} <= {"DEFAULT", "STANDARD"}
                assert style.color != style.bgcolor or style.color.is_default
            if stage.app.screen.is_modal:
                await stage.set_aside()


async def test_an_empty_no_color_keeps_the_colours(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """``NO_COLOR=`` is as if it were not set: the screen is drawn in the same colours, as commands print theirs."""

    async def drawn() -> list[tuple[str, Style | None]]:
        async with showing(story=True) as stage:
            return [(part.text, part.style) for strip in stage.app.screen._compositor.render_strips() for part in strip]

    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = await drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert await drawn() != coloured
    monkeypatch.setenv("NO_COLOR", "")
    assert await drawn() == coloured


async def test_without_colours_the_cursor_is_seen(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under NO_COLOR all has the terminal's own two colours; the selected line, choice and action are reversed."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing() as stage:
        stage.story.task("web")
        stage.story.task("cart")
        await stage.settled()
        strips = stage.app.screen._compositor.render_strips()
        web, cart = (next(strip for strip in strips if name in strip.text) for name in ("○ web", "○ cart"))
        assert all(part.style.reverse for part in web if part.text.strip(" │") and part.style)
        assert not any(part.style.reverse for part in cart if part.style)
        stage.story.asks("web", problem="no key")
        await stage.settled()
        strips = stage.app.screen._compositor.render_strips()
        first, second = (
            next(part.style for strip in strips for part in strip if name in part.text)
            for name in ("Show me how", "Skip this part")
        )
        assert first.reverse
        assert not second.reverse
        styles = [part.style for strip in strips for part in strip if part.style]
        assert all(style.color.is_default and style.bgcolor.is_default for style in styles)
        await stage.set_aside()
        await stage.pilot.press(key_of("app.palette"), "down")
        await stage.settled()
        lines = stage.app.screen._compositor.render_strips()
        reverse = [next(part.style.reverse for part in line if "(" in part.text) for line in lines if "(" in line.text]
        assert (sum(map(bool, reverse)), len(reverse) > 1) == (1, True)


async def test_a_screen_that_fails_takes_nothing_with_it(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure while records are shown breaks the screen, not the log: the run goes on."""
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with showing() as stage:
            stage.story.task("web")
            monkeypatch.setattr(stage.app.tracker.history, "see", lambda record: 1 / 0)
            stage.story.start("web")
            await stage.story.core.journal.committed()
            await stage.story.end("web", 1, Report(exit_code=0))
            await stage.story.core.journal.committed()
            assert stage.story.supervisor.state.tasks["web"].state == "judging"
            await stage.settled()


async def test_a_screen_that_is_gone_is_told_nothing(showing: Showing) -> None:
    """A run that goes on without its screen has no more work with it."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.settled()
        tracker = stage.app.tracker
        tracker.close()
        stage.story.start("web")
        await stage.story.core.journal.committed()
        assert not tracker.take().tasks


async def test_an_ended_run_stands_still(showing: Showing) -> None:
    """When everything is done the header says so and its clock stops."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.start("web")
        await stage.story.end("web", 61)
        stage.story.passes("web")
        stage.story.append(e.RunEnded(exit_reason="succeeded", exit_code=0))
        await stage.settled()
        assert "1:01  every task succeeded" in stage.rows()[0]
        await stage.pass_time(100)
        assert "1:01  every task succeeded" in stage.rows()[0]


def test_no_key_means_two_things_in_one_pane() -> None:
    """In each pane every key belongs to one action, also of those that work everywhere."""
    for area in ("table", "attention", "detail"):
        keys = [key for action in actions_of(area, "main", "app") for key in action.keys.split(",")]
        assert sorted(keys) == sorted(set(keys))


def test_every_action_has_an_id_of_its_own() -> None:
    """Ids name actions for remapping, and each says what it does."""
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    assert all(isinstance(action, Action) and action.help for action in ACTIONS)


def _contrast(style: Any) -> float:
    def luminance(color: Any) -> float:
        parts = [part / 255 for part in color.get_truecolor()]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(style.color), luminance(style.bgcolor)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
