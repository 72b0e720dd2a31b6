"""``report_failure``, ``report_progress`` and ``checkpoint``: what an agent is told, and what is in the record then."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from tests.mcp.conftest import Watched, told

from unstuck.eventlog import events as e

FAILURE = {"error": "E   assert 0 == 3\ntest_price.py:5: AssertionError", "exit_code": 1, "command": "pytest -q"}
SHORT = {"max_retries": 1, "max_pivots": 1, "max_research": 1}


async def test_the_ladder_answers_until_it_is_used_up(watched: Watched, repo: Path) -> None:
    """The same failure again and again: a hint, another approach, what to read; then a person is asked with all
    that was tried, and their words come back in the very call. Failures and advice are in the record."""
    (repo / "test_price.py").write_text("def test_total():\n    x = 1\n    y = 2\n\n    assert x == 3\n")
    async with watched(failure_handler=SHORT) as world:
        agent = world.agent()
        first = await told(agent.call("report_failure", {**FAILURE, "approach": "guess"}))
        assert "What failed: assert 0 == 3 (test_price.py:5)" in first.text
        assert "Retry 1/1: Keep your approach" in first.text
        assert "Hint: test_price.py:5:" in first.text
        second = await told(agent.call("report_failure", FAILURE))
        assert "Pivot 1/1: Leave this approach and take another one: " in second.text
        third = await told(agent.call("report_failure", FAILURE))
        assert "Research 1/1: Do not try again yet." in third.text
        assert "assert x == 3" in third.text  # what was found there
        call = asyncio.ensure_future(agent.call("report_failure", FAILURE))
        (gate,) = await world.until(world.open)
        assert gate.type == "stuck"
        assert gate.standing == "held"
        assert gate.context["attempts"] == {"retries": 1, "pivots": 1, "research": 1}
        assert "assert 0 == 3" in gate.context["question"]
        assert str(gate.context["checkpoint"]).startswith("chk-")
        await world.says(gate, "retry", "count the prices")
        assert (await told(call)).text == "A person says: leave this approach and take count the prices"
        again = await told(agent.call("report_failure", FAILURE))
        assert "Retry 1/1" in again.text  # a new climb
        steps = [step for step in world.of(e.StepRecorded) if step.role == "system"]
        assert [step.text for step in steps[:2]] == [first.text, second.text]
        failures = [step for step in world.of(e.StepRecorded) if step.kind == "failure"]
        assert len(failures) == 5
        assert {step.identity for step in failures} == {gate.context["signature"]}
        assert "pytest -q" in failures[0].text


async def test_a_trouble_that_may_pass_is_waited_for(watched: Watched) -> None:
    """A failure that is not the agent's fault uses up no level: wait, then the very same again."""
    async with watched() as world:
        said = await told(world.agent().call("report_failure", {"error": "Error: HTTP 429 Too Many Requests"}))
        assert "It may pass without a change: wait 1 s, then try the very same again." in said.text


async def test_exit_code_zero_is_no_failure(watched: Watched) -> None:
    """It is said, and nothing is climbed."""
    async with watched() as world:
        said = await told(world.agent().call("report_failure", {"error": "all well", "exit_code": 0}))
        assert said.text == "Exit code 0 is no failure. Go on."


async def test_progress_is_an_observation(watched: Watched) -> None:
    """An agent's word about itself stands in the log as its own, without control characters."""
    async with watched() as world:
        said = await told(world.agent().call("report_progress", {"message": "parser \x1b[31mdone\x1b[0m"}))
        assert said.text == "Noted. Go on."
        assert said.failed is False
        (step,) = world.of(e.StepRecorded)
        assert step.kind == "message"
        assert step.role == "agent"
        assert step.text == "parser done"


async def test_a_checkpoint_on_request(watched: Watched, repo: Path) -> None:
    """The tree is saved under the agent's own reason, and can be brought back; also several times at once."""
    async with watched() as world:
        agent = world.agent()
        (repo / "draft.txt").write_text("first\n")
        said = await told(agent.call("checkpoint", {"reason": "before the great rewrite"}))
        event = world.of(e.CheckpointCreated)[-1]
        assert said.text.startswith(f"Saved as {event.id}: ")
        assert f"unstuck checkpoints restore {event.id}" in said.text
        assert event.purpose == "request"
        assert event.reason == "agent: before the great rewrite"
        (repo / "draft.txt").write_text("second\n")
        several = [told(agent.call("checkpoint", {"reason": f"number {number}"})) for number in range(3)]
        assert not any(one.failed for one in await asyncio.gather(*several))
        store = world.supervisor.core.checkpoints(repo)
        await store.restore(event.id, run="test")
        assert (repo / "draft.txt").read_text() == "first\n"


async def test_a_checkpoint_that_cannot_be_made(watched: Watched, repo: Path) -> None:
    """The agent hears that nothing was saved, and why."""
    async with watched() as world:
        agent = world.agent()
        await told(agent.call("report_progress", {"message": "begin"}))
        store = repo / ".git" / "unstuck" / "checkpoints"
        shutil.rmtree(store)
        store.write_text("in the way")
        said = await told(agent.call("checkpoint", {"reason": "x"}))
        assert said.failed
        assert said.text.startswith("Nothing was saved (not possible: ")
