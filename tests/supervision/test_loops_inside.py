"""A loop inside an attempt, step by step: the agent is told, then the person is asked, and only where it is one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from unstuck import Answer, Directive, Observation, Supervisor, Task, admit
from unstuck.contract import Capabilities
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.settings.models import Settings
from unstuck.words.narration import lines_of

HELD = Capabilities(hold="step", tell=True, resume=True, stop=True)


class Agent:
    """One attempt of one task, whose steps are given by the test."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        self.supervisor, self.session = supervisor, session
        self.records: list[Record] = []
        supervisor.core.journal.on_append(self.records.append)

    async def do(self, call: str, said: str = "", *, failed: bool = False) -> Directive:
        """A call and its result; what is answered to the result, or to the call where that is held up."""
        before = await self.session.step(Observation(kind="action", text=admit(call)))
        if before.kind != "go_on":
            return before
        kind = "failure" if failed else "success"
        return await self.session.step(Observation(kind=kind, text=admit(said), exit_code=int(failed)))

    def see(self, call: str, said: str) -> None:
        """A call and its result in a stream that cannot be held."""
        self.session.see(Observation(kind="action", text=admit(call)))
        self.session.see(Observation(kind="success", text=admit(said), exit_code=0))

    @property
    def heard(self) -> list[Any]:
        return [record.event for record in self.records]

    @property
    def gates(self) -> list[tuple[str, str]]:
        return [(row.gate.type, row.gate.key) for row in self.supervisor.core.head.open_gates()]

    def of(self, event: type[e.Event]) -> list[Any]:
        return [one for one in self.heard if isinstance(one, event)]

    async def asked(self) -> None:
        """Return once the next question has been asked."""
        while asking := list(self.supervisor.core.live.asking.values()):
            await asyncio.wait(asking)

    async def answer(self, answer: Answer) -> None:
        await self.asked()
        (row,) = self.supervisor.core.head.open_gates()
        await self.supervisor.answer(row.id, answer)


@asynccontextmanager
async def working(
    repo: Path, prompt: str = "Make the shop work", settings: Settings | None = None, can: Capabilities = HELD
) -> AsyncIterator[Agent]:
    async with Supervisor.open(repo, settings) as supervisor:
        session = supervisor.session(Task(id="web", prompt=admit(prompt)), can)
        await session.begin()
        yield Agent(supervisor, session)


async def test_told_first_then_asked(repo: Path) -> None:
    """The third round is told to the agent with its call and its answer, the fourth opens the gate."""
    async with working(repo) as agent:
        said = [await agent.do("cat shop.py", "total = None") for _ in range(3)]
        assert [directive.kind for directive in said] == ["go_on", "go_on", "tell"]
        assert "3 times: cat shop.py → total = None" in said[2].text
        assert agent.gates == []
        await agent.do("cat shop.py", "total = None")
        assert agent.gates == [("loop_detected", "loop")]
        (warned,) = agent.of(e.LoopWarned)
        assert warned.repeats == 3
        assert [step.repeats for step in agent.of(e.StepRecorded) if step.kind == "success"] == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("can", "session", "subagent", "said"),
    [
        (HELD, "", "part", "  ↻ repeats itself 3 times: "),
        (Capabilities(tell=True), "", "", "  ↻ repeats itself 3 times: "),
        (Capabilities(resume=True), "s1", "", "  ↻ repeats itself 3 times: "),
        (Capabilities(resume=True), "", "", "  ↻ repeats itself 3 times, and cannot be told before its turn ends: "),
        (Capabilities(), "s1", "", "  ↻ repeats itself 3 times, and cannot be told before its turn ends: "),
        (Capabilities(tell=True), "s1", "part", "  ↻ repeats itself 3 times in a sub-agent, which cannot be told: "),
    ],
)
async def test_the_log_says_who_cannot_be_told(
    repo: Path, can: Capabilities, session: str, subagent: str, said: str
) -> None:
    """An agent whose turn goes on to its end, and the sub-agent of one that is not held at its calls, are not told."""
    async with working(repo, can=can) as agent:
        agent.session.see(Observation(kind="alive", session=session))
        for _ in range(3):
            agent.session.see(Observation(kind="action", text=admit("cat shop.py"), agent_id=admit(subagent)))
            result = Observation(kind="success", text=admit("total = None"), exit_code=0, agent_id=admit(subagent))
            agent.session.see(result)
        record = next(record for record in agent.records if isinstance(record.event, e.LoopWarned))
        assert said in lines_of(record)[0]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
