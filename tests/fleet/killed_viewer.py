"""A screen's side in a process of its own, to be killed: follows hosts, and answers whatever they ask.

``killed_viewer.py ACKNOWLEDGED NAME=STATE:RUNTIME…``: each acknowledged answer is a line of the first file.
"""

from __future__ import annotations

import asyncio
import os
import sys

from unstuck.contract import Answer
from unstuck.errors import UnstuckError
from unstuck.fleet.copies import Copies
from unstuck.fleet.fleet_view import FleetView
from unstuck.fleet.link import ProcessLink


async def follow(acknowledged: str, given: list[str]) -> None:
    places = dict(one.split("=", 1) for one in given)

    async def open_link(host: str) -> ProcessLink:
        state, runtime = places[host].split(":")
        environ = os.environ | {"UNSTUCK_STATE_DIR": state, "UNSTUCK_RUNTIME_DIR": runtime}
        return await ProcessLink.open([sys.executable, "-m", "unstuck", "serve", "--stdio"], environ)

    view = FleetView(list(places), open_link, Copies(os.environ))
    for host in view.hosts:
        host._backoff_s = (0.05, 0.2)
    following = asyncio.create_task(view.follow_hosts())
    while not following.done():
        for row in view.state.open_gates():
            try:
                await view.answer(row.id, Answer(choice="abandon"))
            except UnstuckError:
                continue
            with open(acknowledged, "ab", buffering=0) as file:
                file.write(f"{row.id}\n".encode())
        await asyncio.sleep(0.02)
    await following


asyncio.run(follow(sys.argv[1], sys.argv[2:]))
