"""A person's own servers: three of them as the documentation says, of which one is lost at a time."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.nats.conftest import Machine, free_port, until, working

from unstuck.contract import Answer
from unstuck.eventlog.log.load_state import current_state
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.forwarder import Forwarder
from unstuck.fleet.nats.keys import Credentials, new_seed, read_credentials
from unstuck.fleet.nats.nats_server import NatsServer, server_program
from unstuck.fleet.nats.session import FleetError, Refused, connected
from unstuck.fleet.nats.viewer import Viewer

pytestmark = [pytest.mark.nats, pytest.mark.timeout(300)]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fleet.md"


class Cluster:
    """Three servers, each with a folder of its own in the place of /etc/nats, and the machine that keeps the keys."""

    def __init__(self, place: Path) -> None:
        self.place, self.keys = place, place / "keys"
        self.ports = [(free_port(), free_port()) for _ in range(3)]
        self.urls = [f"tls://127.0.0.1:{port}" for port, _ in self.ports]
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def up(self, *words: str) -> subprocess.CompletedProcess[str]:
        servers = [word for url in self.urls for word in ("--server", url)]
        command = [sys.executable, "-m", "unstuck", "fleet", "up", *servers, "--data", str(self.keys), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=90)

    def configure(self) -> None:
        """Write what the page says into each server's folder, with its own names, ports and folders."""
        (text,) = re.findall(r"```text\n(server_name.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        for number, (port, route) in enumerate(self.ports, start=1):
            folder = self.place / f"nats{number}"
            folder.mkdir(exist_ok=True)
            for name in ("authorization.conf", "ca.pem", "server.pem", "server.key"):
                shutil.copy(self.keys / name, folder / name)
            own = text.replace("server_name: nats1", f"server_name: nats{number}").replace("/etc/nats", str(folder))
            own = own.replace("/var/lib/nats", str(folder / "data"))
            own = own.replace("0.0.0.0:4222", f"127.0.0.1:{port}").replace("0.0.0.0:6222", f"127.0.0.1:{route}")
            for other, (_, at) in enumerate(self.ports, start=1):
                own = own.replace(f"nats{other}.example:6222", f"127.0.0.1:{at}")
            (folder / "nats.conf").write_text(own, encoding="utf-8")

    def start(self, number: int) -> None:
        nowhere = subprocess.DEVNULL
        command = [server_program(), "-c", str(self.place / f"nats{number}" / "nats.conf")]
        self.processes[number] = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)

    def kill(self, number: int) -> None:
        self.processes[number].kill()
        self.processes[number].wait()


@asynccontextmanager
async def started(place: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(place)
    try:
        yield cluster
    finally:
        for number in cluster.processes:
            cluster.kill(number)


async def test_any_one_of_three_servers_may_be_lost(tmp_path: Path) -> None:
    """Logs are copied and questions answered by two people while each server in turn is killed and started again."""
    async with started(tmp_path) as cluster:
        first = await asyncio.to_thread(cluster.up, "--host", "box1", "--person", "anna", "--person", "ben")
        assert "Start yours with" in first.stderr
        assert ",".join(cluster.urls) in first.stdout
        cluster.configure()
        for number in (1, 2, 3):
            cluster.start(number)
        again = await asyncio.to_thread(cluster.up)
        assert (again.returncode, f"the streams are at {','.join(cluster.urls)}" in again.stdout) == (0, True)
        server = NatsServer(cluster.keys)
        async with connected(server.owner_credentials()) as session:
            found = [await session.info(stream) for stream in (s.EVENTS, s.HOSTS, s.ANSWERS)]
        assert [len(one["cluster"]["replicas"]) for one in found] == [2, 2, 2]
        keys = {
            name: read_credentials(cluster.keys / "credentials" / f"{name}.json") for name in ("box1", "anna", "ben")
        }
        machine = Machine(tmp_path, "box1")
        gates = await machine.ask(30)
        people = {name: Viewer(keys[name], Machine(tmp_path, name).environ) for name in ("anna", "ben")}
        won: dict[str, str] = {}
        async with working(Forwarder(keys["box1"], machine.environ)), working(people["anna"]), working(people["ben"]):
            for number in (1, 2, 3):
                cluster.kill(number)
                for gate in gates[10 * (number - 1) : 10 * number]:
                    said = (("anna", "retry"), ("ben", "skip"))
                    given = await asyncio.gather(
                        *(people[name].answer("box1", machine.log, gate, Answer(choice=what)) for name, what in said)  # type: ignore[arg-type]
                    )
                    assert [one.mine for one in given].count(True) == 1
                    assert given[0].by == given[1].by
                    won[gate] = given[0].by
                await _is_refused(replace(keys["ben"], seed=new_seed()))
                cluster.start(number)
                await _healed(server)
            await until(lambda: machine.path.read_bytes().count(b'"event":"gate_answered"') == len(gates))
            size = machine.path.stat().st_size
            for person in people.values():
                await until(lambda of=person: of.copies.cursor("box1", machine.log).offset == size)
        rows = current_state(machine.path.parent)[0].gates
        assert {gate: row.via for gate, row in rows.items()} == {gate: f"fleet:{who}" for gate, who in won.items()}


async def _is_refused(key: Credentials) -> None:
    """Show that a key which the servers do not know is refused as that, and not because one of them is away."""
    for _ in range(3):
        with pytest.raises(Refused, match="the server refuses this key"):
            async with connected(key):
                pass


async def _healed(server: NatsServer) -> None:
    """Wait until each server has all that the others have."""
    async with asyncio.timeout(120):
        while True:
            await asyncio.sleep(0.2)
            try:
                async with connected(server.owner_credentials()) as session:
                    found = [await session.info(stream) for stream in (s.EVENTS, s.HOSTS, s.ANSWERS)]
            except FleetError:
                continue
            copies = [copy for one in found for copy in one["cluster"].get("replicas", ())]
            if len(copies) == 6 and all(copy.get("current") and not copy.get("offline") for copy in copies):
                return