async def test_the_window_size_of_the_settings(repo: Path, size: int) -> None:
    """``window_size`` rounds are told to the agent, one more opens the gate, whose context has the setting."""
    async with working(repo, settings=Settings(window_size=size)) as agent:
        said = [await agent.do("cat shop.py", "total = None") for _ in range(size)]
        assert [directive.kind for directive in said] == ["go_on"] * (size - 1) + ["tell"]
        assert agent.gates == []
        await agent.do("cat shop.py", "total = None")
        (row,) = agent.supervisor.core.head.open_gates()
        assert row.gate.type == "loop_detected"
        assert (row.gate.context["window_size"], row.gate.context["repeats"]) == (size, size + 1)


@pytest.mark.parametrize("size", [2, 3, 6])
async def test_the_window_size_for_failures(repo: Path, size: int) -> None:
    """Of a program's own agent the ``window_size``-th identical failure opens the gate."""
    async with working(repo, settings=Settings(window_size=size)) as agent:
        for round_number in range(size):
            assert agent.gates == [], round_number
            await agent.do("pytest -q", "E   KeyError: 'total'", failed=True)
        (row,) = agent.supervisor.core.head.open_gates()
        assert (row.gate.context["window_size"], row.gate.context["repeats"]) == (size, size)


async def test_no_step_before_the_loop_was_acted_on(repo: Path) -> None:
    """Once the gate is open the next call waits, and goes on with the answer."""
    async with working(repo) as agent:
        for _ in range(4):
            await agent.do("cat shop.py", "total = None")
        held = asyncio.ensure_future(agent.do("cat shop.py", "total = None"))
        await asyncio.sleep(0)
        assert not held.done()
        await agent.answer(Answer(choice="show_me", text=admit("read cart.py instead")))
        directive = await held
        assert directive.kind == "deny"
        assert "read cart.py instead" in directive.text


async def test_fewer_failures_open_no_gate(repo: Path) -> None:
    """The same first error, but ever fewer of them: work. When the count stands still the person is asked."""
    async with working(repo) as agent:
        error = "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\nFound {} errors."
        for left in (12, 9, 6, 4):
            assert (await agent.do("tsc --noEmit", error.format(left), failed=True)).kind == "go_on"
        assert agent.gates == []
        for _ in range(2):
            await agent.do("tsc --noEmit", error.format(4), failed=True)
        assert agent.gates == [("loop_detected", "loop")]


async def test_searches_that_find_nothing_open_no_gate(repo: Path) -> None:
    """Different searches end with the same exit code and say nothing."""
    async with working(repo) as agent:
        for name in ("acquire", "release", "with_lock", "flock", "lockfile"):
            assert (await agent.do(f"grep -rn {name} src", "Exit code 1", failed=True)).kind == "go_on"
        assert agent.gates == []


async def test_an_outage_is_a_question(repo: Path) -> None:
    """The agent hears that trying again will not help; when it goes on all the same, the person is asked."""
    async with working(repo) as agent:
        said = [await agent.do("npm ci", "npm ERR! connect ECONNREFUSED 10.0.0.5:443", failed=True) for _ in range(3)]
        assert said[2].kind == "tell"
        assert "Trying again will not help" in said[2].text
        assert agent.gates == []
        await agent.do("npm ci", "npm ERR! connect ECONNREFUSED 10.0.0.5:443", failed=True)
        assert agent.gates == [("question", "blocked")]
        held = asyncio.ensure_future(agent.do("npm ci"))
        await asyncio.sleep(0)
        await agent.answer(Answer(choice="choose", number=1))
        assert "It works again: go on" in (await held).text


async def test_what_the_task_asks_to_repeat(repo: Path) -> None:
    """*Run it six times* in the task is honoured inside the attempt."""
    async with working(repo, "Run ./soak.sh six times and tell me what it says") as agent:
        said = [await agent.do("./soak.sh", "all well") for _ in range(7)]
        assert [directive.kind for directive in said] == ["go_on"] * 6 + ["tell"]


