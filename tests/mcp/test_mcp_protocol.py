"""``unstuck mcp`` as agents meet it: a real process, real clients of the protocol, and lines that are none."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Inside, Start
from tests.mcp.conftest import PATIENCE, Watched

from unstuck.agents.mcp import server as served
from unstuck.agents.mcp.relay import Supervised
from unstuck.agents.mcp.server import Calls
from unstuck.agents.mcp.stdio_transport import MAX_LINE, Replies
from unstuck.agents.mcp.tools import TOOLS
from unstuck.eventlog import events as e


def hello(version: str = "2025-06-18") -> dict[str, Any]:
    """Return the first message of a client."""
    about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    """One call of a tool."""
    asked = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked}


class Raw:
    """The process itself, with lines as they are."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, *messages: Any) -> None:
        """Messages, or bytes that are none."""
        assert self.process.stdin is not None
        for message in messages:
            raw = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self.process.stdin.write(raw)
        self.process.stdin.flush()

    def receive(self) -> Any:
        """The next message."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, str, str]:
        """Close its input: exit code, what was left of its output, and what it complained of."""
        out, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.decode(), errors.decode()


@pytest.fixture
def raw(repo: Path, start: Start) -> Iterator[Raw]:
    """A server in the project."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    one = Raw(start("mcp", cwd=repo, **pipes))
    yield one
    one.process.kill()
    with suppress(BrokenPipeError):
        one.process.communicate()


async def test_a_client_asks_and_is_answered(watched: Watched, repo: Path) -> None:
    """A client of the protocol finds the four tools with what says when to use them, asks, and gets the answer; once it
    has gone its task is over."""
    from mcp.client.session import ClientSession  # which takes a second, and only here
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command="unstuck", args=["mcp"], cwd=repo, env=dict(os.environ))
    async with watched() as world:
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            about = await session.initialize()
            assert about.instructions is not None
            assert "ask_human" in about.instructions
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert set(tools) == set(TOOLS) == {"ask_human", "report_failure", "report_progress", "checkpoint"}
            assert all("Use it" in (tool.description or "") for tool in tools.values())
            assert tools["ask_human"].input_schema["required"] == ["question"]
            asking = asyncio.ensure_future(session.call_tool("ask_human", {"question": "Which port?"}))
            (gate,) = await world.until(world.open)
            await world.says(gate, "show_me", "8080")
            result = await asyncio.wait_for(asking, PATIENCE)
            assert result.content[0].text == "A person answers: 8080"  # type: ignore[union-attr]
            assert result.is_error is False
            await world.until(lambda: world.of(e.AnswerDelivered))
        await world.until(lambda: world.of(e.TaskEnded))


