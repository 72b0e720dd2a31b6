"""Before a run that was cut off goes on: what each task has left, and what is to become of it. Nothing happens here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from unstuck.clock import Clock
from unstuck.supervision.recovery.facts import RecoveryChoice, RecoveryState, TaskRecovery
from unstuck.supervision.recovery.review import Standstill
from unstuck_tui.dialogs.dialog import QUIET_S
from unstuck_tui.keys.actions import Area, bindings_of, spoken
from unstuck_tui.render.format import Cell, fit
from unstuck_tui.render.recovery import (
    choice_lines,
    facts_lines,
    heading,
    name_width,
    other_lines,
    task_cells,
    title_of,
)
from unstuck_tui.widgets.lines import Lines
from unstuck_tui.widgets.minimum_size import FittingScreen, SmallNotice

_LOOK_S = 0.5


class TaskList(Lines, can_focus=True):
    """The tasks that were cut off, and below them those that continue without a decision."""

    AREA = "standstill"
    BINDINGS = bindings_of("standstill")
    DEFAULT_CSS = "TaskList { height: auto; max-height: 40%; }"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.cursor = 0
        self._rows: list[tuple[TaskRecovery, RecoveryChoice, bool]] = []
        self._name_width = 0
        self._others: list[str] = []

    def fill(self, rows: list[tuple[TaskRecovery, RecoveryChoice, bool]], others: list[str], name: int) -> None:
        """Show these tasks, with what is to become of each and whether its check runs now; ``name`` cells for names."""
        self._rows, self._others, self._name_width = rows, others, name
        self.cursor = max(0, min(self.cursor, len(rows) - 1))
        self.resized()
        self.refresh(layout=True)

    @property
    def selected(self) -> TaskRecovery | None:
        return self._rows[self.cursor][0] if self._rows else None

    def line_total(self) -> int:
        return len(self._rows) + len(self._others)

    def nothing_here(self) -> str:
        return "No task was at work."

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        if index >= len(self._rows):
            return (Cell(fit(self._others[index - len(self._rows)], width), "quiet"),)
        task, choice, checking = self._rows[index]
        return task_cells(task, choice, self._name_width, width, checking=checking)

    def is_cursor(self, index: int) -> bool:
        return index == self.cursor and index < len(self._rows)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(1, self.line_total())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        screen = self.screen
        return not isinstance(screen, RecoveryScreen) or screen.is_awake

    def action_cursor(self, by: int) -> None:
        self.cursor = max(0, min(len(self._rows) - 1, self.cursor + by))
        if self.cursor == len(self._rows) - 1:
            self.scroll_to_line(
                self.line_total() - 1
            )  # lines of tasks that continue have no cursor to scroll them into view
        self.scroll_to_line(self.cursor)
        self.refresh()
        if isinstance(self.screen, RecoveryScreen):
            self.screen.complain("")
            self.screen.draw()


class RecoveryScreen(FittingScreen[bool], ModalScreen[bool]):
    """Lists the facts and takes a choice for each task. Only ``begin`` does something, and then to all of them."""

    OWN: ClassVar[tuple[Area, ...]] = ("recovery", "standstill")
    BINDINGS = bindings_of("recovery", "standstill")
    DEFAULT_CSS = """
    RecoveryScreen {
        layout: vertical; background: $surface;
        #title { height: 1; text-style: bold; color: $text-warning; padding: 0 1; }
        #heading { height: 1; color: $text-muted; padding: 0 1; }
        TaskList { padding: 0 1; }
        #below { height: 1fr; }
        #about { height: 1fr; border-top: solid $foreground 30%; padding: 0 1; scrollbar-size-vertical: 1; }
        #facts { height: auto; }
        #choices { height: auto; padding: 0 1; border-top: dashed $foreground 30%; }
        #trouble { height: auto; max-height: 2; color: $text-error; display: none; padding: 0 1; }
        #hint { height: auto; color: $text-muted; padding: 0 1; }
    }
    RecoveryScreen.-short {
        TaskList { max-height: 25%; }
        #choices { border-top: none; }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]  # noqa: RUF012

    def __init__(self, standstill: Standstill, *, clock: Clock) -> None:
        super().__init__()
        self.is_awake = False
        self._standstill, self._clock = standstill, clock
        self._chosen: dict[str, RecoveryChoice] = {}
        self._checking: set[str] = set()
        self._shown: object = None
        self._told = ""
        self._is_over = False

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="heading", markup=False)
        yield TaskList(id="left")
        with Vertical(id="below"):
            with VerticalScroll(id="about", can_focus=False):
                yield Static(id="facts", markup=False)
            yield Static(id="choices", markup=False)
            yield Static(id="trouble", markup=False)
            yield Static(id="hint", markup=False)
        yield SmallNotice(markup=False)

    def on_mount(self) -> None:
        self.query_one(TaskList).focus()
        self.set_interval(_LOOK_S, self.look)
        self.draw()
        self.run_worker(self._wake(), group="wake")

    async def _wake(self) -> None:
        """A key that was on its way when this came up was meant for something else."""
        await self._clock.sleep(QUIET_S)
        self.is_awake = True
        self.draw()

    def on_resize(self, event: object) -> None:
        self.call_after_refresh(self.draw)

    def look(self) -> None:
        """Something may be known by now: a proposal, or that everything was decided from elsewhere."""
        if self._standstill.is_over:
            self._finish(True)
            return
        facts = self._standstill.refresh()
        if (facts, self._standstill.evaluating) != self._shown:
            self.draw()

    def choice_of(self, task: TaskRecovery) -> RecoveryChoice:
        """The choice for ``task``: the person's, else the one that lets it go on."""
        chosen = self._chosen.get(task.task)
        return chosen if chosen in task.possible else task.usual

    def draw(self) -> None:
        if not self.is_whole:
            return
        facts, tasks = self._standstill.facts, self.query_one(TaskList)
        self._shown = (facts, self._standstill.evaluating)
        rows = [(task, self.choice_of(task), task.task in self._checking) for task in facts.tasks]
        inner = max(20, self.size.width - 2)
        name = name_width(facts, inner)
        tasks.fill(rows, list(other_lines(facts)), name)
        self._say("title", title_of(facts))
        self._say("heading", heading(name, inner) if facts.tasks else "")
        task = tasks.selected
        width = max(20, self.size.width - 3)
        self._say("facts", "\n".join(facts_lines(task, width)) if task is not None else "")
        self._say("choices", "\n".join(choice_lines(task, self.choice_of(task), width)) if task is not None else "")
        if task is not None and task.task != self._told:
            self._told = task.task
            self.query_one("#about").scroll_home(animate=False)
        self._hint()
        self.call_after_refresh(self._hint)  # how much there is to read shows only once it has its place

    def _hint(self) -> None:
        """Show the key hints."""
        if not self.is_whole:
            return
        text, proposed = self._standstill.evaluating, any(task.proposal for task in self._standstill.facts.tasks)
        reads = self.query_one("#about").max_scroll_y > 0
        hint = _hint(proposed, reads) if self._standstill.facts.tasks else _hint_without_tasks()
        hint = hint if self.is_awake else ""
        self._say("hint", (f"{text}\n" if text else "") + hint)

    def _say(self, id: str, text: str) -> None:
        self.query_one(f"#{id}", Static).update(Content(text))

    def complain(self, trouble: str) -> None:
        """Say why something cannot be done; an empty text undoes it."""
        self._say("trouble", trouble)
        self.query_one("#trouble").display = bool(trouble)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.is_awake and not self.is_small

    def action_cursor(self, by: int) -> None:
        self.query_one(TaskList).action_cursor(by)

    def action_read(self, pages: int) -> None:
        about = self.query_one("#about")
        about.scroll_relative(y=pages * max(1, about.size.height - 1), animate=False)

    def action_choose(self, name: str) -> None:
        task = self.query_one(TaskList).selected
        if task is None:
            return
        choice = next((one for one in task.possible if one == name), None)
        self.complain("" if choice else task.refused.get(name, "not possible: none of its processes is running"))
        if choice is not None:
            self._chosen[task.task] = choice
            self.draw()

    def action_all(self) -> None:
        self._chosen.clear()
        self.complain("")
        self.draw()

    def action_propose(self) -> None:
        for task in self._standstill.facts.tasks:
            if task.proposal is not None and task.proposal.choice in task.possible:
                self._chosen[task.task] = task.proposal.choice
        self.draw()

    def action_check(self) -> None:
        task = self.query_one(TaskList).selected
        if task is None or task.task in self._checking:
            return
        if task.check.result == "none" or task.processes:
            self.complain("it has no check" if task.check.result == "none" else "a process of it is still at work")
            return
        self._checking.add(task.task)
        self.run_worker(self._check(task.task), group="checks")
        self.draw()

    async def _check(self, task: str) -> None:
        try:
            await self._standstill.check(task)
        finally:
            self._checking.discard(task)
        self.draw()

    def action_begin(self) -> None:
        self.run_worker(self._begin(), group="begin", exclusive=True)

    async def _begin(self) -> None:
        facts: RecoveryState = self._standstill.facts
        refused = await self._standstill.decide({task.task: self.choice_of(task) for task in facts.tasks})
        if refused:
            self.complain("; ".join(f"{task}: {why}" for task, why in refused.items()))
            return
        self._standstill.begin()
        self._finish(True)

    def action_undecided(self) -> None:
        """Leave: nothing is decided, and everything stays as it was found."""
        self._finish(False)

    def _finish(self, decided: bool) -> None:
        if not self._is_over:
            self._is_over = True
            self.dismiss(decided)


def _hint_without_tasks() -> str:
    """The key hints where there is nothing to choose for a task."""
    begin, leave, help = (spoken(f"standstill.{name}") for name in ("begin", "leave", "help"))
    return f"{begin}: resume the run · {leave}: later · {help}: help"


def _hint(proposed: bool, more: bool) -> str:
    """The key hints; with proposals there is one more, and less room, and so with ``more`` to read."""
    names = ("begin", "check", "all", "leave", "help")
    begin, check, everything, leave, help = (spoken(f"standstill.{name}") for name in names)
    text = f"{begin}: resume the run · {check}: check · {everything}: continue all · "
    if more:
        text += f"{spoken('standstill.read_down')}: read on · "
    if proposed:
        text += f"{spoken('standstill.propose')}: as proposed · "
    return f"{text}{leave}: {'leave' if proposed or more else 'later'} · {help}: help"
