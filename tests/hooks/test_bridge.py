"""The bridge from hook calls to a task session, with a scripted session and real payloads."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock

import unstuck.agents
from unstuck.agents.hooks.bridge import HookBridge
from unstuck.channel import ChannelServer, Message, Peer
from unstuck.contract import Capabilities, Directive, Guidance, Observation, Report, Task
from unstuck.text import Clean

RECORDED = Path(__file__).parents[1] / "data" / "claude_hooks.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text().splitlines()]
SESSION = LINES[0]["session_id"]
PEER = Peer(1, os.getuid())
GO_ON = Directive(kind="go_on")
END = Directive(kind="end")
STOP = Directive(kind="stop", text=Clean("abandoned"))

Answers = Callable[..., Awaitable[Directive]]


def start(attempt: str, text: str) -> Directive:
    guidance = Guidance(attempt=attempt, number=1, level="first", text=Clean(text), workdir=Path("/repo"))
    return Directive(kind="start", guidance=guidance)


def line(event: str, **changes: Any) -> dict[str, Any]:
    """A recorded call, with changes; its transcript, which would be looked at in another thread, is another test's."""
    recorded = next(line for line in LINES if line["hook_event_name"] == event)
    return {**recorded, "transcript_path": "", **changes}


class Scripted:
    """A task session that notes what it is asked and says what the test wants."""

    def __init__(self, task: Task, capabilities: Capabilities) -> None:
        self.task, self.capabilities = task, capabilities
        self.steps: list[Observation] = []
        self.ends: list[tuple[str, Report]] = []
        self.told: list[Directive] = []
        self.within: list[float | None] = []
        self.begins = 0
        self.on_begin: Directive | None = None
        self.on_step: Directive | Answers | Exception = GO_ON
        self.on_end: Directive | Answers = END

    async def begin(self) -> Directive:
        self.begins += 1
        return self.on_begin or start(f"a{self.begins}", self.task.prompt)

    def see(self, observation: Observation) -> None:
        self.steps.append(observation)

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        self.steps.append(observation)
        self.within.append(within)
        if isinstance(self.on_step, Exception):
            raise self.on_step
        return self.on_step if isinstance(self.on_step, Directive) else await self.on_step(observation)

    async def end(self, attempt: str, report: Report) -> Directive:
        self.ends.append((attempt, report))
        return self.on_end if isinstance(self.on_end, Directive) else await self.on_end(attempt)

    async def delivered(self, directive: Directive) -> None:
        self.told.append(directive)


class World:
    """A bridge, its clock and the sessions it opened."""

    def __init__(self) -> None:
        self.sessions: list[Scripted] = []
        self.warnings: list[str] = []
        self.clock = ManualClock()
        self.bridge = HookBridge(
            self.open, verify="pytest -q", clock=self.clock, hold_limit_s=60.0, warn=self.warnings.append
        )

    def open(self, task: Task, capabilities: Capabilities) -> Scripted:
        self.sessions.append(Scripted(task, capabilities))
        return self.sessions[-1]

    async def say(self, event: str, **changes: Any) -> Message:
        return await self.bridge.handle(line(event, **changes), PEER)

    @property
    def only(self) -> Scripted:
        (session,) = self.sessions
        return session


@pytest.fixture
def world() -> World:
    return World()


async def test_a_prompt_begins_a_task_with_the_persons_words(world: World) -> None:
    """The person's prompt is the task, checked with the watch's own check."""
    assert await world.say("SessionStart") == {"ok": True}
    assert world.sessions == []
    assert await world.say("UserPromptSubmit") == {"ok": True}
    task = world.only.task
    assert task.id == "claude-do-it"
    assert task.prompt == "do it"
    assert task.agent == "claude"
    assert task.verify == "pytest -q"
    assert world.only.capabilities == Capabilities(hold="step", tell=True, resume=True, stop=True)
    assert world.only.told == [start("a1", "do it")]


