"""The plan as a graph: who needs whom, what holds what, the longest way left, and what giving a task up would touch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.screen.conftest import Showing, Stage

from unstuck import Answer, Task, admit
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import State, TaskRow
from unstuck_tui.keys.actions import key_of
from unstuck_tui.render.format import width_of
from unstuck_tui.render.tasks.plan_graph import about_lines, graph_cells, graph_of, standing_of
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.screens.plan import GraphList, PlanScreen
from unstuck_tui.widgets.detail import TextPane
from unstuck_tui.widgets.task_table import TaskTable

LOGS = sorted((Path(__file__).parents[1] / "data" / "golden").glob("*.jsonl"))


def state_of(plan: dict[str, tuple[str, ...]], **rows: dict[str, Any]) -> State:
    """A run with these tasks, by what they need; blocked where they need something, unless ``rows`` says otherwise."""
    tasks = {}
    for name, needs in plan.items():
        told = {"state": "blocked" if needs else "ready"} | rows.get(name, {})
        tasks[name] = TaskRow(task=Task(id=name, prompt=admit("x"), needs=needs), **told)
    return State(tasks=tasks)


def drawn(state: State, width: int = 100, name: int = 30) -> list[str]:
    graph = graph_of({task: row.task.needs for task, row in state.tasks.items()})
    standing = standing_of(graph, state)
    lines = [graph_cells(graph, standing, state, task, width, name) for task in graph.order]
    return ["".join(cell.text for cell in line).rstrip() for line in lines]


SHOP: dict[str, tuple[str, ...]] = {
    "models": (), "webhook": ("models",), "cart": ("models",), "refunds": ("webhook",), "docs": (),
    "release": ("refunds", "cart"),
}  # fmt: skip
DONE: dict[str, Any] = {"state": "ended", "status": "succeeded"}


def test_each_task_stands_below_what_it_needs() -> None:
    """Once each, below the deepest of its needs, the others named; a glyph and a word; the longest way is marked."""
    state = state_of(SHOP, models=DONE, webhook={"state": "backoff"}, cart={"state": "running"})
    assert drawn(state) == [
        " ✓ models                         succeeded   needed by 2",
        "»… ╰─webhook                      waiting     needed by 1",
        "»◌   ╰─refunds                    blocked     waits for webhook (waiting) · needed by 1",
        "»◌     ╰─release                  blocked     waits for webhook (waiting) · needs cart, too",
        " ▶ ╰─cart                         working     needed by 1",
        " ○ docs                           queued",
    ]


def test_what_has_fallen_is_what_holds_the_rest() -> None:
    """A task that was skipped holds all that need it, before one that only takes its time."""
    state = state_of(SHOP, models=DONE, webhook={"state": "running"}, cart={"state": "ended", "status": "skipped"})
    assert any(line.endswith("waits for cart (skipped)") for line in drawn(state))


def test_while_nothing_can_be_recorded_nobody_works() -> None:
    """The disk is full: agents stand still, and the plan says so of them and of whoever waits for them."""
    state = state_of(SHOP, models={"state": "running"})
    graph = graph_of(SHOP)
    standing = standing_of(graph, state, still=True)
    lines = [graph_cells(graph, standing, state, task, 100, 30) for task in graph.order]
    lines += about_lines(graph, standing, state, "webhook", 90)
    text = "\n".join("".join(cell.text for cell in line) for line in lines)
    assert "‖ models" in text
    assert "waits for models (held)" in text
    assert "working" not in text


def test_what_giving_it_up_would_touch() -> None:
    """All that need it, directly or through others, counted and some named; what becomes of them is the plan's rule."""
    state = state_of(SHOP, models=DONE)
    graph = graph_of(SHOP)
    text = "\n".join(
        "".join(cell.text for cell in line)
        for line in about_lines(graph, standing_of(graph, state), state, "webhook", 90)
    )
    assert "models (succeeded)" in text
    assert "2 would stay blocked: refunds, release" in text
    assert "number 1 of 3 on the critical path" in text


def test_a_plan_that_goes_round_is_drawn_all_the_same() -> None:
    """Needs that nobody knows and needs in a circle: every task stands there once."""
    plan = {"a": ("b",), "b": ("a",), "c": ("nothing",), "d": ("a", "d")}
    assert sorted(graph_of(plan).order) == ["a", "b", "c", "d"]
    assert len(drawn(state_of(plan))) == 4


def test_ten_thousand_in_a_row() -> None:
    """However deep a plan is, it is ordered and drawn, each need looked at a bounded number of times."""

    class Counted(dict[str, tuple[str, ...]]):
        looked = 0

        def __getitem__(self, key: str) -> tuple[str, ...]:
            self.looked += 1
            return super().__getitem__(key)

    plan = Counted({f"t{number}": (f"t{number - 1}",) if number else () for number in range(10_000)})
    graph = graph_of(plan)
    assert graph.depth["t9999"] == 9_999
    assert plan.looked <= 20_000
    state = state_of(dict(plan))
    standing = standing_of(graph, state)
    assert len(standing.chain) == 10_000
    line = graph_cells(graph, standing, state, "t9999", 60, 60)
    assert sum(width_of(cell.text) for cell in line) <= 60
    assert "9999 would stay blocked" in "".join(
        cell.text for line in about_lines(graph, standing, state, "t0", 80) for cell in line
    )


