"""A real NATS server with its keys, hosts with homes of their own, and logs with open questions."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.fleet.conftest import lines_of

from unstuck.clock import SystemClock
from unstuck.contract import Task
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.storage.project_list import listing_of, remember_home
from unstuck.fleet.nats.forwarder import Forwarder
from unstuck.fleet.nats.keys import Credentials, Role, read_credentials
from unstuck.fleet.nats.membership import Membership
from unstuck.fleet.nats.nats_server import NatsServer, server_program
from unstuck.fleet.nats.viewer import Viewer
from unstuck.settings.paths import state_dir
from unstuck.text import Clean

RUN = "20270115-080000"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests with a real server to `make nats`: side by side, two of them may take one port."""
    for item in items:
        if "fleet" in getattr(item, "fixturenames", ()) and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.nats)


LINES = [line for line in lines_of() if b'"run_ended"' not in line]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


FORWARD = """
import sys, time
exact = time.time
time.time = lambda: exact() + {ahead}
from unstuck_tui.cli import main
sys.argv = ["unstuck", "fleet", "join", "--foreground"]
main()
"""


class Machine:
    """A machine: its own home and its own environment, with a log of one project."""

    def __init__(self, place: Path, name: str) -> None:
        self.name, self.place, self.clock_s = name, place / name, 0.0
        self.environ = {
            **os.environ,
            "HOME": str(self.place),
            "UNSTUCK_STATE_DIR": str(self.place / "state"),
            "UNSTUCK_RUNTIME_DIR": str(self.place / "run"),
        }
        self.home = self.place / "project" / ".unstuck"
        self.home.mkdir(parents=True)
        (self.place / "run").mkdir(mode=0o700)
        state = state_dir(self.environ)
        remember_home(self.home, state)
        self.log = f"{listing_of(self.home, state).name}-{RUN}"
        self.path = self.home / "runs" / RUN / "events.jsonl"

    def write(self, first: int, last: int = len(LINES)) -> None:
        """Append the lines of a real log from number ``first`` to ``last``."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(b"".join(LINES[first - 1 : last]))

    async def ask(self, number: int) -> list[str]:
        """Write the log of a paused run with so many open questions; return their ids."""
        journal = await Journal.open(self.path.parent, run=RUN, clock=SystemClock())
        journal.append(e.RunStarted(project=self.name))
        gates = [f"g{index}-{self.name[-4:]}" for index in range(1, number + 1)]
        for gate in gates:
            work = Task(id=gate, prompt=Clean("Work."), verify="true")
            journal.append(e.TaskAdded(work=work), task=gate)
            journal.append(e.GateOpened(gate=gate, type="stuck", choices=("retry", "skip")), task=gate)
        await journal.close()
        return gates

    def keep(self, key: Credentials) -> None:
        """Join the fleet with ``key``, as `unstuck fleet join` does it."""
        key.write(Membership(self.environ).folder / ("host.json" if key.role == "host" else "person.json"))

    def forward(self) -> subprocess.Popen[bytes]:
        """Start the forwarder as a process of its own."""
        command = [sys.executable, "-c", FORWARD.format(ahead=self.clock_s)]
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, env=self.environ, stdin=nowhere, stdout=nowhere, stderr=nowhere)


class Fleet:
    """A server in a folder, started and killed at will."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.server = NatsServer(place / "server", listen=f"127.0.0.1:{free_port()}", addresses=["127.0.0.1"])
        self.server.prepare()
        self.machines: dict[str, Machine] = {}

    def key(self, name: str, role: Role = "host") -> Credentials:
        return read_credentials(self.server.add(name, role))

    async def known_key(self, name: str, role: Role = "host") -> Credentials:
        """Return a key that the server takes already."""
        key = self.key(name, role)
        await self.server.until_known([name])
        return key

    def lose_disk(self) -> None:
        """Kill the server and delete its streams, and all that was said in them."""
        self.server._process.kill()
        self.server._process.wait()
        shutil.rmtree(self.server.folder / "jetstream")

    def machine(self, name: str) -> Machine:
        if name not in self.machines:
            self.machines[name] = Machine(self.place, name)
        return self.machines[name]

    @asynccontextmanager
    async def host(self, name: str) -> AsyncIterator[tuple[Machine, Forwarder]]:
        """Forward the logs of a machine in this process."""
        machine = self.machine(name)
        forwarder = Forwarder(self.key(name), machine.environ)
        async with working(forwarder):
            yield machine, forwarder

    @asynccontextmanager
    async def viewer(self, name: str, role: Role = "person") -> AsyncIterator[Viewer]:
        """Follow the fleet in this process, with copies of its own."""
        viewer = Viewer(self.key(name, role), self.machine(name).environ)
        async with working(viewer):
            yield viewer


@asynccontextmanager
async def working(end: Forwarder | Viewer) -> AsyncIterator[None]:
    task = asyncio.create_task(end.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds; fails with what is known after so many seconds."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    found = Fleet(tmp_path)
    async with found.server.running(server_program()):
        yield found
