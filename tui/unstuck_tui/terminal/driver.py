"""The driver of the screen's terminal: one that stalls or goes away takes nothing of the run with it.

The run and its screen share one event loop. Textual's own writer makes its caller wait for a terminal that does not
read, and never returns once writing fails; then no time-out would fire and no agent be answered any more.
"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from select import select
from threading import Event, Lock, Thread
from typing import IO

from textual import events
from textual.app import App
from textual.message import Message

from unstuck.text import sanitise
from unstuck_tui.terminal.escapes import TITLE_BACK, TITLE_KEPT, title
from unstuck_tui.terminal.handoff import LEFT_BY_KILLED, LEFT_ON, Handoff
from unstuck_tui.terminal.input import TerminalInput
from unstuck_tui.terminal.stand_ins import IN_CELLS
from unstuck_tui.terminal.whole_writes import whole
from unstuck_tui.textual_internals.screens import RedirectedDriver

BEHIND = 4_000_000  # characters
CLOSING_S = 1.0
INPUT_S = 0.1
LOOKS = 3
# What ends the modes that Textual sets: keys, mouse, paste, focus, resize reports, no wrapping, alternate screen.
_PLAIN = (
    "\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[?2048l\x1b[?7h\x1b[?1049l\x1b[?25h"
)


class Outlet:
    """Takes text for ``file`` and never waits: a thread of its own writes it.

    ``lost`` is called once, in that thread, when the file cannot be written any more. A file that is ``limit``
    characters behind gets nothing new until it has caught up; ``caught_up`` is called then.
    """

    def __init__(
        self,
        file: IO[str],
        *,
        lost: Callable[[], None] = lambda: None,
        caught_up: Callable[[], None] = lambda: None,
        limit: int = BEHIND,
    ) -> None:
        self._file, self._lost, self._caught_up, self._limit = file, lost, caught_up, limit
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._lock = Lock()
        self._waiting = 0
        self._is_behind = self._is_lost = self._is_closed = self._has_dropped = False
        self._all_written = Event()
        self._all_written.set()
        # A daemon: at the very end nothing waits for a terminal that has stalled.
        self._thread = Thread(target=self._run, name="terminal-output", daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        """Take ``text``; it may be dropped where the file is lost or far behind."""
        with self._lock:
            self._is_behind = self._is_behind or self._waiting > self._limit
            if self._is_behind or self._is_lost or self._is_closed:
                self._has_dropped = True
            else:
                self._waiting += len(text)
                self._all_written.clear()
                self._queue.put(text)
        return len(text)

    def drain(self) -> None:
        """Wait until everything is written; a file that has stalled or is lost is not waited for."""
        self._all_written.wait(CLOSING_S)

    def flush(self) -> None:
        """Nothing to do: what is written is passed on as soon as the file takes it."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self, last: str = "") -> None:
        """Write what is left, and ``last`` where something was dropped; a file that has stalled is not waited for."""
        with self._lock:
            self._is_closed = True
            if self._has_dropped:
                self._queue.put(last)
            self._queue.put(None)
        self._thread.join(CLOSING_S)

    def _run(self) -> None:
        while (text := self._queue.get()) is not None:
            try:
                self._file.write(text)
                self._file.flush()
            except (OSError, ValueError):
                self._is_lost = True
                self._all_written.set()
                self._lost()
                return
            self._written(len(text))

    def _written(self, size: int) -> None:
        with self._lock:
            self._waiting -= size
            if self._waiting <= 0:
                self._all_written.set()
            resumed = self._is_behind and self._waiting <= 0
            if resumed:
                self._is_behind = False
        if resumed:
            self._caught_up()


