"""The host of a screen beside its run, in one event loop: the screen may go, the run stays."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from unstuck.errors import UnstuckError
from unstuck.text import admit, one_line
from unstuck_tui.app.loading import SHOWING, WORKING, load
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.terminal.driver import TerminalDriver

if TYPE_CHECKING:
    from unstuck.runs.view.run_view import RunView
    from unstuck.settings.screen_settings import ScreenSettings
    from unstuck.supervision.run.supervisor import Supervisor
    from unstuck_tui.app.base_app import BaseApp
    from unstuck_tui.render.tasks.opening import Opening

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_SUSPENDING = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)


class LinePrinter(Protocol):
    """Prints the run as lines while no screen shows it."""

    is_quiet: bool


class ScreenHost:
    """Shows a run while it goes on. ``lines`` is quiet as long as the screen is there."""

    def __init__(self, lines: LinePrinter, settings: ScreenSettings | None = None) -> None:
        self._lines, self._settings = lines, settings
        self._app: UnstuckApp | None = None
        self._showing: asyncio.Task[None] | None = None
        self._supervisor: Supervisor | None = None
        self._has_failed = False

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
    async def opened(self, opening: Opening) -> AsyncIterator[bool]:
        """Show what is known of a run, and load the rest; yield whether the person is still there.

        The run begins in the body, or nothing does where the person has left.
        """
        app, showing = self._begin(UnstuckApp(opening, self._settings))
        try:
            with _ended_by(app):
                await _until(showing, app.drawn.wait())
                await load((*SHOWING, *WORKING), lambda: app.is_left)
                yield not app.is_left
        finally:
            app.exit()
            await showing

    @asynccontextmanager
    async def attached(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Show the run; once it is over, stay until the person leaves. A run that was stopped closes its screen."""
        from unstuck.runs.view.local_run import LiveRun

        self._supervisor = supervisor
        view = LiveRun(supervisor)
        if self._app is not None and self._showing is not None:
            app, showing = self._app, self._showing
            shown: Coroutine[Any, Any, Any] = app.open(view)
        elif self._showing is None:
            app, showing = self._begin(UnstuckApp(view, self._settings))
            shown = app.drawn.wait()
        else:
            supervisor.unwatched()
            await self._stop_if_left(supervisor)
            yield
            return
        try:
            # What the work needs is loaded after the first frame: the person would wait for both.
            await _until(showing, shown)
            if not app.is_open:
                await self._stop_if_left(supervisor)
            yield
            if supervisor.state.run.stopping:
                app.over()
        except BaseException:
            app.exit()
            raise
        finally:
            await showing

    async def _stop_if_left(self, supervisor: Supervisor) -> None:
        """Stop a run that the person has left while it began; one whose screen has failed goes on without it."""
        if not self._has_failed:
            await supervisor.stop("SIGINT")

    def _begin(self, app: UnstuckApp) -> tuple[UnstuckApp, asyncio.Task[None]]:
        self._lines.is_quiet = True
        app.driver_class = TerminalDriver
        self._app, self._showing = app, asyncio.create_task(self._show(app))
        return app, self._showing

    async def _show(self, app: UnstuckApp) -> None:
        # Textual makes every new task of the loop start eagerly; the core's tasks start in their turn.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.set_task_factory, loop.get_task_factory())
        failure = await _run(app)
        self._app = None
        self._lines.is_quiet = False
        supervisor = self._supervisor
        if failure is not None:
            self._has_failed = True
            _say(f"the screen failed: {_named(failure)}{_kept(supervisor, failure) if supervisor is not None else ''}")
        if supervisor is None:
            return
        supervisor.unwatched()
        if not app.is_open:
            return
        app.tracker.close()
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
    with _ended_by(app):
        failure = await _run(app)
    if unsent := app.save_unsent():
        _say(unsent)
    if failure is not None:
        raise UnstuckError(f"the screen failed: {_named(failure)}")


async def show_opening(app: UnstuckApp, view: Callable[[], RunView]) -> None:
    """Show an ``app`` that begins with what is known of a run, then the run itself: :func:`show_alone` of its view."""
    showing = asyncio.create_task(show_alone(app))
    try:
        await _until(showing, app.drawn.wait())
        await load(SHOWING, lambda: app.is_left)
        if not app.is_left:
            await _until(showing, app.open(view()))
    except BaseException:
        app.exit()
        await showing
        raise
    await showing


async def _until(showing: asyncio.Task[None], happens: Coroutine[Any, Any, Any]) -> None:
    """Wait for what ``happens`` on a screen, or for the end of that."""
    waiting = asyncio.create_task(happens)
    try:
        await asyncio.wait((showing, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if waiting.done():
        waiting.result()  # raises what went wrong


@contextmanager
def _ended_by(app: BaseApp) -> Iterator[None]:
    """Close the screen at a signal that ends this process, unless the caller ignores it (nohup)."""
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, app.exit)
    try:
        yield
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)


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
    from unstuck.eventlog.storage.durable_files import write_private

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
