"""The stuck dialog by real keys: what a person chooses and writes is what the agent is told, nothing by accident."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.screen.conftest import WRONG_STATUS, Showing
from tests.screen.dialogs.conftest import Agent
from textual.widgets import Input, TextArea

from unstuck import Answer, Guidance, Report, Task, admit
from unstuck.eventlog import events as e
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
                await world.choose("stuck.abandon", "stuck.abandon")
            elif name == "clicked":
                for _ in range(2):
                    await world.pilot.click(offset=world.place_of("Abandon the task"))
                    await world.pilot.pause()
            else:
                await world.choose("choices.down")
                await world.press("enter")
            await ends("skipped" if name == "moved" else "abandoned")


async def test_abandoning_takes_the_same_key_twice(stuck: Opening) -> None:
    """The first press says what the second one does; another key, or the cursor, takes it back."""
    async with stuck() as (world, _):
        await world.choose("stuck.abandon")
        assert "Press 3 again: Abandon the task" in world.shown()
        await world.choose("choices.down")
        assert "Press 3 again" not in world.shown()
        await world.choose("stuck.abandon")
        await world.choose("stuck.show_me")
        await world.choose("dialog.back")
        await world.choose("stuck.abandon")
        assert world.is_asking
        assert world.supervisor.state.gates[world.gate].status == "open"
        await world.choose("stuck.abandon")
        assert (await world.done()).status == "abandoned"


async def test_q_leaves_a_question_as_escape_does(stuck: Opening) -> None:
    """q closes the dialog and the question stays open; in a text it is a letter."""
    async with stuck() as (world, _):
        await world.choose("stuck.show_me")
        await world.press("q")
        assert world.is_asking
        await world.choose("dialog.back")
        await world.press("q")
        assert not world.is_asking
        assert world.supervisor.state.gates[world.gate].status == "open"


async def test_the_check_runs_again_from_the_dialog(stuck: Opening) -> None:
    """A task without a check refuses it and says why."""
    async with stuck() as (world, agent):
        await world.choose("stuck.check")
        assert "Not possible: the task has no check" in world.shown()
        assert len(agent.told) == 2


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
    assert "conftest.py:" in said
    assert " · same result 2 times" in said
    assert said.index("1 retry") < said.index("Saved chk-") < said.index("Failure") < said.index("Analysis")
    assert " ".join(str(context["analysis"]).split()) in said
    assert context["checkpoint"]
    assert f"Saved {context['checkpoint']}" in said
    assert "refunds, invoices stay blocked" in said
    for number in ("1 Show me how", "2 Skip this part for now", "3 Abandon the task", "4 Retry with another approach"):
        assert number in said


async def test_the_stuck_dialog_shows_what_the_task_has_changed(opening: Opening, repo: Path) -> None:
    """The changed lines stand under the names of their files; of very many the first, and the keys for all."""

    class Editing(Agent):
        async def __call__(self, guidance: Guidance) -> Report | None:
            (repo / "shop.py").write_text("".join(f"price_{number} = {number}\n" for number in range(300)))
            return await super().__call__(guidance)

    async with opening(size=(200, 60)) as world:
        world.work(Editing())
        await world.asked()
        await world.awake()
        await world.until_shown("▪ shop.py +300 -0 new", "+price_0 = 0", "+price_5 = 5")
        assert "diff --git" not in world.shown()
        assert "+price_20 = 20" in world.shown()
        assert "278 more lines: o and then 3" in world.shown()
        await world.choose("stuck.skip")
        assert (await world.done()).status == "skipped"


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
    """Keys typed for something else abandon nothing: the dialog takes keys only after 900 ms."""
    async with opening() as world:
        world.fails()
        await world.asked()
        assert world.is_asking
        await world.choose("stuck.abandon", "stuck.show_me")
        await world.press("enter", key_of("dialog.back"))
        await world.clock.advance(0.899)
        await world.choose("stuck.abandon")
        assert world.is_asking
        assert not world.dialog.is_typing
        assert len(world.supervisor.core.head.open_gates()) == 1
        await world.clock.advance(0.001)
        await world.choose("stuck.skip")
        assert (await world.done()).status == "skipped"


async def test_digits_in_a_text_are_text(stuck: Opening) -> None:
    """A person who writes `3 items` writes text; nothing is abandoned."""
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


# What a person decides by


CODE = """\
code at tests/test_webhook.py:42:
    40 | def test_webhook():
    41 |     body = b"paid"
