"""The app on a replayed run."""

from __future__ import annotations

from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.runs.replay.replayed_run import ReplayedRun
from unstuck_tui.screens.main import MainScreen
from unstuck_tui.screens.replay import ReplayScreen


class ReplayApp(UnstuckApp):
    """The same app on a run of the past."""

    def __init__(self, run: ReplayedRun, settings: ScreenSettings | None = None) -> None:
        super().__init__(run, settings)
        self._run = run

    def main_screen(self) -> MainScreen:
        return ReplayScreen(self._run, self.tracker, self.questions, self.notifier)

    def action_suspend(self) -> None:
        """Back to the shell; the agents that were at work then are none of this process."""
        self.action_suspend_process()