async def test_tool_calls_are_steps_and_the_stop_ends_the_attempt(world: World) -> None:
    """A whole recorded session: one task, every call seen once, one end with the last words."""
    for payload in LINES[:14]:
        assert await world.bridge.handle(payload, PEER) == {"ok": True}
    session = world.only
    kinds = [step.kind for step in session.steps]
    assert kinds == ["message", "action", "success", "failure", "action", "action", "action", "success"]
    assert {step.task_id for step in session.steps} == {"claude-do-it"}
    assert {step.agent_id for step in session.steps} == {"", "a96f19cb22560fb8d", "a1698b95665d89adb"}
    assert set(session.within) == {60.0}
    ((attempt, report),) = session.ends
    assert attempt == "a1"
    assert report.how == "ended"
    assert report.session == SESSION
    assert report.sample == "All done."
    assert world.warnings == []


async def test_what_is_told_is_acknowledged_once(world: World) -> None:
    """The supervisor learns that the agent has the text only when it was printed."""
    await world.say("UserPromptSubmit")
    tell = world.only.on_step = Directive(kind="tell", text=Clean("look at the fixture"))
    world.only.told.clear()
    reply = await world.say("PostToolUseFailure")
    assert reply["output"]["hookSpecificOutput"]["additionalContext"] == "look at the fixture"
    assert world.only.told == []
    await world.bridge.acknowledged(reply["ack"])
    await world.bridge.acknowledged(reply["ack"])
    await world.bridge.acknowledged("unknown")
    assert world.only.told == [tell]


