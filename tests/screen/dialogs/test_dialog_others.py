"""The other dialogs by real keys: time-out, loop, question, and leaving the screen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from textual.widgets import Input

from unstuck import Report, admit
from unstuck_tui.keys.actions import key_of

Opening = Callable[..., AbstractAsyncContextManager[Any]]


# A time-out


async def test_a_timeout_is_extended(overdue: Opening) -> None:
    """A wrong duration is refused with what is allowed; 90s gives exactly that, then it is asked again."""
    async with overdue() as (world, agent):
        assert "No end after 1m 40s; the limit is 1m 40s" in world.shown()
        assert "the agent cannot be held and keeps running meanwhile" in world.shown()
        await world.choose("timeout.extend")
        await world.write("soon")
        await world.press("enter")
        assert "must be a duration" in world.shown()
        world.dialog.query_one(Input).value = "90s"
        await world.press("enter")
        await world.until(lambda: not world.supervisor.state.open_gates())
        await world.clock.advance(89.9)
        assert not world.supervisor.core.head.open_gates()
        await world.clock.advance(0.2)
        await world.asked()
        agent.go.set()
        outcome = await world.done()
    assert outcome.status == "unverified"
    assert outcome.attempts == 1


async def test_a_timeout_runs_on(overdue: Opening) -> None:
    """*No time limit*: the same attempt ends when it likes."""
    async with overdue() as (world, agent):
        await world.choose("timeout.continue")
        await world.until(lambda: not world.supervisor.state.open_gates())
        await world.clock.advance(10_000)
        agent.go.set()
        assert (await world.done()).attempts == 1


async def test_stop_and_retry(overdue: Opening) -> None:
    """The agent is stopped and gets the same task again."""
    async with overdue() as (world, agent):
        await world.choose("timeout.stop")
        assert (await world.done()).attempts == 2
    assert agent.told[1].text.startswith(f"{agent.told[0].text}\n\nThis is a new start of the same task. ")


async def test_stop_and_retry_with_an_approach(overdue: Opening) -> None:
    """The agent is stopped and told the other way."""
    async with overdue() as (world, agent):
        await world.choose("timeout.retry")
        await world.write("in two steps")
        await world.press("enter")
        assert (await world.done()).attempts == 2
    assert "Approach: in two steps" in agent.told[1].text


@pytest.mark.parametrize(("action", "status"), [("timeout.skip", "skipped"), ("timeout.abandon", "abandoned")])
async def test_a_timeout_ends_the_task(overdue: Opening, action: str, status: str) -> None:
    """Skip and abandon have the keys they have everywhere."""
    assert key_of(action) == key_of(action.replace("timeout", "stuck"))
    async with overdue() as (world, agent):
        await world.choose(*[action] * (2 if status == "abandoned" else 1))
        assert (await world.done()).status == status
    assert len(agent.told) == 1


async def test_a_question_that_is_out_of_date(overdue: Opening) -> None:
    """The agent ends by itself while the person reads: the dialog goes, and says that its question is closed."""
    async with overdue() as (world, agent):
        agent.go.set()
        assert (await world.done()).attempts == 1
        await world.pilot.pause()
        assert not world.is_asking
        assert world.notices == ["web: its question is closed."]


# A loop


async def test_a_loop_is_waved_on_once(opening: Opening) -> None:
    """*Let it continue: once*: the held call goes on; three more of the same are asked about again."""
    async with opening() as world:
        agent = world.loops(rounds=7)
        await world.asked()
        await world.awake()
        assert "web repeats itself" in world.shown()
        assert "the agent is held at its next tool call meanwhile" in world.shown()
        await world.choose("loop.continue__once")
        await world.until(lambda: len(world.supervisor.state.gates) == 2)
        await world.asked()
        await world.reopen()
        await world.choose("loop.continue__task")
        outcome = await world.done()
    assert outcome.status == "unverified"
    assert outcome.attempts == 1
    assert agent.heard == ["go_on", "go_on"]


async def test_a_loop_is_waved_on_for_good(opening: Opening) -> None:
    """For this pattern, or for this task: it is not asked about again, however often it comes."""
    async with opening() as world:
        for asked, action in enumerate(("loop.continue__pattern", "loop.continue__task"), 1):
            agent = world.loops(rounds=12, name=f"web-{asked}")
            await world.asked()
            await world.awake()
            await world.choose(action)
            await world.done()
            assert len(world.supervisor.state.gates) == asked
            assert agent.heard == ["go_on"]


async def test_a_looping_agent_is_shown_how(opening: Opening) -> None:
    """The held call comes back with the person's words."""
    async with opening() as world:
        agent = world.loops(rounds=4)
        await world.asked()
        await world.awake()
        await world.choose("loop.show_me")
        await world.write("read the setting first")
        await world.choose("dialog.send")
        await world.done()
    assert agent.heard == ["deny A person says: read the setting first"]


