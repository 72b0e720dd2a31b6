"""An agent asks whether it may do something: its call waits, and hears what the person says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.supervision.conftest import Records

from unstuck import Answer, Directive, Observation, Report, Supervisor, Task, admit
from unstuck.contract import Capabilities
from unstuck.settings.models import Settings

ASKING = Capabilities(hold="freeze", tell=True, resume=True, stop=True)


class Caller:
    """One attempt whose calls ask first."""

    def __init__(self, supervisor: Supervisor, session: Any, settled: Any) -> None:
        self.supervisor, self.session, self._settled = supervisor, session, settled

    def call(self, command: str, why: str = "") -> asyncio.Task[Directive]:
        asked = Observation(kind="action", text=admit(command), id=admit(command))
        return asyncio.ensure_future(self.session.permit(asked, why=admit(why)))

    async def gate(self) -> Any:
        """The one question that is open, once it is."""
        return await self._settled.asked()

    async def answer(self, **answer: Any) -> Any:
        row = await self.gate()
        await self.supervisor.answer(row.id, Answer(**answer))
        return row.gate

    def status(self, gate: str) -> str:
        return self.supervisor.core.head.gates[gate].status


@asynccontextmanager
async def asking(repo: Path, records: Any, **settings: Any) -> AsyncIterator[Caller]:
    async with Supervisor.open(repo, Settings(**settings)) as supervisor:
        settled = records(supervisor)
        session = supervisor.session(Task(id="web", prompt=admit("Make the shop work")), ASKING)
        await session.begin()
        yield Caller(supervisor, session, settled)


async def test_allowed(repo: Path, records: type[Records]) -> None:
    """The question names the call and what the agent says about it; its files are saved first, and yes lets it go."""
    async with asking(repo, records) as agent:
        call = agent.call("rm -rf build", "to build it anew")
        gate = await agent.answer(choice="allow")
        assert gate.type == "permission"
        assert gate.standing == "frozen"
        assert gate.choices == ("allow", "deny")
        assert gate.context["problem"] == "rm -rf build"
        assert gate.context["context"] == "to build it anew"
        assert gate.context["saved"]
        directive = await call
        assert directive.kind == "go_on"
        assert directive.gate == gate.id
        await agent.session.delivered(directive)
        assert agent.status(gate.id) == "delivered"


@pytest.mark.parametrize(
    ("why", "told"), [("use make clean", "This was not allowed: use make clean"), ("", "This was not allowed")]
)
async def test_denied(repo: Path, records: type[Records], why: str, told: str) -> None:
    """A no reaches the call, with the person's reason where there is one."""
    async with asking(repo, records) as agent:
        call = agent.call("rm -rf build")
        await agent.answer(choice="deny", text=admit(why))
        directive = await call
        assert directive.kind == "deny"
        assert directive.text == told


async def test_one_after_the_other(repo: Path, records: type[Records]) -> None:
    """Two calls at once are two questions, and each hears its own answer."""
    async with asking(repo, records) as agent:
        first, second = agent.call("make deploy"), agent.call("make clean")
        gate = await agent.answer(choice="deny")
        assert gate.context["problem"] == "make deploy"
        assert (await first).kind == "deny"
        gate = await agent.answer(choice="allow")
        assert gate.context["problem"] == "make clean"
        assert (await second).kind == "go_on"


async def test_nobody_may_be_asked(repo: Path, records: type[Records]) -> None:
    """With `ask: never` it is denied at once and told so: silence is never consent."""
    async with asking(repo, records, ask="never") as agent:
        directive = await agent.call("make deploy")
        assert directive.kind == "deny"
        assert "Nobody may be asked" in directive.text
        assert agent.supervisor.core.head.gates == {}


