"""``ask_human``: a real question, its answer as the call's result, and calls that do not end as they should."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.mcp.conftest import PATIENCE, Watched, told

from unstuck.agents.mcp.relay import Supervised
from unstuck.channel import ChannelServer, socket_path
from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME
from unstuck.eventlog.log.records import replay
from unstuck.workspace.project import locate


async def test_the_answer_is_the_result(watched: Watched, repo: Path) -> None:
    """The question stands with its options in the record before anybody sees it; the option that a person chooses comes
    back in the call, and is known to have arrived; the agent's attempt goes on."""
    async with watched() as world:
        agent = world.agent()
        call, gate = await world.asked(agent, "Which port?", options=["80", "8080"], context="Both are free.")
        assert gate.type == "question"
        assert gate.standing == "held"
        assert gate.choices[0] == "choose"
        assert gate.context["question"] == "Which port?"
        assert gate.context["options"] == ["80", "8080"]
        assert gate.context["context"] == "Both are free."
        assert str(gate.context["checkpoint"]).startswith("chk-")
        log = repo / ".git/unstuck/runs" / world.supervisor.run / LOG_NAME
        await world.supervisor.core.journal.committed()
        assert [row.id for row in replay(log).open_gates()] == [gate.id]
        await world.says(gate, "choose", number=2)
        said = await told(call)
        assert said.text == "A person has chosen option 2: 8080"
        assert said.failed is False
        await world.until(lambda: world.of(e.AnswerDelivered))
        (row,) = world.supervisor.core.head.tasks.values()
        assert row.id == "some-agent"
        assert row.state == "running"
        assert row.attempts == 1
        await agent.close()


async def test_in_ones_own_words_and_with_nothing_to_choose(watched: Watched) -> None:
    """Without options there is nothing to choose; what a person writes comes back word for word."""
    async with watched() as world:
        call, gate = await world.asked(world.agent(), "What now?")
        assert gate.choices == ("show_me", "skip", "abandon")
        await world.says(gate, "show_me", "First the cellar,\nthen the attic.")
        assert (await told(call)).text == "A person answers: First the cellar,\nthen the attic."


async def test_two_agents_and_two_questions_at_once(watched: Watched) -> None:
    """Every call gets the answer to its own question, whatever order they are answered in; two agents are two tasks."""
    async with watched() as world:
        one, other = world.agent("one"), world.agent("other")
        first, gate1 = await world.asked(one, "First?")
        second, gate2 = await world.asked(one, "Second?")
        third, gate3 = await world.asked(other, "Third?")
        assert [gate.task for gate in (gate1, gate2, gate3)] == ["one", "one", "other"]
        for gate, text in ((gate3, "c"), (gate2, "b"), (gate1, "a")):
            await world.says(gate, "show_me", text)
        assert [(await told(call)).text[-1] for call in (first, second, third)] == ["a", "b", "c"]


async def test_a_call_that_is_cut_off_loses_nothing(watched: Watched) -> None:
    """The agent gives the call up: the question stays. Asked again it is the same; what was answered in between comes
    back at once."""
    async with watched() as world:
        agent = world.agent()
        call, gate = await world.asked(agent, "Which port?")
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await world.carried(gate, False)
        again = asyncio.ensure_future(agent.call("ask_human", {"question": "Which port?"}))
        await world.carried(gate, True)
        assert [one.id for one in world.open()] == [gate.id]
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        await world.says(gate, "show_me", "8080")
        said = await told(agent.call("ask_human", {"question": "Which port?"}))
        assert said.text == "A person answers: 8080"
        assert len(world.of(e.GateOpened)) == 1


async def test_skipping_ends_the_task(watched: Watched) -> None:
    """The agent is told to stop; whatever it does later in the same session is another task."""
    async with watched() as world:
        agent = world.agent()
        call, gate = await world.asked(agent, "Shall I?")
        await world.says(gate, "skip", "not today")
        said = await told(call)
        assert said.failed
        assert "decided to skip this task" in said.text
        assert "not today" in said.text
        assert "end your turn" in said.text
        assert (await told(agent.call("report_progress", {"message": "something else"}))).text == "Noted. Go on."
        assert {row.id: row.status for row in world.supervisor.core.head.tasks.values()} == {
            "some-agent": "skipped",
            "some-agent-2": None,
        }


async def test_an_agent_that_goes_takes_its_question_along(watched: Watched) -> None:
    """Nobody is left who could be told: the question is withdrawn, and the task is over."""
    async with watched() as world:
        agent = world.agent()
        call, gate = await world.asked(agent, "Anybody there?")
        await world.says(gate, "show_me", "yes")
        await told(call)
        call, gate = await world.asked(agent, "And now?")
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await agent.close()
        await world.until(lambda: world.of(e.TaskEnded))
        assert world.supervisor.core.head.gates[gate.id].status == "withdrawn"
        assert [event.status for event in world.of(e.TaskEnded)] == ["cancelled"]


async def test_a_rule_answers_too(watched: Watched) -> None:
    """An answer that the person has set up beforehand is given at once, as a rule's."""

    def policy(state: Any) -> Any:
        return lambda gate: (0, Answer(choice="choose", number=1.0)) if gate.type == "question" else None

    async with watched(policy=policy) as world:
        said = await told(world.agent().call("ask_human", {"question": "Which port?", "options": ["80"]}))
        assert said.text == "A rule that the person has set up has chosen option 1: 80"


