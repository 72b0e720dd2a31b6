"""A page that stays open: over restarts and kills, with many tasks, many events, and a slow connection."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import Serving, let_in, recorded

from unstuck import Report
from unstuck.eventlog import events as e

LINK = re.compile(r"http://127\.0\.0\.1:\d+/enter/\S+")
LONG = 60_000
"""Milliseconds that a slow machine is given."""


async def link_of(process: subprocess.Popen[Any]) -> str:
    """The link that the process prints."""
    assert process.stdout is not None
    while line := await asyncio.to_thread(process.stdout.readline):
        if found := LINK.search(line):
            return found[0]
    raise AssertionError("it printed no link")


async def test_an_open_page_finds_its_run_again_after_a_kill(
    serving: Serving, browser: Browser, start: Callable[..., subprocess.Popen[Any]]
) -> None:
    """The server is killed with SIGKILL and started again: what happened meanwhile is on the page, unasked."""
    async with serving(beside=True) as stage:
        options: dict[str, Any] = {"cwd": stage.place.root, "stdout": subprocess.PIPE, "text": True}
        first = start("web", **options)
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(await link_of(first))
        await page.get_by_role("button").click()
        await expect(page.get_by_role("heading", name="webhook is stuck")).to_be_visible()
        mark = await page.evaluate("window.same = Math.random()")
        first.send_signal(signal.SIGKILL)
        await asyncio.to_thread(first.communicate)
        await expect(page.locator("#stale")).to_be_visible()
        gate = stage.story.asks("search", "question", question="Which port?", options=["80", "8080"])
        await recorded(stage)
        second = start("web", **options)
        await link_of(second)
        await expect(page.locator(f"#q-{gate}")).to_contain_text("Which port?", timeout=LONG)
        await expect(page.locator("#stale")).to_be_hidden()
        assert await page.evaluate("window.same") == mark
        await page.locator(f"#q-{gate}").get_by_role("button", name="8080", exact=True).click()
        await expect(page.get_by_text("choose 8080, by a person on the page")).to_be_visible()
        second.send_signal(signal.SIGTERM)
        await asyncio.to_thread(second.communicate)


async def test_a_page_tells_when_the_process_of_its_run_has_gone(serving: Serving, browser: Browser) -> None:
    """And then offers to resume it."""
    async with serving(beside=True) as stage:
        page = await let_in(browser, stage)
        await expect(page.get_by_role("button", name="Resume the run")).to_have_count(0)
        await stage.end()
        await expect(page.get_by_role("button", name="Resume the run")).to_be_visible()
        await expect(page.locator("#head")).to_contain_text("its supervisor is gone")


async def test_a_thousand_tasks_stay_current(serving: Serving, browser: Browser) -> None:
    """A hundred on a page; one of them that changes is drawn again, and a question comes up first."""
    async with serving(quiet=True) as stage:
        for number in range(1000):
            stage.story.task(f"task-{number}")
        await recorded(stage)
        page = await let_in(browser, stage)
        await expect(page.locator(".task")).to_have_count(100)
        stage.story.start("task-7")
        await recorded(stage)
        await expect(page.locator('[data-task="task-7"]')).to_contain_text("working")
        stage.story.start("task-999")
        gate = stage.story.asks("task-999", problem="It does not work")
        await recorded(stage)
        await expect(page.locator(f"#q-{gate}")).to_contain_text("task-999 is stuck")
        await expect(page.locator(".counts")).to_contain_text("1 needs you")


async def test_five_thousand_events_a_minute_reach_an_open_page(serving: Serving, browser: Browser) -> None:
    """Every tenth of a second eight records for ten seconds: the page shows the last of them, and a click works."""
    async with serving(quiet=True) as stage:
        for number in range(20):
            stage.story.task(f"task-{number}")
        await recorded(stage)
        page = await let_in(browser, stage)
        for step in range(104):
            name = f"task-{step % 20}"
            stage.story.start(name, approach=f"way {step}")
            stage.story.append(e.AttemptInterrupted(reason="again"), name, stage.story.core.row(name).attempt)
            for _ in range(6):
                stage.story.append(e.TimerCancelled(gate="none"), name)
            await asyncio.sleep(0.1)
        gate = stage.story.asks("task-3", "question", question="The last one?", options=["yes", "no"])
        await recorded(stage)
        await expect(page.locator(f"#q-{gate}")).to_contain_text("The last one?")
        await page.locator(f"#q-{gate}").get_by_role("button", name="yes", exact=True).click()
        await expect(page.get_by_text("choose yes, by a person on the page")).to_be_visible()


async def slow_down(page: Page) -> None:
    """A connection of 50 kbit/s whose answers take 400 ms to arrive."""
    tools = await page.context.new_cdp_session(page)
    await tools.send("Network.enable")
    rate = 50_000 / 8
    options = {"offline": False, "latency": 400, "downloadThroughput": rate, "uploadThroughput": rate}
    await tools.send("Network.emulateNetworkConditions", options)


async def test_a_slow_connection_reads_follows_and_answers(serving: Serving, browser: Browser) -> None:
    """The page comes, a question comes up on it among many events, and its answer arrives."""
    async with serving() as stage:
        page = await let_in(browser, stage)
        await slow_down(page)
        await page.goto(f"{stage.page.address}{stage.path}", timeout=LONG)
        for step in range(50):
            stage.story.append(e.TimerCancelled(gate="none"), f"task-{step}")
            await asyncio.sleep(0.02)
        gate = stage.story.asks("search", "question", question="Which port?", options=["80", "8080"])
        await recorded(stage)
        await expect(page.locator(f"#q-{gate}")).to_contain_text("Which port?", timeout=LONG)
        await page.locator(f"#q-{gate}").get_by_role("button", name="80", exact=True).click()
        await expect(page.get_by_text("choose 80, by a person on the page")).to_be_visible(timeout=LONG)


async def test_the_output_of_an_agent_grows_on_the_page_of_its_task(serving: Serving, browser: Browser) -> None:
    """No record tells of it: the page looks for it while somebody reads it."""
    async with serving() as stage:
        output = stage.place.runs / stage.run / "output"
        output.mkdir(exist_ok=True)
        (output / "migrate.1.log").write_text("first line\n")
        page = await let_in(browser, stage)
        await page.goto(f"{stage.page.address}{stage.path}/task?id=migrate")
        await expect(page.locator("#tail")).to_contain_text("first line")
        with (output / "migrate.1.log").open("a") as log:
            log.write("second line\n")
        await expect(page.locator("#tail")).to_contain_text("second line")
        await stage.story.end("migrate", 5, Report(exit_code=0))
        stage.story.passes("migrate")
        await recorded(stage)
        await expect(page.locator("#task h1 + .mark")).to_have_text(re.compile("succeeded"))
