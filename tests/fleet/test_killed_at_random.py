"""Whatever is killed and whenever: no event is lost, no question answered twice, and every copy is clean."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.fleet.conftest import FAILING, Machine

from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.log.verify import check
from unstuck.fleet.copies import Copies

ROUNDS = int(os.environ.get("UNSTUCK_KILLS", "6"))
PLAN = 'agents:\n  hand: {command: ["true"]}\ntasks:\n' + "".join(
    f'  - id: t{number}\n    prompt: Work.\n    check: "{FAILING}"\n    agent: hand\n' for number in range(4)
)


def victims(viewers: list[subprocess.Popen[bytes]], hosts: list[subprocess.Popen[bytes]]) -> list[psutil.Process]:
    """The processes that may be killed: both screens, the host's end of each link, and the supervisors."""
    found = [psutil.Process(one.pid) for one in (*viewers, *hosts) if one.poll() is None]
    for viewer in viewers:
        with suppress(psutil.Error):
            found += psutil.Process(viewer.pid).children()
    return found


@pytest.mark.timeout(240)
async def test_kills_lose_no_event_and_answer_no_question_twice(
    machine: Callable[[str], Machine], tmp_path: Path
) -> None:
    """Two screens answer everything that two machines ask, while screens, links and supervisors are killed."""
    hosts = [machine("a"), machine("b")]
    for host in hosts:
        (host.repo / "plan.yaml").write_text(PLAN, encoding="utf-8")
    pick = random.Random(7)
    script = str(Path(__file__).with_name("killed_viewer.py"))
    places = [f"{one.name}={one.environ['UNSTUCK_STATE_DIR']}:{one.environ['UNSTUCK_RUNTIME_DIR']}" for one in hosts]
    acknowledged = [tmp_path / "first", tmp_path / "second"]

    def view(number: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, script, acknowledged[number], *places], stderr=subprocess.DEVNULL)

    def work(host: Machine) -> subprocess.Popen[bytes]:
        resume = ["--resume", "last"] if host.logs else ["plan.yaml"]
        return host.start("run", "--headless", *resume)

    viewers, runs = [view(0), view(1)], [work(host) for host in hosts]
    try:
        for _ in range(ROUNDS):
            await asyncio.sleep(pick.uniform(0.3, 1.5))
            with suppress(psutil.Error):
                pick.choice(victims(viewers, runs)).kill()
            viewers = [one if one.poll() is None else view(number) for number, one in enumerate(viewers)]
            for number, host in enumerate(hosts):
                if runs[number].poll() is not None and not _over(host):
                    runs[number] = work(host)
        async with asyncio.timeout(60):
            while not all(_over(host) and _copied(host) for host in hosts):
                await asyncio.sleep(0.2)
                viewers = [one if one.poll() is None else view(number) for number, one in enumerate(viewers)]
                for number, host in enumerate(hosts):
                    if runs[number].poll() is not None and not _over(host):
                        runs[number] = work(host)
    finally:
        for one in (*viewers, *runs):
            one.kill()
            one.wait(60)
    answered = {}
    for host in hosts:
        for log in host.logs:
            check(log.parent)
            for record in read_records(log):
                if record.name == "gate_answered":
                    gate = f"{host.name}/shop/{record.event.gate}"  # type: ignore[union-attr]
                    answered[gate] = answered.get(gate, 0) + 1
    assert answered
    assert set(answered.values()) == {1}
    told = [line for file in acknowledged if file.exists() for line in file.read_text("utf-8").splitlines()]
    assert len(told) == len(set(told)), "one answer was acknowledged to two people"
    assert set(told) <= answered.keys(), "an acknowledged answer is not in the log"


def _over(host: Machine) -> bool:
    return any(b'"event":"run_ended"' in log.read_bytes() for log in host.logs)


def _copied(host: Machine) -> bool:
    """True once there is a clean copy of each log of the host, equal to the last byte."""
    copies = Copies(os.environ)
    found = [copies.path(host.name, log) for log in copies.logs(host.name)]
    if len(found) != len(host.logs):
        return False
    for path in found:
        with suppress(Exception):
            check(path.parent)
            if path.read_bytes() in [log.read_bytes() for log in host.logs]:
                continue
        return False
    return True
