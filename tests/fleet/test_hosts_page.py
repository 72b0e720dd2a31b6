"""The page of all hosts as a browser without JavaScript gets it, with projects of any name."""

from __future__ import annotations

import asyncio
import os
import re

import httpx
from tests.fleet.conftest import Viewer, asking_lines, relined
from tests.fleet.test_fleet_screen import HeldLink
from tests.web.conftest import Reader

from unstuck_web.hosts import HostRuns
from unstuck_web.server import PageOptions, served

LOG = f"{'0a' * 8}-20270115-080000"


async def test_labels_find_their_fields_whatever_a_project_is_called() -> None:
    """An id with a space in it is none. The page comes though its host never sends the changes that it asks for."""
    ready = asyncio.Event()
    ready.set()
    raw = b"".join(relined(asking_lines(), b'"shop"', b'"my \\"shop\\" <b>"'))

    async def open_link(_: str) -> HeldLink:
        return HeldLink(LOG, raw, ready)

    viewer = Viewer(open_link, "a")
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.open_gates())
        runs = HostRuns(view, os.environ)
        async with (
            served(runs.place, PageOptions(), os.environ, runs=runs) as page,
            httpx.AsyncClient(base_url=page.address, timeout=12, trust_env=False) as http,
        ):
            reader = Reader(http)
            await reader.enter(page.link())
            html = (await reader.get("/runs/hosts")).text
    ids = re.findall(r'\sid="([^"]*)"', html)
    assert len(set(ids)) == len(ids)
    assert not [one for one in ids if re.search(r"\s", one)]
    wanted = [one for found in re.findall(r'\s(?:aria-labelledby|for)="([^"]*)"', html) for one in found.split(" ")]
    assert any("my" in one for one in wanted)
    assert set(wanted) <= set(ids)
    assert "<b>" not in html.replace("The timer answers <b>", "")