async def test_where_nobody_may_be_asked(watched: Watched) -> None:
    """The settings say never: the agent is told to decide itself, and no question is opened."""
    async with watched(ask="never") as world:
        said = await told(world.agent().call("ask_human", {"question": "Which port?"}))
        assert said.failed
        assert "Nobody may be asked in this run" in said.text
        assert not world.of(e.GateOpened)


async def test_hostile_words_are_text(watched: Watched) -> None:
    """Escapes and secrets of a question reach neither the record nor the screen."""
    async with watched() as world:
        call, gate = await world.asked(
            world.agent("\x1b]0;evil\x07 Agent/../x"), "\x1b[2Jred? ghp_" + "a1B2" * 9, options=["\x1b[31myes"] * 9
        )
        assert gate.task == "agent-x"
        assert gate.context["question"] == "red? [redacted]"
        assert gate.context["options"][0] == "yes"
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "ask_human needs question"),
        ({"question": "  "}, "ask_human needs question"),
        ({"question": "\u200b\u2060"}, "ask_human needs question"),
        ({"question": "x", "urgent": True}, "takes no 'urgent'"),
        ({"question": "x", "options": "80"}, "a list of at most 9 texts"),
        ({"question": "x", "options": ["y"] * 10}, "a list of at most 9 texts"),
        ({"question": "x", "options": [1]}, "options is no text"),
        ({"question": "x" * 1_000_001}, "has 1,000,001 characters, at most 1,000,000"),
    ],
)
async def test_what_cannot_be_asked(watched: Watched, arguments: dict[str, Any], words: str) -> None:
    """Refused in words that say what would be right; nothing is opened, and nothing is recorded."""
    async with watched() as world:
        message = {"tool": "ask_human", "arguments": arguments, "session": "x"}
        tools = world.supervisor.tools
        assert tools is not None
        reply = await tools.handle(message, type("Peer", (), {"pid": 0}))
        assert reply["failed"]
        assert words in reply["text"]
        assert not world.records


async def test_long_questions_with_another_middle(watched: Watched) -> None:
    """Two long questions that only begin and end alike are two, and options that nobody could read are none."""
    long = "\n".join(str(line) for line in range(2_000))
    async with watched() as world:
        agent = world.agent("one")
        first, gate = await world.asked(agent, f"{long}\nred\n{long}", options=["\u200b", "yes"])
        assert gate.context["options"] == ["yes"]
        await world.says(gate, "show_me", "no")
        assert "no" in (await told(first)).text
        second, other = await world.asked(agent, f"{long}\nRED\n{long}", options=["yes"])
        assert gate.context["question"] == other.context["question"]
        assert gate.key != other.key
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)


async def test_whatever_it_is_written_in_it_arrives(watched: Watched) -> None:
    """As many and as long texts as there may be, of characters that take the most room, are a question like others."""
    async with watched() as world:
        most = "😀" * 90_000
        call, gate = await world.asked(world.agent("one"), most, context=most, options=[most] * 9)
        assert len(gate.context["options"]) == 9
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


async def test_nobody_is_there(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a watch every tool says at once what to do instead; progress that nobody hears is no failure."""
    monkeypatch.chdir(repo)
    agent = Supervised({})
    for tool, words, failed in (
        ("ask_human", "put the question into your answer", True),
        ("report_failure", "understand it first", True),
        ("report_progress", "Go on", False),
        ("checkpoint", "nothing was saved", True),
    ):
        said = await asyncio.wait_for(agent.call(tool, {}), PATIENCE)
        assert said.text.startswith("Nobody watches this project at the moment")
        assert words in said.text
        assert said.failed is failed


async def test_the_watch_ends_while_a_call_waits(watched: Watched) -> None:
    """The call comes back and says so, and the question is in the record for later."""
    async with watched() as world:
        call, gate = await world.asked(world.agent(), "Which port?")
        run = world.supervisor.run
    said = await asyncio.wait_for(call, PATIENCE)
    assert said.failed
    assert "The supervisor went away before it had an answer" in said.text
    place = await locate(Path.cwd())
    assert replay(place.runs / run / LOG_NAME).gates[gate.id].status == "open"


async def test_a_supervisor_of_another_version(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not know the call, or speaks another protocol, is no riddle to the agent."""
    monkeypatch.chdir(repo)

    async def handler(message: Any, peer: Any) -> Any:
        return {"error": "this side speaks version 2 of the protocol: use the same unstuck on both"}

    server = ChannelServer(socket_path(Path(os.environ["UNSTUCK_RUNTIME_DIR"]), repo / ".git" / "unstuck"), handler)
    await server.start()
    said = await Supervised({}).call("ask_human", {"question": "x"})
    await server.close()
    assert said.failed
    assert said.text.startswith("The supervisor refused the call: this side speaks version 2")


async def test_an_answer_that_does_not_arrive_is_told_again(watched: Watched, clock: ManualClock) -> None:
    """An answer that was sent, and may not have arrived, is sent again when the agent asks again."""
    async with watched(clock=clock) as world:
        agent = world.agent()
        call, gate = await world.asked(agent, "Which port?")
        await world.says(gate, "show_me", "8080")
        lost = await asyncio.wait_for(call, PATIENCE)
        assert lost.exchange is not None
        await lost.exchange.close()
        assert gate.id in world.supervisor.core.live.calls
        await clock.advance(11)
        assert gate.id not in world.supervisor.core.live.calls
        assert world.supervisor.core.head.gates[gate.id].status == "sent"
        again = await told(agent.call("ask_human", {"question": "Which port?"}))
        assert again.text == "A person answers: 8080"
