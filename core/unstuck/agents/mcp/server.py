"""Server of ``unstuck mcp``: the tools for one agent, over standard input and output.

The ``mcp`` package implements the protocol; its import takes most of a second and happens only here. The run or watch
of the project handles the calls, and this process only holds those that wait.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from unstuck.agents.mcp.relay import Result, Supervised
from unstuck.agents.mcp.stdio_transport import Lines, Replies, complain
from unstuck.agents.mcp.tools import INSTRUCTIONS, SERVER, TOOLS, given
from unstuck.agents.optional_packages import require_mcp
from unstuck.errors import UsageError

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

ALIVE_S = 10.0
"""Seconds between progress notifications to an agent that waits."""


def serve(environ: Mapping[str, str] = os.environ) -> int:
    """Serve one agent until it disconnects and return the exit code. Raises UsageError without the ``mcp`` package."""
    require_mcp()
    problem = ""
    with suppress(BrokenPipeError):  # the agent reads no more
        problem = asyncio.run(_served(environ))
    if problem:
        complain(problem)
    return 2 if problem else 0


async def _served(environ: Mapping[str, str]) -> str:
    """Serve one agent and return the reason for an early end; empty if there is none."""
    from mcp.server.stdio import stdio_server
    from mcp_types import jsonrpc_message_adapter

    def is_understood(text: str) -> bool:
        try:
            jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError:
            return False
        return True

    replies = Replies(sys.stdout.buffer)
    calls = Calls(Supervised(environ), replies)
    server = calls.server()
    # These have the methods of anyio's files that the package uses.
    lines = Lines(sys.stdin.fileno(), replies, is_understood)
    try:
        async with stdio_server(stdin=cast(Any, lines), stdout=cast(Any, replies)) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        await calls.supervised.close()
    return lines.problem


class Calls:
    """Handlers of the protocol's requests."""

    def __init__(self, supervised: Supervised, replies: Replies) -> None:
        self.supervised, self._replies = supervised, replies

    def server(self) -> Server[Any]:
        """Return a server with these handlers."""
        from mcp.server import Server

        from unstuck.version import __version__

        return Server(
            SERVER,
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.listed,
            on_call_tool=self.called,
        )

    async def listed(self, context: ServerRequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
        """Return the tools with their descriptions."""
        from mcp_types import ListToolsResult, Tool, ToolAnnotations

        tools = [
            Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.schema(),
                annotations=ToolAnnotations(
                    title=tool.title, read_only_hint=tool.read_only, destructive_hint=False, open_world_hint=False
                ),
            )
            for tool in TOOLS.values()
        ]
        return ListToolsResult(tools=tools)

    async def called(self, context: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        """Return the result of one call, with progress notifications meanwhile."""
        from mcp_types import CallToolResult, TextContent

        result = await self._result(context, params.name, params.arguments or {})
        if result.exchange is not None:
            self._replies.after(context.request_id, result.exchange.acknowledge)
        return CallToolResult(content=[TextContent(type="text", text=result.text)], is_error=result.failed)

    async def _result(self, context: ServerRequestContext, name: str, arguments: Mapping[str, Any]) -> Result:
        tool = TOOLS.get(name)
        if tool is None:
            return Result(text=f"there is no tool {name[:40]!r}: {', '.join(TOOLS)}", failed=True)
        try:
            found = given(tool, arguments)
        except UsageError as problem:
            return Result(text=str(problem), failed=True)
        self.supervised.client = _client(context)
        working = asyncio.ensure_future(self.supervised.call(name, found))
        try:
            waited = 0
            while not (await asyncio.wait([working], timeout=ALIVE_S))[0]:
                waited += 1
                await context.session.report_progress(waited, message="waiting for the supervisor")
            return working.result()
        finally:
            if not working.done():
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)


def _client(context: ServerRequestContext) -> str:
    """Return the agent's own name; empty if it gives none."""
    said = getattr(context.session, "client_params", None)
    return cast(str, said.client_info.name) if said is not None else ""
