"""Two machines on one page in a real browser: questions of both, an answer that lands in a host's log, a cut link."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import PHONE
from tests.fleet.conftest import FAILING, Machine, machine

from unstuck.contract import Answer
from unstuck.fleet.copies import Copies
from unstuck.fleet.fleet_view import FleetView
from unstuck.fleet.link import ProcessLink
from unstuck_web.hosts import HostRuns
from unstuck_web.server import PageOptions, PageServer, served

__all__ = ["machine"]
expect.set_options(timeout=30_000)

Machines = Callable[[str], Machine]
ASKING = ("run", "--headless", "--check", FAILING, "--", "true")


class Hosts:
    """Machines with an open question each, and the list of them."""

    def __init__(self, machines: Machines, *names: str) -> None:
        self.machines = {name: machines(name) for name in names}
        self._away, self._opened = set[str](), dict[str, ProcessLink]()
        for one in self.machines.values():
            assert one.unstuck(*ASKING).returncode == 3
        self.view = FleetView(list(names)[:2], self._open, Copies(os.environ))

    async def _open(self, host: str) -> ProcessLink:
        if host in self._away:
            return await ProcessLink.open(["/does/not/exist"], os.environ)
        self._opened[host] = await self.machines[host].link()
        return self._opened[host]

    def cut(self, host: str) -> None:
        self._away.add(host)
        self._opened[host]._process.kill()

    def back(self, host: str) -> None:
        self._away.discard(host)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[PageServer]:
        following = asyncio.create_task(self.view.follow_hosts())
        runs = HostRuns(self.view, os.environ)
        try:
            async with served(runs.place, PageOptions(), os.environ, runs=runs) as page:
                async with asyncio.timeout(60):
                    while len(list(self.view.state.open_gates())) < len(self.view.hosts):
                        await asyncio.sleep(0.1)
                yield page
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


async def let_in(browser: Browser, page: PageServer, **options: object) -> Page:
    context = await browser.new_context(**options)  # type: ignore[arg-type]
    opened = await context.new_page()
    await opened.goto(page.link())
    await opened.get_by_role("button", name="Open it in this browser").click()
    await opened.wait_for_url("**/runs/hosts")
    return opened


async def test_a_question_of_another_machine_is_answered_on_the_page(machine: Machines, browser: Browser) -> None:
    """On a phone; the answer is in the log of its host and in no other, and the list goes on by itself."""
    hosts = Hosts(machine, "a", "b")
    async with hosts.served() as served_page:
        page = await let_in(browser, served_page, **PHONE)
        for name in ("a", "b"):
            await expect(page.locator("#head").get_by_text(f"{name} ✓")).to_be_visible()
            await expect(page.locator(f'[data-task="{name}/shop/task"]')).to_be_visible()
        await expect(page.locator(".card")).to_have_count(2)
        card = page.locator(".card", has=page.get_by_role("link", name="Task b/shop/task"))
        await (
            card.locator(".choice", has=page.get_by_text("Skip this part for now", exact=True))
            .get_by_role("button")
            .click()
        )
        await expect(page.get_by_role("status").filter(has_text="is answered")).to_contain_text("skip")
        await expect(page.locator(".card")).to_have_count(1)
        await expect(page.locator('[data-task="b/shop/task"]')).to_contain_text("skipped")
        assert hosts.machines["b"].logs[0].read_bytes().count(b'"gate_answered"') == 1
        assert b"gate_answered" not in hosts.machines["a"].logs[0].read_bytes()
        assert b'"via":"fleet:' in hosts.machines["b"].logs[0].read_bytes()


async def test_the_page_of_a_task_shows_what_lies_on_its_host(machine: Machines, browser: Browser) -> None:
    """The story, the failure, and the output of the check, which the host sends."""
    hosts = Hosts(machine, "a")
    async with hosts.served() as served_page:
        page = await let_in(browser, served_page)
        await page.get_by_role("link", name="a/shop/task", exact=True).click()
        await expect(page.get_by_role("heading", name="a/shop/task")).to_be_visible()
        await page.get_by_role("link", name="Check", exact=True).click()
        await expect(page.locator("#tail")).to_contain_text("assert 1 == 2")
        assert await page.get_by_role("link", name="Checkpoints").count() == 0


async def test_a_cut_host_is_unknown_and_its_questions_refuse_answers(machine: Machines, browser: Browser) -> None:
    """The open page shows it without being loaded again; once the host is back the same answer is taken."""
    hosts = Hosts(machine, "a", "b")
    async with hosts.served() as served_page:
        page = await let_in(browser, served_page)
        task = page.locator('[data-task="a/shop/task"]')
        await expect(page.locator(".card")).to_have_count(2)
        hosts.cut("a")
        await expect(page.locator("#head")).to_contain_text("a cut off, UNKNOWN since")
        await expect(task).to_contain_text("UNKNOWN")
        await expect(page.locator('[data-task="b/shop/task"]')).not_to_contain_text("UNKNOWN")
        card = page.locator(".card", has=page.get_by_role("link", name="Task a/shop/task"))
        await card.locator("summary", has_text="Retry with another approach").click()
        await card.get_by_role("textbox").first.fill("use hmac")
        await card.locator("details[open]").get_by_role("button", name="Send").click()
        await expect(
            page.get_by_role("alert").filter(has_text="nothing is sent to it until it is back")
        ).to_be_visible()
        await expect(card.locator("details[open] textarea, details[open] input[name=text]")).to_have_value("use hmac")
        hosts.back("a")
        await expect(page.locator("#head")).to_contain_text("a ✓")
        await card.locator("details[open]").get_by_role("button", name="Send").click()
        await expect(page.get_by_role("status").filter(has_text="is answered")).to_contain_text("use hmac")


async def test_of_two_people_the_second_learns_who_was_first(machine: Machines, browser: Browser) -> None:
    """The question was answered on its host meanwhile: the page says by whom and what, and takes nothing."""
    hosts = Hosts(machine, "a")
    async with hosts.served() as served_page:
        page = await let_in(browser, served_page, java_script_enabled=False)
        await expect(page.locator(".card")).to_have_count(1)
        a = hosts.machines["a"]
        (gate,) = hosts.view.state.open_gates()
        assert a.unstuck("answer", gate.id.rpartition("/")[2], "skip").returncode == 0
        await (
            page.locator(".choice", has=page.get_by_text("Skip this part for now", exact=True))
            .get_by_role("button")
            .click()
        )
        await expect(page.get_by_text("This question is answered", exact=False).first).to_be_visible()
        await expect(page.locator("main")).to_contain_text("skip")
        assert a.logs[0].read_bytes().count(b'"gate_answered"') == 1


async def test_a_host_that_joins_is_on_the_open_page(machine: Machines, browser: Browser) -> None:
    """Its tasks and its question come up without the page being loaded again."""
    hosts = Hosts(machine, "a", "b", "c")
    async with hosts.served() as served_page:
        page = await let_in(browser, served_page)
        await expect(page.locator(".card")).to_have_count(2)
        hosts.view.add("c")
        await expect(page.locator("#head")).to_contain_text("c ✓")
        await expect(page.locator(".card")).to_have_count(3)
        await expect(page.locator('[data-task="c/shop/task"]')).to_be_visible()
        (gate,) = (one.id for one in hosts.view.state.open_gates() if one.id.startswith("c/"))
        await hosts.view.answer(gate, Answer(choice="skip"))
        await expect(page.locator(".card")).to_have_count(2)
