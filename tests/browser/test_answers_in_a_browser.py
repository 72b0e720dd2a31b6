"""Answers in a real browser: at a phone's size, with and without JavaScript, by keyboard, and first of two."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import PHONE, Serving, let_in, recorded
from tests.waiting import until

from unstuck import Answer
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import read_records
from unstuck_web import guard

RACES = 200
FOUR = {
    "show_me": ("Show me how", "Sign the raw body."),
    "skip": ("Skip this part for now", None),
    "abandon": ("Abandon the task", None),
    "retry": ("Retry with another approach", "use hmac"),
}


async def press(page: Page, label: str, text: str | None, sure: bool = False) -> None:
    """Choose an answer as a person does: open it, write, send."""
    card = page.locator(".card").first
    choice = card.locator(".choice", has=page.get_by_text(label, exact=True))
    if text is None and not sure:
        await choice.get_by_role("button").click()
        return
    await choice.locator("summary").click()
    if text is not None:
        await choice.get_by_role("textbox").fill(text)
    await choice.get_by_role("button").click()


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("choice", FOUR)
async def test_the_four_answers_on_a_phone(serving: Serving, browser: Browser, choice: str, script: bool) -> None:
    """Each with a few taps; the page then says who answered, and the log how it came in."""
    async with serving() as stage:
        page = await let_in(browser, stage, **PHONE, java_script_enabled=script)
        label, text = FOUR[choice]
        await press(page, label, text, sure=choice == "abandon")
        await expect(page.get_by_role("status").filter(has_text="is answered")).to_contain_text(
            "by a person on the page"
        )
        row = stage.supervisor.state.gates["g1"]
        assert row.answer is not None
        assert (row.answer.choice, row.answer.text, row.via) == (choice, text or "", "page")


async def test_an_answer_by_keyboard_alone(serving: Serving, browser: Browser) -> None:
    """The tab key reaches every choice in its order, enter opens one, and what is written is sent."""
    async with serving() as stage:
        page = await let_in(browser, stage)
        for _ in range(60):
            await page.keyboard.press("Tab")
            if (await page.evaluate("document.activeElement.textContent")).strip().startswith("Retry with another"):
                break
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await page.keyboard.type("use hmac")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("is answered")).to_be_visible()
        answer = stage.supervisor.state.gates["g1"].answer
        assert answer is not None
        assert (answer.choice, answer.text) == ("retry", "use hmac")


async def choose(page: Page, gate: str, option: str) -> str:
    """Press the button of an option; return what the page says then."""
    async with page.expect_navigation():
        await page.locator(f"#q-{gate}").get_by_role("button", name=option, exact=True).click()
    return await page.locator("main").inner_text()


async def test_of_two_browsers_one_answers_and_the_other_learns_by_whom(
    serving: Serving, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both send at the same moment, again and again: each question has one answer, and nobody is told otherwise."""
    for limit in ("_READS", "_WRITES"):  # two people never answer so many questions in a minute
        monkeypatch.setattr(guard, limit, (100_000, 60.0))
    async with serving(quiet=True) as stage:
        # With a script the question goes from the second page as soon as the first has answered it.
        pages = [await let_in(browser, stage, java_script_enabled=False) for _ in range(2)]
        for _ in range(RACES):
            gate = stage.story.asks("", "question", question="Which one?", options=["first", "second"])
            await recorded(stage)
            await asyncio.gather(*(page.goto(f"{stage.page.address}{stage.path}") for page in pages))

            told = await asyncio.gather(choose(pages[0], gate, "first"), choose(pages[1], gate, "second"))
            answer = stage.supervisor.state.gates[gate].answer
            assert answer is not None
            assert all(re.search(rf"choose {answer.text}, by a person on the page", text) for text in told)
            assert sum("This question is answered" in text for text in told) == 1
        answers = [
            one
            for one in read_records(stage.place.runs / stage.run / "events.jsonl")
            if isinstance(one.event, e.GateAnswered)
        ]
        assert len(answers) == RACES


async def test_a_draft_outlives_the_answer_of_another(serving: Serving, browser: Browser) -> None:
    """A person who is still writing sees by whom the question was answered, and keeps every word."""
    async with serving() as stage:
        page = await let_in(browser, stage)
        await page.get_by_text("Show me how").click()
        field = page.get_by_role("textbox", name="What should the agent do?")
        await field.fill("Use the raw")
        await stage.supervisor.answer("g1", Answer(choice="skip"), via="screen")
        await expect(
            page.get_by_role("status").filter(has_text="answered: skip, by a person at the screen")
        ).to_be_visible()
        await expect(field).to_have_value("Use the raw")
        await expect(page.get_by_role("button", name="Send").first).to_be_disabled()


async def test_who_writes_stops_the_timer(serving: Serving, browser: Browser) -> None:
    """The countdown runs on the page, and ends with the first letter of an answer."""
    async with serving() as stage:
        stage.story.append(e.TimerStarted(gate="g1", seconds=600.0, choice="skip"), "webhook")
        await recorded(stage)
        page = await let_in(browser, stage)
        count = page.locator(".acts .count")
        await expect(count).to_have_text(re.compile("9m 5[0-9]s"))
        await page.get_by_text("Show me how").click()
        await page.get_by_role("textbox", name="What should the agent do?").press_sequentially("U")
        await until(stage.supervisor, lambda: stage.story.core.head.gates["g1"].gate.acts_at is None)


async def test_a_new_question_comes_up_and_an_answered_one_goes(serving: Serving, browser: Browser) -> None:
    """On an open page, without loading it again."""
    async with serving() as stage:
        page = await let_in(browser, stage)
        mark: Any = await page.evaluate("window.same = Math.random()")
        gate = stage.story.asks("search", "question", question="Which port?", options=["80", "8080"])
        await recorded(stage)
        await expect(page.locator(f"#q-{gate}")).to_contain_text("Which port?")
        await expect(page).to_have_title(re.compile(r"^\(2\) "))
        await stage.supervisor.answer(gate, Answer(choice="choose", number=1.0), via="command")
        await expect(page.locator(f"#q-{gate}")).to_have_count(0)
        assert await page.evaluate("window.same") == mark
