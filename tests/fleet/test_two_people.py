"""Two people who answer everything that four machines ask at once, over links that are cut (UNSTUCK_QUESTIONS=1000)."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.fleet.conftest import Viewer
from tests.nats.conftest import Machine

from unstuck.contract import Answer
from unstuck.errors import GateClosed, UnstuckError
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.log.verify import check
from unstuck.fleet.copies import Copies
from unstuck.fleet.hosts import LinkOpener
from unstuck.fleet.link import ProcessLink

HOSTS, QUESTIONS = 4, int(os.environ.get("UNSTUCK_QUESTIONS", "40"))
CHOICES = ("retry", "skip")
HOUR = 3600
SERVE = """
import sys, time
exact = time.time
time.time = lambda: exact() + {ahead}
from unstuck_tui.cli import main
sys.argv = ["unstuck", "serve", "--stdio"]
main()
"""


class Person(Viewer):
    """A person with copies and links of their own."""

    def __init__(self, environ: dict[str, str], machines: dict[str, Machine], choice: str) -> None:
        self.choice, self._machines, self.links = choice, machines, dict[str, ProcessLink]()
        opener: LinkOpener = self._open
        self.copies = Copies(environ)
        super().__init__(opener, *machines, environ=environ)
        for host in self.view.hosts:
            host._backoff_s = (0.05, 0.2)

    async def _open(self, host: str) -> ProcessLink:
        machine = self._machines[host]
        command = [sys.executable, "-c", SERVE.format(ahead=machine.clock_s)]
        self.links[host] = await ProcessLink.open(command, machine.environ)
        return self.links[host]

    async def give(self, gate: str) -> bool:
        """Answer until it is decided; return whether this person was told of victory."""
        while True:
            try:
                await self.view.answer(gate, Answer(choice=self.choice))  # type: ignore[arg-type]
                return True
            except GateClosed:
                return False
            except UnstuckError:
                if (row := self.view.state.gates.get(gate)) is not None and row.status != "open":
                    return False
                await asyncio.sleep(0.05)


@pytest.mark.timeout(60 + QUESTIONS)
async def test_each_question_is_answered_once_though_links_are_killed(tmp_path: Path) -> None:
    """Nobody is told of an answer that does not count, and all copies are the logs of their hosts."""
    machines = {f"box{number}": Machine(tmp_path, f"box{number}") for number in range(HOSTS)}
    machines["box3"].clock_s = -HOUR
    own = {name: await machine.ask(QUESTIONS // HOSTS) for name, machine in machines.items()}
    people = [Person(Machine(tmp_path, choice).environ, machines, choice) for choice in CHOICES]
    chance = random.Random(7)

    async def kill() -> None:
        while True:
            await asyncio.sleep(chance.uniform(0.5, 3))
            link = chance.choice(list(chance.choice(people).links.values()))
            with suppress(ProcessLookupError):
                link._process.kill()

    room = asyncio.Semaphore(20)

    async def both(gate: str) -> list[bool]:
        async with room:
            return list(await asyncio.gather(*(person.give(gate) for person in people)))

    async with people[0].following() as view, people[1].following():
        for person in people:
            await person.until(lambda of=person: len(of.view.state.open_gates()) == HOSTS * (QUESTIONS // HOSTS))
        ids = {(row.id.partition("/")[0], row.id.rpartition("/")[2]): row.id for row in view.state.open_gates()}
        assert len(ids) == HOSTS * (QUESTIONS // HOSTS)
        killing = asyncio.create_task(kill())
        told = dict(zip(ids, await asyncio.gather(*map(both, ids.values())), strict=True))
        killing.cancel()
        for person in people:
            await person.until(lambda of=person: not of.view.state.open_gates())
    for name, machine in machines.items():
        raw, rows = machine.path.read_bytes(), current_state(machine.path.parent)[0].gates
        for gate in own[name]:
            assert raw.count(b'"event":"gate_answered","data":{"gate":"%b"' % gate.encode()) == 1
            answer = rows[gate].answer
            assert answer is not None
            victors = [choice for choice, won in zip(CHOICES, told[name, gate], strict=True) if won]
            assert victors in ([], [answer.choice])  # whose link was cut before the reply is told by the log
        for person in people:
            copy = person.copies.path(name, machine.log)
            check(copy.parent)
            assert copy.read_bytes() == raw
