"""A run, a bare screen that asks, and a clock that stands still; agents are coroutines that note what they hear."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from unstuck import Answer, Guidance, Outcome, Report, Supervisor, Task, admit
from unstuck.contract import Capabilities, Observation, Observer, Receipt
from unstuck.runs.view.local_run import LiveRun
from unstuck.settings.models import Settings
from unstuck_tui.app.themes import GROUNDS
from unstuck_tui.control.question_controller import QuestionController
from unstuck_tui.dialogs.dialog import QUIET_S
from unstuck_tui.dialogs.question_dialog import QuestionDialog
from unstuck_tui.dialogs.quit import QuitDialog
from unstuck_tui.keys.actions import key_of
from unstuck_tui.runs.tracker import Tracker

PATIENCE = 60
QUICK = Settings.model_validate({"failure_handler": {"max_retries": 1, "max_pivots": 0, "max_research": 0}})


class Bare(App[None]):
    """Nothing but what asks: a field to type in, and dialogs over it."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__()
        self.view = LiveRun(supervisor)
        self.tracker = Tracker.of(self.view)
        self.questions = QuestionController(self, self.tracker, self.view)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(GROUNDS)

    def compose(self) -> Any:
        yield Input(id="field", disabled=True)

    def on_mount(self) -> None:
        self.tracker.wake = lambda: self.call_later(self.frame)
        self.frame()

    def frame(self) -> None:
        self.tracker.take()
        self.questions.frame()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.questions.key()
        await super().on_event(event)


class Agent:
    """Fails until it is told what the test waits for, and writes down every text it gets."""

    def __init__(self, *reports: Report | None, fails: int = 2) -> None:
        self.reports, self.fails, self.told = list(reports), fails, list[Guidance]()

    async def __call__(self, guidance: Guidance) -> Report | None:
        self.told.append(guidance)
        if self.reports:
            return self.reports.pop(0)
        if len(self.told) <= self.fails:
            raise KeyError("currency")
        return None


class Hanging:
    """Hangs in its first attempt until it is let go."""

    def __init__(self) -> None:
        self.told, self.go = list[Guidance](), asyncio.Event()
        self.started = asyncio.Event()

    async def __call__(self, guidance: Guidance) -> None:
        self.told.append(guidance)
        self.started.set()
        if len(self.told) == 1:
            await self.go.wait()


class Looping:
    """Runs the same failing command as often as it is let, in every attempt until one is told something."""

    can = Capabilities(hold="step", fresh=True, stop=True)

    def __init__(self, rounds: int) -> None:
        self.rounds, self.told, self.heard = rounds, list[Guidance](), list[str]()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        self.told.append(guidance)
        for number in range(self.rounds if len(self.told) == 1 else 0):
            for kind in ("action", "failure"):
                text = admit("make test" if kind == "action" else "KeyError: 'currency'")
                directive = await observer.step(Observation(kind=kind, text=text, id=f"c{number}", exit_code=1))  # type: ignore[arg-type]
                if directive.gate:
                    self.heard.append(f"{directive.kind} {directive.text}".strip())
                    await observer.delivered(directive)
                if directive.kind == "stop":
                    return Report(how="stopped")
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()


