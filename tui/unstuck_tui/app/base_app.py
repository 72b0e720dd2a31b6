"""The base of the apps: themes, keys and what reaches the terminal, whatever is shown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, TypeGuard

from textual import events
from textual.actions import parse
from textual.binding import ActiveBinding, Binding
from textual.command import CommandPalette

from unstuck_tui.app.themes import GROUNDS, themes
from unstuck_tui.keys.actions import Area, bindings_of
from unstuck_tui.terminal.driver import TerminalDriver
from unstuck_tui.terminal.escapes import clipboard
from unstuck_tui.terminal.readable import readable_colours
from unstuck_tui.textual_internals.screens import SteadyApp, driver_of
from unstuck_tui.widgets.minimum_size import FittingScreen, is_below

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.filter import LineFilter
    from textual.message_pump import MessagePump
    from textual.widget import Widget
    from textual.widgets import Input, TextArea

    from unstuck.settings.screen_settings import ScreenSettings

_HANDLED_S = 0.2
_ANSI = "ansi-dark"
"""The theme that has no colours but the terminal's own sixteen, and none without those."""


def is_field(widget: Widget | None) -> TypeGuard[Input | TextArea]:
    """True for a field in which text is written."""
    from textual.widgets import Input, TextArea  # asked at a key, and slow to load

    return isinstance(widget, Input | TextArea)


def _commands() -> type[Provider]:
    from unstuck_tui.keys.palette import ActionCommands

    return ActionCommands


