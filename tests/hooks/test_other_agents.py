"""Codex, Gemini CLI and Qwen Code under a watch: held at the third failure, answered, checked at their stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.recorded_events import RecordedEvents

from unstuck import Supervisor
from unstuck.channel import Peer
from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.runs.watch import watch
from unstuck.settings.models import FailureHandlerSettings, Settings
from unstuck.text import Clean
from unstuck.workspace.project import locate

RECORDED = Path(__file__).parents[1] / "data" / "hooks"
EVENTS = {
    "codex": ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
    "gemini": ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"),
    "qwen": ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
}


class World(RecordedEvents):
    """One agent's recorded hooks, played with changes, and what was recorded of them."""

    def __init__(self, agent: str, supervisor: Supervisor, transcript: Path) -> None:
        super().__init__(supervisor)
        self.agent, self.transcript = agent, transcript
        self.prompt, self.before, self.after, self.stop = EVENTS[agent]
        self.lines = [json.loads(line) for line in (RECORDED / f"{agent}.jsonl").read_text("utf-8").splitlines()]
        self.number = 0

    async def say(self, event: str, **changes: Any) -> Any:
        """One hook call; what its forwarder would print. It is acknowledged, as by the forwarder."""
        line = [line for line in self.lines if line["hook_event_name"] == event][
            -1 if event in (self.before, self.after) else 0
        ]
        assert self.supervisor.hooks is not None
        payload = {**line, "transcript_path": str(self.transcript), **changes}
        reply = await self.supervisor.hooks.handle(payload, Peer(0, 0), self.agent)
        if "ack" in reply:
            await self.supervisor.hooks.acknowledged(reply["ack"])
        return reply.get("output")

    def again(self) -> dict[str, Any]:
        """A detail that makes a call differ from all before."""
        self.number += 1
        return {"tool_use_id": f"use-{self.number}", "timestamp": f"2026-11-22T08:00:00.{self.number:03}Z"}

    async def fail(self) -> None:
        """A call that is made, and fails as it was recorded."""
        ids = self.again()
        assert await self.say(self.before, **ids) is None
        ids["timestamp"] = self.again()["timestamp"]
        item = {"type": "CommandExecution", "id": ids["tool_use_id"], "exit_code": 3}
        with open(self.transcript, "a") as file:
            file.write(json.dumps({"payload": {"item": item}}) + "\n")
        await self.say(self.after, **ids)

    @property
    def row(self) -> Any:
        """The only task."""
        (row,) = self.supervisor.core.head.tasks.values()
        return row


Watching = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture(params=list(EVENTS))
def watching(request: pytest.FixtureRequest, repo: Path, tmp_path: Path) -> Watching:
    """A watched project in which one agent works."""

    @asynccontextmanager
    async def opened(settings: Settings | None = None, **options: Any) -> AsyncIterator[World]:
        warnings: list[str] = []
        async with watch(await locate(repo), settings, warn=warnings.append, **options) as supervisor:
            yield World(request.param, supervisor, tmp_path / "rollout.jsonl")
        assert warnings == []

    return opened


async def test_the_third_failure_holds_and_the_answer_reaches_it(watching: Watching) -> None:
    """The next call waits for the person; what was said stands in its refusal, as this agent reads it."""
    async with watching() as world:
        await world.say(world.prompt)
        for _ in range(3):
            await world.fail()
        (gate,) = world.supervisor.core.head.open_gates()
        assert gate.gate.type == "loop_detected"
        assert world.row.task.agent == world.agent
        (warned,) = world.of(e.LoopWarned)
        assert "echo oops >&2; exit 3 → oops" in warned.evidence  # a result belongs to its call
        held = asyncio.ensure_future(world.say(world.before, **world.again()))
        await world.until(lambda: len(world.of(e.StepRecorded)) == 7)
        assert not held.done()
        await world.supervisor.answer(gate.id, Answer(choice="show_me", text=Clean("look in the cellar")))
        printed = json.dumps(await held)
        assert "look in the cellar" in printed
        assert '"deny"' in printed
        await world.until(lambda: world.of(e.AnswerDelivered))


