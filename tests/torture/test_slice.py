"""A short slice of ``make torture``: one round with a fixed seed of each family that is quick."""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Start
from tests.torture.__main__ import torture
from tests.torture.limits import Skipped
from tests.torture.oracles import ORACLES
from tests.torture.sabotage import SABOTAGES, unnoticed
from tests.torture.world import World
from tests.waiting import become

ROUNDS = {"disks": 1, "kills": 4, "mutations": 1, "pipes": 1, "sizes": 404285457, "streams": 4}


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path so short that a socket fits into it."""
    with tempfile.TemporaryDirectory(prefix="u-", dir="/tmp") as place:
        yield Path(place)


@pytest.mark.parametrize(("family", "seed"), ROUNDS.items())
def test_the_guarantees_hold(short: Path, start: Start, family: str, seed: int) -> None:
    """After this fault every guarantee holds for the run, its log and the user's files."""

    def begun(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        return start(*command[1:], **options)

    try:
        broken = torture(family, seed, short, begun)
    except Skipped as reason:
        pytest.skip(str(reason))
    assert not broken


def test_every_oracle_has_a_program_that_breaks_its_promise() -> None:
    """No guarantee is looked at by something that was never seen to notice a broken one."""
    assert [oracle.__name__ for oracle in ORACLES] == list(SABOTAGES)


@pytest.mark.parametrize("name", ["nothing_acknowledged_lost", "no_process_left"])
def test_a_broken_promise_is_noticed(short: Path, name: str) -> None:
    """A program that loses an event, or leaves a process behind, is found; ``--selfcheck`` tries all."""
    assert not unnoticed(name, short)


async def test_a_forked_supervisor_is_seen(short: Path, start: Start) -> None:
    """A supervisor that the tests forked is one of the processes that must not be left."""
    world = World(short, random.Random(1), lambda command, **options: start(*command[1:], **options))
    world.twist("sleep 600\n")
    run = world.begin()
    try:
        run.until(b'"agent_spawned"')
        assert run.process.pid in {process.pid for process in world.processes()}
    finally:
        run.kill()
        run.end()
        world.end()
    await become(lambda: not list(world.processes()))
