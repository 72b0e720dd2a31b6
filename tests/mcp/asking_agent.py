"""An agent for the tests: ``asking_agent.py HOW`` does what its prompt says once it knows the port.

``client`` asks through `unstuck mcp` with a client of the protocol, ``patient`` and ``hasty`` over the socket; the
hasty one gives its call up and stays at work.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

QUESTION = {"question": "Which port?", "options": ["80", "8080"]}


async def by_client() -> str:
    """What the tool says to a client of the protocol."""
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command="unstuck", args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        result = await session.call_tool("ask_human", QUESTION)
        return result.content[0].text  # type: ignore[union-attr]


async def by_socket(patience: float | None) -> str:
    """What the supervisor says; TimeoutError where it does not say it in time."""
    from unstuck.agents.mcp.forwarding import Supervised

    result = await asyncio.wait_for(Supervised(os.environ).call("ask_human", QUESTION), patience)
    if result.exchange is not None:
        await result.exchange.acknowledge()
    return result.text


def main(how: str) -> None:
    """Ask unless the answer stands in the prompt already, and write it down."""
    said = Path(os.environ["UNSTUCK_PROMPT_FILE"]).read_text(encoding="utf-8")
    if "8080" not in said:
        try:
            said = asyncio.run(by_client() if how == "client" else by_socket(1.0 if how == "hasty" else None))
        except TimeoutError:
            time.sleep(1_000)
    Path("answer.txt").write_text(said, encoding="utf-8")


main(sys.argv[1])