class TerminalDriver(RedirectedDriver):
    """Textual's driver; it closes the screen when its terminal is gone and redraws it after a stall."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        loop = asyncio.get_running_loop()
        self._is_suspended = self._is_away = False
        self._handoff: Handoff | None = None
        self._title = self._title_of_screen = ""
        self._end, self._ending = os.pipe()

        def later(call: Callable[[], object]) -> Callable[[], None]:
            def tell() -> None:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(call)

            return tell

        assert sys.__stderr__ is not None
        self._repaint = later(lambda: app.refresh(repaint=True, layout=True))
        self._leave = later(app.exit)
        self._outlet = Outlet(whole(sys.__stderr__, IN_CELLS), lost=self._leave, caught_up=self._repaint)
        self.redirect(self._outlet)

    def run_input_thread(self) -> None:
        """Pass on what is typed, until the screen is left or the terminal is gone."""
        terminal_input, looks = TerminalInput(), 0
        while True:
            # Only what has just come may have to be looked at again: an escape that nothing followed.
            ready = select([self.fileno, self._end], [], [], INPUT_S if looks else None)[0]
            if self._end in ready:
                return
            looks, data = looks - 1, b""
            if ready:
                looks, data = LOOKS, os.read(self.fileno, 4096)
                if not data:
                    self._leave()
                    return
            for message in terminal_input.read(data):
                self.process_message(message)

    def disable_input(self) -> None:
        """Stop reading, and wake the thread that waits for a key."""
        os.write(self._ending, b"e")
        super().disable_input()
        os.read(self._end, 1)

    def process_message(self, message: Message) -> None:
        """Pass on what is typed, cleaned like every text from outside."""
        if not (isinstance(message, events.Key) and message.is_printable and not sanitise(message.character or "")):
            super().process_message(message)

    def write(self, data: str) -> None:
        """Write what the screen draws, unless another program has the terminal or it was given back."""
        if not self._is_away:
            super().write(data)

    def pass_on(self, sequence: str) -> None:
        """Send ``sequence`` to the terminal, also while another program has it."""
        self._outlet.write(sequence)

    def show_title(self, text: str) -> None:
        """Set the terminal's title to ``text``; its own returns when the screen is left. Empty: its own."""
        if self._is_away:
            self._title_of_screen = text
        elif not text:
            self._give_title_back()
        else:
            self.write(("" if self._title else TITLE_KEPT) + title(text))
            self._title = text

    def _give_title_back(self) -> None:
        if self._title:
            self.write(TITLE_BACK)
            self._title = ""

    def stop_application_mode(self) -> None:
        """Leave the terminal as it was found."""
        self._recall()
        kept = self._title
        self._give_title_back()
        self._title_of_screen = kept
        super().stop_application_mode()
        # Until the app is taken apart its screen may have another frame, which would stay in the terminal.
        self._is_away = True

    def suspend_application_mode(self) -> None:
        """Give the terminal back; all that was written is out before the process is suspended."""
        self._is_suspended = True
        self.stop_application_mode()
        super().close()
        self._outlet.drain()

    def resume_application_mode(self) -> None:
        """Take the terminal again; after a stop that was not announced (SIGSTOP) only redraw it."""
        if self._is_suspended:
            self._is_suspended = self._is_away = False
            self.start_application_mode()  # type: ignore[no-untyped-call]
            self.show_title(self._title_of_screen)
        self._repaint()

    @property
    def is_lent(self) -> bool:
        """True while a program has the terminal."""
        return self._handoff is not None

    async def lend(self, command: Sequence[str], *, folder: Path, environ: Mapping[str, str], notice: str) -> int:
        """Give the terminal to a program until it ends, after a line about it; work here continues.

        Its exit code, or minus the signal that ended it. Raises OSError where it cannot be started.
        """
        self.suspend_application_mode()
        try:
            with self.no_automatic_restart():
                self.pass_on(notice)
                self._outlet.drain()
                self._handoff = Handoff(command, folder, environ)
                code = await self._handoff.ended()
        except asyncio.CancelledError:
            self._recall()  # the screen is being left
            raise
        except termios.error as problem:
            self._resume_after_loan()
            raise OSError(*problem.args) from None
        except OSError:
            self._resume_after_loan()
            raise
        # A program that was killed did not restore its keyboard modes; those of others may lie below them.
        self._resume_after_loan(LEFT_BY_KILLED if code < 0 else "")
        return code

    def _recall(self) -> None:
        if self._handoff is not None:
            self._handoff.recall()
            self._handoff = None
            self.pass_on(LEFT_ON + self._fresh_line())

    def _resume_after_loan(self, first: str = "") -> None:
        if self._handoff is not None:
            self._handoff.take_back()
            self._handoff = None
            self.pass_on(first + LEFT_ON + self._fresh_line())
        self.resume_application_mode()
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            self._leave()  # its window was closed meanwhile

    def _fresh_line(self) -> str:
        """Return what moves the cursor to the start of the next line, unless it is at the start of one.

        So many blanks fill exactly one line from its start; only from elsewhere they wrap onto the next one.
        """
        try:
            return " " * os.get_terminal_size(self.fileno).columns + "\r"
        except OSError:
            return ""

    def close(self) -> None:
        super().close()
        self._outlet.close(_PLAIN)
        os.close(self._end)
        os.close(self._ending)
