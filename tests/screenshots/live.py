"""Pictures of the screen, taken from a real rehearsal: ``make screenshots`` writes them to ``screenshots/``."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from unstuck.contract import Answer
from unstuck.record import events as e
from unstuck.runs.running import RunOptions
from unstuck.supervision.supervisor import Supervisor
from unstuck.testing import Rehearsal, curated
from unstuck_tui.actions import key_of
from unstuck_tui.app import UnstuckApp
from unstuck_tui.view import LiveRun

PICTURES = Path(__file__).resolve().parents[1] / "screenshots"
SIZES = (("main", (120, 40)), ("narrow", (80, 24)), ("wide", (200, 60)))


class Camera:
    """Watches the rehearsal on a screen without a terminal, takes the pictures, and stops it."""

    def hears(self, name: str) -> bool:
        """Signals stop the run."""
        return False

    @asynccontextmanager
    async def attached(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Take the pictures while the run goes on."""
        taking = asyncio.create_task(self._take(supervisor))
        yield
        await taking

    async def _take(self, supervisor: Supervisor) -> None:
        """At the first time-out most tasks are at work; once a task is stuck there is the question to show."""
        try:
            async for record in supervisor.events():
                if not isinstance(record.event, e.GateOpened):
                    continue
                if record.event.type == "timeout":
                    await main_screens(supervisor)
                    await supervisor.answer(record.event.gate, Answer(choice="stop"))
                elif record.event.type == "stuck":
                    await stuck_screens(supervisor)
                    return
        finally:
            await supervisor.stop("the pictures are taken")


async def main_screens(supervisor: Supervisor) -> None:
    """The main screen in three sizes, in light colours, and its help."""
    for name, size in SIZES:
        async with showing(supervisor, size) as pilot:
            await shot(pilot, name)
            if name == "main":
                await pilot.press(key_of("app.theme"))
                await shot(pilot, "light")
                await pilot.press(key_of("app.theme"), key_of("app.help"))
                await shot(pilot, "help")


async def stuck_screens(supervisor: Supervisor) -> None:
    """The stuck task's question, the failures of the run, and its detail where that has a screen of its own."""
    async with showing(supervisor, (120, 40)) as pilot:
        await pilot.press(key_of("table.first"), key_of("table.down"), key_of("gate.answer"))
        await pilot.pause(1.0)
        await shot(pilot, "stuck")
        await pilot.press(key_of("dialog.back"), key_of("view.browse"))
        await pilot.pause(1.0)
        await shot(pilot, "browse")
    async with showing(supervisor, (80, 24)) as pilot:
        await pilot.press(key_of("table.first"), key_of("table.down"), key_of("task.open"))
        await shot(pilot, "detail")


@asynccontextmanager
async def showing(supervisor: Supervisor, size: tuple[int, int]) -> AsyncIterator[Pilot[None]]:
    """The app in this size, with the question that has come up put aside."""
    app = UnstuckApp(LiveRun(supervisor))
    async with app.run_test(size=size) as pilot:
        await pilot.pause(1.0)
        if app.screen.is_modal:
            await pilot.press(key_of("dialog.back"))
        yield pilot


async def shot(pilot: Pilot[None], name: str) -> None:
    """Write what is on the screen."""
    await pilot.pause()
    # Without the font that a viewer would fetch from elsewhere, it takes its own monospaced one.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", pilot.app.export_screenshot(title="unstuck"), flags=re.DOTALL)
    (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")


async def main() -> None:
    """Play the demo's plan and take its pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unstuck-pictures-") as folder:
        for name in ("STATE", "RUNTIME"):
            os.environ[f"UNSTUCK_{name}_DIR"] = str(Path(folder) / name.lower())
        # What is checked is shown as a user with unstuck on the PATH sees it.
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        os.environ["XDG_CONFIG_HOME"] = str(Path(folder) / "config")
        rehearsal = Rehearsal.prepare(curated(), Path(folder) / "demo")
        await rehearsal.run(RunOptions(beside=Camera()))
    print(*sorted(path.name for path in PICTURES.glob("*.svg")))


if __name__ == "__main__":
    asyncio.run(main())
