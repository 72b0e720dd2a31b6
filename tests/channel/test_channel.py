"""The local socket, with real sockets and real processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from unstuck.channel import MAX_LINE, ChannelServer, Message, Peer, call, converse, request, socket_path
from unstuck.errors import ChannelError, UsageError

Handler = Callable[[Message, Peer], Awaitable[Message]]


async def echo(message: Message, peer: Peer) -> Message:
    return {"said": message["do"], "pid": peer.pid, "uid": peer.uid}


@contextlib.asynccontextmanager
async def serving(path: Path, handler: Handler = echo, **options: Any) -> AsyncIterator[ChannelServer]:
    server = ChannelServer(path, handler, **options)
    await server.start()
    try:
        yield server
    finally:
        await server.close()


async def ask(blocking: bool, path: Path, timeout: float) -> Message:
    """Both clients must behave alike."""
    if blocking:
        return await asyncio.to_thread(call, path, {"do": "x"}, timeout)
    return await request(path, {"do": "x"}, timeout=timeout)


async def raw(path: Path, *pieces: bytes) -> bytes:
    """Say ``pieces`` and read until the server hangs up."""
    reader, writer = await asyncio.open_unix_connection(path, limit=2 * MAX_LINE)
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
    heard = b""
    with contextlib.suppress(ConnectionError):
        heard = await reader.read()
    writer.close()
    return heard


async def test_a_message_gets_its_reply_and_the_server_knows_who_asked(sockets: Path) -> None:
    """A command in another window reaches the run and is known by its process."""
    async with serving(sockets / "s.sock"):
        reply = await request(sockets / "s.sock", {"do": "show"}, timeout=60)
    assert reply == {"ok": True, "said": "show", "pid": os.getpid(), "uid": os.getuid()}


async def test_what_ends_the_server_is_still_replied_to(sockets: Path) -> None:
    """An answer upon which the run ends was taken, and whoever gave it hears so; what only waits is cut off."""
    begun, over = asyncio.Event(), asyncio.Event()

    async def slow(message: Message, peer: Peer) -> Message:
        begun.set()
        await (over.wait() if message["do"] == "answer" else asyncio.Event().wait())
        return {"taken": True}

    server = ChannelServer(sockets / "s.sock", slow, finished=frozenset({"answer"}))
    await server.start()
    held = asyncio.ensure_future(request(sockets / "s.sock", {"do": "hook"}, timeout=60))
    await begun.wait()
    begun.clear()
    asking = asyncio.ensure_future(request(sockets / "s.sock", {"do": "answer"}, timeout=60))
    await begun.wait()
    asyncio.get_running_loop().call_soon(over.set)
    await server.close()
    assert await asking == {"ok": True, "taken": True}
    with pytest.raises(ChannelError):
        await held


async def test_commands_without_an_event_loop_can_ask_too(sockets: Path) -> None:
    """`unstuck answer` needs no asyncio to reach the run."""
    async with serving(sockets / "s.sock"):
        reply = await asyncio.to_thread(call, sockets / "s.sock", {"do": "answer"}, 60)
    assert reply["said"] == "answer"


def test_a_client_does_not_pay_for_asyncio() -> None:
    """Importing the channel for one question does not import the event loop."""
    code = "import sys, unstuck.channel; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_only_this_user_can_reach_the_socket(sockets: Path) -> None:
    """The directory that is made is 0700 and the socket 0600."""
    async with serving(sockets / "made" / "s.sock"):
        assert (sockets / "made").stat().st_mode & 0o777 == 0o700
        assert (sockets / "made" / "s.sock").stat().st_mode & 0o777 == 0o600


async def test_a_directory_others_can_write_to_is_refused(sockets: Path) -> None:
    """Nobody else can put a socket of theirs in place of ours."""
    sockets.chmod(0o777)
    with pytest.raises(ChannelError, match="open to other users"):
        await ChannelServer(sockets / "s.sock", echo).start()


async def test_a_second_server_is_told_that_a_run_is_live(sockets: Path) -> None:
    """Two runs in one project: the second is refused and the first goes on."""
    path = sockets / "s.sock"
    async with serving(path):
        with pytest.raises(ChannelError, match="run is live"):
            await ChannelServer(path, echo).start()
        assert (await request(path, {"do": "still"}, timeout=60))["said"] == "still"


async def test_the_socket_of_a_dead_server_is_replaced(sockets: Path) -> None:
    """After kill -9 the next run listens at the same place."""
    path = sockets / "s.sock"
    code = (
        "import asyncio, os, signal, sys, pathlib\n"
        "from unstuck.channel import ChannelServer\n"
        "async def main():\n"
        "    await ChannelServer(pathlib.Path(sys.argv[1]), None).start()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    died = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(path))
    assert await died.wait() == -9
    assert path.is_socket()
    async with serving(path):
        assert (await request(path, {"do": "anew"}, timeout=60))["said"] == "anew"
    assert not path.exists()


async def test_a_file_in_the_way_is_kept(sockets: Path) -> None:
    """Something of the user's that happens to have the name is not deleted."""
    (sockets / "s.sock").write_text("mine")
    with pytest.raises(ChannelError, match="not a socket"):
        await ChannelServer(sockets / "s.sock", echo).start()
    assert (sockets / "s.sock").read_text() == "mine"


