"""Real browsers on the page of a run that a test makes up. `make browser` installs what they need, or names it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.conftest import Serving, Stage, serving

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

__all__ = ["Serving", "Stage", "serving"]

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]
TOP = Path(__file__).resolve().parents[2]
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def program() -> str:
    """The browser; the test fails with its name where there is none."""
    named = os.environ.get("UNSTUCK_BROWSER", "")
    found = named or next(filter(None, map(shutil.which, PROGRAMS)), "")
    assert found, "no browser: install chromium (Debian: apt install chromium), or name one with UNSTUCK_BROWSER"
    return found


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which npm installs in ``build/browser``."""
    place = TOP / "build" / "browser"
    source = place / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        assert shutil.which("npm"), "npm is needed to install axe-core"
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", str(place), "axe-core@4"], check=True)
    return source.read_text("utf-8")


@pytest.fixture
async def chromium() -> AsyncIterator[Callable[..., Awaitable[Browser]]]:
    """``await chromium()`` starts a browser; with arguments of its own where a test gives some."""
    from playwright.async_api import async_playwright

    async with async_playwright() as tools:
        begun: list[Browser] = []

        async def start(*arguments: str) -> Browser:
            options = ["--no-sandbox", "--disable-dev-shm-usage", *arguments]
            browser = await tools.chromium.launch(executable_path=program(), args=options)
            begun.append(browser)
            return browser

        yield start
        for browser in begun:
            with suppress(Exception):
                await browser.close()


@pytest.fixture
async def browser(chromium: Callable[..., Awaitable[Browser]]) -> Browser:
    """A browser."""
    return await chromium()


async def let_in(browser: Browser, stage: Stage, **options: Any) -> Page:
    """A page of a new browser profile whose person has opened the link and pressed its button."""
    context: BrowserContext = await browser.new_context(**options)
    page = await context.new_page()
    await page.goto(stage.page.link())
    await page.get_by_role("button", name="Open it in this browser").click()
    await page.wait_for_url(f"**{stage.path}")
    return page


async def recorded(stage: Stage) -> None:
    """Everything told so far is in the log."""
    await stage.story.core.journal.committed()