@pytest.mark.parametrize("log", LOGS, ids=[log.stem for log in LOGS])
def test_what_holds_what_is_worked_out_anew_when_it_may_have_changed(log: Path) -> None:
    """Each second the plan asks only whether a task has ended, or begun or ceased to wait: nothing else moves it."""
    state = State()
    tracker = Tracker(lambda: state, ManualClock())
    placed, known = -1, standing_of(graph_of({}), state)
    for record in read_records(log):
        fold(state, record)
        tracker.see(record)
        tracker.take()
        graph = graph_of({task: row.task.needs for task, row in state.tasks.items()})
        now = standing_of(graph, state)
        assert now == known or tracker.placed != placed, record.name
        placed, known = tracker.placed, now


async def test_it_is_seen_at_every_size_and_left(showing: Showing) -> None:
    """d shows it, every line fits; o leads to what holds a task, and enter selects that on the main screen."""
    async with showing(story=True, size=(60, 16), pops=False) as stage:
        stage.main.query_one(TaskTable).select("refunds")
        await stage.pilot.press(key_of("view.plan"))
        await stage.settled()
        screen = stage.app.screen
        assert isinstance(screen, PlanScreen)
        assert screen.query_one(GraphList).selected == "refunds"
        for size in ((60, 16), (80, 24), (120, 40), (250, 60)):
            await stage.pilot.resize_terminal(*size)
            await stage.settled()
            rows = stage.rows()
            assert {width_of(row) for row in rows} == {size[0]}
            assert any("╰─refunds" in row for row in rows)
            assert any("held by" in row and "webhook (needs you)" in row for row in rows)
        await stage.pilot.press(key_of("graph.holder"))
        assert screen.query_one(GraphList).selected == "webhook"
        await stage.pilot.press(key_of("graph.open"))
        await stage.settled()
        assert stage.app.screen is stage.main
        assert stage.main.query_one(TaskTable).selected == "webhook"


async def needing_many(stage: Stage) -> list[str]:
    """A task, ``release``, of which there is more to say than fits; returns those that it needs."""
    names = [f"a-task-with-quite-a-long-name-{number}" for number in range(6)]
    for name in names:
        stage.story.task(name)
    stage.story.task("release", needs=tuple(names))
    await stage.settled()
    return names


async def test_nothing_is_lost_under_a_scrollbar(showing: Showing) -> None:
    """Text about a task is whole also if it must be scrolled."""
    async with showing(size=(60, 16)) as stage:
        stage.story.task("alone")
        await needing_many(stage)
        stage.main.query_one(TaskTable).select("alone")
        await stage.pilot.press("d")
        await stage.settled()
        screen = stage.app.screen
        screen.query_one(GraphList).select("release")
        await stage.settled()
        page = screen.query_one("#about", TextPane)
        assert page.show_vertical_scrollbar
        top = page.region.y
        shown = [row[: page.scrollable_content_region.width] for row in stage.rows()[top : page.region.bottom]]
        told = ["".join(cell.text for cell in line) for line in page._lines]
        shown = [row for row in shown if "─" not in row]
        assert [row.rstrip() for row in shown] == [line.rstrip() for line in told[: len(shown)]]


async def test_whoever_reads_on_is_left_where_they_are(showing: Showing) -> None:
    """While the run goes on what is said about the task changes, and is not scrolled back to its begin."""
    async with showing(size=(60, 16)) as stage:
        names = await needing_many(stage)
        stage.main.query_one(TaskTable).select("release")
        await stage.pilot.press("d")
        await stage.settled()
        screen = stage.app.screen
        assert isinstance(screen, PlanScreen)
        about = screen.query_one("#about", TextPane)
        about.scroll_to(y=2, animate=False, immediate=True)
        stage.story.start(names[0])
        await stage.story.core.journal.committed()
        screen.tick()
        await stage.settled()
        assert about.scroll_offset.y == 2
        screen.query_one(GraphList).select(names[0])
        await stage.settled()
        assert about.scroll_offset.y == 0


async def test_the_plan_follows_what_holds_a_task(showing: Showing) -> None:
    """Of two tasks that it waits for, the one that asks a person is named as soon as it does, and no longer."""
    async with showing(pops=False) as stage:
        for name in ("slow", "asked"):
            stage.story.task(name)
            stage.story.start(name)
        stage.story.task("release", needs=("slow", "asked"))
        await stage.settled()
        await stage.press("view.plan")
        await stage.settled()
        assert "waits for slow (working)" in stage.text
        gate = stage.story.asks("asked")
        await stage.settled()
        stage.app.screen.tick()
        await stage.settled()
        assert "waits for asked (needs you)" in stage.text
        await stage.story.supervisor.answer(gate, Answer(choice="skip"))
        await stage.settled()
        stage.app.screen.tick()
        await stage.settled()
        assert "waits for asked (skipped)" in stage.text


async def test_only_what_is_in_view_is_drawn(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of tasks a frame draws as many lines as the screen has, and a change of state is seen."""
    asked: list[int] = []
    cells = GraphList.line_cells

    def counted(self: GraphList, index: int, width: int) -> Any:
        asked.append(index)
        return cells(self, index, width)

    monkeypatch.setattr(GraphList, "line_cells", counted)
    async with showing(size=(80, 24)) as stage:
        for number in range(3_000):
            stage.story.task(f"t{number}", needs=(f"t{number - 1}",) if number % 10 else ())
        await stage.settled()
        await stage.pilot.press("d")
        await stage.settled()
        await stage.pilot.press("G")
        await stage.settled()
        assert len(set(asked)) < 60
        assert "t2999" in stage.text
        stage.story.start("t0")
        await stage.story.core.journal.committed()
        await stage.pilot.press("g")
        stage.app.screen.tick()
        await stage.settled()
        assert "working" in stage.text
