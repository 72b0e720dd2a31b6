"""Two tasks that change the same file, on a phone: the mark on both rows, and the button that holds the later one."""

from __future__ import annotations

import json

import psutil
import pytest
from playwright.async_api import Browser, expect
from tests.browser.conftest import PHONE, Serving, let_in, recorded
from tests.web.test_page_answers import colliding

from unstuck.eventlog import events as e

NAMES = ["tidy", "a-task-" + "with-a-very-long-name-" * 4 + "indeed", "x" * 120]


async def test_a_thumb_holds_the_later_one(serving: Serving, browser: Browser) -> None:
    """Both rows name the file and have the button; one tap suspends the agent, and its question is on top."""
    async with serving(quiet=True) as stage, colliding(stage) as (later, other, process):
        page = await let_in(browser, stage, **PHONE)
        for name, with_name in ((later, other), (other, later)):
            await expect(page.locator(f'[data-task="{name}"]')).to_contain_text(f"⋈ {with_name}: a.py")
        buttons = page.get_by_role("button", name=f"Hold {later}, the later one")
        await expect(buttons).to_have_count(2)
        box = await buttons.first.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert process.status() != psutil.STATUS_STOPPED
        await buttons.last.tap()
        await expect(page.get_by_role("heading", name=f"{later} is held")).to_be_visible()
        await expect(page.locator(f'[data-task="{later}"]')).to_contain_text("needs you")
        await expect(buttons).to_have_count(0)
        assert process.status() == psutil.STATUS_STOPPED


async def test_a_collision_comes_up_on_an_open_page(serving: Serving, browser: Browser) -> None:
    """The page is open while two tasks begin to change a file: mark and button come unasked, and go with the file."""
    async with serving(quiet=True) as stage:
        for name in ("early", "late"):
            stage.story.task(name)
            stage.story.start(name)
        await recorded(stage)
        page = await let_in(browser, stage, **PHONE)
        await expect(page.locator('[data-task="late"]')).to_be_visible()
        await expect(page.locator(".hold")).to_have_count(0)
        stage.story.append(e.FilesCollide(other="early", paths=("shop/cart.py",)), "late")
        await recorded(stage)
        for name, other in (("late", "early"), ("early", "late")):
            await expect(page.locator(f'[data-task="{name}"]')).to_contain_text(f"⋈ {other}: shop/cart.py")
        stage.story.append(e.FilesCollide(other="early", paths=()), "late")
        await recorded(stage)
        for name in ("late", "early"):
            await expect(page.locator(f'[data-task="{name}"]')).not_to_contain_text("shop/cart.py")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_long_names_fit_and_axe_finds_nothing(serving: Serving, browser: Browser, axe: str, scheme: str) -> None:
    """At 390 pixels no name, path or button is wider than the screen, and contrast and names are good."""
    async with serving(quiet=True) as stage, colliding(stage) as (later, _, _process):
        for name in NAMES:
            stage.story.task(name)
            stage.story.start(name)
            stage.story.spawned(name)
            stage.story.append(e.FilesCollide(other=later, paths=("a" * 90, "b/" * 60)), name)
        await recorded(stage)
        page = await let_in(browser, stage, **PHONE, color_scheme=scheme, bypass_csp=True)
        await expect(page.get_by_role("button", name=f"Hold {NAMES[1]}, the later one").first).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["viewport"]["width"]
        for box in await page.locator(".hold button").evaluate_all(
            "(all) => all.map((one) => [one.getBoundingClientRect().right, one.scrollWidth - one.clientWidth])"
        ):
            assert box[0] <= PHONE["viewport"]["width"]
            assert box[1] <= 0
        await page.evaluate(axe)
        found = await page.evaluate("axe.run()")
        bad = [
            (one["id"], one["nodes"][0]["html"])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert json.dumps(bad) == "[]"
