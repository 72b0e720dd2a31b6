"""A screen on a run that a test makes up record by record: real log, fold and app, and a clock that stands still."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.manual_clock import ManualClock
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog import events as e
from unstuck.runs.view.local_run import LiveRun
from unstuck.settings.screen_settings import ScreenSettings
from unstuck.supervision.gates.gate_types import CHOICES
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.keys.actions import key_of
from unstuck_tui.screens.main import MainScreen
from unstuck_tui.widgets.detail import Detail
from unstuck_tui.widgets.task_table import TaskTable

WRONG_STATUS = """\
    def test_webhook():
>       assert post("/webhook").status == 200
E       AssertionError: expected 200 but got 401

tests/test_webhook.py:42: AssertionError
FAILED tests/test_webhook.py::test_webhook - AssertionError: expected 200 but got 401
"""
WRONG_TYPE = """\
Traceback (most recent call last):
  File "shop/cart.py", line 18, in total
    return sum(prices)
TypeError: unsupported operand type(s) for +: 'int' and 'str'
"""
TOO_MANY = "HTTP 429: Too Many Requests"


MOMENT_S, MOMENTS = 0.02, 30
READING = ("replay", "growing", "searching", "reading", "details")
"""Groups of workers that read beside the loop; one may have been cancelled for another of its kind."""

_PARSED: dict[object, LRUCache[object, object]] = {}
"""Parsed style sheets, by the variables of a theme that they were read with."""


class Story:
    """Writes records as a run would. Seconds pass only here."""

    def __init__(self, supervisor: Supervisor, clock: ManualClock) -> None:
        self.supervisor, self.core, self.clock = supervisor, supervisor.core, clock

    def append(self, event: e.Event, task: str = "", attempt: str = "", actor: Any = "policy") -> None:
        self.core.append(event, task=task, attempt=attempt, actor=actor)

    def task(self, name: str, agent: str = "backend-1", agent_type: str = "backend", **fields: Any) -> None:
        told = {"prompt": admit("Make it work"), **fields}
        self.supervisor.add(Task(id=name, agent=agent, agent_type=agent_type, **told))

    def start(self, name: str, level: Any = "first", *, limit: float = 900, approach: str = "") -> None:
        number = self.core.row(name).attempts + 1
        guidance = Guidance(
            attempt=f"{name}.{number}",
            number=number,
            level=level,
            text=admit("Make it work"),
            workdir=self.core.root,
            approach=admit(approach) if approach else None,
        )
        self.append(e.AttemptStarted(guidance=guidance, limit_s=limit), name, guidance.attempt)

    def spawned(self, name: str) -> None:
        self.append(e.AgentSpawned(pid=1, start=1.0), name, self.core.row(name).attempt)

    async def end(self, name: str, seconds: float, report: Report | None = None) -> None:
        await self.clock.advance(seconds)
        self.append(
            e.AttemptEnded(report=report or Report(exit_code=0), seconds=seconds), name, self.core.row(name).attempt
        )

    def passes(self, name: str, **fields: Any) -> None:
        self.append(e.CheckFinished(result="passed", command="make test", **fields), name, self.core.row(name).attempt)
        self.append(e.TaskEnded(task_id=name, status="succeeded"), name)

    def fails(self, name: str, printed: str, **fields: Any) -> None:
        found = diagnose(printed, exit_code=1, task_id=name)
        assert found is not None
        self.append(
            e.CheckFinished(result="failed", command="make test", exit_code=1, diagnosis=found.as_dict(), **fields),
            name,
            self.core.row(name).attempt,
        )

    def directs(self, name: str, level: Any, limit: int = 3, **counts: int) -> None:
        climb = replace(self.core.row(name).climb, rung=level, **counts)
        self.append(e.DirectiveIssued(level=level, line=10, climb=climb, limit=limit), name)
        self.append(e.DirectivePrepared(level=level, text=admit("Do it differently")), name)

    def asks(self, name: str, kind: Any = "stuck", attempt: str = "", **context: Any) -> str:
        gate = f"g{len(self.core.head.gates) + 1}"
        event = e.GateOpened(gate=gate, type=kind, context=context, choices=CHOICES[kind], attempt_id=attempt)
        self.append(event, name, attempt)
        return gate

    async def shop(self) -> None:
        """One task of every kind, as a busy hour leaves them."""
        self.task("models")
        self.task("webhook", verify="pytest -q tests/test_webhook.py")
        self.task("cart", agent="backend-2")
        self.task("search", agent="frontend-1", agent_type="frontend")
        self.task("migrate", agent="devops-1", agent_type="devops")
        self.task("rates", agent="qa-1", agent_type="qa")
        self.task("refunds", needs=("webhook",))
        self.task("docs", agent="", agent_type="documentation")
        self.start("models")
        await self.end("models", 362)
        self.passes("models")
        await self.webhook()
        self.start("cart", limit=1800)
        await self.end("cart", 40)
        self.fails("cart", WRONG_TYPE)
        self.directs("cart", "pivot", pivots=1, repeats=1)
        self.start("cart", "pivot", limit=1800, approach="use Decimal")
        self.spawned("cart")
        self.start("migrate", limit=720)
        await self.clock.advance(500)
        self.start("search", limit=900)
        self.start("rates")
        await self.end("rates", 8)
        self.fails("rates", TOO_MANY)
        retry = e.TransientErrorRetry(error_type="HTTP_ERROR", retry=2, delay_seconds=4, climb=Climb(transient=2))
        self.append(retry, "rates")
        await self.clock.advance(1)

    async def webhook(self) -> None:
        """Four attempts, the same failure, and the question."""
        self.start("webhook")
        await self.end("webhook", 130)
        self.fails("webhook", WRONG_STATUS)
        for number, way in ((1, "body as text"), (2, "raw body")):
            self.directs("webhook", "retry", retries=number, repeats=number)
            self.start("webhook", "retry", approach=way)
            await self.end("webhook", 60 + number)
            self.fails("webhook", WRONG_STATUS)
        self.directs("webhook", "pivot", pivots=1, repeats=3)
        self.start("webhook", "pivot", approach="use the provider's SDK")
        await self.end("webhook", 95)
        self.fails("webhook", WRONG_STATUS)
        self.asks(
            "webhook",
            problem="expected 200 but got 401",
            location="tests/test_webhook.py:42",
            attempts={"retries": 2, "pivots": 1, "research": 0},
            analysis="The same failure 4 times in a row (ASSERTION_ERROR).",
            checkpoint="chk-1",
            touches=["refunds"],
        )


def has_more(screen: Screen[Any]) -> bool:
    """Return whether it waits for a layout, a drawing, or an action after them."""
    if screen.app._resize_event is not None or screen.outer_size != screen.app.size:
        return True
    todo = (screen._layout_required, screen._scroll_required, screen._repaint_required, screen._recompose_required)
    return any(todo) or bool(screen._dirty_widgets or screen._callbacks)


class Stage:
    """The screen on that run, and the person before it."""

    def __init__(self, story: Story, app: UnstuckApp, pilot: Pilot[None]) -> None:
        self.story, self.app, self.pilot = story, app, pilot

    @property
    def main(self) -> MainScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, MainScreen))

    @property
    def selected(self) -> str:
        """The task under the cursor."""
        return self.main.query_one(TaskTable).selected

    @property
    def shown(self) -> list[str]:
        """The tasks that the table shows, in its order."""
        return list(self.main.query_one(TaskTable).shown)

    async def settled(self) -> None:
        """Everything recorded so far is durable and on the screen, and the screen has come to rest."""
        await self.story.core.journal.committed()
        self.main.frame()
        self.main.tick()
        while True:
            await self.pilot.pause()
            reading = [one for one in self.app.workers if one.group in READING or isinstance(one.node, Detail)]
            await asyncio.gather(*(worker.wait() for worker in reading), return_exceptions=True)
            await self.pilot._wait_for_screen()
            if not reading and not has_more(self.app.screen):
                return

    async def pass_time(self, seconds: float) -> None:
        await self.story.clock.advance(seconds)
        await self.settled()

    async def set_aside(self) -> None:
        """Leave the question that has come up open."""
        assert self.app.screen.is_modal
        await self.pass_time(1)
        await self.press("dialog.back")
        assert not self.app.screen.is_modal

    async def press(self, *actions: str) -> None:
        """Press the keys that the registry has for these actions."""
        await self.pilot.press(*(key_of(action) for action in actions))
        await self.settled()

    async def write(self, text: str) -> None:
        await self.pilot.press(*text)
        await self.settled()

    def rows(self) -> list[str]:
        """Return the text on the terminal."""
        visible_screen_stack.set(self.app._background_screens)
        return ["".join(part.text for part in strip) for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows())


async def at_rest(*_: float) -> None:
    """Until nothing goes on by itself within the next moment. Textual sleeps until the processor has nothing to do."""
    loop: Any = asyncio.get_running_loop()
    for _ in range(MOMENTS):  # an app that has ended draws no more, and its screen tries to again and again
        await asyncio.sleep(0)
        while loop._ready:
            await asyncio.sleep(0)
        due = [timer.when() - loop.time() for timer in loop._scheduled if not timer.cancelled()]
        if min(due, default=MOMENT_S) >= MOMENT_S:
            return
        await asyncio.sleep(min(due))


@pytest.fixture(autouse=True)
def drawn_when_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal Textual draws each frame and throws it away: here only what a test looks at is drawn.

    And a style sheet is parsed once for all apps. Every frame of an app is drawn in tests/screen/terminal.
    """

    parsed: dict[int, tuple[object, LRUCache[object, object]]] = {}

    def shared(sheet: Stylesheet) -> LRUCache[object, object]:
        variables, cache = parsed.get(id(sheet), (None, None))
        if cache is None or variables is not sheet._variables:
            cache = _PARSED.setdefault(tuple(sorted(sheet._variables.items())), LRUCache(4096))
            parsed[id(sheet)] = sheet._variables, cache
        return cache

    monkeypatch.setattr(Stylesheet, "_parse_cache", property(shared, lambda sheet, own: None), raising=False)
    for module in ("pilot", "app"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", at_rest)
    monkeypatch.setattr(Compositor, "render_update", lambda self, **_: self._dirty_regions.clear())


Showing = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def showing(repo: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Showing:
    """``async with showing(size=(120, 40)) as stage``: an empty run with its screen.

    With ``story`` it is the shop's busy hour, whose question comes up unless ``pops`` is False.
    """
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    @asynccontextmanager
    async def opened(
        size: tuple[int, int] = (120, 40),
        *,
        story: bool = False,
        pops: bool = True,
        before: Callable[[Story], Awaitable[None]] | None = None,
        settings: ScreenSettings | None = None,
        kind: Literal["plan", "watch"] = "plan",
    ) -> AsyncIterator[Stage]:
        start = e.RunStarted(project="shop", kind=kind)
        async with Supervisor.open(repo, clock=clock, person=True, start=start) as supervisor:
            told = Story(supervisor, clock)
            if story:
                await told.shop()
                await told.core.journal.committed()
            if before is not None:
                await before(told)
            quiet = ScreenSettings(notify="off", dialogs="pop" if pops else "list")
            app = UnstuckApp(LiveRun(supervisor), settings or quiet)
            async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
                stage = Stage(told, app, pilot)
                await stage.settled()
                yield stage

    return opened


@pytest.fixture(scope="session")
def past_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of finished runs' logs, kept from one test to the next."""
    return tmp_path_factory.mktemp("past")


@pytest.fixture
async def past_log(past_place: Path, repo: Path, clock: ManualClock) -> Path:
    """The log of a run that is over: the shop's busy hour, and its end."""

    async def shop(story: Story) -> None:
        await story.shop()
        await story.supervisor.answer("g1", Answer(choice="skip"))

    return await _told(past_place / "shop" / "events.jsonl", repo, clock, shop)


@pytest.fixture
async def flood_log(past_place: Path, repo: Path, clock: ManualClock) -> Path:
    """The log of a run in which a thousand things happened in one second."""

    async def flood(story: Story) -> None:
        story.task("web")
        story.start("web")
        for number in range(1_000):
            event = e.LoopWarned(pattern="same call", repeats=number, evidence=admit("again"))
            story.append(event, "web", story.core.row("web").attempt)

    return await _told(past_place / "flood" / "events.jsonl", repo, clock, flood)


async def _told(log: Path, repo: Path, clock: ManualClock, tell: Callable[[Story], Awaitable[None]]) -> Path:
    if not log.exists():
        start = e.RunStarted(project="shop", kind="plan")
        async with Supervisor.open(repo, clock=clock, person=True, start=start) as supervisor:
            await tell(Story(supervisor, clock))
            path = supervisor.core.journal.path
        shutil.copytree(path.parent, log.parent)
    return log