@pytest.mark.parametrize(
    ("scope", "asks"), [("once", (True, True)), ("pattern", (False, True)), ("task", (False, False))]
)
async def test_not_a_loop_go_on(repo: Path, scope: str, asks: tuple[bool, bool]) -> None:
    """For once, this pattern or this task: whether the same, and something else, is asked about again."""
    async with working(repo) as agent:
        for _ in range(4):
            await agent.do("cat shop.py", "total = None")
        held = asyncio.ensure_future(agent.do("cat shop.py", "total = None"))
        await asyncio.sleep(0)
        await agent.answer(Answer(choice="continue", scope=scope))
        assert (await held).kind == "go_on"
        assert [await asks_again(agent, "cat shop.py"), await asks_again(agent, "cat cart.py")] == list(asks)


async def asks_again(agent: Agent, call: str) -> bool:
    """Return whether five rounds of ``call`` open a gate, which is dismissed."""
    for _ in range(5):
        if agent.gates:
            break
        await agent.do(call, "total = None")
    if not agent.gates:
        return False
    held = asyncio.ensure_future(agent.do("ls"))
    await asyncio.sleep(0)
    await agent.answer(Answer(choice="continue"))
    await held
    return True


async def test_each_attempt_is_looked_at_for_itself(repo: Path) -> None:
    """Every attempt looks round and fails once: that is the ladder's affair, and no loop inside one."""
    async with working(repo) as agent:
        for _ in range(3):
            await agent.do("ls", "shop.py")
            await agent.do("pytest -q", "FAILED t.py::test_total - assert 1 == 2", failed=True)
            agent.session.abandon(agent.session.row.attempt, "test")
            await agent.supervisor.core.journal.committed()
            agent.supervisor.core.append(e.RecoveryDecided(choice="continue"), task="web")
            await agent.session.begin()
        assert len(agent.of(e.AttemptStarted)) == 3
        assert agent.of(e.LoopWarned) == []
        assert agent.gates == []


async def test_an_agent_that_is_only_seen_begins_anew_too(repo: Path) -> None:
    """*Go on* for once, said about an agent whose stream cannot be held: the next three rounds only tell it again."""
    async with working(repo) as agent:
        for _ in range(4):
            agent.see("cat shop.py", "total = None")
        await agent.asked()
        assert agent.gates == [("loop_detected", "loop")]
        await agent.answer(Answer(choice="continue"))
        for _ in range(3):
            agent.see("cat shop.py", "total = None")
        assert agent.gates == []
        assert [warned.repeats for warned in agent.of(e.LoopWarned)] == [3, 3]


async def test_a_held_agents_files_are_safe_before_it_is_asked_about(repo: Path) -> None:
    """The tree is saved once, before the question that says under which id; calls that come meanwhile wait."""
    (repo / "half.py").write_text("half = True\n", encoding="utf-8")
    async with working(repo) as agent:
        while not agent.supervisor.core.live.asking:
            agent.session.see(Observation(kind="action", text=admit("pytest -q")))
            agent.session.see(Observation(kind="failure", text=admit("E   KeyError: 'a'"), exit_code=1))
        assert agent.gates == []
        hurried = await agent.session.step(Observation(kind="action", text=admit("rm half.py")), within=0.0)
        assert hurried.kind == "deny"
        assert agent.gates == []
        calls = [asyncio.ensure_future(agent.do("rm half.py")) for _ in range(2)]
        await agent.asked()
        saved, opened = [one for one in agent.heard if isinstance(one, (e.CheckpointCreated, e.GateOpened))][-2:]
        assert saved.purpose == "question"
        assert opened.context["checkpoint"] == saved.id
        await agent.supervisor.core.journal.committed()
        assert not any(call.done() for call in calls)
        await agent.answer(Answer(choice="continue"))
        await asyncio.gather(*calls)
        store = agent.supervisor.core.checkpoints(repo)
        (repo / "half.py").unlink()
        assert [change.path for change in (await store.plan(saved.id)).changes] == ["half.py"]
        assert len([one for one in agent.of(e.CheckpointCreated) if one.purpose == "question"]) == 1


async def test_who_has_ended_meanwhile_is_not_asked_about(repo: Path) -> None:
    """The attempt is over before its files are saved: its end is judged, and no question about it is left open."""
    async with working(repo) as agent:
        while not agent.supervisor.core.live.asking:
            agent.see("cat shop.py", "total = None")
        agent.session.abandon(agent.session.row.attempt, "test")
        await agent.asked()
        assert agent.of(e.GateOpened) == []
        assert agent.session.row.saved == ""
