"""The host of a screen beside its run, in one event loop: the screen may go, the run stays."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Protocol

from unstuck.errors import UnstuckError
from unstuck.eventlog.storage.durable_files import write_private
from unstuck.runs.view.local_run import LiveRun
from unstuck.settings.screen_settings import ScreenSettings
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import admit, one_line
from unstuck_tui.app.base_app import BaseApp
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.terminal.driver import TerminalDriver

_SUSPENDING = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)


class LinePrinter(Protocol):
    """Prints the run as lines while no screen shows it."""

    is_quiet: bool


class ScreenHost:
    """Shows a run while it goes on. ``lines`` is quiet as long as the screen is there."""

    def __init__(self, lines: LinePrinter, settings: ScreenSettings | None = None) -> None:
        self._lines, self._settings = lines, settings
        self._app: UnstuckApp | None = None

    def hears(self, name: str) -> bool:
        """A signal has come: it closes the screen. True where the run goes on: only a terminal was lost.

        An interrupt that is typed as another program ends or begins was meant for that.
        """
        if self._app is not None and self._app.is_lent and name == "SIGINT":
            return True
        if self._app is not None:
            self._app.exit()
        return name == "SIGHUP"

    @asynccontextmanager
    async def attached(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Show the run; once it is over, stay until the person leaves. A run that was stopped closes its screen."""
        self._lines.is_quiet = True
        self._app = app = UnstuckApp(LiveRun(supervisor), self._settings)
        app.driver_class = TerminalDriver
        showing = asyncio.create_task(self._show(app, supervisor))
        drawn = asyncio.create_task(app.drawn.wait())
        try:
            # What the work needs is loaded after the first frame: the person would wait for both.
            await asyncio.wait((showing, drawn), return_when=asyncio.FIRST_COMPLETED)
            yield
            if supervisor.state.run.stopping:
                app.over()
        except BaseException:
            app.exit()
            raise
        finally:
            drawn.cancel()
            await showing

    async def _show(self, app: UnstuckApp, supervisor: Supervisor) -> None:
        # Textual makes every new task of the loop start eagerly; the core's tasks start in their turn.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.set_task_factory, loop.get_task_factory())
        failure = await _run(app)
        self._app = None
        self._lines.is_quiet = False
        app.tracker.close()
        supervisor.unwatched()
        if failure is not None:
            _say(f"the screen failed: {_named(failure)}{_kept(supervisor, failure)}")
        if unsent := app.save_unsent():
            _say(unsent)
        if app.view.goes_on:
            _say(
                f"the screen is closed; run {supervisor.run} (process {os.getpid()}) continues without it: "
                f"`unstuck show {supervisor.run}` shows it, ctrl+c stops it" + _then(supervisor)
            )


async def _run(app: BaseApp) -> Exception | None:
    """Show it until it is left; what broke it, if anything did."""
    with _signals_kept():
        try:
            await app.run_async()
        except Exception as error:
            return error
    return app.failure


async def show_alone(app: BaseApp) -> None:
    """Show what no run in this process stands behind, until the person leaves or a signal comes.

    Raises UnstuckError where the screen fails.
    """
    app.driver_class = TerminalDriver
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, app.exit)
    failure = await _run(app)
    if unsent := app.save_unsent():
        _say(unsent)
    if failure is not None:
        raise UnstuckError(f"the screen failed: {_named(failure)}")


def _then(supervisor: Supervisor) -> str:
    if supervisor.state.run.kind == "watch":
        return ", then `unstuck watch` starts again with a screen"
    return f", and `unstuck run --resume {supervisor.run}` resumes it with a screen"


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep our own handlers of the signals that Textual takes: its own would take the terminal again later."""
    before = {number: signal.getsignal(number) for number in _SUSPENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _named(failure: Exception) -> str:
    return one_line(f"{type(failure).__name__}: {failure}", 200)


def _kept(supervisor: Supervisor, failure: Exception) -> str:
    """Keep what went wrong beside the event log; a terminal is no place for a page of it."""
    file = supervisor.core.folder / "screen-failure.txt"
    try:
        write_private(file, admit("".join(traceback.format_exception(failure)), limit=200_000))
    except OSError:
        return ""
    return f" (details in {file})"


def _say(line: str) -> None:
    try:
        sys.stderr.write(f"unstuck: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # its reader is gone
