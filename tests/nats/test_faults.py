"""A thousand questions of four hosts, answered by two people at once while everything is killed, cut and slowed."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.nats.conftest import Fleet, Machine, free_port, until

from unstuck.contract import Answer
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.log.verify import check
from unstuck.fleet.copies import Copies
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.session import FleetError, connected
from unstuck.fleet.nats.viewer import Viewer

pytestmark = [pytest.mark.nats, pytest.mark.timeout(900)]

HOSTS, QUESTIONS = 4, int(os.environ.get("UNSTUCK_QUESTIONS", "1000"))
VIEW = """
import asyncio, os
from unstuck.fleet.nats.membership import Membership
from unstuck.fleet.nats.viewer import Viewer
asyncio.run(Viewer(Membership(os.environ).person(), os.environ).run())
"""


class Links:
    """The way to the server, which is cut and slowed."""

    def __init__(self, target: int) -> None:
        self.port, self._target, self.pause = free_port(), target, 0.0
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._take, "127.0.0.1", self.port)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
            self._open |= {writer, back}
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(65_536):
                await asyncio.sleep(self.pause)
                writer.write(piece)
                await writer.drain()
        writer.close()
        self._open.discard(writer)

    def cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()
        self._open.clear()


async def test_every_question_has_one_winner_and_nothing_is_lost(fleet: Fleet) -> None:
    """No answer counts twice, no loser is told of victory, and each copy is the log of its host."""
    links = Links(int(fleet.server.url.rpartition(":")[2]))
    proxy = await links.serve()
    machines = [fleet.machine(f"box{number}") for number in range(HOSTS)]
    gates = [(machine, gate) for machine in machines for gate in await machine.ask(QUESTIONS // HOSTS)]
    carl = fleet.machine("carl")
    url = f"tls://127.0.0.1:{links.port}"
    for machine in machines:
        machine.keep(replace(fleet.key(machine.name), url=url))
    carl.keep(replace(fleet.key("carl", "viewer"), url=url))
    processes = {machine.name: machine.forward() for machine in machines}
    processes["carl"] = _view(carl)
    faults = asyncio.create_task(_break(fleet, links, processes, machines, carl))
    try:
        async with fleet.viewer("anna") as anna, fleet.viewer("ben") as ben:
            room = asyncio.Semaphore(20)
            won = await asyncio.gather(*(_both(room, anna, ben, machine, gate) for machine, gate in gates))
            async with asyncio.timeout(600):
                while not all(map(_is_answered, machines)):
                    await asyncio.sleep(1)
            faults.cancel()
            with suppress(asyncio.CancelledError):
                await faults
            print(faults_done)
            links.pause = 0.0
            for machine in machines:
                size = machine.path.stat().st_size
                await until(lambda at=machine, size=size: _is_copied(anna, at, size), 120)
    finally:
        faults.cancel()
        copies = Copies(carl.environ)
        with suppress(TimeoutError):
            await until(lambda: all(_copy_size(copies, at) == at.path.stat().st_size for at in machines), 120)
        for process in processes.values():
            process.kill()
            process.wait()
        proxy.close()
    assert set(Counter(won)) <= {"anna", "ben"}
    for (machine, gate), winner in zip(gates, won, strict=True):
        raw = machine.path.read_bytes()
        assert raw.count(b'"event":"gate_answered","data":{"gate":"%b"' % gate.encode()) == 1
        row = current_state(machine.path.parent)[0].gates[gate] if gate.startswith("g1-") else None
        assert row is None or (row.via, row.answer and row.answer.choice) == (f"fleet:{winner}", _CHOICES[winner])
        assert b'"gate":"%b","choice":"%b"' % (gate.encode(), _CHOICES[winner].encode()) in raw
    for machine in machines:
        check(machine.path.parent)
        for place in (anna.copies, ben.copies, copies):
            copy = place.path(machine.name, machine.log)
            if place is not ben.copies:
                assert copy.read_bytes() == machine.path.read_bytes()
            check(copy.parent)


_CHOICES = {"anna": "retry", "ben": "skip"}
faults_done: Counter[str] = Counter()


async def _both(room: asyncio.Semaphore, anna: Viewer, ben: Viewer, machine: Machine, gate: str) -> str:
    """Let both answer at once; return the one who won, of whom the other was told."""

    async def give(person: Viewer, choice: str) -> tuple[str, bool]:
        while True:
            with suppress(FleetError):
                given = await person.answer(machine.name, machine.log, gate, Answer(choice=choice))  # type: ignore[arg-type]
                return given.by, given.mine

    async with room:
        first, second = await asyncio.gather(give(anna, "retry"), give(ben, "skip"))
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert first[1] == (first[0] == "anna")
    return first[0]


def _is_answered(machine: Machine) -> bool:
    return machine.path.read_bytes().count(b'"event":"gate_answered"') >= QUESTIONS // HOSTS


def _is_copied(viewer: Viewer, machine: Machine, size: int) -> bool:
    return viewer.copies.cursor(machine.name, machine.log).offset == size


def _copy_size(copies: Copies, machine: Machine) -> int:
    path = copies.path(machine.name, machine.log)
    return path.stat().st_size if path.exists() else 0


def _view(machine: Machine) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", VIEW], env=machine.environ)


async def _break(
    fleet: Fleet, links: Links, processes: dict[str, subprocess.Popen[bytes]], machines: list[Machine], carl: Machine
) -> None:
    chance = random.Random(7)
    while True:
        await asyncio.sleep(chance.uniform(1, 3))
        fault = chance.choice(("server", "host", "viewer", "cut", "slow", "wipe"))
        faults_done[fault] += 1
        match fault:
            case "server":
                fleet.server._process.kill()
            case "host":
                machine = chance.choice(machines)
                processes[machine.name].kill()
                processes[machine.name].wait()
                processes[machine.name] = machine.forward()
            case "viewer":
                processes["carl"].kill()
                processes["carl"].wait()
                processes["carl"] = _view(carl)
            case "cut":
                links.cut()
            case "slow":
                links.pause = chance.choice((0.0, 0.05, 0.3))
            case "wipe":
                with suppress(FleetError):
                    async with connected(fleet.server.owner_credentials()) as session:
                        await session.api(f"STREAM.DELETE.{s.EVENTS}")


async def test_a_wiped_disk_of_the_server_is_filled_again(fleet: Fleet, tmp_path: object) -> None:
    """The server's data are deleted while it is down; the hosts publish again, and nobody has to do anything."""
    import shutil

    async with fleet.host("box1") as (machine, _), fleet.viewer("anna") as anna:
        machine.write(1, 40)
        await until(lambda: anna.copies.cursor("box1", machine.log).seq == 40)
        fleet.server._process.kill()
        shutil.rmtree(fleet.server.folder / "jetstream")
        machine.write(41)
        async with fleet.viewer("late") as late:
            for viewer in (anna, late):
                await until(lambda at=viewer: _is_copied(at, machine, machine.path.stat().st_size))
                assert viewer.copies.path("box1", machine.log).read_bytes() == machine.path.read_bytes()


async def test_a_clock_that_is_an_hour_off_changes_nothing(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host is connected and its log is copied; only `unstuck fleet doctor` names the clock."""
    from unstuck.clock import SystemClock
    from unstuck.fleet.nats import forwarder, report

    class Late(SystemClock):
        def now(self) -> float:
            return super().now() - 3600

    monkeypatch.setattr(forwarder, "SystemClock", Late)
    async with fleet.host("box1") as (machine, _):
        machine.write(1)
        key = fleet.key("anna", "person")
        async with fleet.viewer("ben") as ben:
            await until(lambda: _is_copied(ben, machine, machine.path.stat().st_size))
            await until(lambda: ben.is_known("box1"))
        rows = await report.findings(key, fleet.machine("anna").environ)
    wrong = [row["text"] for row in rows if not row["ok"]]
    assert len(wrong) == 1
    assert wrong[0].startswith("its clock is 36")
