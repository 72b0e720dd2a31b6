"""A watched project: recorded Claude Code traffic, each hook its own process of the forwarder."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.recorded_events import RecordedEvents
from tests.manual_clock import ManualClock

import unstuck.agents
from unstuck import Supervisor
from unstuck.agents.hooks.hook_agents import HOLD_LIMIT_S, TIMEOUT_S
from unstuck.contract import Answer
from unstuck.errors import ProjectLocked
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import replay
from unstuck.runs.watch import watch
from unstuck.settings.models import BudgetSettings, FailureHandlerSettings, Settings
from unstuck.workspace.project import locate

RECORDED = Path(__file__).parents[1] / "data" / "claude_hooks.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
TASK = "claude-do-it"
FAILING = "echo oops >&2; exit 3"
PATIENCE = 60


Begin = Callable[..., subprocess.Popen[Any]]


class Hook:
    """One hook call: a process of the forwarder in the project."""

    def __init__(self, begin: Begin, repo: Path, payload: dict[str, Any], *, installed: bool = False) -> None:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = begin("claude", program="unstuck-hook", installed=installed, cwd=repo, **streams)
        raw = json.dumps({**payload, "cwd": str(repo)}).encode()
        self._talk = asyncio.ensure_future(asyncio.to_thread(self.process.communicate, raw))

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    async def output(self) -> dict[str, Any] | None:
        """Return what Claude Code would read: JSON, or None for silence. A forwarder always ends with 0 and prints no
        error.
        """
        out, err = await asyncio.wait_for(self._talk, PATIENCE)
        assert self.process.returncode == 0
        assert err == b""
        return json.loads(out) if out else None


class World(RecordedEvents):
    """The agent's side: sends hooks from within the project and looks at what was recorded."""

    patience = PATIENCE

    def __init__(self, repo: Path, supervisor: Supervisor, begin: Begin) -> None:
        super().__init__(supervisor)
        self.repo, self._begin = repo, begin
        self.numbers = itertools.count(1)

    async def start(self, event: str, **changes: Any) -> Hook:
        recorded = next(line for line in LINES if line["hook_event_name"] == event)
        return Hook(self._begin, self.repo, {**recorded, **changes})

    async def say(self, event: str, **changes: Any) -> dict[str, Any] | None:
        return await (await self.start(event, **changes)).output()

    async def call(self, command: str = "make", **changes: Any) -> Hook:
        """A tool call that is about to be made."""
        changes = {"tool_use_id": f"call-{next(self.numbers)}", **changes}
        return await self.start("PreToolUse", tool_name="Bash", tool_input={"command": command}, **changes)

    async def fail(self, times: int = 1, said: str = "oops") -> dict[str, Any] | None:
        """Calls that are made and fail; what the last one's result hook printed."""
        printed = None
        for _ in range(times):
            use = f"failing-{next(self.numbers)}"
            assert await (await self.call(FAILING, tool_use_id=use)).output() is None
            printed = await self.say("PostToolUseFailure", tool_use_id=use, error=f"Exit code 3\n{said}")
        return printed

    async def held(self) -> Hook:
        """A call that waits at an open gate: others come and go meanwhile, and it is still there."""
        hook = await self.call("make again", tool_use_id="held")
        await self.until(lambda: any(step.text == "make again" for step in self.of(e.StepRecorded)))
        await self.say("MessageDisplay", index=next(self.numbers))
        assert not hook.ended
        return hook

    async def given_up(self, event: str, clock: ManualClock) -> dict[str, Any]:
        """Return the reply of a hook that nobody answers in time: the limit comes after all else is done."""
        hook = await (self.call() if event == "PreToolUse" else self.start(event))
        await clock.slept_until(clock.monotonic() + HOLD_LIMIT_S)
        await clock.advance(HOLD_LIMIT_S)
        return await hook.output() or {}

    @property
    def gate(self) -> str:
        (row,) = self.supervisor.core.head.open_gates()
        return row.id

    async def answer(self, *words: str) -> str:
        """``unstuck answer`` as its own process; what it printed."""
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = self._begin("answer", self.gate, *words, cwd=self.repo, text=True, **streams)
        out, err = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
        assert process.returncode == 0, err
        return out

    @property
    def row(self) -> Any:
        return next(iter(self.supervisor.core.head.tasks.values()))


