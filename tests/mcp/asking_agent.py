"""An agent for the tests: ``asking_agent.py HOW`` does what its prompt says once it knows the port.

``client`` asks through `unstuck mcp` with a client of the protocol, ``socket`` over the socket; the latter gives its
call up at SIGUSR1, and stays at work.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path

QUESTION = {"question": "Which port?", "options": ["80", "8080"]}


async def by_client() -> str:
    """Return the tool's reply to a client of the protocol, as far as one call needs it."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "asker", "version": "1"}}
    said = (
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "ask_human", "arguments": QUESTION}},
    )
    server = await asyncio.create_subprocess_exec("unstuck", "mcp", stdin=PIPE, stdout=PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.writelines(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in said)
    while (heard := json.loads(await server.stdout.readline())).get("id") != 2:
        pass
    server.stdin.close()
    await server.wait()
    return str(heard["result"]["content"][0]["text"])


async def by_socket() -> str:
    """Return the supervisor's reply; CancelledError once a signal has said that it takes too long."""
    from unstuck.agents.mcp.relay import Supervised

    call = asyncio.ensure_future(Supervised(os.environ).call("ask_human", QUESTION))
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, call.cancel)
    result = await call
    if result.exchange is not None:
        await result.exchange.acknowledge()
    return result.text


def main(how: str) -> None:
    """Ask unless the answer stands in the prompt already, and write it down."""
    said = Path(os.environ["UNSTUCK_PROMPT_FILE"]).read_text(encoding="utf-8")
    if "8080" not in said:
        try:
            said = asyncio.run(by_client() if how == "client" else by_socket())
        except asyncio.CancelledError:
            time.sleep(1_000)
    Path("answer.txt").write_text(said, encoding="utf-8")


main(sys.argv[1])