async def test_a_looping_agent_gets_another_approach(opening: Opening) -> None:
    """4 and a sentence: the held call comes back with it."""
    async with opening() as world:
        agent = world.loops(rounds=4)
        await world.asked()
        await world.awake()
        await world.choose("loop.retry")
        await world.write("use decimal")
        await world.press("enter")
        await world.done()
    assert agent.heard == ["deny Try again with a different approach: use decimal"]


async def test_a_looping_task_ends(opening: Opening) -> None:
    """The agent is told to stop and the task has ended."""
    async with opening() as world:
        for action, status in (("loop.skip", "skipped"), ("loop.abandon", "abandoned")):
            agent = world.loops(rounds=9, name=status)
            await world.asked()
            await world.awake()
            await world.choose(*[action] * (2 if status == "abandoned" else 1))
            assert (await world.done()).status == status
            assert len(agent.told) == 1


# A question


def asks(*options: str) -> Report:
    return Report(
        signal="needs_guidance",
        question=admit("Which currency?"),
        options=tuple(admit(option) for option in options),
    )


async def test_a_question_is_answered_with_an_option(opening: Opening) -> None:
    """The agent's own options have the digits; 2 tells it the second."""
    async with opening() as world:
        agent = world.reports(asks("only EUR", "only USD"))
        await world.asked()
        await world.awake()
        assert "Which currency?" in world.shown()
        await world.press("2")
        await world.done()
    assert "only USD" in agent.told[1].text
    assert "only EUR" not in agent.told[1].text


async def test_a_question_with_a_dozen_options(opening: Opening) -> None:
    """Options after the ninth have no key of their own; the cursor reaches them."""
    async with opening(size=(80, 24)) as world:
        agent = world.reports(asks(*(f"option number {number}" for number in range(1, 13))))
        await world.asked()
        await world.awake()
        await world.press(*[key_of("choices.down")] * 11, "enter")
        await world.done()
    assert "option number 12" in agent.told[1].text


async def test_a_question_is_answered_in_own_words(opening: Opening) -> None:
    """A person who likes none of the options writes an answer."""
    async with opening() as world:
        agent = world.reports(asks("only EUR"))
        await world.asked()
        await world.awake()
        await world.choose("question.show_me")
        await world.write("both\nEUR first")
        await world.choose("dialog.send")
        await world.done()
    assert "both\nEUR first" in agent.told[1].text


async def test_a_question_ends_the_task(opening: Opening) -> None:
    """Neither option: the task is left out, or given up."""
    async with opening() as world:
        for action, status in (("question.skip", "skipped"), ("question.abandon", "abandoned")):
            agent = world.reports(asks("1", "2"), name=status)
            await world.asked()
            await world.awake()
            await world.choose(*[action] * (2 if status == "abandoned" else 1))
            assert (await world.done()).status == status
            assert len(agent.told) == 1


# Leaving the screen


