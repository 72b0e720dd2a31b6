"""The pictures of a run that is over, of one that was cut off, and of what can be deleted."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.screenshots.camera import press, settled, shot, showing

from unstuck.eventlog.log.journal import LOG_NAME
from unstuck.runs.run import RunOptions, resume_run
from unstuck.runs.view.local_run import LiveRun
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.workspace.project import Project
from unstuck_tui.app.replay_app import ReplayApp
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.dialogs.what_if import WhatIfDialog
from unstuck_tui.runs.log.index import indexed
from unstuck_tui.runs.replay.replayed_run import ReplayedRun

__all__ = ["cut_off", "past_screens", "recovery_screens"]


async def past_screens(place: Project, run: str) -> None:
    """The run at its first failure, what deleting it would destroy, and what other settings would change."""
    async with showing(ReplayApp(ReplayedRun(indexed(place.runs / run / LOG_NAME), place))) as pilot:
        await press(pilot, "replay.failure")
        await shot(pilot, "replay")
        await press(pilot, "view.browse", "browse.deletion", "deletion.look")
        await shot(pilot, "deletion")
    await what_if_screen(place, run)


async def what_if_screen(place: Project, run: str) -> None:
    """The steps of the run that fewer retries and a smaller window would change."""
    app = ReplayApp(ReplayedRun(indexed(place.runs / run / LOG_NAME), place))
    async with showing(app) as pilot:
        await press(pilot, "view.browse", "browse.what-if", "what_if.change")
        while not (isinstance(app.screen, WhatIfDialog) and app.screen.is_awake):
            await pilot.pause(0.1)
        await pilot.press("h", *"max_retries=1 window_size=2", "enter")
        while any(worker.group == "acting" for worker in app.workers):
            await settled(pilot)
        await settled(pilot)
        await shot(pilot, "what-if")


async def cut_off(plan: Path, project: Path, environ: Mapping[str, str]) -> str:
    """Start a run of ``plan``, kill its supervisor when two agents are at work, and say which run it was."""
    process = await asyncio.create_subprocess_exec(
        *(Path(sys.executable).with_name("unstuck"), "run", plan, "--headless", "--json"),
        cwd=project,
        env=dict(environ),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    run, working = "", 0
    async for line in process.stdout:
        record = json.loads(line)
        run = run or record["run"]
        working += record["event"] == "agent_spawned"
        if working == 2:
            break
    os.kill(process.pid, signal.SIGKILL)
    await process.communicate()
    return run


class RecoveryCamera:
    """Shows what a run that was cut off has left, and stops it before anything of it goes on."""

    def hears(self, name: str) -> bool:
        """Signals stop the run."""
        return False

    @asynccontextmanager
    async def attached(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Take the picture once everything that it shows is known."""
        taking = asyncio.create_task(self._take(supervisor))
        yield
        await taking

    async def _take(self, supervisor: Supervisor) -> None:
        app = UnstuckApp(LiveRun(supervisor))
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                if supervisor.standstill is not None:
                    await supervisor.standstill.known.wait()
                await settled(pilot)
                await shot(pilot, "recovery")
        finally:
            await supervisor.stop("the pictures are taken")


async def recovery_screens(place: Project, run: str, environ: Mapping[str, str]) -> None:
    """Take the screens of a run that was cut off: the remains of each task, and the choices."""
    await resume_run(run, place, RunOptions(beside=RecoveryCamera(), environ=environ, hold=True))