async def test_waiting_is_kept_alive_and_can_be_given_up(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a person takes their time the client hears again and again that the call lives; a call that it cancels is
    given up, and the question stays."""
    from mcp.client import Client

    monkeypatch.setattr(served, "ALIVE_S", 0.01)
    heard: list[float] = []
    enough = asyncio.Event()

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)
        if len(heard) == 3:
            enough.set()

    async with watched() as world:
        calls = Calls(Supervised({}), Replies(BytesIO()))
        async with Client(calls.server(), mode="legacy") as client:
            asking = asyncio.ensure_future(
                client.call_tool("ask_human", {"question": "Which port?"}, progress_callback=progress)
            )
            (gate,) = await world.until(world.open)
            await asyncio.wait_for(enough.wait(), PATIENCE)
            assert heard[:3] == [1, 2, 3]
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await world.carried(gate, False)
            assert [one.id for one in world.open()] == [gate.id]
        await calls.supervised.close()


def test_every_line_gets_an_answer(raw: Raw) -> None:
    """A line that is no message gets an error that says why, and the server goes on; 20 MB in one text are refused in a
    result that says so, and so is an unknown tool.

    Half a character of a text that was cut off does no harm, and what cannot be understood is refused under its own id
    where it has one: an agent would wait for a day. What wants no answer gets none.
    """
    raw.send(hello("1999-01-01"))
    about = raw.receive()["result"]
    assert about["protocolVersion"].startswith("20")  # its own: the client says whether it can speak that
    raw.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for line, words in ((b"{\n", "not a line of JSON"), (b'"x"\n', "not a JSON-RPC 2.0 message"), (b"\xff\n", "JSON")):
        raw.send(line)
        error = raw.receive()
        assert error["id"] is None
        assert error["error"]["code"] == -32700
        assert words in error["error"]["message"]
    for number, tool, given, words in (
        (2, "report_failure", {"error": "x" * 20_000_000}, "has 20,000,000 characters, at most 1,000,000 are possible"),
        (3, "order_pizza", {}, "there is no tool 'order_pizza'"),
        (4, "ask_human", {"question": "x"}, "Nobody watches this project"),
        (5, "report_progress", {"message": "half \ud83d"}, "Nobody watches this project"),
    ):
        raw.send(call(number, tool, **given))
        found = raw.receive()
        assert found["id"] == number
        assert found["result"]["isError"] is (number < 5)
        assert words in found["result"]["content"][0]["text"]
    deep = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":' + b"[" * 300 + b"]" * 300 + b"}}\n"
    for line, id in (
        (deep, 3),
        (b'{"jsonrpc":"2.0","id":"four","method":"tools/call","params":[]}\n', "four"),
        (b'{"jsonrpc":"2.0","id":[5],"method":"ping"}\n', None),
        (b'{"jsonrpc":"2.0","id":6.5,"method":"ping"}\n', None),
    ):
        raw.send(line)
        error = raw.receive()
        assert error["id"] == id
        assert error["error"]["code"] == -32600
    raw.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": []})
    raw.send({"jsonrpc": "2.0", "id": 99, "result": 7})
    raw.send({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    assert raw.receive() == {"jsonrpc": "2.0", "id": 7, "result": {}}
    raw.send(b'{"jsonrpc": "2.0", "id": 8, "meth')
    code, out, errors = raw.end()
    assert code == 0
    assert "the input ends within a message" in out
    assert "Traceback" not in errors


def test_a_line_without_an_end(raw: Raw) -> None:
    """Past what a line may have nothing can be understood: the server says so, to both, and ends."""
    raw.send(hello())
    raw.receive()
    with pytest.raises(BrokenPipeError):  # it does not read on
        raw.send(b"x" * (2 * MAX_LINE))
    error = raw.receive()
    assert f"a message may have {MAX_LINE} bytes" in error["error"]["message"]
    raw.process.wait(PATIENCE)
    assert raw.process.returncode == 2
    assert raw.process.stderr is not None
    assert b"a message may have" in raw.process.stderr.read()


def test_an_interrupt_ends_it_at_once(raw: Raw) -> None:
    """Ctrl+C reaches whatever an agent has started: the server does not wait for a last line."""
    raw.send(hello())
    raw.receive()
    raw.process.send_signal(signal.SIGINT)
    raw.process.wait(PATIENCE)
    assert raw.process.returncode == 130
    assert raw.process.stderr is not None
    assert b"Traceback" not in raw.process.stderr.read()


async def test_an_agent_that_dies_leaves_nothing_behind(watched: Watched, raw: Raw) -> None:
    """Its input ends while a call waits: the server ends at once, and the question, which nobody waits for, goes."""
    async with watched() as world:
        first = call(2, "report_progress", message="here I am")
        raw.send(hello(), {"jsonrpc": "2.0", "method": "notifications/initialized"}, first)
        await world.until(lambda: world.of(e.StepRecorded))
        raw.send(call(3, "ask_human", question="Which port?"))
        (gate,) = await world.until(world.open)
        code, _, _ = await asyncio.to_thread(raw.end)
        assert code == 0
        await world.until(lambda: world.of(e.TaskEnded))
        assert world.supervisor.core.head.gates[gate.id].status == "withdrawn"


def test_without_its_package(repo: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install, for the server and for its installation; nothing is written."""
    monkeypatch.setitem(sys.modules, "mcp", None)
    for arguments in (["mcp"], ["mcp", "install", "claude", "--yes"]):
        code, out, errors = inside(repo, *arguments)
        assert code == 2
        assert out == ""
        assert errors.startswith("unstuck: the Model Context Protocol needs the package mcp: ")
        assert 'in the checkout of unstuck: pip install ".[mcp]"' in errors
