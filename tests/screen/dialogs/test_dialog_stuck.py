"""The stuck dialog by real keys: what a person chooses and writes is what the agent is told, nothing by accident."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from textual.widgets import Input, TextArea

from unstuck import Answer, Task, admit
from unstuck_tui.keys.actions import key_of

Opening = Callable[..., AbstractAsyncContextManager[Any]]


# The four answers to a stuck task


async def test_show_me_how_reaches_the_agent(stuck: Opening) -> None:
    """1, several lines and send: both lines stand in the agent's next prompt."""
    async with stuck() as (world, agent):
        await world.choose("stuck.show_me")
        await world.write("use the shop\nnot the cart")
        await world.choose("dialog.send")
        outcome = await world.done()
    assert "use the shop\nnot the cart" in agent.told[2].text
    assert outcome.status == "unverified"
    assert outcome.level == "human"


async def test_another_approach_reaches_the_agent(stuck: Opening) -> None:
    """4, a sentence and enter: the agent begins afresh with it as its approach."""
    async with stuck() as (world, agent):
        await world.choose("stuck.retry")
        await world.write("use decimal")
        await world.press("enter")
        await world.done()
    assert "Approach: use decimal" in agent.told[2].text
    assert agent.told[2].approach == "use decimal"


async def test_skip_and_abandon_by_key_cursor_and_mouse(stuck: Opening) -> None:
    """2 and 3 end the task in their own way, and no further attempt is made; so do the cursor's lines and a click."""
    async with stuck() as (world, agent):

        async def ends(status: str) -> None:
            assert (await world.done()).status == status
            assert len(agent.told) == 2
            assert {gate.by for gate in world.supervisor.state.gates.values()} == {"human"}

        await world.choose("stuck.skip")
        await ends("skipped")
        for name in ("keyed", "clicked", "moved"):
            agent = world.fails(name)
            await world.asked()
            await world.reopen()
            assert f"{name} is stuck" in world.shown()
            if name == "keyed":
                await world.choose("stuck.abandon")
            elif name == "clicked":
                await world.pilot.click(offset=world.place_of("Abandon the task"))
                await world.pilot.pause()
            else:
                await world.choose("choices.down")
                await world.press("enter")
            await ends("skipped" if name == "moved" else "abandoned")


async def test_what_the_stuck_dialog_says(opening: Opening) -> None:
    """The problem and where, what was tried, the analysis, the checkpoint, and which tasks each choice touches."""
    async with opening() as world:
        world.fails()
        world.supervisor.add(Task(id="refunds", prompt=admit("x"), needs=("web",)))
        world.supervisor.add(Task(id="invoices", prompt=admit("x"), needs=("refunds",)))
        await world.asked()
        said = world.shown()
        context = world.supervisor.state.gates[world.gate].gate.context
    assert "web is stuck" in said
    assert "KeyError: 'currency'" in said
    assert "conftest.py" in said
    assert "1 retry" in said
    assert " ".join(str(context["analysis"]).split()) in said
    assert context["checkpoint"]
    assert f"Saved {context['checkpoint']}" in said
    assert "refunds, invoices stay blocked" in said
    for number in ("1 Show me how", "2 Skip this part for now", "3 Abandon the task", "4 Retry with another approach"):
        assert number in said


# Leaving it open, keys by accident, answers from elsewhere


async def test_escape_leaves_it_open(stuck: Opening) -> None:
    """esc closes the dialog and answers nothing; it does not come up again by itself, and `answer` brings it back."""
    async with stuck() as (world, _):
        await world.press(key_of("dialog.back"))
        assert not world.is_asking
        assert len(world.supervisor.core.head.open_gates()) == 1
        world.app.call_later(world.app.frame)
        await world.pilot.pause()
        await world.pilot.pause()
        assert not world.is_asking
        await world.reopen()
        await world.choose("stuck.skip")
        assert (await world.done()).status == "skipped"


async def test_keys_of_the_first_moment_are_dropped(opening: Opening) -> None:
    """What was typed for something else abandons nothing: the dialog takes keys only after 300 ms."""
    async with opening() as world:
        world.fails()
        await world.asked()
        assert world.is_asking
        await world.choose("stuck.abandon", "stuck.show_me")
        await world.press("enter", key_of("dialog.back"))
        await world.clock.advance(0.299)
        await world.choose("stuck.abandon")
        assert world.is_asking
        assert not world.dialog.is_typing
        assert len(world.supervisor.core.head.open_gates()) == 1
        await world.clock.advance(0.001)
        await world.choose("stuck.skip")
        assert (await world.done()).status == "skipped"


