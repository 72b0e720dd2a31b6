"""Runs of many hosts at one terminal, whose tasks all change: writes what each second has used.

``fleet_load.py FILE``: FILE takes the seconds as JSON, since the terminal is the screen's. Each host is a process that
says once a second what was recorded of a real run. The work of the run is here to copy, check and merge what the hosts
send; all else is the screen's.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from contextvars import Context
from itertools import cycle, islice, pairwise
from pathlib import Path

from meter import MeteredLoop, Spent, metering, write
from screen_load import CHANGES, SECONDS, SETTLING_S, TASKS, change, run_of

from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.log_format import read_lines
from unstuck.fleet.copies import Copies
from unstuck.fleet.fleet_view import FleetView
from unstuck.fleet.frames import PROTOCOL, LogLines, LogOpened, encode
from unstuck.fleet.link import HostLink, ProcessLink
from unstuck_tui.app.fleet_app import FleetApp
from unstuck_tui.app.host import show_alone

HOSTS = 20
WAIT_S = 120.0
SPEAK = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
hello = {"frame": "hello", "version": "1", "host": "box", "now": time.time(), "mono": time.monotonic()}
print(json.dumps({**hello, "protocol": int(sys.argv[2])}), flush=True)
sys.stdin.readline()
said = (folder / "frames").read_text().splitlines()
print(*said[:2], sep="\\n", flush=True)
while not (folder / "go").exists():
    time.sleep(0.05)
start = float((folder / "go").read_text())
for number, frame in enumerate(said[2:]):
    time.sleep(max(0.0, start + number - time.monotonic()))
    print(frame, flush=True)
sys.stdin.read()
"""


async def recorded(folder: Path) -> None:
    """Write the frames of a host: a run, its tasks, and from then on what changes in each part of a second."""
    tasks = TASKS // HOSTS
    async with run_of(tasks) as supervisor:
        begun = supervisor.state.seq
        for place in islice(cycle(range(tasks)), SECONDS * CHANGES // HOSTS):
            change(supervisor, place)
        await supervisor.core.journal.committed()
        lines = [line.raw.decode("latin-1") for line in read_lines(supervisor.core.folder / "events.jsonl")]
        log = f"{'0a' * 8}-{supervisor.run}"
    size = CHANGES // HOSTS
    parts = [lines[:begun], *(lines[place : place + size] for place in range(begun, len(lines), size))]
    frames = [LogOpened(log=log, live=True), *(LogLines(log=log, lines="".join(part)) for part in parts)]
    (folder / "frames").write_bytes(b"".join(map(encode, frames)))


class ApartView(FleetView):
    """A view that takes in what comes outside of the screen's context, so that it counts apart from the screen."""

    async def follow_hosts(self) -> None:
        following = asyncio.get_running_loop().create_task(super().follow_hosts(), context=Context())
        try:
            await following
        finally:
            following.cancel()

    def follow(self, see: Callable[[Record], None], trouble: Callable[[], None]) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MeteredLoop)
        return super().follow(loop.listening(see), trouble)


async def measured(folder: Path) -> list[Spent]:
    """Return the use per second while all tasks of all hosts change in turn."""
    loop, names = asyncio.get_running_loop(), [f"box{number}" for number in range(HOSTS)]
    assert isinstance(loop, MeteredLoop)

    async def open_link(name: str) -> HostLink:
        words = [str(folder), str(PROTOCOL)]
        return await ProcessLink.open([sys.executable, "-S", "-c", SPEAK, *words], {})

    view = ApartView(names, open_link, Copies({"UNSTUCK_STATE_DIR": str(folder)}))
    app = FleetApp(view)
    showing = asyncio.create_task(show_alone(app))
    await _until(lambda: len(view.state.tasks) == TASKS)
    start, used = time.monotonic() + SETTLING_S, list[Spent]()
    (folder / "go.new").write_text(str(start), encoding="utf-8")
    (folder / "go.new").rename(folder / "go")
    for second in range(SECONDS + 1):
        await asyncio.sleep(max(0.0, start + second - 0.05 - time.monotonic()))
        used.append(loop.spent())
    # What a busy machine shows later counts in no second.
    await _until(lambda: sum(row.attempts for row in view.state.tasks.values()) == SECONDS * CHANGES)
    app.exit()
    await showing
    return [after.since(before) for before, after in pairwise(used)]


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not holds():
            await asyncio.sleep(0.1)


def main(file: str) -> None:
    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as place:
        asyncio.run(recorded(Path(place)))
        with metering(), asyncio.Runner(loop_factory=MeteredLoop) as runner:
            write(file, {"1 Hz": runner.run(measured(Path(place)))})


if __name__ == "__main__":
    main(*sys.argv[1:])