async def test_the_same_call_twice_is_one_step_with_one_answer(world: World) -> None:
    """A hook that is sent again, later or at the same moment, has no second effect."""
    await world.say("UserPromptSubmit")
    world.only.on_step = Directive(kind="deny", text=Clean("held"))
    first, second = await asyncio.gather(world.say("PreToolUse"), world.say("PreToolUse"))
    third = await world.say("PreToolUse")
    assert first == second == third
    assert first["output"]["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert len(world.only.steps) == 1


async def test_a_call_given_up_can_be_asked_again(world: World) -> None:
    """A hook that died while it was held leaves nothing that the next one would wait for."""
    await world.say("UserPromptSubmit")
    held = asyncio.Event()

    async def hold(observation: Observation) -> Directive:
        held.set()
        await asyncio.Event().wait()
        return GO_ON

    world.only.on_step = hold
    first = asyncio.create_task(world.say("PreToolUse"))
    await held.wait()
    second = asyncio.create_task(world.say("PreToolUse"))
    await world.clock.settle()
    world.only.on_step = Directive(kind="deny", text=Clean("now"))
    first.cancel()
    assert (await second)["output"]["hookSpecificOutput"]["permissionDecisionReason"] == "now"


async def test_a_watch_that_came_late_makes_a_task_of_the_first_thing_it_sees(world: World) -> None:
    """A session that runs already is attended from its next step on, by one task however many calls come at once."""
    await asyncio.gather(*(world.say("PreToolUse", tool_use_id=f"t{number}") for number in range(5)))
    assert world.only.begins == 1
    assert len(world.only.steps) == 5
    assert world.only.task.id == "claude-6439288a"


async def test_the_next_attempt_is_why_the_agent_goes_on(world: World) -> None:
    """A failed check at the agent's stop sends it on with the guidance; a passed one lets it stop."""
    await world.say("UserPromptSubmit")
    again = world.only.on_end = start("a9", "the test still fails: run it alone")
    reply = await world.say("Stop")
    assert reply["output"] == {"decision": "block", "reason": "the test still fails: run it alone"}
    await world.bridge.acknowledged(reply["ack"])
    assert world.only.told[-1] == again
    world.only.on_end = END
    assert await world.say("Stop") == {"ok": True}
    assert [attempt for attempt, _ in world.only.ends] == ["a1", "a9"]


async def test_a_stop_hands_over_the_last_message(world: World) -> None:
    """The end of an attempt carries the agent's last message, and its model where the call names it."""
    await world.say("UserPromptSubmit")
    await world.say("Stop", last_assistant_message="All tests pass.", model="m-1")
    ((_, report),) = world.only.ends
    assert (report.last_message, report.model) == ("All tests pass.", "m-1")


async def test_a_long_check_does_not_hold_the_stop_for_ever(world: World) -> None:
    """Past the hold limit the agent may stop; what is decided later is told with the person's next prompt."""
    await world.say("UserPromptSubmit")
    decided = asyncio.Event()

    async def slow(attempt: str) -> Directive:
        await decided.wait()
        return start("a2", "use the other API")

    world.only.on_end = slow
    stop = asyncio.create_task(world.say("Stop"))
    await world.clock.advance(60.0)
    assert await stop == {"ok": True}
    decided.set()
    await world.clock.settle()
    reply = await world.say("UserPromptSubmit", prompt="and?")
    assert reply["output"]["hookSpecificOutput"]["additionalContext"] == "use the other API"
    assert world.only.steps[-1].text == "and?"
    await world.say("Stop")
    assert [attempt for attempt, _ in world.only.ends] == ["a1", "a2"]


async def test_what_memory_adds_to_the_prompt_is_told_with_it(world: World) -> None:
    """Guidance beyond the person's own words reaches the agent beside them, without repeating them."""
    opened = world.open

    def open_session(task: Task, capabilities: Capabilities) -> Scripted:
        session = opened(task, capabilities)
        session.on_begin = start("a1", "do it\n\nBefore: mocking the clock did not work.")
        return session

    world.bridge = HookBridge(open_session, verify=None, clock=world.clock, hold_limit_s=1.0)
    reply = await world.say("UserPromptSubmit")
    assert reply["output"]["hookSpecificOutput"]["additionalContext"] == "Before: mocking the clock did not work."


async def test_a_word_of_the_person_in_between_is_a_step(world: World) -> None:
    """Steering a working agent is seen and begins no second attempt."""
    await world.say("UserPromptSubmit")
    await world.say("UserPromptSubmit", prompt="use pytest")
    assert world.only.begins == 1
    assert [(step.role, step.text) for step in world.only.steps] == [("user", "use pytest")]


async def test_a_prompt_after_the_end_begins_again(world: World) -> None:
    """The next thing asked in the session is another attempt, or another task where the first is over."""
    await world.say("UserPromptSubmit")
    await world.say("Stop")
    await world.say("UserPromptSubmit", prompt="more")
    assert world.only.begins == 2
    await world.say("Stop")
    world.only.on_begin = END
    await world.say("UserPromptSubmit", prompt="something else")
    assert [session.task.id for session in world.sessions] == ["claude-do-it", "claude-something-else"]
    assert world.sessions[1].task.prompt == "something else"


async def test_stop_is_carried_out_where_the_agent_obeys_it(world: World) -> None:
    """Decided at a failing call, a stop is told, denies further calls and ends the run at the next batch."""
    await world.say("UserPromptSubmit")
    world.only.on_step = STOP
    failed = await world.say("PostToolUseFailure")
    assert "additionalContext" in failed["output"]["hookSpecificOutput"]
    world.only.on_step = GO_ON
    denied = await world.say("PreToolUse")
    assert denied["output"]["hookSpecificOutput"]["permissionDecision"] == "deny"
    stopped = await world.say("PostToolBatch")
    assert stopped["output"] == {"continue": False, "stopReason": "abandoned"}
    assert world.only.ends == []
    await world.bridge.acknowledged(stopped["ack"])
    await world.clock.settle()
    assert [(attempt, report.how) for attempt, report in world.only.ends] == [("a1", "stopped")]
    await world.say("UserPromptSubmit", prompt="go on differently")
    assert await world.say("PreToolUse", tool_use_id="later") == {"ok": True}


async def test_closing_the_agent_ends_the_attempt(world: World) -> None:
    """A session that is closed in the middle of its work is stopped, not lost."""
    await world.say("UserPromptSubmit")
    assert await world.say("SessionEnd") == {"ok": True}
    await world.clock.settle()
    assert [(attempt, report.how) for attempt, report in world.only.ends] == [("a1", "stopped")]
    await world.say("SessionEnd")
    await world.clock.settle()
    assert len(world.only.ends) == 1


async def test_two_sessions_are_two_tasks_even_with_names_alike(world: World) -> None:
    """Sessions whose ids begin alike are told apart."""
    await world.say("UserPromptSubmit", session_id="6439288a-one")
    await world.say("UserPromptSubmit", session_id="6439288a-two")
    assert [session.task.id for session in world.sessions] == ["claude-do-it", "claude-do-it-2"]


async def test_a_mistake_of_ours_never_disturbs_the_agent(world: World) -> None:
    """Whatever breaks inside, the agent goes on and the person is warned in one line."""
    await world.say("UserPromptSubmit")
    world.only.on_step = RuntimeError("no\x1b[2J\nspace")
    assert await world.say("PreToolUse") == {"ok": True}
    assert world.warnings == ["claude hook, PreToolUse: RuntimeError: no space"]

    async def broken(attempt: str) -> Directive:
        raise OSError("disk full")

    world.only.on_end = broken
    assert await world.say("Stop") == {"ok": True}
    assert world.warnings[1:] == ["hooks, end: OSError: disk full"]


@pytest.mark.parametrize("payload", [{}, {"session_id": 7}, {"session_id": "x"}, {"hook_event_name": ["Stop"]}])
async def test_a_payload_of_another_shape_is_let_through(world: World, payload: dict[str, Any]) -> None:
    """A version of the agent that speaks otherwise is not disturbed and makes no task."""
    assert await world.bridge.handle(payload, PEER) == {"ok": True}
    assert world.sessions == []


async def test_from_the_agents_hook_to_the_session_and_back(world: World, sockets: Path) -> None:
    """Forwarder, socket and bridge together: the nudge is printed for the agent and then known to be delivered."""

    async def handler(message: Message, peer: Peer) -> Message:
        return await world.bridge.handle(message["payload"], peer)

    acknowledged = asyncio.Event()

    async def on_ack(ack: str) -> None:
        await world.bridge.acknowledged(ack)
        acknowledged.set()

    await world.say("UserPromptSubmit")
    tell = world.only.on_step = Directive(kind="tell", text=Clean("look at the fixture"))
    server = ChannelServer(sockets / "s.sock", handler, acknowledged=on_ack)
    await server.start()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(Path(unstuck.agents.__file__).with_name("forwarder.py")), "claude"),
        stdin=pipe,
        stdout=pipe,
        env={**os.environ, "UNSTUCK_SOCKET": str(sockets / "s.sock")},
    )
    out, _ = await process.communicate(json.dumps(line("PostToolUse")).encode())
    await asyncio.wait_for(acknowledged.wait(), 60)
    await server.close()
    await world.bridge.close()
    assert json.loads(out)["hookSpecificOutput"]["additionalContext"] == "look at the fixture"
    assert world.only.told[-1] == tell


