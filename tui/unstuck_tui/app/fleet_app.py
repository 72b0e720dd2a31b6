"""The app on the runs of several hosts in one list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from textual.app import ComposeResult

from unstuck.errors import GateUnknown
from unstuck.fleet.fleet_view import FleetView
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.render.format import Cell, fit
from unstuck_tui.runs.history import may_tell
from unstuck_tui.screens.main import MainScreen
from unstuck_tui.widgets.lines import Lines

_MOST_LINES = 4


class HostLines(Lines):
    """A line for each host: connected, cut off and since when, or why nothing of it can be shown."""

    def __init__(self, view: FleetView) -> None:
        super().__init__(id="hosts")
        self._view = view
        self.fit()

    def fit(self) -> None:
        """Take the height that the hosts need, of which there may be more than before."""
        self.styles.height = min(_MOST_LINES, len(self._view.hosts))

    def line_total(self) -> int:
        return len(self._view.hosts)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        host = self._view.hosts[index]
        return (Cell(fit(f" {host.words}", width), "quiet" if host.standing == "connected" else "wait"),)


class FleetScreen(MainScreen):
    """The main screen on all runs of all hosts."""

    def __init__(self, view: FleetView, app: UnstuckApp) -> None:
        super().__init__(view, app.tracker, app.questions, app.notifier)
        self._fleet, self._away = view, len(view.hosts)

    def compose_more(self) -> ComposeResult:
        yield HostLines(self._fleet)

    async def _look_back(self) -> None:
        if self._tracker.state.attempts:
            await self._tracker.look_back_on(self._fleet.past(may_tell))
            self.redraw_details()

    def tick(self) -> None:
        super().tick()
        self._tracker.title = self._fleet.title
        if self.is_current and self.query(HostLines):
            lines = self.query_one(HostLines)
            lines.fit()
            lines.refresh()
            away = sum(host.standing != "connected" for host in self._fleet.hosts)
            if away or self._away:
                self._table.refresh()  # the age of the last news, and that there are news again
            self._away = away

    def action_log(self) -> None:
        """Show the log of the run of the selected task: each run has its own."""
        from unstuck_tui.screens.log import LogScreen

        try:
            run, task = self._fleet.run_of(self._table.selected)
        except GateUnknown:
            self.app.notify("Select a task: each run has a log of its own.", markup=False)
            return
        self.app.push_screen(LogScreen(run, task=task))

    def action_browse(self, place: int = 0) -> None:
        host = self._table.selected.partition("/")[0] or "its host"
        words = f"Checkpoints, memory and old runs are on {host}: open `unstuck` there, with ssh."
        self.app.notify(words, severity="warning", timeout=10, markup=False)


class FleetApp(UnstuckApp):
    """The main screen on all runs of all hosts. Leaving it changes nothing."""

    def __init__(self, view: FleetView, settings: ScreenSettings | None = None, *, notice: str = "") -> None:
        super().__init__(view, settings)
        self._fleet, self._notice_line = view, notice
        self._following: asyncio.Task[None]

    def main_screen(self) -> MainScreen:
        return FleetScreen(self._fleet, self)

    def on_mount(self) -> None:
        self._following = asyncio.create_task(self._fleet.follow_hosts())
        self.run_worker(self._notice(self._following), group="hosts")
        if self._notice_line:
            self.notify(self._notice_line, timeout=60, markup=False)

    async def _notice(self, following: asyncio.Task[None]) -> None:
        """Report its failure as the screen's trouble."""
        await asyncio.shield(following)

    async def on_unmount(self) -> None:
        """End the connections, and wait for that: nothing is left running."""
        self._following.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._following