class World:
    """A supervisor, a screen and a clock that stands still."""

    def __init__(self, supervisor: Supervisor, app: Bare, pilot: Pilot[None], clock: ManualClock) -> None:
        self.supervisor, self.app, self.pilot, self.clock = supervisor, app, pilot, clock
        self.moved = asyncio.Event()
        supervisor.core.journal.on_durable(lambda record: self.moved.set())
        self.working: list[asyncio.Future[Outcome]] = []

    def work(self, agent: Any, name: str = "web", **fields: Any) -> asyncio.Future[Outcome]:
        task = Task(id=name, prompt=admit("Make the shop work"), **fields)
        self.working.append(asyncio.ensure_future(self.supervisor.supervise(task, agent)))
        return self.working[-1]

    def fails(self, name: str = "web", fails: int = 2) -> Agent:
        """Work a task whose agent raises so often; after the second time it is stuck."""
        agent = Agent(fails=fails)
        self.work(agent, name)
        return agent

    def reports(self, *reports: Report, name: str = "web") -> Agent:
        """Work a task whose agent ends with these reports, one an attempt."""
        agent = Agent(*reports, fails=0)
        self.work(agent, name)
        return agent

    def loops(self, rounds: int, name: str = "web") -> Looping:
        """Work a task whose agent repeats itself."""
        agent = Looping(rounds)
        self.work(agent, name)
        return agent

    async def until(self, seen: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not seen():
                self.moved.clear()
                await asyncio.wait_for(self.moved.wait(), PATIENCE)

    async def asked(self, count: int = 1) -> None:
        """Until so many gates are open, for good, and the screen has had its frame; one that does not pop is opened."""
        await self.until(lambda: len(self.supervisor.state.open_gates()) >= count)
        await self.pilot.pause()
        await self.pilot.pause()
        newest = self.supervisor.state.open_gates()[-1]
        if not self.is_asking and newest.gate.type != "stuck":
            self.app.questions.ask(newest.id)
            await self.pilot.pause()

    @property
    def gate(self) -> str:
        return self.supervisor.state.open_gates()[0].id

    @property
    def dialog(self) -> QuestionDialog:
        assert isinstance(self.app.screen, QuestionDialog)
        return self.app.screen

    @property
    def is_asking(self) -> bool:
        return isinstance(self.app.screen, QuestionDialog)

    async def awake(self) -> None:
        """The dialog is there, and takes keys."""
        quiet_s = getattr(self.app.screen, "quiet_s", QUIET_S)
        async with asyncio.timeout(PATIENCE):
            await self.clock.slept_until(self.clock.monotonic() + quiet_s)
        await self.clock.advance(quiet_s)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def choose(self, *actions: str) -> None:
        """The first keys that the registry has for these actions."""
        await self.press(*(key_of(action) for action in actions))

    async def write(self, text: str) -> None:
        await self.press(*(" " if c == " " else "enter" if c == "\n" else c for c in text.replace(" ", " ")))

    def rows(self) -> list[str]:
        """Return the text on the screen, line by line."""
        return ["".join(segment.text for segment in row) for row in self.app.screen._compositor.render_strips()]

    def shown(self) -> str:
        """Return the text on the screen, with runs of blanks made one."""
        return " ".join(" ".join(self.rows()).replace("│", " ").split())

    async def until_shown(self, *texts: str) -> None:
        """Until all of these are on the screen."""
        async with asyncio.timeout(PATIENCE):
            while not all(text in self.shown() for text in texts):
                await self.pilot.pause()

    def place_of(self, text: str) -> tuple[int, int]:
        """Return the place of a text on the screen."""
        return next((row.index(text), number) for number, row in enumerate(self.rows()) if text in row)

    async def hangs(self) -> Hanging:
        """Work a task whose agent is at work until it is let go."""
        agent = Hanging()
        self.work(agent)
        await asyncio.wait_for(agent.started.wait(), PATIENCE)
        await self.supervisor.core.journal.committed()
        return agent

    async def leaves(self) -> None:
        """Press the `quit` key, and wait for the first 300 ms."""
        self.app.questions.leave()
        await self.pilot.pause()
        assert isinstance(self.app.screen, QuitDialog)
        await self.awake()

    async def reopen(self, task: str = "") -> None:
        """Press the `answer` key, and wait for the first 300 ms."""
        self.app.questions.ask_next(task)
        await self.pilot.pause()
        await self.awake()

    async def answered(self, gate: str) -> Answer:
        """Until the gate has its answer."""
        await self.until(lambda: self.supervisor.state.gates[gate].status != "open")
        answer = self.supervisor.state.gates[gate].answer
        assert answer is not None
        return answer

    @property
    def notices(self) -> list[str]:
        """Return the toasts."""
        return [notice.message for notice in self.app._notifications]

    async def done(self) -> Outcome:
        """Return the status of the task that was begun last."""
        return await asyncio.wait_for(self.working[-1], PATIENCE)


Opening = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def opening(repo: Path, clock: ManualClock) -> Opening:
    @asynccontextmanager
    async def opened(size: tuple[int, int] = (120, 40)) -> AsyncIterator[World]:
        async with Supervisor.open(repo, QUICK, clock=clock, person=True) as supervisor:
            app = Bare(supervisor)
            async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
                world = World(supervisor, app, pilot, clock)
                try:
                    yield world
                finally:
                    for work in world.working:
                        work.cancel()
                    await asyncio.gather(*world.working, return_exceptions=True)

    return opened


@pytest.fixture
def stuck(opening: Opening) -> Opening:
    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[tuple[World, Agent]]:
        """A task that has become stuck, and its dialog, awake."""
        async with opening(**options) as world:
            agent = world.fails()
            await world.asked()
            await world.awake()
            yield world, agent

    return opened


@pytest.fixture
def overdue(opening: Opening) -> Opening:
    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[World, Hanging]]:
        """A task that has used up its 100 seconds, and its dialog, awake."""
        async with opening() as world:
            agent = Hanging()
            world.work(agent, timeout_s=100.0)
            await asyncio.wait_for(agent.started.wait(), PATIENCE)
            await world.clock.advance(100)
            await world.asked()
            await world.awake()
            yield world, agent

    return opened
