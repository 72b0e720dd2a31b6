"""The main screen: what needs the person, every task, and the selected one in detail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from time import thread_time
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.widgets import Input

from unstuck.eventlog.state import GateRow, later_of
from unstuck.runs.answers.batch_question import over_words, why_no_decision, why_no_hold
from unstuck.runs.view.outputs import OutputKind
from unstuck.runs.view.run_view import RunView
from unstuck.supervision.intervention.allowed import why_no_takeover
from unstuck_tui.control.clipboard import copy
from unstuck_tui.control.interventions import Interventions
from unstuck_tui.control.question_controller import QuestionController
from unstuck_tui.keys.actions import Area, bindings_of, spoken
from unstuck_tui.notifications.notifier import Notifier
from unstuck_tui.render.tasks.detail import failure_text
from unstuck_tui.render.tasks.progress import progress_text
from unstuck_tui.runs.tracker import Changes, Tracker
from unstuck_tui.screens.frame_timer import FrameTimer
from unstuck_tui.widgets.attention import AttentionList
from unstuck_tui.widgets.detail import Detail, TextPane
from unstuck_tui.widgets.frame import entitle
from unstuck_tui.widgets.header import RunHeader
from unstuck_tui.widgets.inputs import FilterField
from unstuck_tui.widgets.minimum_size import FRAMED, ROOMY, FittingScreen, frame_lines, is_below, table_height
from unstuck_tui.widgets.task_table import TableHeading, TaskTable
from unstuck_tui.widgets.workers import start

if TYPE_CHECKING:
    from unstuck.diagnosis.model import Diagnosis
    from unstuck_tui.dialogs.questions import Program

_CHANGING = frozenset(("answer", "hold", "hold_later", "decide", "by_hand"))
"""Actions that change a run, which neither a replay nor a run that is over can."""
_ABOUT_TASKS = frozenset(("open", "hold", "decide", "by_hand", "pager", "mute", "copy"))
_PASSING = ("open", "answer", "next_question", "hold", "hold_later", "decide", "by_hand", "filter")
"""Actions in the footer that the run, or another task under the cursor, makes possible or not."""
_NO_TASK = "There is no task yet."


class MainScreen(FittingScreen[None], inherit_bindings=False):
    """State comes down from the tracker once a frame; what the person does goes up as actions."""

    AREAS: ClassVar[tuple[Area, ...]] = ("main", "table", "attention", "detail")
    OWN: ClassVar[tuple[Area, ...]] = ("main",)
    BINDINGS = bindings_of("main")
    AUTO_FOCUS = "#tasks"
    DEFAULT_CSS = """
    MainScreen {
        layout: vertical;
    }
    /* Below 84 columns or 30 lines the detail takes the table's place when it is opened; what the table leaves is the
       output's. */
    MainScreen.-stacked {
        Detail { display: none; layout: vertical; }
        #story, #facts { width: 100%; }
    }
    Detail.-empty { display: none !important; }
    MainScreen.-bare, MainScreen.-stacked.-opened {
        Detail .pane { border: none; border-top: round $foreground 25%; }
        Detail .pane:focus, Detail .pane:focus-within { border-top: round $primary; }
    }
    /* What is read has the room that it needs, the failure a few lines, and the output what is left. */
    MainScreen.-stacked.-opened {
        Detail { display: block; height: 1fr; }
        #table { display: none; }
        #story, #pages, #pages > TextPane { height: auto; }
        #facts { height: 1fr; }
        #output { min-height: 1; }
    }
    MainScreen.-stacked.-beside {
        Detail { display: block; height: 1fr; }
        #story, #failure { display: none; }
    }
    """

    def __init__(self, view: RunView, tracker: Tracker, questions: QuestionController, notifier: Notifier) -> None:
        super().__init__()
        self._view, self._tracker, self._questions, self._notifier = view, tracker, questions, notifier
        self._missed = Changes()
        self._measuring = False
        self._is_up = False
        self._offered: tuple[bool | None, ...] = ()
        self._table = TaskTable(tracker, view.limits, id="tasks")

    def compose(self) -> ComposeResult:
        yield RunHeader(self._tracker, muted=lambda: self._notifier.muted.summary, id="header")
        yield AttentionList(self._tracker, guides=not self._view.is_past, id="attention", classes="pane")
        with Vertical(id="table", classes="pane"):
            yield TableHeading(self._table, id="heading")
            yield self._table
        yield Detail(self._tracker, self._view, id="detail")
        yield from self.compose_more()
        yield FilterField(
            placeholder=f"words to look for, or !words to hide; enter keeps, {spoken('view.back')} forgets", id="filter"
        )
        yield from self.compose_foot()

    def compose_more(self) -> ComposeResult:
        """Further widgets above the hints."""
        yield from ()

    async def on_mount(self) -> None:
        self._interventions = Interventions(self.app, self._view, self._questions)
        loop = asyncio.get_running_loop()
        self._timer = FrameTimer(lambda is_full: self.call_next(self._draw, is_full), loop)
        self._tracker.wake = self._timer.wake
        start(self, "replay", self._look_back)
        if self._tracker.state.run.kind == "watch" and not self._tracker.state.tasks:
            start(self, "hooks", self._look_for_hooks)
        self.call_after_refresh(self.frame)
        self._is_up = True
        self.refresh_bindings()

    async def _look_back(self) -> None:
        """Read the history from before this screen, where there is any."""
        if self._tracker.state.attempts:
            await self._tracker.look_back(self._view.log)
            self.redraw_details()

    def redraw_details(self) -> None:
        """Draw the lines about the past, which have become known."""
        self.query_one(Detail).draw()
        self._table.refresh()

    async def _look_for_hooks(self) -> None:
        self.query_one(AttentionList).tell_hooks(await self._view.hooks())

    def on_unmount(self) -> None:
        self._timer.close()

    def _draw(self, is_full: bool) -> None:
        if not any(isinstance(child, RunHeader) for child in self.children):
            return  # the screen is being closed
        begun = thread_time()
        if is_full:
            self.tick()
        else:
            self.frame()
        self._timer.spent(thread_time() - begun)

    def painted(self, seconds: float) -> None:
        if self._is_up:
            self._timer.spent(seconds)

    def frame(self) -> None:
        """Show what has changed since the last frame."""
        if (changes := self._taken()) is not None:
            self._show(changes)
        self._update_others()

    def tick(self) -> None:
        """A second has passed: show what has changed, and every clock."""
        if (changes := self._taken()) is not None:
            self._table.show(changes, clocks=True)
            self.query_one(RunHeader).show()
            self.query_one(AttentionList).show()
            self.query_one(Detail).tick(changes)
            self._offer()
            self._entitle()
            self._measure()
        self._update_others()

    def _measure(self) -> None:
        """Look how much the agents in view have printed."""
        attempts = self._table.attempts_in_view()
        if attempts and not self._measuring:
            self._measuring = True
            start(self, "activity", self._look_at_output, attempts)

    async def _look_at_output(self, attempts: Sequence[str]) -> None:
        try:
            sizes = await self._view.printed(attempts)
            self._tracker.activity.measured(sizes, self._tracker.clock.monotonic())
        finally:
            self._measuring = False

    def _update_others(self) -> None:
        """Update what is not on this screen: questions, notifications, the notice on top."""
        self._questions.frame()
        self._notifier.frame()
        if isinstance(top := self.app.screen, FittingScreen) and top.is_small and top.is_whole:
            top.update_notice()

    def _taken(self) -> Changes | None:
        """The changes to draw; None while nothing of this screen is in view: they are kept."""
        self._missed = self._missed.and_then(self._tracker.take())
        if not self.is_current:
            return None
        missed, self._missed = self._missed, Changes()
        return missed

    def on_screen_resume(self) -> None:
        """In view again: show what has gone on meanwhile."""
        self.tick()

    def _show(self, changes: Changes) -> None:
        self._table.show(changes)
        self.query_one(RunHeader).show()
        attention = self.query_one(AttentionList)
        if changes.gates or changes.rows or changes.waits or attention.mentions(changes.tasks):
            attention.show()
        self._offer()
        self.query_one(Detail).show(changes)
        self._entitle()

    def _offer(self) -> None:
        """Offer what has become possible for the selected task or the run, and no more what has not."""
        offered = tuple(self.check_action(action, ()) for action in _PASSING)
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    # --- the layout --------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        size = event.size
        self.set_class(is_below(size, ROOMY), "-stacked")
        self.set_class(is_below(size, FRAMED), "-bare")
        self.query_one(AttentionList).fit_to(size.height, frame=frame_lines(size))
        self._share_out(size)

    def _share_out(self, size: Size) -> None:
        tasks = len(self._tracker.state.tasks)
        height, is_beside = table_height(size, tasks, is_opened=self.has_class("-opened"))
        self.query_one(Detail).set_class(not tasks, "-empty")
        self.set_class(is_beside, "-beside")
        self.query_one("#table").styles.height = "1fr" if height is None else height
        self._entitle()

    def _entitle(self) -> None:
        """Say how far the run has come, and the keys of the table."""
        tracker, pane = self._tracker, self.query_one("#table")
        title = progress_text(tracker.counts["done"], len(tracker.state.tasks), len(self._table.shown), tracker.left())
        names = ("filter", "sort", "mark") if tracker.state.tasks else ()
        keys = [f"{spoken(f'table.{name}')} {name}" for name in names]
        entitle(pane, title, " · ".join(filter(None, (self._table.place(), *keys))))

    def _open(self, opened: bool) -> None:
        self.set_class(opened, "-opened")
        self._share_out(self.size)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what does something now. A key that comes before the screen is up does nothing."""
        if not self._is_up:
            return False
        table = self._table
        at_table = table.has_focus and not self.has_class("-opened")
        if action == "back" and at_table and not table.is_filtered and not table.marked:
            return False
        if action == "sort" and self._tracker.state.tasks and (table.is_filtered or not at_table):
            return False
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str:
        state, table = self._tracker.state, self._table
        if action in _ABOUT_TASKS and not table.selected:
            return "No task is selected." if state.tasks else _NO_TASK
        if action in ("filter", "sort"):
            return "" if state.tasks else _NO_TASK
        if action in _CHANGING and self._view.is_past:
            return "This is a replay: nothing can be changed in it."
        if action in ("answer", "next_question") and not self._tracker.asks:
            return "Nothing needs an answer."
        if action == "decide" and (why := why_no_decision(state, table.chosen, self._view.log.parent.name)):
            return why
        if action in _CHANGING and (why := over_words(state, self._view.log.parent.name)):
            return why
        if action == "hold":
            return why_no_hold(state, table.chosen)
        if action == "hold_later":
            return "" if later_of(state, table.selected) else "No other task at work changes the same file."
        if action == "by_hand":
            why = self._view.no_takeover or why_no_takeover(state, state.tasks[table.selected])
            return f"{table.selected}: {why}" if why else ""
        if action == "mute" and all(state.tasks[task].state == "ended" for task in table.chosen):
            return "Nothing to mute: it has ended."
        if action == "copy" and self._to_copy() is None:
            return "Nothing to copy: this task has neither failed nor asked."
        return ""

    @property
    def tasks(self) -> Iterable[str]:
        """The names of all tasks."""
        return self._tracker.state.tasks

    def select(self, task: str) -> None:
        """Put the cursor on ``task``."""
        self._table.select(task)

    # --- what the person does ----------------------------------------------------------------------------------------

    @on(TaskTable.Selected)
    def _selected(self, event: TaskTable.Selected) -> None:
        self.query_one(Detail).select(event.task_id)
        self._offer()
        self._entitle()

    @on(TaskTable.Arranged)
    def _arranged(self) -> None:
        self.query_one(TableHeading).refresh()
        self._share_out(self.size)

    @on(AttentionList.Pointed)
    def _pointed(self, event: AttentionList.Pointed) -> None:
        self._table.select(event.task_id)

    @on(AttentionList.Chosen)
    def _chosen(self, event: AttentionList.Chosen) -> None:
        self._questions.ask(event.gate)

    def action_answer(self) -> None:
        attention = self.query_one(AttentionList)
        if attention.has_focus and attention.gate:
            self._questions.ask(attention.gate)
        else:
            self._questions.ask_next(self._table.selected)

    def action_next_question(self) -> None:
        """Select the next task in the table with an open question, after the last one the first."""
        asked = {row.gate.task for row in self._tracker.gates}
        shown = self._table.shown
        at = shown.index(self._table.selected) + 1 if self._table.selected in shown else 0
        if found := next((task for task in (*shown[at:], *shown[:at]) if task in asked), ""):
            self._table.select(found)

    def action_open(self) -> None:
        """Show the task under the cursor. At once: the focus must be there before the next key is."""
        if self._table.selected:
            self._open(True)
            self.query_one(Detail).select(self._table.selected)
            first = "#output" if self.has_class("-stacked") else "#pages > .-shown"
            self.set_focus(self.query_one(first, TextPane))

    def action_page(self, name: str) -> None:
        if self._table.selected:
            self._open(True)
        self.set_focus(self.query_one(Detail).turn_page(name))

    def action_output(self, kind: OutputKind) -> None:
        """Show the output of the check or of the agent, or what the agent was told."""
        if self._table.selected:
            self._open(True)
        self.set_focus(self.query_one(Detail).turn_output(kind))

    def action_transcript(self, how: Literal["unfold", "raw"]) -> None:
        """Show all that the agent's calls returned, or its output as it was printed; again: as before."""
        if self._table.selected:
            self._open(True)
        self.set_focus(self.query_one(Detail).turn_transcript(raw=how == "raw"))

    def action_hold(self) -> None:
        self._interventions.hold(self._table.chosen)

    def action_hold_later(self) -> None:
        self._interventions.hold(later_of(self._tracker.state, self._table.selected))

    def action_decide(self) -> None:
        self._interventions.decide(self._table.chosen, self._table.unmark)

    def action_by_hand(self, program: Program) -> None:
        self._questions.show_how(self._table.selected, program)

    def action_pager(self) -> None:
        """Show what is read beside the focus on a screen of its own: the changes, else the output."""
        from unstuck_tui.screens.pager import Content, PagerScreen

        detail = self.query_one(Detail)
        if self._table.selected:
            changes = detail.page == "changes" and self.focused is not None and self.focused.id == "changes"
            lend = self._questions.takeover.lend
            told = self.focused is not None and self.focused.id == "told"
            content: Content = "changes" if changes else "prompt" if told else detail.shown
            self.app.push_screen(PagerScreen(self._view, self._table.selected, content, lend, since=detail.since))

    def action_log(self) -> None:
        from unstuck_tui.screens.log import LogScreen

        self.app.push_screen(LogScreen(self._view, task=self._table.selected))

    def action_plan(self) -> None:
        from unstuck_tui.screens.plan import PlanScreen

        def chosen(task: str | None) -> None:
            if task:
                self._table.select(task)

        self.app.push_screen(PlanScreen(self._tracker, self._table.selected), chosen)

    def action_copy(self) -> None:
        """Copy the question under the cursor, else the selected task's failure, else its question."""
        from unstuck.runs.answers.question import question_of, question_text
        from unstuck_tui.dialogs.questions import keyed

        found = self._to_copy()
        if isinstance(found, GateRow):
            copy(self.app, question_text(keyed(question_of(self._tracker.state, found))), self._view.log.parent)
        elif found is not None:
            copy(self.app, failure_text(found), self._view.log.parent)

    def _to_copy(self) -> GateRow | Diagnosis | None:
        """The question or the failure to copy; None without one."""
        attention, state = self.query_one(AttentionList), self._tracker.state
        row = state.tasks.get(self._table.selected)
        gate = attention.gate if attention.has_focus else ""
        if not gate and row is not None and row.diagnosis is not None:
            return row.diagnosis
        return state.gates.get(gate or (row.gate if row is not None else ""))

    def action_mute(self) -> None:
        tasks = [task for task in self._table.chosen if self._tracker.state.tasks[task].state != "ended"]
        self._notifier.muted.cycle(tasks)
        self._table.unmark()
        self.query_one(RunHeader).show()

    def action_mute_all(self) -> None:
        self._notifier.muted.cycle_all()
        self.query_one(RunHeader).show()

    def action_browse(self, place: int = 0) -> None:
        """Show the tab of Browse at ``place``."""
        from unstuck_tui.screens.browse.screen import BrowseScreen

        self.app.push_screen(BrowseScreen(self._view, self._questions, place), self.left_browse)

    def left_browse(self, seq: int | None) -> None:
        """The browse screen was left, in a replay perhaps at the event ``seq``."""

    def action_back(self) -> None:
        """Leave what is open: the filter's field, the detail, then the filter itself, and the marks last."""
        field, table = self.query_one(FilterField), self._table
        at_table = table.has_focus and not self.has_class("-opened")
        if at_table and not table.is_filtered and (marked := len(table.marked)):
            table.unmark()
            self.notify(f"{marked} {'mark' if marked == 1 else 'marks'} dropped.", markup=False)
        if field.has_focus or at_table:
            field.close()
        self._open(False)
        self.set_focus(table)

    def action_filter(self) -> None:
        self.query_one(FilterField).open()

    def action_sort(self) -> None:
        self._table.action_sort()

    @on(Input.Changed, "#filter")
    def _filtering(self, event: Input.Changed) -> None:
        self._table.filter_by(event.value)

    @on(Input.Submitted, "#filter")
    def _filtered(self, event: Input.Submitted) -> None:
        if not event.value.strip():
            self.query_one(FilterField).close()
        self.set_focus(self._table)
