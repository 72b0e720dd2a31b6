"""The hook forwarder as a real process against real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import unstuck.agents
from unstuck.agents.forwarder import LIMIT_S
from unstuck.agents.hooks.hook_agents import HOLD_LIMIT_S, TIMEOUT_S
from unstuck.agents.hooks.unsupervised_log import unwatched_calls, unwatched_file
from unstuck.channel import MAX_LINE, ChannelServer, Message, Peer, socket_path
from unstuck.settings.paths import runtime_dir
from unstuck.workspace.git.repository import find_repository, project_home

FORWARDER = Path(unstuck.agents.__file__).with_name("forwarder.py")


class Said(NamedTuple):
    code: int
    out: bytes
    err: bytes


async def start(cwd: Path, agent: str = "claude", **environ: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(FORWARDER), agent),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=cwd,
        env={**os.environ, **environ},
    )


async def forward(cwd: Path, raw: bytes | dict[str, Any], **environ: str) -> Said:
    process = await start(cwd, **environ)
    given = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    out, err = await asyncio.wait_for(process.communicate(given), 60)
    assert process.returncode is not None
    return Said(process.returncode, out, err)


class Supervisor:
    """Notes what it hears and says what it was made to say."""

    def __init__(self, **reply: Any) -> None:
        self.reply = reply
        self.heard: list[Message] = []
        self.acks: asyncio.Queue[str] = asyncio.Queue()

    async def handle(self, message: Message, peer: Peer) -> Message:
        self.heard.append(message)
        return self.reply

    @contextlib.asynccontextmanager
    async def at(self, path: Path) -> AsyncIterator[None]:
        server = ChannelServer(path, self.handle, acknowledged=self.acks.put)
        await server.start()
        try:
            yield
        finally:
            await server.close()


QUIET = Said(0, b"", b"")


@pytest.mark.parametrize("raw", [b"", b"garbage", b"[]", b"\xff\xfe", b'{"cwd": 7}', b'{"cwd": "/nowhere"}', b"{}"])
async def test_says_nothing_when_nobody_listens(tmp_path: Path, raw: bytes) -> None:
    """An agent without a supervisor works as if the hook were not installed, whatever it tells."""
    assert await forward(tmp_path, raw) == QUIET


@pytest.mark.parametrize("raw", [b"garbage", b"{}"])
async def test_says_nothing_where_nobody_listens(tmp_path: Path, sockets: Path, raw: bytes) -> None:
    """Nor where it was told of a socket that is not there."""
    assert await forward(tmp_path, raw, UNSTUCK_SOCKET=str(sockets / "none.sock")) == QUIET
    assert await forward(tmp_path, raw, UNSTUCK_RUNTIME_DIR=str(sockets / "none")) == QUIET


async def test_says_nothing_when_the_supervisor_is_dead(repo: Path, sockets: Path) -> None:
    """A socket file that a killed run left behind disturbs no agent."""
    path = socket_path(sockets, repo / ".git/unstuck")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert path.is_socket()
    assert await forward(repo, {"cwd": str(repo)}) == QUIET


async def test_the_answer_is_printed_and_then_acknowledged(repo: Path, sockets: Path) -> None:
    """The payload arrives whole, the output leaves whole, and the run hears that it did."""
    supervisor = Supervisor(output={"a": "ü\n"}, ack="a1")
    payload = {"cwd": str(repo), "hook_event_name": "Stop", "text": "ü\n\ud800"}
    async with supervisor.at(socket_path(sockets, repo / ".git/unstuck")):
        said = await forward(repo, payload)
        assert await asyncio.wait_for(supervisor.acks.get(), 60) == "a1"
    assert said.code == 0
    assert json.loads(said.out) == {"a": "ü\n"}
    assert supervisor.heard == [{"v": 1, "do": "hook", "agent": "claude", "payload": payload}]


async def test_without_output_it_prints_nothing(repo: Path, sockets: Path) -> None:
    """Going on is silence, not an empty object."""
    async with Supervisor().at(socket_path(sockets, repo / ".git/unstuck")):
        assert await forward(repo, {"cwd": str(repo)}) == QUIET


async def test_the_exit_code_is_the_supervisors(repo: Path, sockets: Path) -> None:
    """An agent that is stopped by exit code 2 can be stopped."""
    async with Supervisor(exit=2).at(socket_path(sockets, repo / ".git/unstuck")):
        assert (await forward(repo, {"cwd": str(repo)})).code == 2


async def test_a_refusal_is_silence(repo: Path, sockets: Path) -> None:
    """A supervisor that cannot answer does not disturb."""
    async with Supervisor(error="no").at(socket_path(sockets, repo / ".git/unstuck")):
        assert await forward(repo, {"cwd": str(repo)}) == QUIET


@pytest.mark.parametrize(
    "kind", ["repository", "subdirectory", "linked", "linked relative", "no git", "stale .unstuck"]
)
async def test_finds_the_project_that_the_supervisor_means(
    repo: Path, tmp_path: Path, sockets: Path, kind: str
) -> None:
    """From wherever the agent is, both sides derive the same socket from the same project."""
    place = repo
    if kind == "subdirectory":
        place = repo / "deep" / "er"
        place.mkdir(parents=True)
    if kind.startswith("linked"):
        place = tmp_path / "linked"
        subprocess.run(["git", "worktree", "add", "-q", str(place)], cwd=repo, check=True)
    if kind == "linked relative":
        target = (place / ".git").read_text().removeprefix("gitdir: ").strip()
        (place / ".git").write_text("gitdir: " + os.path.relpath(target, place))
    if kind == "no git":
        place = tmp_path / "plain"
        (place / ".unstuck").mkdir(parents=True)
    if kind == "stale .unstuck":
        (repo / ".unstuck").mkdir()
    home = project_home(place, await find_repository(place))
    supervisor = Supervisor()
    async with supervisor.at(socket_path(sockets, home)):
        await forward(tmp_path, {"cwd": str(place), "n": 1})
        await forward(place, {"n": 2})
        await forward(tmp_path, {"cwd": str(tmp_path), "n": 3}, CLAUDE_PROJECT_DIR=str(place))
    assert [message["payload"]["n"] for message in supervisor.heard] == [1, 2, 3]


async def test_another_project_is_left_alone(repo: Path, tmp_path: Path, sockets: Path) -> None:
    """A run in one project hears nothing of an agent in another."""
    supervisor = Supervisor()
    async with supervisor.at(socket_path(sockets, repo / ".git/unstuck")):
        assert await forward(tmp_path, {"cwd": str(tmp_path)}) == QUIET
    assert supervisor.heard == []


@pytest.mark.parametrize("variable", ["UNSTUCK_RUNTIME_DIR", "XDG_RUNTIME_DIR", "neither"])
async def test_looks_where_the_settings_say(
    repo: Path, sockets: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forwarder, which imports nothing of ours, has the same idea of the runtime directory."""
    monkeypatch.delenv("UNSTUCK_RUNTIME_DIR")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    if variable != "neither":
        monkeypatch.setenv(variable, str(sockets))
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['runtime_dir']())"
    found = subprocess.run([sys.executable, "-c", code, FORWARDER], capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()) == runtime_dir(os.environ)