class BaseApp(SteadyApp, inherit_bindings=False):
    """Shows screens with the person's own colours and keys."""

    # A screen's own way back comes before, wherever there is one.
    BINDINGS = [*bindings_of("app"), Binding("escape", "clear", show=False)]  # noqa: RUF012
    COMMANDS = {_commands}  # noqa: RUF012
    DEFAULT_CSS = """
    BaseApp CommandPalette > .command-palette--help-text { color: $foreground; text-style: not bold; }
    CommandPalette CommandList > .option-list--option-highlighted { background: $cursor; color: $foreground; }
    CommandPalette CommandList:nocolor > .option-list--option-highlighted {
        background: $foreground; color: $background;
    }
    """
    TITLE = "unstuck"

    def __init__(self, settings: ScreenSettings | None = None) -> None:
        super().__init__()
        self._given = settings
        chosen, colours = ("dark", {}) if settings is None else (settings.theme, settings.colours)
        found = themes(chosen, colours)
        for theme in found.values():
            self.register_theme(theme)
        names = {name: theme.name for name, theme in found.items()} | ({} if self.no_color else {"ansi": _ANSI})
        self._themes = list(names.values())
        self.theme = names.get(chosen, self._themes[0])

    @property
    def settings(self) -> ScreenSettings:
        """The person's settings; where none are given, the defaults, which no first frame waits for."""
        if self._given is None:
            from unstuck.settings.screen_settings import ScreenSettings

            self._given = ScreenSettings()
        return self._given

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filter of what is drawn; without colours it is drawn in the terminal's own."""
        if self.no_color:
            from unstuck_tui.terminal.uncoloured import UNCOLOURED

            return [UNCOLOURED[self.current_theme.dark]]
        if self.native_ansi_color:
            return []
        return [readable_colours(self.ansi_theme, self.console.color_system == "256")]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The variables of our own that a theme of Textual's lacks."""
        return dict(GROUNDS)

    def on_mount(self) -> None:
        self.set_keymap(dict(self._given.keys) if self._given is not None else {})

    def save_unsent(self) -> str:
        """Keep what the person wrote and did not send. Return where, for one line; empty if there is nothing."""
        return ""

    def pressed(self) -> None:
        """Note that the person has pressed a key."""

    async def on_event(self, event: events.Event) -> None:
        """Handle every key here first: a dialog that comes up while keys are pressed is answered by accident."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            if self._is_two_keys(event):
                await self.on_event(events.Key("escape", "\x1b"))
                await self.on_event(events.Key(event.character or "", event.character))
                return
            self.pressed()
            if await self._acts_on(event):
                return
        await super().on_event(event)

    def _is_two_keys(self, event: events.Key) -> bool:
        """True for escape and a letter that came together, as over a slow line: alt and that letter look the same.

        Not while a text is written, nor where that key with alt does something.
        """
        if not event.key.startswith("alt+") or not event.character or is_field(self.focused):
            return False
        return event.key not in self.screen.active_bindings

    async def _acts_on(self, event: events.Key) -> bool:
        """Do at once what the key means, where it is no text that is typed.

        Textual sends keys to what has the focus and acts when they come back: of keys that come in one go all but the
        first would go to what had the focus before it, and the rest of a word to look for would be commands.
        """
        self.app_focus = True
        if not self.screen.is_mounted:  # what acts on the key is not there yet
            await self._handled(self.screen)
        field, line = self.focused, None
        if is_field(field):
            from unstuck_tui.widgets.inputs import LineField

            line = field if isinstance(field, LineField) else None
            if event.is_printable or line is None:
                return False
        bound = self.screen.active_bindings.get(event.key)
        if line is None:
            if bound is not None and not bound.enabled:
                return self._says_why_not(bound)
            return bound is not None and await self.run_action(bound.binding.action, bound.node)
        if bound is None or not bound.enabled or (bound.node is line and bound.binding.action != "submit"):
            return False
        await self._handled(line)  # what was typed before
        acts = await self.run_action(bound.binding.action, bound.node)
        await self._handled(*takewhile(lambda node: node is not self, line.ancestors_with_self))
        return acts

    def _says_why_not(self, bound: ActiveBinding) -> bool:
        """Say why a key does nothing now; False where nothing is known about it."""
        if not isinstance(bound.node, FittingScreen):
            return False
        self.notify(bound.node.why_not(parse(bound.binding.action)[1]), timeout=10, markup=False)
        return True

    async def _handled(self, *nodes: MessagePump) -> None:
        """Wait until each of ``nodes`` has handled what has reached it so far; not long, lest one waits for us."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_HANDLED_S):
                for node in nodes:
                    done = asyncio.Event()
                    if node.call_later(done.set):
                        await done.wait()

    def on_resize(self, event: events.Resize) -> None:
        """Close the palette where it has no room for a single line: its list cannot be moved through then."""
        if is_below(event.size) and isinstance(self.screen, CommandPalette):
            self.pop_screen()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (action == "command_palette" and is_below(self.size))

    def action_leave(self) -> None:
        self.exit()

    def action_clear(self) -> None:
        """Take away what was said in passing: on a small screen it covers much of what it is about."""
        self.clear_notifications()

    def action_suspend(self) -> None:
        self.action_suspend_process()

    def action_theme(self) -> None:
        # The palette's own command may have chosen a theme that is not among them.
        now = self._themes.index(self.theme) if self.theme in self._themes else -1
        self.theme = self._themes[(now + 1) % len(self._themes)]

    def copy_to_clipboard(self, text: str) -> None:
        self.keep_copied(text)
        self.write(clipboard(text, in_tmux=bool(os.environ.get("TMUX"))))

    def write(self, sequence: str) -> None:
        """Send ``sequence`` to the terminal, also while another program has it."""
        driver = driver_of(self)
        if isinstance(driver, TerminalDriver):
            driver.pass_on(sequence)
        elif driver is not None:
            driver.write(sequence)

    def set_title(self, text: str) -> None:
        """Set the terminal's title to ``text`` until the screen is left; empty: its own."""
        driver = driver_of(self)
        if isinstance(driver, TerminalDriver):
            driver.show_title(text)

    def action_help(self) -> None:
        from unstuck_tui.keys.offers import offered
        from unstuck_tui.screens.reading import HelpScreen

        if isinstance(self.screen, HelpScreen):
            return
        own: Sequence[Area] = getattr(self.screen, "OWN", ("main",))
        area: Area = getattr(self.focused, "AREA", own[-1])
        # Over another screen nothing works that works everywhere else.
        everywhere: Sequence[Area] = () if self.screen.is_modal else ("app",)
        possible = {action.id for action, _ in offered(self.screen)}
        self.push_screen(HelpScreen(*own[:-1], area, own[-1], *everywhere, offered=possible))
