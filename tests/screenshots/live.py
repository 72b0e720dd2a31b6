"""The pictures of a run while it is at work, and of each kind of question at the first one that is asked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.screenshots.camera import press, settled, shot, showing, text_of
from textual.pilot import Pilot

from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.runs.view.local_run import LiveRun
from unstuck.supervision.run.supervisor import Supervisor
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.dialogs.takeover import TakeoverDialog

__all__ = ["LiveCamera"]

SIZES = (("main", (120, 40)), ("narrow", (80, 24)), ("wide", (200, 60)))
# What lets the run go on to the next picture, by the type of the question.
ANSWERS = {
    "timeout": Answer(choice="stop"),
    "loop_detected": Answer(choice="skip"),
    "question": Answer(choice="skip"),
}


class LiveCamera:
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
        """At the first time-out most tasks are at work; once a task is stuck all other questions have been asked."""
        missing, stuck = set(ANSWERS), ""
        try:
            async for record in supervisor.events():
                event = record.event
                if not isinstance(event, e.GateOpened):
                    continue
                if event.type == "timeout":
                    await main_screens(supervisor)
                if event.type in missing:
                    await question(supervisor, event.type, record.task)
                    missing.discard(event.type)
                if event.type in ANSWERS:
                    await supervisor.answer(event.gate, ANSWERS[event.type])
                if event.type == "stuck":
                    stuck = record.task
                if stuck and not missing:
                    await question(supervisor, "stuck", stuck)
                    await task_screens(supervisor, stuck)
                    await browse_screens(supervisor, stuck)
                    await by_hand(supervisor, stuck)
                    return
        finally:
            await supervisor.stop("the pictures are taken")


async def main_screens(supervisor: Supervisor) -> None:
    """The main screen in three sizes, in light colours, its help, its palette, and the question before it is left."""
    for name, size in SIZES:
        async with showing(UnstuckApp(LiveRun(supervisor)), size) as pilot:
            await shot(pilot, name)
            if name != "main":
                continue
            await press(pilot, "app.theme")
            await shot(pilot, "light")
            await press(pilot, "app.theme")
            await shot(pilot, "contrast")
            await press(pilot, "app.theme", "app.theme", "app.help")
            await shot(pilot, "help")
            await press(pilot, "view.back", "app.palette")
            await shot(pilot, "palette")
            await press(pilot, "dialog.back", "app.quit")
            await shot(pilot, "leaving")


async def question(supervisor: Supervisor, kind: str, task: str) -> None:
    """The dialog of a question."""
    async with showing(UnstuckApp(LiveRun(supervisor))) as pilot:
        await select(pilot, task)
        await press(pilot, "gate.answer")
        await shot(pilot, kind)


async def task_screens(supervisor: Supervisor, task: str) -> None:
    """All that is known of one task: its story, its ladder, what has changed, and what can be decided about it."""
    async with showing(UnstuckApp(LiveRun(supervisor)), (80, 24)) as pilot:
        await select(pilot, task)
        await press(pilot, "task.open")
        await shot(pilot, "detail")
    async with showing(UnstuckApp(LiveRun(supervisor))) as pilot:
        await select(pilot, task)
        await press(pilot, "page.ladder")
        await shot(pilot, "ladder")
        await press(pilot, "page.changes")
        await shot(pilot, "changes")
        await press(pilot, "page.timeline", "task.decide")
        await shot(pilot, "decide")
        await press(pilot, "dialog.back", "view.plan")
        await shot(pilot, "plan")


async def browse_screens(supervisor: Supervisor, task: str) -> None:
    """Take the screens of the run so far: its failures, its checkpoints and two of them compared, its log."""
    async with showing(UnstuckApp(LiveRun(supervisor))) as pilot:
        await select(pilot, task)
        await press(pilot, "view.browse")
        await shot(pilot, "signatures")
        await press(pilot, "browse.checkpoints")
        for _ in range(100):
            if re.search(rf"^why +pivot$.*^task +{task}", text_of(pilot), re.MULTILINE | re.DOTALL):
                break
            await press(pilot, "rows.down")
        await shot(pilot, "checkpoints")
        await press(pilot, "checkpoints.diff")
        await shot(pilot, "compared")
        await press(pilot, "browse.back", "checkpoints.restore")
        await shot(pilot, "restore")
        await press(pilot, "confirm.no", "browse.memory")
        await shot(pilot, "memory")
        await press(pilot, "browse.back", "view.log")
        await shot(pilot, "log")


async def by_hand(supervisor: Supervisor, task: str) -> None:
    """Back from the files of a task that is stuck: what was changed there, and the line of why."""
    taken = await supervisor.start_takeover(task)
    file = taken.folder / "shop" / "webhook.py"
    mended = re.sub(r"^SECRET = .*", 'SECRET = Path("endpoint.key").read_bytes()', file.read_text(), flags=re.MULTILINE)
    file.write_text(mended.replace("import hmac\n", "import hmac\nfrom pathlib import Path\n"))
    (taken.folder / "endpoint.key").write_text("endpoint secret\n")
    back = await supervisor.end_takeover(taken)
    gate = supervisor.state.gates[taken.gate].gate
    app = UnstuckApp(LiveRun(supervisor))
    async with showing(app) as pilot:
        await select(pilot, task)
        await app.push_screen(TakeoverDialog(taken, gate, back, (), {}, clock=app.tracker.clock))
        await settled(pilot)
        await press(pilot, "hands.tell")
        await pilot.press(*"The endpoint has a key of its own: read it from its file, never write it down.")
        await shot(pilot, "by_hand")


async def select(pilot: Pilot[None], task: str) -> None:
    """Put the cursor on the row of ``task``, as somebody does who looks for its name."""
    await press(pilot, "table.filter")
    await pilot.press(*task, "enter")
    await press(pilot, "table.first")