@pytest.mark.parametrize("said", [b"", b'{"output"', b"what?\n", b"[]\n", b'{"output": {}, "exit": "x"', b"null\n"])
async def test_a_supervisor_that_dies_or_babbles_is_silence(tmp_path: Path, sockets: Path, said: bytes) -> None:
    """A run that dies in the middle of an answer lets the agent go on."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(said)
        writer.close()

    path = sockets / "s.sock"
    async with await asyncio.start_unix_server(serve, path):
        assert await forward(tmp_path, {"n": 1}, UNSTUCK_SOCKET=str(path)) == QUIET


async def test_a_payload_of_many_megabytes_is_cut_and_arrives(repo: Path, sockets: Path) -> None:
    """A tool that printed a novel is still seen, with its name, its head and its tail."""
    supervisor = Supervisor(output={"seen": True})
    texts = [f"head {number} " + "ü" * MAX_LINE + f" tail {number}" for number in range(3)]
    payload = {"cwd": str(repo), "tool_name": "Bash", "tool_response": {"stdout": texts[0], "more": texts}}
    async with supervisor.at(socket_path(sockets, repo / ".git/unstuck")):
        said = await forward(repo, payload)
    assert json.loads(said.out) == {"seen": True}
    (message,) = supervisor.heard
    assert message["payload"]["tool_name"] == "Bash"
    stdout = message["payload"]["tool_response"]["stdout"]
    assert stdout.startswith("head 0")
    assert stdout.endswith("tail 0")
    assert "left out" in stdout


async def test_is_held_for_as_long_as_the_supervisor_says(tmp_path: Path, sockets: Path) -> None:
    """The agent waits in its hook until the person has answered, then gets the answer."""
    held, release = asyncio.Event(), asyncio.Event()

    async def hold(message: Message, peer: Peer) -> Message:
        held.set()
        await release.wait()
        return {"output": {"n": 1}}

    server = ChannelServer(sockets / "s.sock", hold)
    await server.start()
    process = await start(tmp_path, UNSTUCK_SOCKET=str(sockets / "s.sock"))
    talk = asyncio.create_task(process.communicate(b"{}"))
    await asyncio.wait_for(held.wait(), 60)
    assert not talk.done()
    release.set()
    out, _ = await asyncio.wait_for(talk, 60)
    await server.close()
    assert json.loads(out) == {"n": 1}


async def test_a_supervisor_that_ends_lets_a_held_agent_go_on(tmp_path: Path, sockets: Path) -> None:
    """Closing the run never leaves an agent hanging in its hook."""
    held = asyncio.Event()

    async def hold(message: Message, peer: Peer) -> Message:
        held.set()
        await asyncio.Event().wait()
        return {}

    server = ChannelServer(sockets / "s.sock", hold)
    await server.start()
    process = await start(tmp_path, UNSTUCK_SOCKET=str(sockets / "s.sock"))
    talk = asyncio.create_task(process.communicate(b"{}"))
    await asyncio.wait_for(held.wait(), 60)
    await server.close()
    assert await asyncio.wait_for(talk, 60) == (b"", b"")
    assert process.returncode == 0


async def test_an_agent_that_is_gone_is_not_held(tmp_path: Path, sockets: Path) -> None:
    """When the agent dies its hook ends too, and the supervisor's hold with it."""
    held, given_up = asyncio.Event(), asyncio.Event()

    async def hold(message: Message, peer: Peer) -> Message:
        held.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()
        return {}

    server = ChannelServer(sockets / "s.sock", hold)
    await server.start()
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(FORWARDER), "claude"),
        stdin=asyncio.subprocess.PIPE,
        stdout=writing,
        env={**os.environ, "UNSTUCK_SOCKET": str(sockets / "s.sock")},
        cwd=tmp_path,
    )
    os.close(writing)
    talk = asyncio.create_task(process.communicate(b"{}"))
    await asyncio.wait_for(held.wait(), 60)
    os.close(reading)
    await asyncio.wait_for(given_up.wait(), 60)
    await talk
    await server.close()
    assert process.returncode == 0


