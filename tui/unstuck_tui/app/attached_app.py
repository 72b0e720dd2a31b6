"""The screen attached to a run that another process works."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from unstuck.errors import RecordError
from unstuck_tui.app.unstuck_app import UnstuckApp

if TYPE_CHECKING:
    from unstuck.runs.view.followed_run import FollowedRun
    from unstuck.settings.screen_settings import ScreenSettings
    from unstuck_tui.render.tasks.opening import Opening

_HOLDER_EVERY = 5
_OVER = ("ended", "parked")


class AttachedApp(UnstuckApp):
    """The main screen on a followed run. Leaving it changes nothing."""

    view: FollowedRun

    def __init__(self, view: FollowedRun | Opening, settings: ScreenSettings | None = None) -> None:
        super().__init__(view, settings)
        self._was_live = True
        self.trouble: RecordError | None = None
        """The reason why the run cannot be followed any more."""

    def opened(self) -> None:
        super().opened()
        self.run_worker(self._follow(), group="following")

    async def _follow(self) -> None:
        from unstuck.runs.view.followed_run import LOOK_S

        while True:
            for _ in range(_HOLDER_EVERY):
                try:
                    self.view.look()
                except RecordError as trouble:
                    self.trouble = trouble
                    self.exit()
                    return
                await asyncio.sleep(LOOK_S)
            await self._notice()

    async def _notice(self) -> None:
        """Say once when the run's process has gone, and once when there is one again."""
        live = await asyncio.to_thread(lambda: self.view.is_live)
        if live:
            await self.view.refresh_held()
        if live == self._was_live:
            return
        self._was_live = live
        run = self.view.state.run
        if live:
            self._tell(f"The run continues in process {run.pid}.")
        elif run.state not in _OVER:
            self._tell(f"The supervisor process is gone. `unstuck run --resume {self.view.run}` resumes it.")
        elif run.state == "parked":
            self._tell(f"The run is paused. Answer, then `unstuck run --resume {self.view.run}` resumes it.")

    def _tell(self, line: str) -> None:
        self.notify(line, severity="warning", timeout=20, markup=False)
