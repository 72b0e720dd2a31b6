"""The look of the page: narrow and wide, dark and light, for keyboards and screen readers, and light to load."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Browser, Response
from tests.browser.conftest import Serving, Stage, let_in, recorded

BELOW = ("", "/question?id=g1", "/task?id=webhook", "/recap")
AROUND = ("/runs", "/checkpoints", "/signatures", "/sessions", "/enter/x")
FIRST_BYTES, FIRST_REQUESTS = 100_000, 3


def addresses(stage: Stage) -> list[str]:
    """Every page."""
    return [*(f"{stage.path}{path}" for path in BELOW), *AROUND]


async def fill(stage: Stage) -> None:
    """A checkpoint's id, an output and a path that are longer than a phone is wide."""
    stage.story.asks("search", "question", question="x" * 200, options=["a" * 120, "b"])
    stage.story.asks("docs", "permission", problem="/very" * 60, rules=["Bash(" + "y" * 90 + ")"])
    output = stage.place.runs / stage.run / "output"
    output.mkdir(exist_ok=True)
    (output / "webhook.4.log").write_text("z" * 500 + "\n")
    await recorded(stage)


@pytest.mark.parametrize("width", [320, 390, 1280])
async def test_no_page_is_wider_than_its_screen(serving: Serving, browser: Browser, width: int) -> None:
    """Long names and paths are broken, and only code scrolls on its own."""
    async with serving() as stage:
        await fill(stage)
        page = await let_in(browser, stage, viewport={"width": width, "height": 640})
        for path in addresses(stage):
            await page.goto(f"{stage.page.address}{path}")
            assert (path, await page.evaluate("document.documentElement.scrollWidth")) == (path, width)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious(serving: Serving, browser: Browser, axe: str, scheme: Any) -> None:
    """On every page, with every answer opened: contrast, names, roles, order."""
    async with serving() as stage:
        await fill(stage)
        page = await let_in(
            browser, stage, color_scheme=scheme, viewport={"width": 390, "height": 844}, bypass_csp=True
        )
        for path in addresses(stage):
            await page.goto(f"{stage.page.address}{path}")
            await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            await page.evaluate(axe)
            found = await page.evaluate("axe.run()")
            bad = [
                (one["id"], one["nodes"][0]["html"])
                for one in found["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            assert (path, json.dumps(bad)) == (path, "[]")


async def test_targets_are_large_enough_for_a_thumb(serving: Serving, browser: Browser) -> None:
    """Each answer is at least 44 pixels high."""
    async with serving() as stage:
        page = await let_in(browser, stage, viewport={"width": 320, "height": 640})
        heights = await page.evaluate(
            "[...document.querySelectorAll('.choice')].map((one) => one.getBoundingClientRect().height)"
        )
        assert heights
        assert min(heights) >= 44


async def test_the_first_page_is_light(serving: Serving, browser: Browser) -> None:
    """Three requests besides the open stream of events, and no more than 100 KB."""
    async with serving() as stage:
        page = await let_in(browser, stage)
        fresh = await page.context.new_page()
        answers: list[Response] = []
        fresh.on("response", lambda response: answers.append(response))
        await fresh.goto(f"{stage.page.address}{stage.path}")
        loaded = [one for one in answers if "/events" not in one.url and not one.url.startswith("data:")]
        assert 0 < len(loaded) <= FIRST_REQUESTS
        assert sum([len(await one.body()) for one in loaded]) <= FIRST_BYTES
