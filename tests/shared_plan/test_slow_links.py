"""A server that cannot be reached while a run begins or goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.nats.conftest import Fleet

from unstuck.fleet.nats.nats_server import server_program
from unstuck.fleet.shared_plan import placement
from unstuck.fleet.shared_plan.placement import Placement


async def test_a_run_that_has_begun_waits_for_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It warns of the server once, and goes on when it can be reached."""
    fleet, said, warned = Fleet(tmp_path), list[str](), asyncio.Event()
    monkeypatch.setattr(placement, "_CONNECT_S", 0.5)

    def warn(line: str) -> None:
        said.append(line)
        warned.set()

    async def connected() -> float:
        async with Placement(fleet.key("anna", "person"), warn=warn).table(patient=True) as table:
            return table.connected_at

    looking = asyncio.create_task(connected())
    async with asyncio.timeout(60):
        await warned.wait()
        async with fleet.server.running(server_program()):
            assert await looking
    assert len(said) == 1
    assert said[0].endswith("The run goes on once it is.")