Watching = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def watching(repo: Path, start: Begin) -> Watching:
    @asynccontextmanager
    async def opened(settings: Settings | None = None, **options: Any) -> AsyncIterator[World]:
        warnings: list[str] = []
        async with watch(await locate(repo), settings, warn=warnings.append, **options) as supervisor:
            yield World(repo, supervisor, start)
        assert warnings == []

    return opened


def test_the_installed_forwarder_is_this_one() -> None:
    """The command on PATH is the forwarder of this checkout, as a copy that can be run: else `make setup` again."""
    installed = shutil.which("unstuck-hook")
    assert installed is not None
    assert Path(installed).parent == Path(sys.executable).parent
    source = Path(unstuck.agents.__file__).with_name("forwarder.py")
    assert Path(installed).read_text("utf-8").splitlines()[1:] == source.read_text("utf-8").splitlines()[1:]


async def test_a_recorded_session_becomes_one_task(repo: Path, watching: Watching, start: Begin) -> None:
    """Every hook of a real session through the installed forwarder: one task with its steps, no word to the agent."""
    async with watching() as world:
        for line in LINES[:15]:
            assert await Hook(start, repo, line, installed=True).output() is None
        state = world.supervisor.core.head
        assert list(state.tasks) == [TASK]
        assert world.row.task.prompt == "do it"
        steps = world.of(e.StepRecorded)
        kinds = [step.kind for step in steps]
        assert kinds == ["message", "action", "success", "failure", "action", "action", "action", "success"]
        (failure,) = [step for step in steps if step.kind == "failure"]
        assert failure.tool == "bash"
        assert failure.exit_code == 3
        assert failure.text == "oops"
        assert failure.identity
        assert {step.agent_id for step in steps} == {"", "a96f19cb22560fb8d", "a1698b95665d89adb"}
        assert len(world.of(e.SessionNamed)) == 1
        assert world.row.status == "unverified"
        log = world.supervisor.core.journal.path
    ended = replay(log)
    assert ended.run.kind == "watch"
    assert ended.run.state == "ended"
    assert ended.run.exit_reason == "incomplete"


async def test_the_third_identical_failure_holds_the_next_call(watching: Watching) -> None:
    """The next tool call waits for the person, whose words reach the agent as the reason of its denial."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.fail(2)
        assert world.supervisor.core.head.open_gates() == ()
        await world.fail()
        hook = await world.held()
        gate = world.supervisor.core.head.gates[world.gate].gate
        assert gate.type == "loop_detected"
        assert gate.task == TASK
        assert gate.context["window_size"] == 3
        assert gate.context["loop_type"] == "execution_loop"
        assert gate.context["error_signature"] == world.of(e.StepRecorded)[1].identity
        said = await world.answer("show-me", "use", "the", "other", "Makefile")
        assert "answered: show-me" in said
        printed = await hook.output()
        assert printed is not None
        decision = printed["hookSpecificOutput"]
        assert decision["permissionDecision"] == "deny"
        assert "use the other Makefile" in decision["permissionDecisionReason"]
        await world.until(lambda: world.of(e.AnswerDelivered))
        (answered,) = [record for record in world.records if isinstance(record.event, e.GateAnswered)]
        assert answered.actor == "human"
        (sent,) = world.of(e.AnswerSent)
        assert sent.gate == gate.id
        assert sent.call == "held"
        assert sent.incarnation == f"{TASK}.1"
        order = [type(record.event) for record in world.records]
        assert order.index(e.GateAnswered) < order.index(e.AnswerSent) < order.index(e.AnswerDelivered)
        assert await (await world.call()).output() is None


async def test_continue_lets_the_held_call_through(watching: Watching) -> None:
    """*Let it continue*: the call goes on without a word, and three more of the same are needed to ask again."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.fail(3)
        hook = await world.held()
        await world.answer("continue")
        assert await hook.output() is None
        await world.fail(2)
        assert world.supervisor.core.head.open_gates() == ()
        await world.fail()
        assert len(world.supervisor.core.head.open_gates()) == 1


