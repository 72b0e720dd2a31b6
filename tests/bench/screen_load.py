"""A run of many tasks that all change, at its terminal: writes what each second has used.

``screen_load.py FILE``: FILE takes the seconds of each part as JSON, since the terminal is the screen's. The tasks
change once a second, then in ten bursts a second, then once a second while they are shown as a plan.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle, islice
from pathlib import Path

from meter import MeteredLoop, Spent, metering, write

from unstuck import Guidance, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck_tui.app.host import ScreenHost
from unstuck_tui.screens.plan import PlanScreen

TASKS = 10_000
CHANGES = 1_000
"""In a second: every task changes once in ten."""
SECONDS = 6
"""Of each part."""
SETTLING_S = 2.0


class NoLines:
    """Printer that prints nothing."""

    is_quiet = True


@asynccontextmanager
async def run_of(count: int) -> AsyncIterator[Supervisor]:
    """A run with ``count`` tasks: real log, real fold."""
    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as directory:
        async with Supervisor.open(Path(directory), person=True) as supervisor:
            for number in range(count):
                supervisor.add(Task(id=f"task-{number:05}", prompt=admit("Make it work"), agent_type="backend"))
            await supervisor.core.journal.committed()
            yield supervisor


def change(supervisor: Supervisor, number: int) -> None:
    """A new attempt of one task begins: its state, its rung, its clock and its timeline change."""
    core, task = supervisor.core, f"task-{number:05}"
    attempt = core.row(task).attempts + 1
    guidance = Guidance(
        attempt=f"{task}.{attempt}", number=attempt, level="retry", text=admit("Again"), workdir=core.root
    )
    core.append(e.AttemptStarted(guidance=guidance, limit_s=900), task=task, attempt=guidance.attempt)


async def busy(supervisor: Supervisor, loop: MeteredLoop, *, per_second: int) -> list[Spent]:
    """Return the use per second while all tasks change in turn, in so many bursts a second."""
    await asyncio.sleep(SETTLING_S)
    start, seconds, tasks = time.monotonic(), [], cycle(range(TASKS))
    for second in range(SECONDS):
        before = loop.spent()
        for number in range(second * per_second, (second + 1) * per_second):
            for place in islice(tasks, CHANGES // per_second):
                change(supervisor, place)
            await supervisor.core.journal.committed()
            await asyncio.sleep(max(0.0, start + (number + 1) / per_second - time.monotonic()))
        seconds.append(loop.spent().since(before))
    return seconds


async def measured() -> dict[str, list[Spent]]:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, MeteredLoop)
    async with run_of(TASKS) as supervisor:
        on_durable = supervisor.core.journal.on_durable
        supervisor.core.journal.on_durable = lambda listener: on_durable(loop.listening(listener))  # type: ignore[method-assign]
        showing = ScreenHost(NoLines())
        async with showing.attached(supervisor):
            parts = {
                "1 Hz": await busy(supervisor, loop, per_second=1),
                "10 Hz": await busy(supervisor, loop, per_second=10),
            }
            app = showing._app
            assert app is not None
            app.simulate_key("d")
            while not isinstance(app.screen, PlanScreen):
                await asyncio.sleep(0.05)
            parts["1 Hz, as a plan"] = await busy(supervisor, loop, per_second=1)
            showing.hears("SIGTERM")
        return parts


def main(file: str) -> None:
    with metering(), asyncio.Runner(loop_factory=MeteredLoop) as runner:
        write(file, runner.run(measured()))


if __name__ == "__main__":
    main(*sys.argv[1:])