async def test_closing_leaves_the_socket_of_a_successor(sockets: Path) -> None:
    """A server that ends late does not cut off the one that took its place."""
    path = sockets / "s.sock"
    first = ChannelServer(path, echo)
    await first.start()
    path.unlink()
    async with serving(path):
        await first.close()
        assert (await request(path, {"do": "there"}, timeout=60))["said"] == "there"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"hello\n", b"JSON"),
        (b"\xff\xfe\x00\n", b"JSON"),
        (b"[" * 200_000 + b"\n", b"JSON"),
        (b"[1]\n", b"object"),
        (b'{"do": "x"}\n', b"version"),
        (b'{"v": 2, "do": "x"}\n', b"version"),
        (b'{"v": 1}\n', b"do"),
        (b'{"v": 1, "do": 7}\n', b"do"),
        (b'{"v": 1, "do": "' + b"x" * MAX_LINE + b'"}\n', b"bytes"),
    ],
)
async def test_garbage_gets_one_line_that_says_what_is_wrong(sockets: Path, line: bytes, why: bytes) -> None:
    """Whatever a stranger sends, the server answers with an error and serves the next one."""
    async with serving(sockets / "s.sock"):
        heard = await raw(sockets / "s.sock", line)
        assert heard.startswith(b'{"error":')
        assert why in heard
        assert heard.count(b"\n") == 1
        assert (await request(sockets / "s.sock", {"do": "next"}, timeout=60))["ok"]


async def test_a_half_written_message_blocks_nobody_and_does_nothing(sockets: Path) -> None:
    """A client that stops in the middle of a line is without effect, before and after it hangs up."""
    seen = []

    async def handler(message: Message, peer: Peer) -> Message:
        seen.append(message["do"])
        return {}

    async with serving(sockets / "s.sock", handler):
        _, writer = await asyncio.open_unix_connection(sockets / "s.sock")
        writer.write(b'{"v": 1, "do": "half"}')
        await writer.drain()
        assert (await request(sockets / "s.sock", {"do": "whole"}, timeout=60))["ok"]
        writer.close()
        assert (await request(sockets / "s.sock", {"do": "after"}, timeout=60))["ok"]
    assert seen == ["whole", "after"]


async def test_a_message_may_come_in_pieces(sockets: Path) -> None:
    """A line that the kernel cuts is read whole."""
    async with serving(sockets / "s.sock"):
        reader, writer = await asyncio.open_unix_connection(sockets / "s.sock")
        for byte in b'{"v": 1, "do": "pieces"}\n':
            writer.write(bytes([byte]))
            await writer.drain()
        assert b'"said":"pieces"' in await reader.readline()
        writer.close()


