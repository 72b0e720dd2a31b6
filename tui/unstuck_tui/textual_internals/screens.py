"""Apps, screens, keys and the driver, as far as they need private names of Textual's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time
from typing import TYPE_CHECKING, Any

from textual import events
from textual._xterm_parser import XTermParser as XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import Monochrome, NoColor
from textual.geometry import Size
from textual.keys import _character_to_key
from textual.message import Message
from textual.screen import Screen, ScreenResultType

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.dom import DOMNode
    from textual.driver import Driver


class SteadyApp(App[None]):
    """An app that keeps the exception that broke it as its ``failure``, and draws every frame.

    A terminal is no place for a page of locals, so Textual's own report is not printed.
    """

    def __init__(self) -> None:
        super().__init__()
        if self.no_color and not os.environ.get("NO_COLOR"):  # an empty variable does not count, says no-color.org
            self.no_color = False
            self._filters = [one for one in self._filters if not isinstance(one, NoColor | Monochrome)]
        self.failure: Exception | None = None
        self._has_dropped = self._is_left = False

    def _handle_exception(self, error: Exception) -> None:
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        self._exit_renderables.clear()

    @contextmanager
    def batch_update(self) -> Iterator[None]:
        """Change many widgets at once, then draw the frames that came meanwhile: Textual would drop them."""
        with super().batch_update():
            yield
        if self._has_dropped and not self._batch_count:
            self._has_dropped = False
            self.refresh()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        self._has_dropped = self._has_dropped or (renderable is not None and self._batch_count > 0)
        super()._display(screen, renderable)

    @property
    def is_left(self) -> bool:
        """True once it has been told to exit, which takes it a moment."""
        return self._is_left

    def exit(self, *arguments: Any, **options: Any) -> None:
        """Leave; a first screen that is being made is finished before, as Textual would mount half of it."""
        self._is_left = True
        super().exit(*arguments, **options)
        self._exit = self._dom_ready

    async def turn_to(self, screen: Screen[Any]) -> None:
        """Show ``screen`` in the place of the first one, of which Textual holds no caller that it could call back."""
        self.screen._push_result_callback(self.screen, None)
        await self.switch_screen(screen)

    def keep_copied(self, text: str) -> None:
        """Set the clipboard of this app's own fields to ``text``."""
        self._clipboard = text


def driver_of(app: App[Any]) -> Driver | None:
    return app._driver


class SteadyScreen(Screen[ScreenResultType]):
    """A screen that ignores a size which the terminal no longer has.

    Textual tells a screen of each size once more when it has been laid out for it. Of two sizes on their way at once
    each would bring up the other for ever, and in that time nothing else in this process comes to its turn.
    """

    @property
    def is_current(self) -> bool:
        """True where some of it can be seen: nothing but dialogs lies over it.

        Textual takes whatever is next to the top for seen, and draws all of the top with every change below it.
        """
        stack = self.app.screen_stack
        return self in stack and all(screen.is_modal for screen in stack[stack.index(self) + 1 :])

    def _compositor_refresh(self) -> None:
        """Draw a change below a dialog once: Textual would draw all of the screen with whatever comes next."""
        required, begun = self._repaint_required, thread_time()
        super()._compositor_refresh()
        self._repaint_required = required
        self.painted(thread_time() - begun)

    def painted(self, seconds: float) -> None:
        """A frame was painted, which took so many seconds of the processor."""

    def check_message_enabled(self, message: Message) -> bool:
        if isinstance(message, events.Resize) and message.size != self.app.size:
            return False
        return super().check_message_enabled(message)

    def _screen_resized(self, size: Size) -> None:
        """Skip the layout for a size that it has just had: Textual asks for it at each start and dialog."""
        if self.outer_size != size:
            super()._screen_resized(size)

    def _update_auto_focus(self) -> None:
        """Focus what the screen begins with, also while the terminal has no focus: its keys are in the footer."""
        wanted = self.AUTO_FOCUS
        if self.app.app_focus or self.focused is not None or not wanted:
            super()._update_auto_focus()
        else:
            self.set_focus(next((widget for widget in self.query(wanted) if widget.focusable), None))

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Skip the styling of each widget at the first time, when all have just been styled."""
        if not self.stack_updates:
            event.refresh_styles = False


class RedirectedDriver(LinuxDriver):
    """Textual's driver for a terminal, with a file of ours instead of standard error."""

    def redirect(self, file: Any) -> None:
        """Write to ``file``, which has the ``write``, ``flush``, ``isatty`` and ``fileno`` of a text file."""
        self._file = file


def bind_keys(node: DOMNode, keys: str, action: str, label: str) -> None:
    """Bind ``keys``, with a comma between them, to ``action`` on this one node; no hint shows them."""
    node._bindings.bind(keys, action, label, show=False)


def key_name(character: str) -> str:
    """Textual's name for the key that types ``character``: ``question_mark`` for ``?``."""
    return _character_to_key(character)
