"""The app on reviewed sessions, without a run."""

from __future__ import annotations

from collections.abc import Sequence

from unstuck.history.reviews import Session
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.app.base_app import BaseApp
from unstuck_tui.screens.review import ReviewScreen


class ReviewApp(BaseApp):
    """Shows the review of ``sessions``, the oldest first."""

    def __init__(self, sessions: Sequence[Session], settings: ScreenSettings | None = None) -> None:
        super().__init__(settings)
        self._sessions = sessions

    def get_default_screen(self) -> ReviewScreen:
        return ReviewScreen(self._sessions)