async def test_the_stop_is_checked_and_our_words_are_not_the_persons(repo: Path, watching: Watching) -> None:
    """It is sent on while the check fails. What sends it on may come back as a prompt: that is no word of a person."""
    async with watching(verify="grep -q ready state.txt") as world:
        (repo / "state.txt").write_text("AssertionError: not yet\n", encoding="utf-8")
        await world.say(world.prompt, prompt="make it ready")
        blocked = await world.say(world.stop)
        assert blocked["decision"] == "block"
        assert "did not pass the check" in blocked["reason"]
        if world.agent != "codex":
            assert await world.say(world.prompt, prompt=blocked["reason"] + "\n") is None
        assert world.row.climb.retries == 1
        assert [step.text for step in world.of(e.StepRecorded)] == []
        (repo / "state.txt").write_text("ready\n", encoding="utf-8")
        assert await world.say(world.stop) is None
        assert world.row.status == "succeeded"


async def test_without_an_answer_it_is_denied_and_then_stopped(watching: Watching) -> None:
    """Three denials before its own limit; then it is stopped where it can be, else every call is refused until it
    stops by itself. The question stays open, and its answer enters with the next prompt."""
    async with watching(hold_limit_s=0.1) as world:
        await world.say(world.prompt)
        await world.until(lambda: world.of(e.AttemptStarted))
        await world.supervisor.core.journal.committed()
        for _ in range(3):
            await world.fail()
        await world.until(world.supervisor.core.head.open_gates)  # the files are saved before it opens
        calls = 4 if world.agent == "gemini" else 5  # which makes no other once it was stopped
        said = [json.dumps(await world.say(world.before, **world.again())) for _ in range(calls)]
        assert all("still open" in printed for printed in said[:3])
        assert [refused.count for refused in world.of(e.HoldRefused)] == [1, 2, 3, 4]
        if world.agent == "gemini":
            assert '"continue": false' in said[3]
        else:
            assert all('"deny"' in printed for printed in said[3:])
            assert await world.say(world.stop) is None
        await world.until(lambda: world.row.state == "waiting")
        (gate,) = world.supervisor.core.head.open_gates()
        await world.supervisor.answer(gate.id, Answer(choice="show_me", text=Clean("look in the cellar")))
        await world.until(lambda: world.row.state == "running")
        while (told := await world.say(world.prompt, prompt="well?")) is None:
            await world.supervisor.core.journal.committed()
        assert "look in the cellar" in told["hookSpecificOutput"]["additionalContext"]


async def test_an_agent_nobody_knows_is_let_through(watching: Watching) -> None:
    """A later version's forwarder may name one."""
    async with watching() as world:
        assert world.supervisor.hooks is not None
        assert await world.supervisor.hooks.handle(world.lines[0], Peer(0, 0), "newcomer") == {"ok": True}
        assert world.supervisor.core.head.tasks == {}


async def test_a_check_that_never_passes_ends_with_the_person(watching: Watching) -> None:
    """It is sent on only so often; then the person is asked, gives it up with a reason, and the session may stop."""
    rungs = FailureHandlerSettings(max_retries=2, max_pivots=0, max_research=0)
    async with watching(Settings(failure_handler=rungs), verify="echo 'E   assert 1 == 2'; false") as world:
        await world.say(world.prompt, prompt="make it ready")
        for _ in range(2):
            assert (await world.say(world.stop))["decision"] == "block"
        held = asyncio.ensure_future(world.say(world.stop))
        await world.until(lambda: world.supervisor.core.head.open_gates())
        (gate,) = world.supervisor.core.head.open_gates()
        assert gate.gate.type == "stuck"
        assert not held.done()
        await world.supervisor.answer(gate.id, Answer(choice="skip", text=Clean("the check is wrong")))
        assert await held is None
        assert world.row.status == "skipped"
        assert world.row.attempts == 3
