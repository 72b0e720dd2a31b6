"""Sub-agents of one session call their hooks at the same time: each is told apart, and hears its own answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.recorded_events import RecordedEvents

from unstuck import Supervisor
from unstuck.channel import Peer
from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.runs.watch import watch
from unstuck.text import Clean
from unstuck.workspace.project import locate


class Session(RecordedEvents):
    """One session: its main agent (an empty name) and its sub-agents."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor)
        self.numbers = count(1)

    async def say(self, event: str, agent: str = "", **more: Any) -> Any:
        """One hook call of ``agent``; what its forwarder would print, and acknowledge."""
        bridge = self.supervisor.hooks
        assert bridge is not None
        payload = {"session_id": "s-1", "hook_event_name": event, "tool_name": "Bash", **more}
        reply = await bridge.handle(payload | ({"agent_id": agent} if agent else {}), Peer(os.getpid(), os.getuid()))
        if "ack" in reply:
            await bridge.acknowledged(reply["ack"])
        return reply.get("output")

    async def call(self, agent: str, command: str = "make", **more: Any) -> Any:
        use = {"tool_use_id": f"call-{next(self.numbers)}", **more}
        return await self.say("PreToolUse", agent, tool_input={"command": command}, **use)

    async def fail(self, agent: str, times: int = 1) -> None:
        for _ in range(times):
            use = f"failing-{next(self.numbers)}"
            assert await self.call(agent, f"try {agent}", tool_use_id=use) is None
            await self.say("PostToolUseFailure", agent, tool_use_id=use, error=f"Exit code 3\n{agent} is broken")

    async def held(self, agent: str) -> asyncio.Task[Any]:
        """A call of ``agent`` that waits at the open gate."""
        before = len(self.of(e.StepRecorded))
        task = asyncio.ensure_future(self.call(agent, f"more of {agent}"))
        await self.until(lambda: len(self.of(e.StepRecorded)) > before)
        return task

    async def answer(self, choice: Any = "show_me", text: str = "look in the cellar") -> None:
        (gate,) = self.supervisor.core.head.open_gates()
        await self.supervisor.answer(gate.id, Answer(choice=choice, text=Clean(text)))


@pytest.fixture
async def session(repo: Path) -> AsyncIterator[Session]:
    """A session at work under a watch."""
    async with watch(await locate(repo)) as supervisor:
        session = Session(supervisor)
        await session.say("UserPromptSubmit", prompt="Mend it")
        yield session


def reason(printed: Any) -> str:
    return str(printed["hookSpecificOutput"].get("permissionDecisionReason", "")) if printed else ""


async def test_the_answer_is_for_the_sub_agent_that_has_led_to_the_question(session: Session) -> None:
    """All of a session stand still at its question; who has caused it hears the answer, and the others go on."""
    await session.fail("a1", 3)
    (gate,) = session.supervisor.core.head.open_gates()
    assert gate.gate.type == "loop_detected"
    assert gate.gate.context["subagent"] == "a1"
    other, main, asker = [await session.held(agent) for agent in ("b2", "", "a1")]
    assert not any(task.done() for task in (other, main, asker))
    await session.answer()
    assert "look in the cellar" in reason(await asker)
    assert await other is None
    assert await main is None
    assert len(session.of(e.AnswerSent)) == len(session.of(e.AnswerDelivered)) == 1


async def test_another_sub_agent_does_not_take_the_answer(session: Session) -> None:
    """Its call comes first after the answer was given: it goes on, and the one that is meant is told at its own."""
    await session.fail("a1", 3)
    await session.answer()
    assert await session.call("b2") is None
    assert "look in the cellar" in reason(await session.call("a1"))
    assert await session.call("a1") is None


async def test_where_the_sub_agent_has_ended_the_main_agent_is_told(session: Session) -> None:
    """An answer is never lost: the main agent hears it when it goes on without the one that has led to it."""
    await session.fail("a1", 3)
    await session.answer()
    assert "look in the cellar" in reason(await session.call(""))
    assert await session.call("a1") is None


async def test_what_ends_the_task_ends_all_of_them(session: Session) -> None:
    """The next agent of a session is told that the person has abandoned it."""
    await session.fail("a1", 3)
    other, asker = await session.held("b2"), await session.held("a1")
    await session.answer("abandon", "")
    for printed in (await other, await asker, await session.call("")):
        assert printed["hookSpecificOutput"]["permissionDecision"] == "deny"


async def test_the_same_id_of_two_sub_agents_is_two_calls(session: Session) -> None:
    """Calls are told apart by session, sub-agent and id; the same one of the same agent twice changes nothing."""
    for agent in ("a1", "b2", "a1", ""):
        assert await session.call(agent, f"make {agent}", tool_use_id="1") is None
    assert [(step.agent_id, step.text) for step in session.of(e.StepRecorded)] == [
        *[("a1", "make a1"), ("b2", "make b2"), ("", "make ")],
    ]