async def test_what_is_to_be_told_waits_for_where_it_is_heard(world: World) -> None:
    """Gemini CLI passes over what it is told before a call: its result has it, and a call given twice is still one."""
    lines = [json.loads(one) for one in (RECORDED.parent / "hooks" / "gemini.jsonl").read_text("utf-8").splitlines()]
    said = {one["hook_event_name"]: one | {"transcript_path": ""} for one in lines}
    await world.bridge.handle(said["BeforeAgent"], PEER, "gemini")
    world.only.on_step = Directive(kind="tell", text=Clean("look at the fixture"))
    for _ in range(2):
        assert await world.bridge.handle(said["BeforeTool"], PEER, "gemini") == {"ok": True}
    world.only.on_step = GO_ON
    for _ in range(2):
        reply = await world.bridge.handle(said["AfterTool"], PEER, "gemini")
        assert reply["output"]["hookSpecificOutput"]["additionalContext"] == "look at the fixture"
    call, result = world.only.steps
    assert call.id == result.id != ""


async def test_a_call_that_waits_twice_has_one_limit(world: World) -> None:
    """Time that a call has waited for its attempt to begin is no longer time in which a question may hold it."""
    ready = asyncio.Event()
    opened = world.open

    def open_session(task: Task, capabilities: Capabilities) -> Scripted:
        session = opened(task, capabilities)

        async def slowly() -> Directive:
            await ready.wait()
            return start("a1", "do it")

        session.begin = slowly  # type: ignore[method-assign]
        return session

    world.bridge = HookBridge(open_session, verify=None, clock=world.clock, hold_limit_s=60.0)
    call = asyncio.create_task(world.say("PreToolUse"))
    await world.clock.slept_until(world.clock.monotonic() + 60.0)
    await world.clock.advance(50.0)
    ready.set()
    await call
    assert world.only.within == [10.0]


