"""A session that hooks tell of and that asks by itself is one task, and is held once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.mcp.conftest import PATIENCE, Watched, World

from unstuck.channel import Peer
from unstuck.eventlog import events as e

TASK = "claude-open-the-port"
# Stands for an agent: it starts what its hooks and its server are, and says their process ids.
AGENT = """
import subprocess, sys
hook, server = (subprocess.Popen(["sleep", "1000"]) for _ in range(2))
print(hook.pid, server.pid, flush=True)
sys.stdin.read()
hook.kill(); server.kill(); hook.wait(); server.wait()
"""


@contextmanager
def started() -> Iterator[tuple[Peer, Peer]]:
    """One agent: a hook of its session, and the server that it has started."""
    process = subprocess.Popen([sys.executable, "-c", AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    hook, server = map(int, process.stdout.readline().split())
    yield Peer(hook, os.getuid()), Peer(server, os.getuid())
    process.communicate("")


@pytest.fixture
def agent() -> Iterator[tuple[Peer, Peer]]:
    """Both ends of a connection with a calling agent."""
    with started() as found:
        yield found


async def hooked(world: World, peer: Peer, event: str, **more: Any) -> dict[str, Any]:
    """A hook call of the session, and what it is answered."""
    hooks = world.supervisor.hooks
    assert hooks is not None
    return await hooks.handle({"session_id": "abc", "hook_event_name": event, **more}, peer, "claude")


async def call(world: World, peer: Peer, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of the agent, and its reply."""
    tools = world.supervisor.tools
    assert tools is not None
    return await tools.handle({"tool": tool, "arguments": arguments, "session": "token", "client": "Claude"}, peer)


async def test_its_question_is_one_of_its_session(watched: Watched, agent: tuple[Peer, Peer]) -> None:
    """The call comes from a process that the session's agent has started: the question is its task's. Its own hook does
    not hold the call, another tool's does, and the answer goes to the call alone."""
    hook, server = agent
    async with watched() as world:
        await hooked(world, hook, "UserPromptSubmit", prompt="Open the port.")
        before = await hooked(world, hook, "PreToolUse", tool_name="mcp__unstuck__ask_human", tool_use_id="1")
        assert before == {"ok": True}
        asking = asyncio.ensure_future(call(world, server, "ask_human", question="Which port?"))
        (gate,) = await world.until(world.open)
        assert gate.task == TASK
        assert gate.attempt == f"{TASK}.1"
        again = await hooked(world, hook, "PreToolUse", tool_name="mcp__unstuck__ask_human", tool_use_id="2")
        assert again == {"ok": True}
        other = asyncio.ensure_future(
            hooked(world, hook, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="3")
        )
        await world.until(lambda: world.of(e.StepRecorded))
        assert not other.done()
        await world.says(gate, "show_me", "8080")
        reply = await asyncio.wait_for(asking, PATIENCE)
        assert reply["text"] == "A person answers: 8080"
        assert await asyncio.wait_for(other, PATIENCE) == {"ok": True}
        assert [row.id for row in world.supervisor.core.head.tasks.values()] == [TASK]


async def test_an_answer_after_the_call_was_cut_off_comes_at_the_next_step(
    watched: Watched, agent: tuple[Peer, Peer]
) -> None:
    """The agent has given up its call and wants to go on: its next step is held, and then hears the answer."""
    hook, server = agent
    async with watched() as world:
        await hooked(world, hook, "UserPromptSubmit", prompt="Open the port.")
        asking = asyncio.ensure_future(call(world, server, "ask_human", question="Which port?"))
        (gate,) = await world.until(world.open)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        step = asyncio.ensure_future(
            hooked(world, hook, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="1")
        )
        await world.until(lambda: world.of(e.StepRecorded))
        await world.says(gate, "show_me", "8080")
        reply = await asyncio.wait_for(step, PATIENCE)
        assert "A person says: 8080" in json.dumps(reply["output"])


async def test_a_session_of_somebody_else_is_not_taken_for_it(watched: Watched, agent: tuple[Peer, Peer]) -> None:
    """A server that another agent has started, of which no hook tells, is a task of its own."""
    hook, _ = agent
    async with watched() as world:
        await hooked(world, hook, "UserPromptSubmit", prompt="Open the port.")
        with started() as (_, stranger):
            reply = await call(world, stranger, "report_progress", message="hello")
        assert reply["stay"]
        assert [row.id for row in world.supervisor.core.head.tasks.values()] == [TASK, "claude"]
