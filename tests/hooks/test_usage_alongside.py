"""Usage of a watched session, from the transcripts that its hooks name: each line is counted once."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from unstuck.agents.hooks import transcripts
from unstuck.agents.hooks.transcripts import Meter
from unstuck.channel import Peer
from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import replay
from unstuck.runs.watch import watch
from unstuck.settings.models import BudgetSettings, Settings
from unstuck.workspace.project import locate

RECORDED = Path(__file__).parents[1] / "data" / "hooks" / "transcripts"
USED = {"claude": 220, "codex": 330, "gemini": 330, "qwen": 110}


def recorded(name: str) -> list[bytes]:
    return (RECORDED / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


class Session:
    """One session's transcript, which grows, and its meter, which has heard of it before anything was written."""

    def __init__(self, folder: Path, agent: str) -> None:
        self.path = folder / "session.jsonl"
        self.meter = Meter(agent)

    @classmethod
    async def begun(cls, folder: Path, agent: str) -> Session:
        session = cls(folder, agent)
        assert await session.more() == 0
        return session

    def write(self, *lines: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(lines))

    async def more(self, subagent: str = "") -> int:
        return await self.meter.more(str(self.path), subagent)


def reply(id: str, tokens: int) -> bytes:
    usage = {"input_tokens": tokens, "cache_read_input_tokens": 5_000, "output_tokens": 0}
    return json.dumps({"type": "assistant", "message": {"id": id, "usage": usage}}).encode() + b"\n"


