"""A run that a test makes up record by record, its page on a real port, and browsers that were let in or not."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.manual_clock import ManualClock
from tests.screen.conftest import Story

from unstuck import Supervisor
from unstuck.eventlog import events as e
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.state import State
from unstuck.runs.view.local_run import LiveRun
from unstuck.workspace.project import Project, locate
from unstuck_web.server import PageOptions, PageServer, served

FORM = re.compile(r'name="form" value="([0-9a-f]+)"')


@dataclass
class Reader:
    """A browser without JavaScript: it follows links, sends forms, and keeps its cookie."""

    http: httpx.AsyncClient
    form: str = ""

    async def get(self, path: str, **options: Any) -> httpx.Response:
        response = await self.http.get(path, **options)
        if found := FORM.search(response.text):
            self.form = found[1]
        return response

    async def post(self, path: str, **fields: str) -> httpx.Response:
        """Send a form of the page that was read last, as a browser does."""
        origin = str(self.http.base_url).rstrip("/")
        return await self.http.post(path, data={"form": self.form, **fields}, headers={"origin": origin})

    async def text(self, path: str) -> str:
        """The words of a page, as a person reads them."""
        return words(await self.get(path))

    async def enter(self, link: str) -> httpx.Response:
        """Open a link and press its button."""
        token = link.rpartition("/")[2]
        await self.get(f"/enter/{token}")
        return await self.post("/enter", token=token)


@dataclass
class Stage:
    """A run, and the page on it."""

    place: Project
    supervisor: Supervisor
    story: Story
    page: PageServer
    wall: list[float]
    _stack: AsyncExitStack
    _supervised: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def run(self) -> str:
        return self.supervisor.run

    @property
    def path(self) -> str:
        """The address of the run's page."""
        return f"/runs/{self.run}"

    def state(self) -> State:
        """The state of the run as its log tells it."""
        return current_state(self.place.runs / self.run)[0]

    async def stranger(self, **options: Any) -> Reader:
        """A browser that was not let in."""
        http = httpx.AsyncClient(base_url=self.page.address, timeout=30, trust_env=False, **options)
        return Reader(await self._stack.enter_async_context(http))

    async def reader(self) -> Reader:
        """A browser that has opened a link, on the page of the run."""
        reader = await self.stranger(follow_redirects=True)
        await reader.enter(self.page.link())
        await reader.get(self.path)
        return reader

    async def end(self) -> None:
        """End the process of the run: its page is served on."""
        await self._supervised.aclose()


Serving = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def serving(repo: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Serving:
    """``async with serving() as stage``: the shop's busy hour with its page.

    ``beside``: the page is served as by `unstuck web`, which is not the run's process. ``quiet``: a run without tasks.
    """
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    @asynccontextmanager
    async def opened(*, beside: bool = False, quiet: bool = False, **options: Any) -> AsyncIterator[Stage]:
        wall = [1_800_000_000.0]
        async with AsyncExitStack() as stack:
            supervised = await stack.enter_async_context(AsyncExitStack())
            start = e.RunStarted(project="shop", kind="plan")
            supervisor = await supervised.enter_async_context(
                Supervisor.open(repo, clock=clock, person=True, start=start)
            )
            story = Story(supervisor, clock)
            if not quiet:
                await story.shop()
            await story.core.journal.committed()
            place = await locate(repo)
            own = None if beside else LiveRun(supervisor, "page")
            page = await stack.enter_async_context(
                served(place, PageOptions(**options), dict(supervisor.core.environ), own=own, now=lambda: wall[0])
            )
            yield Stage(place, supervisor, story, page, wall, stack, supervised)

    return opened


def words(response: httpx.Response) -> str:
    """The text of a page without its markup, in one line."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", response.text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())