async def test_nothing_new_begins_while_the_last_attempt_is_judged(world: World) -> None:
    """A call that arrives during the check is a step of what is there, not another attempt."""
    await world.say("UserPromptSubmit")
    decided = asyncio.Event()

    async def slow(attempt: str) -> Directive:
        await decided.wait()
        return END

    world.only.on_end = slow
    stop = asyncio.create_task(world.say("Stop"))
    await world.clock.settle()
    await world.say("PreToolUse")
    decided.set()
    assert await stop == {"ok": True}
    assert world.only.begins == 1
    assert [step.kind for step in world.only.steps] == ["action"]


async def test_a_run_that_takes_nothing_on_is_asked_once_per_prompt(world: World) -> None:
    """An agent works unattended, and no tasks pile up, if no attempt may begin."""
    await world.say("UserPromptSubmit")
    await world.say("Stop")
    bridge_open = world.open

    def refuse(task: Task, capabilities: Capabilities) -> Scripted:
        session = bridge_open(task, capabilities)
        session.on_begin = END
        return session

    world.only.on_begin = END
    world.bridge._open_session = refuse
    for number in range(5):
        assert await world.say("PreToolUse", tool_use_id=f"t{number}") == {"ok": True}
    assert len(world.sessions) == 2
    assert world.sessions[1].begins == 1
    assert world.sessions[1].steps == []


async def test_the_persons_word_lifts_a_stop_that_was_not_yet_carried_out(world: World) -> None:
    """A person who speaks to the agent again wants it to work."""
    await world.say("UserPromptSubmit")
    world.only.on_step = STOP
    await world.say("PostToolUseFailure")
    world.only.on_step = GO_ON
    await world.say("UserPromptSubmit", prompt="do go on")
    assert await world.say("PreToolUse") == {"ok": True}


async def test_a_late_acknowledgement_ends_no_later_attempt(world: World) -> None:
    """That attempt 1 was stopped is heard of when attempt 2 is under way already: attempt 2 goes on."""
    await world.say("UserPromptSubmit")
    world.only.on_step = STOP
    await world.say("PostToolUseFailure")
    stopped = await world.say("PostToolBatch")
    world.only.on_step = GO_ON
    await world.say("SessionEnd")
    await world.clock.settle()
    world.only.on_begin = start("a2", "go on differently")
    await world.say("UserPromptSubmit", prompt="go on differently")
    await world.bridge.acknowledged(stopped["ack"])
    await world.clock.settle()
    assert [attempt for attempt, _ in world.only.ends] == ["a1"]