@pytest.mark.parametrize("agent", list(USED))
async def test_every_reply_is_counted_once(tmp_path: Path, agent: str) -> None:
    """A recorded transcript, looked at after each half line of it: the sum is that of the model's replies."""
    session, total = await Session.begun(tmp_path, agent), 0
    for line in recorded(agent):
        for half in (line[: len(line) // 2], line[len(line) // 2 :]):
            session.write(half)
            total += await session.more()
    assert total == USED[agent]
    assert await session.more() == 0


@pytest.mark.parametrize("agent", list(USED))
async def test_what_was_used_before_is_not_counted(tmp_path: Path, agent: str) -> None:
    """A watch that comes late, or a session that is gone on with, counts from then on."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(recorded(agent)))
    meter = Meter(agent)
    assert await meter.more(str(path)) == 0
    assert await meter.more(str(path)) == 0


async def test_sub_agents_have_transcripts_of_their_own(tmp_path: Path) -> None:
    """Claude Code's: what they use counts, too, each in its own file; no id leads out of their folder."""
    session = await Session.begun(tmp_path, "claude")
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(b"".join(recorded("claude_subagent")))
    (tmp_path / "agent-out.jsonl").write_bytes(reply("msg_1", 7))
    session.write(*recorded("claude"))
    assert await session.more("../../agent-out") == 220
    assert await session.more("a1") == 330
    assert await session.more("a1") == 0


async def test_blocks_of_one_reply_are_one_reply(tmp_path: Path) -> None:
    """A reply is written block by block, and only the last may say all that it has used."""
    session = await Session.begun(tmp_path, "claude")
    session.write(reply("a", 10), reply("a", 10), reply("a", 25), reply("b", 5), reply("a", 25), reply("a", 3))
    assert await session.more() == 30


async def test_a_call_costs_the_same_however_long_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 MB of transcript, and as much again in one line of it: each look reads what has come, a MiB at most."""
    path = tmp_path / "session.jsonl"
    with path.open("wb") as file:
        file.truncate(200_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    sizes, read_piece = [], transcripts.read_piece

    async def counted(*arguments: Any) -> tuple[bytes, int]:
        piece, size = await read_piece(*arguments)
        sizes.append(len(piece))
        return piece, size

    monkeypatch.setattr(transcripts, "read_piece", counted)
    meter = Meter("claude")
    assert await meter.more(str(path)) == 0
    for number in range(50):
        with path.open("ab") as file:
            file.write(reply(f"msg_{number}", 3))
        assert await meter.more(str(path)) == 3
    assert max(sizes) < 300
    with path.open("ab") as file:
        file.write(b'{"usage": "' + b"x" * 3_000_000 + b'"}\n' + reply("last", 4))
    assert sum([await meter.more(str(path)) for _ in range(5)]) == 4
    assert max(sizes) == 2**20


@pytest.mark.parametrize("shape", ["pipe", "folder", "gone", "relative", "noise", "rewritten", "deep"])
async def test_no_transcript_does_harm(tmp_path: Path, shape: str) -> None:
    """A path that is no file, no JSON or another one than before is skipped at once, and the right ones are counted."""
    session = await Session.begun(tmp_path, "claude")
    if shape == "pipe":
        os.mkfifo(session.path)
    elif shape == "folder":
        session.path.mkdir()
    elif shape == "relative":
        assert await session.meter.more("session.jsonl") == 0
    elif shape == "noise":
        odd = [b"\xff\xfe\n", b'{"usage": [', b'"usage"\n', b'["usage"]\n', b"null\n", b'{"message": {"usage": 7}}\n']
        session.write(*odd, b'{"message": {"id": "x", "usage": {"input_tokens": -5, "output_tokens": 1e999}}}\n')
    elif shape == "deep":
        session.write(b'{"usage":' * 5_000 + b"1" + b"}" * 5_000 + b"\n")
    elif shape == "rewritten":
        session.write(reply("a", 10), reply("b", 10))
        assert await session.more() == 20
        session.path.write_bytes(reply("a", 10))
    assert await session.more() == 0
    if shape in ("noise", "deep", "rewritten"):
        session.write(reply("c", 8))
        assert await session.more() == 8


async def test_calls_at_once_count_once(tmp_path: Path) -> None:
    """Sub-agents call their hooks at the same time."""
    session = await Session.begun(tmp_path, "claude")
    session.write(*(reply(f"msg_{number}", 1) for number in range(2_000)))
    found = await asyncio.gather(*(session.more() for _ in range(8)))
    assert sum(found) == 2_000


async def test_a_call_that_is_cut_off_loses_nothing(tmp_path: Path) -> None:
    """A hook whose program is killed at any moment of the count leaves its tokens to the next one."""
    session = await Session.begun(tmp_path, "claude")
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    total = 0
    for turns in range(40):
        session.write(reply(f"msg_{turns}", 1))
        with (folder / "agent-a1.jsonl").open("ab") as file:
            file.write(reply(f"sub_{turns}", 1))
        counting = asyncio.ensure_future(session.more("a1"))
        for _ in range(5 * turns):
            await asyncio.sleep(0)
        counting.cancel()
        total += sum(done for done in await asyncio.gather(counting, return_exceptions=True) if isinstance(done, int))
    assert total + await session.more("a1") == 80


class Hooks:
    """A watched project and the hooks of one session in it, called one after the other."""

    def __init__(self, bridge: Any, path: Path) -> None:
        self.bridge, self.path, self.number = bridge, path, 0

    def say(self, event: str, **more: Any) -> asyncio.Task[Any]:
        self.number += 1
        payload = {
            "session_id": "s-1",
            "hook_event_name": event,
            "transcript_path": str(self.path),
            "tool_name": "Bash",
            "tool_use_id": f"call-{self.number}",
            "prompt": "Mend it",
            "tool_input": {"command": "make"},
        }
        return asyncio.ensure_future(self.bridge.handle({**payload, **more}, Peer(os.getpid(), os.getuid())))


async def test_a_budget_holds_a_session_beside_us(repo: Path, tmp_path: Path) -> None:
    """Usage in the transcript counts for the run's budget: once that is used up, the next call waits for a person."""
    path = tmp_path / "session.jsonl"
    settings = Settings(budget=BudgetSettings(tokens=300))
    async with watch(await locate(repo), settings) as supervisor:
        core = supervisor.core
        hooks = Hooks(supervisor.hooks, path)
        await hooks.say("UserPromptSubmit", tool_use_id="")
        path.write_bytes(reply("a", 200))
        assert await hooks.say("PreToolUse") == {"ok": True}
        with path.open("ab") as file:
            file.write(reply("b", 200))
        asked = asyncio.Event()
        core.journal.on_append(lambda record: asked.set() if isinstance(record.event, e.GateOpened) else None)
        held = hooks.say("PreToolUse")
        await asyncio.wait_for(asked.wait(), 60)
        (gate,) = core.head.open_gates()
        assert gate.gate.type == "budget"
        assert core.head.run.tokens == 400
        assert not held.done()
        await supervisor.answer(gate.id, Answer(choice="extend", number=1_000))
        assert await held == {"ok": True}
        log = core.journal.path
    counted = [row.tokens for row in replay(log).attempts.values()]
    assert counted == [400]
