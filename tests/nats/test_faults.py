"""A thousand questions of four hosts, answered by two people at once while everything is killed, cut and slowed."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
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
HOUR = 3600
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
        self._taking: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._take, "127.0.0.1", self.port)
        try:
            yield
        finally:
            server.close()
            for task in self._taking:
                task.cancel()
            await asyncio.gather(*self._taking, return_exceptions=True)
            await asyncio.gather(*(writer.wait_closed() for writer in self._open), return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._taking.add(task)
        ends = {writer}
        try:
            with suppress(OSError):
                there, back = await asyncio.open_connection("127.0.0.1", self._target)
                ends.add(back)
                self._open |= ends
                await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        finally:
            for end in ends:
                end.transport.abort()
            self._open -= ends
            self._taking.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(65_536):
                await asyncio.sleep(self.pause)
                writer.write(piece)
                await writer.drain()
        writer.close()

    def cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()


async def test_every_question_has_one_winner_and_nothing_is_lost(fleet: Fleet) -> None:
    """No answer counts twice, no loser is told of victory, and each copy is the log of its host.

    One host's clock is an hour off, and once half of the questions are answered the server loses its disk.
    """
    links = Links(int(fleet.server.url.rpartition(":")[2]))
    machines = [fleet.machine(f"box{number}") for number in range(HOSTS)]
    machines[-1].clock_s = -HOUR
    gates = [await machine.ask(QUESTIONS // HOSTS) for machine in machines]
    half = QUESTIONS // HOSTS // 2
    carl = fleet.machine("carl")
    url = f"tls://127.0.0.1:{links.port}"
    for machine in machines:
        machine.keep(replace(fleet.key(machine.name), url=url))
    carl.keep(replace(fleet.key("carl", "viewer"), url=url))
    processes = {machine.name: machine.forward() for machine in machines}
    processes["carl"] = _view(carl)
    copies, done = Copies(carl.environ), Counter[str]()
    won: dict[str, str] = {}
    try:
        async with links.served(), fleet.viewer("anna") as anna, fleet.viewer("ben") as ben:
            for part in (slice(half), slice(half, None)):
                faults = asyncio.create_task(_break(fleet, links, processes, machines, carl, done))
                try:
                    room = asyncio.Semaphore(20)
                    asked = [
                        (machine, gate) for machine, own in zip(machines, gates, strict=True) for gate in own[part]
                    ]
                    said = await asyncio.gather(*(_both(room, anna, ben, machine, gate) for machine, gate in asked))
                    won |= dict(zip((gate for _, gate in asked), said, strict=True))
                    answered = len(gates[0][: part.stop])
                    await until(lambda many=answered: all(_answered(at) >= many for at in machines), 600)
                finally:
                    faults.cancel()
                    await asyncio.gather(faults, return_exceptions=True)
                if part.start is None:
                    fleet.lose_disk()
                    done["disk"] += 1
            print(dict(done), dict(Counter(won.values())))
            links.pause = 0.0
            for machine in machines:
                size = machine.path.stat().st_size
                for place in (anna.copies, ben.copies, copies):
                    await until(lambda of=place, at=machine, size=size: _copy_size(of, at) == size, 120)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    assert done["disk"] == 1
    assert set(won.values()) <= _CHOICES.keys()
    for machine, mine in zip(machines, gates, strict=True):
        raw, rows = machine.path.read_bytes(), current_state(machine.path.parent)[0].gates
        for gate in mine:
            assert raw.count(b'"event":"gate_answered","data":{"gate":"%b"' % gate.encode()) == 1
            answer = rows[gate].answer
            assert answer is not None
            assert (rows[gate].via, answer.choice) == (f"fleet:{won[gate]}", _CHOICES[won[gate]])
        check(machine.path.parent)
        for place in (anna.copies, ben.copies, copies):
            copy = place.path(machine.name, machine.log)
            assert copy.read_bytes() == raw
            check(copy.parent)


_CHOICES = {"anna": "retry", "ben": "skip"}


async def _both(room: asyncio.Semaphore, anna: Viewer, ben: Viewer, machine: Machine, gate: str) -> str:
    """Let both answer at once; return the one who won, of whom the other was told."""

    async def give(person: Viewer, choice: str) -> tuple[str, bool]:
        while True:
            with suppress(FleetError):
                given = await person.answer(machine.name, machine.log, gate, Answer(choice=choice))  # type: ignore[arg-type]
                return given.by, given.mine

    async with room:
        given = [give(anna, "retry"), give(ben, "skip")]
        if random.random() < 0.5:  # who is asked first mostly wins
            first, second = await asyncio.gather(*given)
        else:
            second, first = await asyncio.gather(*reversed(given))
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert first[1] == (first[0] == "anna")
    return first[0]


def _answered(machine: Machine) -> int:
    return machine.path.read_bytes().count(b'"event":"gate_answered"')


def _is_copied(viewer: Viewer, machine: Machine, size: int) -> bool:
    return viewer.copies.cursor(machine.name, machine.log).offset == size


def _copy_size(copies: Copies, machine: Machine) -> int:
    path = copies.path(machine.name, machine.log)
    return path.stat().st_size if path.exists() else 0


def _view(machine: Machine) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", VIEW], env=machine.environ)


async def _break(
    fleet: Fleet,
    links: Links,
    processes: dict[str, subprocess.Popen[bytes]],
    machines: list[Machine],
    carl: Machine,
    done: Counter[str],
) -> None:
    """Do a fault every few seconds until it is cancelled: kills, cuts, slow links, deleted streams."""
    chance = random.Random(7 + done.total())
    while True:
        await asyncio.sleep(chance.uniform(1, 3))
        fault = chance.choice(("server", "host", "viewer", "cut", "slow", "wipe"))
        done[fault] += 1
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
    async with fleet.host("box1") as (machine, _), fleet.viewer("anna") as anna:
        machine.write(1, 40)
        await until(lambda: anna.copies.cursor("box1", machine.log).seq == 40)
        fleet.lose_disk()
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