async def test_digits_in_a_text_are_text(stuck: Opening) -> None:
    """Whoever writes `3 items` writes it; nothing is abandoned."""
    async with stuck() as (world, agent):
        await world.choose("stuck.retry")
        await world.write("3 items 2 x")
        await world.press("enter")
        await world.done()
    assert agent.told[2].approach == "3 items 2 x"


async def test_an_empty_show_me_is_refused(stuck: Opening) -> None:
    """Sending nothing says what is missing, and the dialog stays."""
    async with stuck() as (world, agent):
        await world.choose("stuck.show_me", "dialog.send")
        assert "Write what the agent is to do first." in world.shown()
        await world.write("now")
        await world.choose("dialog.send")
        await world.done()
    assert "now" in agent.told[2].text


async def test_a_text_survives_escape(stuck: Opening) -> None:
    """esc goes from the text to the choices and then out; the text is there again in both cases."""
    async with stuck() as (world, _):
        await world.choose("stuck.show_me")
        await world.write("half a thought")
        await world.press(key_of("dialog.back"))
        assert world.is_asking
        assert not world.dialog.is_typing
        await world.press(key_of("dialog.back"))
        assert not world.is_asking
        await world.reopen()
        await world.choose("stuck.show_me")
        assert world.dialog.query_one(TextArea).text == "half a thought"


async def test_answered_from_elsewhere(stuck: Opening) -> None:
    """The dialog closes by itself and says who was first."""
    async with stuck() as (world, _):
        await world.supervisor.answer(world.gate, Answer(choice="skip"))
        await world.done()
        await world.pilot.pause()
        assert not world.is_asking
        (notice,) = world.notices
        assert "web: answered meanwhile by a person at " in notice


async def test_answered_from_elsewhere_while_writing(opening: Opening) -> None:
    """The text is not torn away under the person's fingers: it stays, and is kept for the task's next question."""
    async with opening() as world:
        agent = world.fails(fails=4)
        await world.asked()
        await world.awake()
        await world.choose("stuck.show_me")
        await world.write("use the")
        await world.supervisor.answer(world.gate, Answer(choice="retry", text=admit("another way")))
        await world.asked()
        assert world.is_asking
        assert "answered meanwhile by a person" in world.shown()
        await world.write(" shop")
        await world.choose("dialog.send")
        assert not world.is_asking
        await world.reopen()
        await world.choose("stuck.show_me")
        assert world.dialog.query_one(TextArea).text == "use the shop"
        await world.choose("dialog.send")
        await world.done()
    assert "another way" in agent.told[2].text
    assert "use the shop" in agent.told[4].text


async def test_whoever_types_is_not_interrupted(opening: Opening) -> None:
    """A key in the last two seconds, or a text field with the focus: the question waits until I am free."""
    async with opening() as world:
        field = world.app.query_one("#field", Input)
        field.disabled = False
        field.focus()
        await world.pilot.pause()
        world.fails("one")
        await world.asked()
        assert not world.is_asking
        field.blur()
        field.disabled = True
        await world.press("f8")
        await world.clock.advance(1.9)
        world.fails("two")
        await world.asked(2)
        assert not world.is_asking
        await world.clock.advance(0.2)
        world.app.call_later(world.app.frame)
        await world.pilot.pause()
        await world.pilot.pause()
        assert world.is_asking
        assert world.dialog.question.gate.task == "one"


async def test_stuck_tasks_come_one_after_the_other(opening: Opening) -> None:
    """The second question waits below the first, comes up two seconds after my answer, and only once."""
    async with opening() as world:
        world.fails("one")
        await world.asked()
        await world.pilot.pause()
        assert world.is_asking
        world.fails("two")
        await world.asked(2)
        await world.awake()
        await world.choose("stuck.skip")
        await world.until(lambda: len(world.supervisor.state.open_gates()) == 1)
        await world.pilot.pause()
        assert not world.is_asking
        await world.clock.advance(2.1)
        world.app.call_later(world.app.frame)
        await world.pilot.pause()
        await world.pilot.pause()
        assert world.is_asking
        assert world.dialog.question.gate.task == "two"
        await world.awake()
        await world.press("escape")
        assert not world.is_asking
        await world.clock.advance(5)
        world.app.call_later(world.app.frame)
        await world.pilot.pause()
        await world.pilot.pause()
        assert not world.is_asking