async def test_two_hundred_silent_clients_do_not_keep_a_question_out(sockets: Path) -> None:
    """A flood of connections that say nothing makes room for one that does."""
    async with serving(sockets / "s.sock", patience=0.0):
        flood = [await asyncio.open_unix_connection(sockets / "s.sock") for _ in range(200)]
        assert (await request(sockets / "s.sock", {"do": "through"}, timeout=60))["said"] == "through"
        for _, writer in flood:
            writer.close()


async def test_two_hundred_questions_at_once_are_all_answered(sockets: Path) -> None:
    """More clients than may be connected at once: those turned away ask again and lose nothing."""
    async with serving(sockets / "s.sock"):
        asked = [request(sockets / "s.sock", {"do": str(number)}, timeout=60) for number in range(200)]
        replies = await asyncio.gather(*asked)
    assert [reply["said"] for reply in replies] == [str(number) for number in range(200)]


async def test_clients_that_wait_for_us_are_never_put_out(sockets: Path) -> None:
    """Held agents keep their places; the one too many is told to come back."""
    release = asyncio.Event()
    held = asyncio.Semaphore(0)

    async def hold(message: Message, peer: Peer) -> Message:
        held.release()
        await release.wait()
        return {"said": message["do"]}

    path = sockets / "s.sock"
    async with serving(path, hold, clients=3, patience=0.0):
        waiting = [asyncio.create_task(request(path, {"do": str(number)}, timeout=60)) for number in range(3)]
        for _ in range(3):
            await held.acquire()
        assert b'"busy":true' in await raw(path, b'{"v": 1, "do": "late"}\n')
        release.set()
        assert sorted(reply["said"] for reply in await asyncio.gather(*waiting)) == ["0", "1", "2"]


async def test_calls_that_wait_for_a_person_take_nobodys_place(sockets: Path) -> None:
    """However many agents wait for an answer, the answer comes through."""
    release = asyncio.Event()
    held = asyncio.Semaphore(0)

    async def hold(message: Message, peer: Peer) -> Message:
        if message["do"] == "answer":
            release.set()
        else:
            held.release()
            await release.wait()
        return {"said": message["do"]}

    path = sockets / "s.sock"
    async with serving(path, hold, clients=2, patience=0.0, waiting=frozenset({"ask"})):
        waiting = [asyncio.create_task(request(path, {"do": "ask"}, timeout=60)) for _ in range(20)]
        for _ in range(20):
            await held.acquire()
        assert (await request(path, {"do": "answer"}, timeout=60))["said"] == "answer"
        assert len(await asyncio.gather(*waiting)) == 20