async def test_words_reach_an_agent_between_its_calls(repo: Path, records: type[Records]) -> None:
    """An agent that can be told at any time hears the answer to another question without making a call, once."""
    async with asking(repo, records) as agent:
        words = asyncio.ensure_future(agent.session.next_answer())
        for _ in range(4):
            agent.session.see(Observation(kind="action", text=admit("cat shop.py")))
            agent.session.see(Observation(kind="success", text=admit("total = None"), exit_code=0))
        gate = await agent.answer(choice="show_me", text=admit("read cart.py instead"))
        assert gate.type == "loop_detected"
        directive = await words
        assert directive.text == "A person says: read cart.py instead"
        again = asyncio.ensure_future(agent.session.next_answer())
        assert (await agent.session.step(Observation(kind="action", text=admit("cat cart.py")))).kind == "go_on"
        assert not again.done()
        again.cancel()


async def test_a_permission_is_no_word_between_calls(repo: Path, records: type[Records]) -> None:
    """A reply to a call goes to that call alone."""
    async with asking(repo, records) as agent:
        words = asyncio.ensure_future(agent.session.next_answer())
        call = agent.call("make deploy")
        await agent.answer(choice="deny", text=admit("not on a Friday"))
        assert "Friday" in (await call).text
        assert not words.done()
        words.cancel()


async def test_its_end_takes_the_question_back(repo: Path, records: type[Records]) -> None:
    """Once the attempt has ended nobody is asked about its call any more."""
    async with asking(repo, records) as agent:
        call = agent.call("make deploy")
        gate = (await agent.gate()).id
        await agent.session.end("web.1", Report(how="crashed"))
        assert agent.status(gate) == "withdrawn"
        assert (await call).kind in ("deny", "stop")


async def test_answered_while_nothing_was_live(repo: Path, records: type[Records]) -> None:
    """A run that was left with the question open is answered and gone on with: the same call is not asked again."""
    async with asking(repo, records) as agent:
        call = agent.call("make deploy")
        gate, run = (await agent.gate()).id, agent.supervisor.run
        call.cancel()
        agent.session.abandon("web.1", "left")
    async with Supervisor.open(repo, resume=run) as supervisor:
        session = supervisor.session(Task(id="web", prompt=admit("Make the shop work")), ASKING)
        await supervisor.answer(gate, Answer(choice="allow"))
        assert (await session.begin()).kind == "start"
        again = Caller(supervisor, session, records(supervisor))
        directive = await again.call("make deploy")
        assert directive.kind == "go_on"
        assert directive.gate == gate
        await session.delivered(directive)
        other = again.call("make deploy")
        assert (await again.gate()).id != gate
        other.cancel()


async def test_what_is_said_of_one_call_is_said_to_no_other(repo: Path, records: type[Records]) -> None:
    """The agent gives its call up while a person thinks; the next one waits for the answer, but is not told it."""
    async with asking(repo, records) as agent:
        call = agent.call("make deploy")
        await agent.gate()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        other = asyncio.ensure_future(
            agent.session.step(Observation(kind="action", text=admit("make test"), id=admit("make test")))
        )
        await agent.answer(choice="deny", text=admit("not on a Friday"))
        assert (await other).kind == "go_on"


async def test_a_long_call_with_another_middle_is_asked_again(repo: Path, records: type[Records]) -> None:
    """A permission from before a restart holds for the very same call, not for one that looks like it."""
    ends = "echo so far so good; " * 200
    async with asking(repo, records) as agent:
        call = agent.call(f"{ends} make test; {ends}")
        gate, run = (await agent.gate()).id, agent.supervisor.run
        call.cancel()
        agent.session.abandon("web.1", "left")
    async with Supervisor.open(repo, resume=run) as supervisor:
        session = supervisor.session(Task(id="web", prompt=admit("Make the shop work")), ASKING)
        await supervisor.answer(gate, Answer(choice="allow"))
        await session.begin()
        again = Caller(supervisor, session, records(supervisor))
        other = again.call(f"{ends} rm -rf ~/; {ends}")
        assert (await again.gate()).id != gate
        other.cancel()
