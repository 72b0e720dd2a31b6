"""Strangers, and clients that flood, stall or never read: refused or bounded, and nobody else waits for them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from unstuck.channel import ChannelServer, Message, Peer, request

# The tests' own interpreter may lie where nobody else can reach it.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin")
STRANGER = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
try:
    client.connect(sys.argv[1])
    client.sendall(b'{"v": 1, "do": "answer"}' + bytes([10]))
    print(client.makefile().read())
except OSError as error:
    print(type(error).__name__)
"""


class Room:
    """A server that counts what it is asked and says much."""

    def __init__(self, path: Path, size: int = 0) -> None:
        self.path, self.size, self.asked = path, size, 0
        self.server = ChannelServer(path, self.handle)

    async def handle(self, message: Message, peer: Peer) -> Message:
        """The reply, of ``size`` bytes for a request ``much``."""
        self.asked += 1
        return {"said": "x" * self.size if message["do"] == "much" else "little"}

    async def __aenter__(self) -> Room:
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()


@pytest.mark.skipif(os.getuid() != 0 or PYTHON is None, reason="only root can be somebody else, with a Python for all")
async def test_another_user_is_refused_twice(sockets: Path) -> None:
    """The directory keeps others out; where somebody has opened it, they are told so and not heard."""
    path = sockets / "s.sock"

    async def tries() -> str:
        run = subprocess.run
        command = [str(PYTHON), "-I", "-S", "-c", STRANGER, str(path)]
        done = await asyncio.to_thread(run, command, user=65534, group=65534, capture_output=True, text=True, cwd="/")
        return done.stdout.strip()

    async with Room(path) as room:
        assert await tries() == "PermissionError"
        for place in (path.parent, path.parent.parent):
            place.chmod(0o755)
        path.chmod(0o666)
        assert json.loads(await tries()) == {"error": "this socket belongs to another user"}
        assert room.asked == 0


async def test_a_client_that_never_reads_stops_only_itself(sockets: Path) -> None:
    """It may ask as often as it likes: after a few replies that it leaves lying, it is not listened to any more."""
    async with Room(sockets / "s.sock", size=500_000) as room:
        _, writer = await asyncio.open_unix_connection(room.path, limit=1)
        writer.write(b'{"v": 1, "do": "much"}\n' * 1_000)
        for _ in range(20):
            assert (await request(room.path, {"do": "x"}, timeout=60))["said"] == "little"
        assert room.asked - 20 < 10
        writer.close()


async def test_a_flood_of_messages_on_one_line_waits_its_turn(sockets: Path) -> None:
    """One client that asks without end is answered one by one; the others are served meanwhile."""
    async with Room(sockets / "s.sock") as room:
        reader, writer = await asyncio.open_unix_connection(room.path)
        writer.write(b'{"v": 1, "do": "x"}\n' * 1_000)
        for _ in range(20):
            await request(room.path, {"do": "x"}, timeout=60)
        lines = [await reader.readline() for _ in range(1_000)]
        assert set(lines) == {b'{"ok":true,"said":"little"}\n'}
        writer.close()