async def test_hanging_up_cancels_what_was_asked(sockets: Path) -> None:
    """An agent that was killed while it was held holds nothing any more."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def hold(message: Message, peer: Peer) -> Message:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return {}

    async with serving(sockets / "s.sock", hold):
        _, writer = await asyncio.open_unix_connection(sockets / "s.sock")
        writer.write(b'{"v": 1, "do": "hold"}\n')
        await asyncio.wait_for(started.wait(), 60)
        writer.close()
        await asyncio.wait_for(cancelled.wait(), 60)


async def test_what_a_handler_raises_becomes_an_error_of_one_line(sockets: Path) -> None:
    """Our own errors say what is wrong; others say only their kind; the server lives on."""

    async def handler(message: Message, peer: Peer) -> Message:
        raise UsageError("no such\ngate") if message["do"] == "ours" else ZeroDivisionError("secret")

    async with serving(sockets / "s.sock", handler):
        assert await request(sockets / "s.sock", {"do": "ours"}, timeout=60) == {"error": "no such gate"}
        other = await request(sockets / "s.sock", {"do": "other"}, timeout=60)
    assert other == {"error": "ZeroDivisionError while working on other"}


async def test_a_reply_too_large_for_a_line_is_an_error(sockets: Path) -> None:
    """A handler that says too much does not break its client."""

    async def handler(message: Message, peer: Peer) -> Message:
        return {"text": "x" * MAX_LINE}

    async with serving(sockets / "s.sock", handler):
        assert "larger than" in (await request(sockets / "s.sock", {"do": "all"}, timeout=60))["error"]


async def test_an_acknowledgement_comes_after_the_client_is_done(sockets: Path) -> None:
    """The run hears that an answer arrived only once it was printed."""
    order: list[str] = []
    heard = asyncio.Event()

    async def handler(message: Message, peer: Peer) -> Message:
        return {"ack": "a1"}

    async def acknowledged(ack: str) -> None:
        order.append(ack)
        heard.set()

    path = sockets / "s.sock"
    async with serving(path, handler, acknowledged=acknowledged):
        exchange = await converse(path, {"do": "x"})
        order.append("printed")
        await exchange.acknowledge()
        await asyncio.wait_for(heard.wait(), 60)
    assert order == ["printed", "a1"]


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_reply_that_is_returned_is_acknowledged(sockets: Path, blocking: bool) -> None:
    """The run hears of it whoever asked."""
    heard = asyncio.Event()

    async def handler(message: Message, peer: Peer) -> Message:
        return {"ack": "a1"}

    async def acknowledged(ack: str) -> None:
        heard.set()

    async with serving(sockets / "s.sock", handler, acknowledged=acknowledged):
        await ask(blocking, sockets / "s.sock", 60)
        await asyncio.wait_for(heard.wait(), 60)


async def test_an_acknowledgement_nobody_asked_for_changes_nothing(sockets: Path) -> None:
    """One client cannot acknowledge what another was told."""
    heard = []

    async def acknowledged(ack: str) -> None:
        heard.append(ack)

    async with serving(sockets / "s.sock", acknowledged=acknowledged):
        reader, writer = await asyncio.open_unix_connection(sockets / "s.sock")
        writer.write(b'{"v": 1, "ack": "a1"}\n{"v": 1, "do": "x"}\n')
        assert b'"ok":true' in await reader.readline()
        writer.close()
    assert heard == []


@pytest.mark.parametrize("blocking", [False, True])
async def test_nobody_there_is_one_clear_line(sockets: Path, blocking: bool) -> None:
    """With no run live the command says so."""
    with pytest.raises(ChannelError, match="no supervisor listens"):
        await ask(blocking, sockets / "s.sock", 60)


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize(("said", "why"), [(b"", "went away"), (b'{"ok"', "went away"), (b"what?\n", "not a JSON")])
async def test_a_server_that_dies_or_babbles_is_an_error(sockets: Path, blocking: bool, said: bytes, why: str) -> None:
    """A run that dies in the middle of a reply never looks like an answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(said)
        writer.close()

    path = sockets / "s.sock"
    async with await asyncio.start_unix_server(serve, path):
        with pytest.raises(ChannelError, match=why):
            await ask(blocking, path, 60)


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_server_that_never_replies_is_given_up(sockets: Path, blocking: bool) -> None:
    """A command with a limit ends at it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(sockets / "s.sock"))
        listener.listen()
        with pytest.raises(ChannelError, match="no reply"):
            await ask(blocking, sockets / "s.sock", 0.05)


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_server_whose_queue_is_full_is_asked_again(sockets: Path, blocking: bool) -> None:
    """A connection that was not taken yet never passes for an answer or for a dead run."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(sockets / "s.sock"))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(str(sockets / "s.sock"))
        with pytest.raises(ChannelError, match="no reply"):
            await ask(blocking, sockets / "s.sock", 0.2)


def test_one_project_has_one_socket_however_it_is_written(tmp_path: Path) -> None:
    """A symbolic link to the project leads to the same run; another project to another."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    runtime = Path("/run/u")
    path = socket_path(runtime, tmp_path / "real")
    assert path == socket_path(runtime, tmp_path / "link")
    assert path != socket_path(runtime, tmp_path)
    assert path.parent == runtime
    assert len(path.stem) == 16


def test_a_path_too_long_for_a_socket_says_what_to_set(tmp_path: Path) -> None:
    """107 bytes are possible, 108 are not."""
    room = 107 - len("/0123456789abcdef.sock")
    assert len(str(socket_path(Path("/" + "r" * (room - 1)), tmp_path))) == 107
    with pytest.raises(ChannelError, match="UNSTUCK_RUNTIME_DIR"):
        socket_path(Path("/" + "r" * room), tmp_path)