async def test_asks_again_when_there_were_too_many(tmp_path: Path, sockets: Path) -> None:
    """A burst of hooks costs a moment, not the observation."""
    replies = [b'{"error": "too many", "busy": true}\n'] * 2 + [b'{"output": {"n": 3}}\n']

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(replies.pop(0))
        writer.close()

    path = sockets / "s.sock"
    async with await asyncio.start_unix_server(serve, path):
        said = await forward(tmp_path, b"{}", UNSTUCK_SOCKET=str(path))
    assert json.loads(said.out) == {"n": 3}


async def test_where_there_are_too_many_for_long_it_says_so(tmp_path: Path, sockets: Path) -> None:
    """A hook that is turned away again and again lets the agent go on, and says that nobody watched."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"error": "too many", "busy": true}\n')
        writer.close()

    path = socket_path(sockets, tmp_path / ".unstuck")
    (tmp_path / ".unstuck").mkdir()
    async with await asyncio.start_unix_server(serve, path):
        said = await altered(tmp_path, "f.BUSY_PAUSES_S = (0, 0)")
    assert said.code == 0
    assert said.out == b""
    assert b"had no room for this call: the agent continues unsupervised (open)" in said.err
    assert Path(f"{path}.log").read_bytes() == said.err


def test_can_be_installed_as_a_script_and_needs_nothing_of_ours() -> None:
    """The wheel rewrites its first line, and it starts in an interpreter that has no packages."""
    assert FORWARDER.read_bytes().startswith(b"#!python\n")
    done = subprocess.run(
        [sys.executable, "-I", "-S", FORWARDER, "claude"], input=b"{}", capture_output=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout == b""
    assert done.stderr == b""


@pytest.mark.parametrize("stalls", ["after it has read", "before it takes anybody"])
async def test_a_supervisor_that_hangs_is_given_up(repo: Path, sockets: Path, stalls: str) -> None:
    """Our own limit ends the call before the agent's does: the agent goes on, its log and ours say so."""
    home = repo / ".git" / "unstuck"
    with hanging(socket_path(sockets, home), full=stalls.startswith("before")):
        said = await altered(repo, "f.LIMIT_S = 0.3")
    assert said.code == 0
    assert said.out == b""
    assert b"did not answer within 0.3 s: the agent continues unsupervised (open)" in said.err
    kept = unwatched_file(home, os.environ)
    assert kept is not None
    assert kept.read_bytes() == said.err
    told = unwatched_calls(kept)
    assert told is not None
    assert told.calls == 1
    assert "within 0.3 s" in told.last
    assert HOLD_LIMIT_S < LIMIT_S < TIMEOUT_S