>   42 |     assert post("/webhook", body).status == 200
    43 |
    44 | def test_refund():"""
FAILED = """\
    def test_webhook():
        body = b"paid"
>       assert post("/webhook", body).status == 200
E       assert 401 == 200
E        +  where 401 = Answer('signature is missing').status

tests/test_webhook.py:42: AssertionError
=========================== short test summary info ============================
FAILED tests/test_webhook.py::test_webhook - assert 401 == 200
"""


async def test_the_code_of_the_failure_is_in_the_dialog(showing: Showing) -> None:
    """The line that failed is marked among those of its function, above the values that the check saw there.

    What the agent said, line by line, and what was found stand below.
    """
    async with showing(size=(120, 40), pops=False) as stage:
        story = stage.story
        story.task("web", verify="pytest -q")
        story.start("web")
        said = "I cannot find the [bold]secret[/bold] of the service\nand it is in no file"
        step = 'UNSTUCK {"step": "action", "text": "shop/web.py", "tool": "edit"}'
        await story.end("web", 3, Report(exit_code=0, said=admit(f"{said}\n{step}")))
        story.fails("web", FAILED)
        related = admit("related shop/webhook.py:\n     8 | def signature(body):\n    12 | def status(body, signed):")
        climb = replace(story.core.row("web").climb, rung="research", insights=(admit(CODE), related))
        story.append(e.DirectiveIssued(level="research", line=10, climb=climb, limit=2), "web")
        story.asks(
            "web",
            problem="assert 401 == 200",
            insights=["code at tests/test_webhook.py:42:", "related shop/webhook.py:"],
        )
        await stage.settled()
        await stage.press("gate.answer")
        assert '▸ 42 |     assert post("/webhook", body).status == 200' in stage.text
        assert "  40 | def test_webhook():" in stage.text
        assert "test_refund" not in stage.text
        assert "| + where 401 = Answer('signature is missing').status" in stage.text
        first, second = said.splitlines()
        assert f"Said      {first}" in stage.text
        assert f"          {second}" in stage.text
        assert "UNSTUCK {" not in stage.text
        assert "related shop/webhook.py: def signature(body): · def status(body, signed)" in stage.text


async def test_without_research_the_dialog_quotes_the_check(showing: Showing) -> None:
    """The lines of its output around the failure stand in the dialog, also where it is small."""
    async with showing(size=(80, 24), pops=False) as stage:
        story = stage.story
        story.task("web", verify="pytest -q")
        story.start("web")
        await story.end("web", 3)
        story.fails("web", WRONG_STATUS, evidence=admit(WRONG_STATUS))
        story.asks("web", problem="expected 200 but got 401")
        await stage.settled()
        await stage.press("gate.answer")
        assert "▸ E       AssertionError: expected 200 but got 401" in stage.text
        assert all(words in stage.text for words in ("Show me how", "Skip", "Abandon", "Retry with another approach"))


async def test_tab_turns_to_the_next_question(showing: Showing) -> None:
    """Of two that wait the dialog says 1 of 2; tab leads on and round, and nothing is answered."""
    async with showing(size=(120, 40), pops=False) as stage:
        story = stage.story
        for name in ("web", "api"):
            story.task(name)
            story.asks(name, problem=f"{name} has no key")
        await stage.settled()
        await stage.press("gate.answer")
        assert "web is stuck" in stage.text
        assert "1 of 2 · tab next: api" in stage.text
        await stage.pass_time(1)
        await stage.press("dialog.next")
        assert "api is stuck" in stage.text
        assert "2 of 2 · tab next: web" in stage.text
        await stage.pass_time(1)
        await stage.press("dialog.next")
        assert "web is stuck" in stage.text
        assert len(story.core.head.open_gates()) == 2


async def test_a_single_question_names_no_other(showing: Showing) -> None:
    """Tab does nothing where nothing else waits."""
    async with showing(size=(120, 40), pops=False) as stage:
        stage.story.task("web")
        stage.story.asks("web", problem="web has no key")
        await stage.settled()
        await stage.press("gate.answer")
        await stage.pass_time(1)
        await stage.press("dialog.next")
        assert "web is stuck" in stage.text
        assert " next" not in stage.text.split("web is stuck")[0].splitlines()[-1]


async def test_what_one_decides_by_fits_the_smallest_usual_screen(showing: Showing) -> None:
    """At 80 by 24, without scrolling: the code, the last words, the tries on a line, the checkpoint, all answers."""
    async with showing(size=(80, 24), story=True) as stage:
        story = stage.story
        story.task("other")
        story.start("other")
        await stage.settled()
        await stage.pass_time(1)
        shown = stage.text
        for words in (
            "expected 200 but got 401  tests/test_webhook.py:42 · same result 3 times",
            "Tried     ●● ●  2 retries · 1 new approach ",
            "Saved     chk-1",
            "3  Abandon the task",
            "c  Check again                  You fixed it: only the check runs now. ",
            "esc leaves it open: its agent waits, others continue · ^o shell · ^g editor",
        ):
            assert words in shown


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_long_question_keeps_its_hint(showing: Showing, size: tuple[int, int]) -> None:
    """However much there is to read, the line below the choices says how to leave, and how to read on."""
    async with showing(size=size, pops=False) as stage:
        stage.story.task("web")
        stage.story.asks("web", problem="word\n" * 400)
        await stage.settled()
        await stage.press("gate.answer")
        await stage.pass_time(1)
        assert "esc leaves it open" in stage.text
        assert "more lines: page down" in stage.text


async def test_every_answer_is_in_view_on_the_smallest_screen(opening: Opening) -> None:
    """At 60 by 16 all answers of a stuck task stand on the screen, with some of what there is to read."""
    async with opening(size=(60, 16)) as world:
        world.fails()
        await world.asked()
        await world.awake()
        await world.pilot.pause()
        shown = world.shown()
        for answer in (
            "1 Show me how",
            "2 Skip this part",
            "3 Abandon the task",
            "4 Retry with another",
            "c Check again",
        ):
            assert answer in shown
        assert "currency" in shown
        assert "esc leaves it open" in shown


async def test_a_question_that_comes_while_one_is_read_is_told(showing: Showing) -> None:
    """The dialog counts it, and tab leads on to it."""
    async with showing(size=(120, 40), pops=False) as stage:
        story = stage.story
        story.task("web")
        story.asks("web", problem="web has no key")
        await stage.settled()
        await stage.press("gate.answer")
        assert "tab next" not in stage.text
        story.task("api")
        story.asks("api", problem="api has no key")
        await stage.pass_time(1.1)
        assert "1 of 2 · tab next: api" in stage.text
        await stage.press("dialog.next")
        assert "api is stuck" in stage.text


@pytest.mark.parametrize("sign", ["x", "長"])
async def test_a_long_problem_leaves_room_for_what_one_decides_by(showing: Showing, sign: str) -> None:
    """Its ends stand above the code, with its place, and all of it below the facts."""
    async with showing(size=(80, 24), pops=False) as stage:
        story = stage.story
        story.task("web", verify="pytest -q")
        story.start("web")
        await story.end("web", 3)
        story.fails("web", WRONG_STATUS, evidence=admit(WRONG_STATUS))
        problem = f"BEGIN {sign * 300} END"
        story.asks("web", problem=problem, files=["shop/web.py"], approaches=["change shop/web.py"])
        await stage.settled()
        await stage.press("gate.answer")
        assert all(words in stage.text for words in ("BEGIN", "END", "▸ E       AssertionError", "Tried", "Saved"))
        facts = stage.app.screen.query_one("#reading").query(".part")
        whole = facts.last().query(".text").last()
        assert str(whole.render()) == problem


async def test_long_last_words_hide_no_tries(showing: Showing) -> None:
    """At 80 by 24, without scrolling: the tries and the checkpoint stand above what the agent said."""
    async with showing(size=(80, 24), pops=False) as stage:
        story = stage.story
        story.task("web", verify="pytest -q")
        story.start("web")
        await story.end("web", 3, Report(exit_code=0, said=admit("\n".join(["I looked at all of it " * 9] * 3))))
        story.fails("web", WRONG_STATUS, evidence=admit(WRONG_STATUS))
        story.asks("web", problem="expected 200 but got 401")
        await stage.settled()
        await stage.press("gate.answer")
        assert all(f"{label} " in stage.text for label in ("Tried", "Saved", "Said"))


async def test_no_label_touches_its_text(showing: Showing) -> None:
    """Not the longest of them, either."""
    async with showing(size=(120, 40), pops=False) as stage:
        stage.story.task("web")
        stage.story.asks("web", problem="web has no key", approaches=["change shop/web.py"])
        await stage.settled()
        await stage.press("gate.answer")
        assert "Approaches change shop/web.py" in stage.text