@pytest.mark.parametrize(("scope", "another_asks"), [("pattern", True), ("task", False)])
async def test_continue_for_good(watching: Watching, scope: str, another_asks: bool) -> None:
    """``--for pattern`` never asks about this failure again, ``--for task`` about none of this task."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.fail(3)
        await world.answer("continue", "--for", scope)
        assert await (await world.call()).output() is None
        printed = await world.fail(5)
        assert printed is None
        assert world.supervisor.core.head.open_gates() == ()
        for _ in range(3):
            if world.supervisor.core.head.open_gates():
                break
            await world.fail(said="KeyError: 'currency'")
        assert len(world.supervisor.core.head.open_gates()) == another_asks


@pytest.mark.parametrize(("choice", "status"), [("skip", "skipped"), ("abandon", "abandoned")])
async def test_giving_up_ends_the_task_and_stops_the_agent(watching: Watching, choice: str, status: str) -> None:
    """Skip and abandon deny the held call and all others, and end the agent's turn at its next batch."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.fail(3)
        hook = await world.held()
        await world.answer(choice)
        printed = await hook.output()
        assert printed is not None
        assert printed["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert world.row.status == status
        more = await (await world.call()).output()
        assert more is not None
        assert more["hookSpecificOutput"]["permissionDecision"] == "deny"
        stopped = await world.say("PostToolBatch")
        assert stopped is not None
        assert stopped["continue"] is False
        attempt = f"{TASK}.1"
        await world.until(lambda: not world.supervisor.core.head.attempts[attempt].is_live)
        assert world.row.status == status


async def test_retry_tells_the_approach(watching: Watching) -> None:
    """*Try again with a different approach* is what the denied call says."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.fail(3)
        hook = await world.held()
        await world.answer("retry", "build", "without", "make")
        printed = await hook.output()
        assert printed is not None
        assert "build without make" in printed["hookSpecificOutput"]["permissionDecisionReason"]


async def test_the_same_call_twice_changes_nothing(watching: Watching) -> None:
    """A hook that fires twice for one tool use counts once: two failures stay two."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        for use in ("one", "two"):
            for _ in range(3):
                assert await (await world.call(FAILING, tool_use_id=use)).output() is None
                await world.say("PostToolUseFailure", tool_use_id=use)
        assert [step.kind for step in world.of(e.StepRecorded)] == ["action", "failure"] * 2
        assert world.supervisor.core.head.open_gates() == ()


async def test_stop_is_blocked_until_the_check_passes(repo: Path, watching: Watching) -> None:
    """The agent may not stop while the check fails: it is sent on with the retry's guidance."""
    async with watching(verify="grep -q ready state.txt") as world:
        (repo / "state.txt").write_text("AssertionError: not yet\n", encoding="utf-8")
        await world.say("UserPromptSubmit", prompt="make it ready")
        blocked = await world.say("Stop")
        assert blocked is not None
        assert blocked["decision"] == "block"
        reason = blocked["reason"]
        assert reason.startswith("make it ready")
        assert "did not pass the check" in reason
        assert "grep -q ready state.txt" in reason
        (directive,) = world.of(e.DirectiveIssued)
        assert directive.level == "retry"
        assert world.row.attempts == 2
        (repo / "state.txt").write_text("ready\n", encoding="utf-8")
        assert await world.say("Stop", stop_hook_active=True) is None
        assert world.row.status == "succeeded"
        log = world.supervisor.core.journal.path
    assert replay(log).run.exit_code == 0


async def test_a_check_that_never_passes_ends_with_the_person(watching: Watching) -> None:
    """The agent is sent back only so often; then its stop waits for the person, who gives it up, and it may stop."""
    rungs = FailureHandlerSettings(max_retries=2, max_pivots=0, max_research=0)
    async with watching(Settings(failure_handler=rungs), verify="echo 'E   assert 1 == 2'; false") as world:
        await world.say("UserPromptSubmit")
        for _ in range(2):
            blocked = await world.say("Stop")
            assert blocked is not None
            assert blocked["decision"] == "block"
        held = await world.start("Stop")
        await world.until(lambda: world.supervisor.core.head.open_gates())
        assert world.supervisor.core.head.gates[world.gate].gate.type == "stuck"
        assert not held.ended
        await world.answer("skip")
        assert await held.output() is None
        assert world.row.status == "skipped"


async def test_a_hold_is_given_up_before_the_agent_gives_up_on_us(watching: Watching) -> None:
    """Without an answer a call is denied after nine minutes, three times, then the agent is stopped; the question stays
    open all day, and its answer enters with the next prompt."""
    assert HOLD_LIMIT_S < TIMEOUT_S
    clock = ManualClock()
    async with watching(clock=clock) as world:
        await world.say("UserPromptSubmit")
        await world.until(lambda: world.of(e.AttemptStarted))
        await world.fail(3)
        await world.until(world.supervisor.core.head.open_gates)
        for reason in ("still open", "still open", "still open", "has to answer"):
            hook = await world.call()
            await clock.slept_until(clock.monotonic() + HOLD_LIMIT_S)
            await clock.advance(HOLD_LIMIT_S - 1)
            await world.say("MessageDisplay", index=next(world.numbers))
            assert not hook.ended
            await clock.advance(1)
            denied = await hook.output()
            assert denied is not None
            assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"
            assert reason in denied["hookSpecificOutput"]["permissionDecisionReason"]
        refused = [
            (record.event.count, record.actor) for record in world.records if record.event.name == "hold_refused"
        ]
        assert refused == [(1, "timer"), (2, "timer"), (3, "timer"), (4, "timer")]
        denied = await (await world.call()).output()
        assert denied is not None
        assert "has to answer" in denied["hookSpecificOutput"]["permissionDecisionReason"]
        stopped = await world.say("PostToolBatch")
        assert stopped is not None
        assert stopped["continue"] is False
        await world.until(lambda: world.row.state == "waiting")
        await clock.advance(86_400)
        gate = world.supervisor.core.head.gates[world.gate]
        assert gate.status == "open"
        assert world.row.state == "waiting"
        assert world.row.status is None
        assert world.row.attempts == 1
        await world.answer("show-me", "look in the cellar")
        await world.until(lambda: world.row.state == "running")
        told = await world.say("UserPromptSubmit", prompt="well?")
        assert told is not None
        assert "look in the cellar" in told["hookSpecificOutput"]["additionalContext"]


async def test_a_stopped_hold_can_be_gone_on_with(watching: Watching) -> None:
    """*Continue*, given after the agent was stopped for want of an answer, is no end of the task."""
    clock = ManualClock()
    async with watching(Settings(hold_limit=0), clock=clock) as world:
        await world.say("UserPromptSubmit")
        await world.fail(3)
        await world.until(world.supervisor.core.head.open_gates)
        await world.given_up("PreToolUse", clock)
        await world.say("PostToolBatch")
        await world.until(lambda: world.row.state == "waiting")
        await world.answer("continue")
        await world.until(lambda: world.row.attempts == 2)
        assert world.row.state == "running"
        assert world.row.status is None


async def test_the_persons_own_prompt_begins_anew(repo: Path, watching: Watching) -> None:
    """A person's own prompt gives the agent a fresh start: neither failures nor levels before it count."""
    async with watching(verify="grep -q ready state.txt") as world:
        await world.say("UserPromptSubmit")
        await world.say("Stop")
        assert world.row.climb.retries == 1
        await world.fail(2)
        await world.say("UserPromptSubmit", prompt="try with sudo")
        await world.fail(2)
        assert world.supervisor.core.head.open_gates() == ()
        assert world.row.climb.retries == 0
        await world.fail()
        assert len(world.supervisor.core.head.open_gates()) == 1


async def test_closing_the_agent_ends_the_task(watching: Watching) -> None:
    """A session that is closed in the middle of its work is cancelled, unless its check passes."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await (await world.call()).output()
        assert await world.say("SessionEnd") is None
        await world.until(lambda: world.row.state == "ended")
        assert world.row.status == "cancelled"


async def test_closing_the_agent_with_its_work_done(watching: Watching) -> None:
    """A task whose check passes has succeeded, however the session ended."""
    async with watching(verify="test -f README.md") as world:
        await world.say("UserPromptSubmit")
        await world.say("SessionEnd")
        await world.until(lambda: world.row.state == "ended")
        assert world.row.status == "succeeded"


async def test_two_sessions_at_once_are_both_attended(watching: Watching) -> None:
    """Agents that somebody else runs share a tree whether we like it or not: none waits for the other."""
    async with watching(Settings(max_parallel=1)) as world:
        await world.say("UserPromptSubmit")
        await world.say("UserPromptSubmit", session_id="second-one")
        await world.say("UserPromptSubmit", session_id="third-one")
        rows = world.supervisor.core.head.tasks
        assert {name: row.state for name, row in rows.items()} == {
            TASK: "running",
            f"{TASK}-2": "running",
            f"{TASK}-3": "running",
        }


async def test_after_the_watch_the_agent_is_alone(repo: Path, watching: Watching, start: Begin) -> None:
    """Ending the watch frees the held call at once and leaves no trace in later ones."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.fail(3)
        hook = await world.held()
        log = world.supervisor.core.journal.path
    assert await hook.output() is None
    before = log.read_bytes()
    for line in LINES[:15]:
        assert await Hook(start, repo, line).output() is None
    assert log.read_bytes() == before
    state = replay(log)
    assert state.run.state == "parked"
    assert state.run.exit_code == 3
    assert len(state.open_gates()) == 1


async def test_a_spent_budget_holds_the_next_call_and_asks(watching: Watching) -> None:
    """Past the run's time no further call is made: it waits for the person, is denied with the reason, then goes on."""
    clock = ManualClock()
    async with watching(Settings(budget=BudgetSettings(time=60)), clock=clock, hold_limit_s=500) as world:
        await world.say("UserPromptSubmit")
        assert await (await world.call()).output() is None
        await clock.advance(61)
        await world.until(world.supervisor.core.head.open_gates)
        assert world.supervisor.core.head.gates[world.gate].gate.type == "budget"
        hook = await world.held()
        await clock.advance(501)
        denied = await hook.output()
        assert denied is not None
        assert "still open" in denied["hookSpecificOutput"]["permissionDecisionReason"]
        await world.answer("extend", "15m")
        assert await (await world.call()).output() is None


async def test_two_questions_hold_a_call_no_longer_than_one(watching: Watching) -> None:
    """One is answered after eight minutes, the other not: the call is denied before the agent gives up on its hook."""
    clock = ManualClock()
    async with watching(Settings(budget=BudgetSettings(time=60)), clock=clock) as world:
        await world.say("UserPromptSubmit")
        await world.until(lambda: world.of(e.AttemptStarted))
        await world.fail(3)
        hook = await world.held()
        await clock.slept_until(clock.monotonic() + HOLD_LIMIT_S)
        loop = world.gate
        await clock.advance(HOLD_LIMIT_S - 60)
        await world.until(lambda: len(world.supervisor.core.head.open_gates()) == 2)
        await world.supervisor.answer(loop, Answer(choice="continue"))
        await world.say("MessageDisplay", index=next(world.numbers))
        assert not hook.ended
        await clock.advance(60)
        denied = await hook.output()
        assert denied is not None
        assert "still open" in denied["hookSpecificOutput"]["permissionDecisionReason"]


async def test_no_session_begins_past_a_budget(watching: Watching) -> None:
    """A session that is opened when all is used up makes no call, however long nobody answers."""
    clock = ManualClock()
    async with watching(Settings(budget=BudgetSettings(time=0)), clock=clock) as world:
        assert await world.given_up("UserPromptSubmit", clock) == {}
        for _ in range(2):
            denied = await world.given_up("PreToolUse", clock)
            assert "Nothing may begin" in denied["hookSpecificOutput"]["permissionDecisionReason"]
        assert world.supervisor.core.head.attempts == {}
        await world.answer("extend", "15m")
        await world.until(lambda: world.of(e.AttemptStarted))
        assert await (await world.call()).output() is None


async def test_one_watch_in_a_project(repo: Path, watching: Watching) -> None:
    """A second watch is refused with who has the project; a run lives beside it, and a second run does not."""
    async with watching():
        with pytest.raises(ProjectLocked, match="another watch is live"):
            async with watch(await locate(repo)):
                pass
        async with Supervisor.open(repo):
            with pytest.raises(ProjectLocked, match="another run is live"):
                async with Supervisor.open(repo):
                    pass