async def test_a_strangers_socket_is_not_even_turned_to(repo: Path, sockets: Path) -> None:
    """A stranger who listens in our place cannot keep the agent waiting, nor have us write there."""
    with hanging(socket_path(sockets, repo / ".git" / "unstuck"), full=True):
        assert await altered(repo, "f.LIMIT_S = 5; me = os.getuid(); os.getuid = lambda: me + 1") == QUIET
    assert [path.suffix for path in sockets.iterdir()] == [".sock"]


@contextlib.contextmanager
def hanging(path: Path, *, full: bool) -> Iterator[None]:
    """Somebody listens at ``path`` and never answers; where it is ``full``, nobody is even let in."""
    with socket.socket(socket.AF_UNIX) as hung, socket.socket(socket.AF_UNIX) as first:
        hung.bind(str(path))
        hung.listen(0)
        if full:
            first.connect(str(path))
        yield


async def altered(cwd: Path, change: str) -> Said:
    """The forwarder after ``change``, which knows it as ``f``."""
    code = f"import os, sys; from unstuck.agents import forwarder as f; {change}; sys.exit(f.main())"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, "claude"), stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd
    )
    out, err = await asyncio.wait_for(process.communicate(b"{}"), 60)
    assert process.returncode is not None
    return Said(process.returncode, out, err)


async def test_an_agent_that_listens_to_nothing_is_not_held(tmp_path: Path, sockets: Path) -> None:
    """Without standard output no answer could arrive, so none is waited for."""
    async with Supervisor(output={"n": 1}).at(sockets / "s.sock"):
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", 'exec "$0" "$1" claude >&-', sys.executable, str(FORWARDER)),
            stdin=asyncio.subprocess.PIPE,
            env={**os.environ, "UNSTUCK_SOCKET": str(sockets / "s.sock")},
            cwd=tmp_path,
        )
        await asyncio.wait_for(process.communicate(b"{}"), 60)
    assert process.returncode == 0
