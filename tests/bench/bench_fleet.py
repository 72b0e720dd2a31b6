"""A fleet of 1,000 hosts at a real NATS server: events per second, time to a viewer's copy, and memory.

The publishers are 1,000 keys' worth of logs on a few connections of this process: each stands for a host that writes an
event every four seconds. Every message is signed, fenced and synced to the server's disk as a forwarder's is.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import quantiles

import psutil

from unstuck.eventlog.log.log_format import framed
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.keys import Credentials, admitted, new_seed, public_key, read_credentials
from unstuck.fleet.nats.nats_server import NatsServer, server_program
from unstuck.fleet.nats.session import Fenced, FleetError, Session, connected
from unstuck.fleet.nats.viewer import Viewer

HOSTS = int(os.environ.get("UNSTUCK_HOSTS", "1000"))
RATE, SECONDS, CONNECTIONS = 250.0, 12.0, 10
BODY = (
    b'{"time":"2027-01-15T08:00:00.000Z","mono":1.0,"run":"20270115-080000","actor":"agent","event":"output",'
    b'"data":{"text":"%b"}}' % (b"x" * 180)
)


class Publisher:
    """One host's log, which is written only here."""

    def __init__(self, name: str, key: Credentials) -> None:
        self.name, self.key = name, key
        self.log = f"{'0a' * 8}-20270115-080000"
        self.seq = self.offset = self.crc = self.last = 0
        self.turn = asyncio.Lock()

    async def publish(self, session: Session) -> None:
        """Publish a line, again and again as long as a busy server does not reply: it stores none twice."""
        line, self.crc = framed(self.seq + 1, BODY, self.crc)
        start, self.seq, self.offset = self.seq, self.seq + 1, self.offset + len(line)
        subject, end = s.events(self.name, self.log), f"{self.seq} {self.offset} {self.crc}"
        headers = {s.START: str(start), s.END: end, s.EXPECTED: str(self.last)}
        headers[s.MESSAGE_ID] = f"{self.name}:{self.log}:{self.seq}"
        headers |= self.key.headers(subject, f"{start} {end}", line)
        while True:
            try:
                self.last = await session.publish(subject, line, headers)
                return
            except Fenced:
                raise
            except FleetError as problem:
                print(f"  {problem}", file=sys.stderr)


async def measured(place: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    server = NatsServer(place / "server", listen=f"127.0.0.1:{port}", addresses=["127.0.0.1"])
    server.prepare()
    async with server.running(server_program()):
        await spread(server, place)


def host_key(server: NatsServer, name: str) -> Credentials:
    """The key of a host that the server need not know: the owner's connections publish for all of them."""
    owner, seed = server.owner_credentials(), new_seed()
    return replace(
        owner, name=name, role="host", seed=seed, admission=admitted(owner.seed, name, "host", public_key(seed))
    )


async def spread(server: NatsServer, place: Path) -> None:
    """Publish with the owner's connections, each message signed by its host's key, and read with a person's."""
    key = read_credentials(server.add("anna", "person"))
    await asyncio.sleep(1)
    hosts = [Publisher(f"h{n}", host_key(server, f"h{n}")) for n in range(HOSTS)]
    viewer = Viewer(key, {"UNSTUCK_STATE_DIR": str(place / "anna")})
    sent: dict[tuple[str, int], float] = {}
    taken: list[float] = []
    took = viewer._take

    def take(host: str, log: str, headers: object, payload: bytes) -> bool:
        taken.append(time.perf_counter() - sent[host, int(dict(headers)[s.END].split()[0])])  # type: ignore[call-overload]
        return took(host, log, headers, payload)  # type: ignore[arg-type]

    viewer._take = take  # type: ignore[method-assign]
    following = asyncio.create_task(viewer.run())
    acknowledged: list[float] = []

    async def publish(host: Publisher, session: Session) -> None:
        began = time.perf_counter()
        async with host.turn:
            sent[host.name, host.seq + 1] = began
            await host.publish(session)
        acknowledged.append(time.perf_counter() - began)

    async def one(number: int) -> None:
        """Publish for a tenth of the hosts, of which none waits for another."""
        async with connected(server.owner_credentials()) as session, asyncio.TaskGroup() as group:
            mine, due = hosts[number::CONNECTIONS], time.perf_counter()
            for turn in range(int(SECONDS * RATE / CONNECTIONS)):
                group.create_task(publish(mine[turn % len(mine)], session))
                due += CONNECTIONS / RATE
                await asyncio.sleep(max(0.0, due - time.perf_counter()))

    began = time.perf_counter()
    await asyncio.gather(*map(one, range(CONNECTIONS)))
    spent = time.perf_counter() - began
    while len(taken) < len(sent):
        await asyncio.sleep(0.1)
    memory = psutil.Process(server._process.pid).memory_info().rss / 2**20
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    for name, times in (("to the server's disk", acknowledged), ("into a viewer's copy", taken)):
        cuts = quantiles(times, n=100)
        print(f"  {name}: p50 {cuts[49] * 1000:.1f} ms, p99 {cuts[98] * 1000:.1f} ms")
    print(f"  {HOSTS} hosts, {len(sent) / spent:.0f} events/s of {RATE:.0f} asked; server {memory:.0f} MB, "
          f"publishers and viewer {own:.0f} MB")  # fmt: skip
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as folder:
        asyncio.run(measured(Path(folder)))
        sys.stdout.flush()