async def test_leaving_while_agents_work(opening: Opening) -> None:
    """The question names who is at work; *stay* and esc stay, *leave* leaves the run alone."""
    async with opening() as world:
        agent = await world.hangs()
        for key in (key_of("quit.stay"), key_of("dialog.back")):
            await world.leaves()
            assert "1 agent is at work: web" in world.shown()
            await world.press(key)
            assert not world.app.screen.is_modal
        await world.leaves()
        await world.choose("quit.leave")
        assert not world.app.is_running
        assert world.supervisor.state.run.state == "running"
        agent.go.set()
        assert (await world.done()).status == "unverified"


async def test_leaving_names_whose_agent_or_check_runs(showing: Opening) -> None:
    """Each on a line of its own: who works, whose check runs, and who is suspended."""
    async with showing() as stage:
        for name in ("web", "search", "docs"):
            stage.story.task(name)
            stage.story.start(name)
        await stage.story.end("search", 1)
        stage.story.asks("docs", "timeout", stage.story.core.row("docs").attempt)
        await stage.settled()
        await stage.press("app.quit")
        said = [
            "1 agent is at work: web",
            "1 check runs: search",
            "1 agent is suspended: docs",
            "1 question waits for you",
        ]
        rows = [[line for line in said if line in row] for row in stage.rows()]
        assert [found for found in rows if found] == [[line] for line in said]


async def test_leaving_a_run_that_ends_meanwhile(showing: Opening) -> None:
    """The question says who is at work now, and goes once nobody is and nothing goes on."""
    async with showing() as stage:
        for name in ("web", "search"):
            stage.story.task(name)
            stage.story.start(name)
        await stage.settled()
        await stage.press("app.quit")
        for name, left in (
            ("web", "1 agent is at work: search"),
            ("search", "No agent is at work at this moment"),
        ):
            await stage.story.end(name, 1)
            await stage.settled()
            assert left in stage.text
        stage.story.passes("web")
        stage.story.passes("search")
        await stage.settled()
        assert not stage.app.screen.is_modal
        assert stage.app.is_running


async def test_leaving_and_stopping(opening: Opening) -> None:
    """*Stop the run*: the agent is ended, and the run can be gone on with."""
    async with opening() as world:
        await world.hangs()
        await world.leaves()
        await world.choose("quit.stop")
        assert (await world.done()).status == "cancelled"
        assert world.supervisor.core.row("web").state == "interrupted"
        assert not world.app.is_running


async def test_leaving_when_nobody_works(opening: Opening) -> None:
    """Nothing is asked where nothing is at stake."""
    async with opening() as world:
        world.reports(None)
        await world.done()
        world.app.questions.leave()
        await world.pilot.pause()
        await world.pilot.pause()
        assert not world.app.is_running


async def test_an_agent_that_is_not_signed_in(opening: Opening) -> None:
    """Its own message first, then its cure; 1 goes on with the same words."""
    refused = Report(exit_code=1, error=admit("Invalid API key · Please run /login"))
    async with opening() as world:
        agent = world.reports(refused, None)
        await world.asked()
        await world.awake()
        shown = world.shown()
        assert "web has an agent that needs you" in shown
        assert shown.index("Invalid API key · Please run /login") < shown.index("Run `claude /login` in a terminal.")
        assert "I have fixed it: go on" in shown
        assert "the agent ended with exit code 1" in shown
        await world.press("1")
        assert (await world.done()).attempts == 2
    assert agent.told[1].text == agent.told[0].text


async def test_a_stuck_dialog_has_the_agents_last_words(opening: Opening) -> None:
    """The end of the last attempt stands among the facts, beside the analysis."""
    async with opening() as world:
        world.reports(*[Report(exit_code=7, said=admit("cannot open the index"))] * 2)
        await world.asked()
        await world.reopen()
        assert "the agent ended with exit code 7" in world.shown()
        assert "cannot open the index" in world.shown()
