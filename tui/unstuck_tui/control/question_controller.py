"""Puts questions to the person: opens the dialog, sends the answer, and reports its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from textual.app import App
from textual.widgets import Input, TextArea

from unstuck.contract import Answer
from unstuck.errors import AnswerRefused, GateClosed, RecordError, UnstuckError
from unstuck.eventlog.memory.offers import TOLD
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.eventlog.state import GateRow
from unstuck.runs.answers.rule_offer import offer_for
from unstuck.runs.view.run_view import RunView, agents_at_work
from unstuck.text import one_line
from unstuck.words.amounts import time_of_day
from unstuck.words.labels import ACTORS, answer_words, asked_about, named
from unstuck_tui.control.takeover import TakeoverController
from unstuck_tui.dialogs.drafts import UNSENT_NAME, Drafts, drafts_of_ended, save
from unstuck_tui.keys.actions import spoken
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.widgets.workers import start

if TYPE_CHECKING:
    from unstuck.runs.answers.question import Jump
    from unstuck.supervision.recovery.review import Standstill
    from unstuck_tui.dialogs.question_dialog import NextQuestion, QuestionDialog
    from unstuck_tui.dialogs.questions import ByHand, Program
    from unstuck_tui.dialogs.quit import QuitDialog


POPS = "stuck"
"""The one kind of question that opens without a key: nothing else says that everything has been tried."""
TYPING_S = 2.0
"""Seconds after a key in which the next one may be pressed without looking."""

_SAID_AT_ONCE = 3
_ONE_BY_ONE = "Edit one task at a time: choose it on the main screen."


@dataclass(slots=True)
class PopUpChoice:
    """Chooses the question that comes up: each of a stuck task once, as soon as the person is free."""

    _shown: set[str] = field(default_factory=set)

    def seen(self, gate: str) -> None:
        """Note that the person has opened the question of ``gate``: it does not come up any more."""
        self._shown.add(gate)

    def to_pop(self, gates: Sequence[GateRow], *, now: float, busy: bool, last_key: float | None) -> str:
        """The gate whose dialog comes up now; empty where none does. Call it every frame with the open ``gates``.

        ``busy``: a dialog or a text field has the focus. ``now`` and ``last_key`` are monotonic seconds.
        """
        typing = last_key is not None and now - last_key < TYPING_S
        if busy or typing:
            return ""
        due = next((row.id for row in gates if row.gate.type == POPS and row.id not in self._shown), "")
        self._shown.add(due)
        return due


def next_to_answer(gates: Sequence[GateRow], task: str = "", *, sending: Collection[str] = ()) -> str:
    """The open gate of ``task``, else the one that has waited longest; empty where nothing is asked.

    One of those in ``sending``, whose answer is on its way, only where there is no other.
    """
    rows = [row for row in gates if row.id not in sending] or gates
    own = [row.id for row in rows if task and row.gate.task == task]
    return next(iter(own or [row.id for row in rows]), "")


class QuestionController:
    """Opens dialogs and sends answers. Tell it of every key and every frame. ``pops``: questions may open."""

    def __init__(self, app: App[None], tracker: Tracker, view: RunView, *, pops: bool = True) -> None:
        self._app, self._tracker, self._view = app, tracker, view
        self._unsent = view.log.parent / UNSENT_NAME
        self._asking, self._pops = PopUpChoice(), pops
        self._last_key: float | None = None
        self._gates = tracker.gates
        self.drafts: Drafts = {}
        self._sending: set[str] = set()
        self._is_asking = self._is_leaving = False
        self._shown: QuestionDialog | None = None
        self._leaving: QuitDialog | None = None
        self.takeover = TakeoverController(app, tracker, view, self.drafts)

    def key(self) -> None:
        """The person has pressed a key."""
        self._last_key = self._tracker.clock.monotonic()
        if (standstill := self._undecided()) is not None:
            standstill.keep_open()
        row = self._tracker.state.gates.get(self._shown.question.gate.id) if self._shown is not None else None
        if row is not None and row.gate.acts_at is not None:
            # A person who reads the question is there to answer it.
            start(self._app, "keeping", self._keep_open, row.id)

    async def _keep_open(self, gate: str) -> None:
        # Where its run has gone nothing counts down any more, and the screen says so.
        with suppress(UnstuckError):
            await self._view.keep_open(gate)

    def frame(self) -> None:
        """The state may have changed: close what is answered, and ask what has just opened."""
        if self._view.is_past or self.takeover.is_active:
            return
        self._close_answered()
        self._follow_leaving()
        self._save_drafts_of_ended()
        gate = self._asking.to_pop(
            self._tracker.state.open_gates(),
            now=self._tracker.clock.monotonic(),
            busy=self._is_busy(),
            last_key=self._last_key,
        )
        if self._shown is not None and self._gates is not self._tracker.gates:
            self._shown.tell_place(self._place_of(self._shown.question.gate.id))
        if gate and self._pops:
            self.ask(gate, unasked=True)
        elif self._gates is not self._tracker.gates:
            self._announce({row.id for row in self._gates})
        self._gates = self._tracker.gates

    def _announce(self, known: Set[str]) -> None:
        """On a screen without the list of questions those that are new are said in passing."""
        if getattr(self._app.screen, "HAS_QUESTIONS", True):
            return
        for row in [row for row in self._tracker.gates if row.id not in known][:_SAID_AT_ONCE]:
            about = asked_about(row.gate.type, row.gate.context)
            text = f"{row.gate.task or 'The run'} needs you: {one_line(about, 200)}"
            self._app.notify(f"{text} ({spoken('gate.answer')} on the main screen)", timeout=10, markup=False)

    def ask_next(self, task: str = "") -> None:
        """The question of ``task``, else the one that has waited longest; says so where nothing is asked."""
        unrecorded = self._tracker.unrecorded()
        # Nothing else that is answered arrives while nothing can be recorded.
        gates = self._tracker.state.open_gates()
        gate = unrecorded.id if unrecorded is not None else next_to_answer(gates, task, sending=self._sending)
        if gate:
            self.ask(gate)
        else:
            self._app.notify("Nothing needs an answer.", markup=False)

    def ask(self, gate: str, *, unasked: bool = False) -> None:
        """Open the question of ``gate``; ``unasked``: by itself."""
        if self._view.is_past:
            self._app.notify("This is a replay: its questions are answered.", markup=False)
        elif gate in self._sending:
            self._app.notify("This is already answered; the answer is on its way.", markup=False)
        elif not self._is_asking:
            self._is_asking = True
            self._asking.seen(gate)
            # In a group of its own: the answer to another may be on its way still, and has to be heard of.
            start(self._app, f"dialog {gate}", self._ask, gate, unasked)

    def show_how(self, task: str, program: Program) -> None:
        """Take over ``task``: the person does what it needs, then its agent continues."""
        if not self._is_asking:
            self._is_asking = True
            start(self._app, f"hands {task}", self._show_how, task, program)

    async def _show_how(self, task: str, program: Program) -> None:
        try:
            shown = await self._by_hand(task, program)
        finally:
            self._is_asking = False
        if shown is not None:
            await self._tell_agent(*shown)

    async def _by_hand(self, task: str, program: Program) -> tuple[str, Answer] | None:
        try:
            return await self.takeover.show(task, program)
        except UnstuckError as error:
            self._app.notify(named(task, str(error)), severity="warning", timeout=10, markup=False)
            return None

    async def _tell_agent(self, gate: str, answer: Answer) -> None:
        row = self._tracker.state.gates.get(gate)
        if row is not None and (trouble := await self._sent(row, answer)) is not None:
            self._app.notify(f"{row.gate.task}: {trouble}", severity="error", timeout=20, markup=False)

    async def ask_all(self, gates: Sequence[str]) -> None:
        """One answer for all of ``gates``, after a second question; says what became of it."""
        if self._view.is_past:
            self._app.notify("This is a replay: its questions are answered.", markup=False)
            return
        if self._is_asking:
            return
        if len(gates) == 1:
            self.ask(gates[0])
            return
        self._is_asking = True
        try:
            rows = [row for gate in gates if (row := self._tracker.state.gates.get(gate)) and row.status == "open"]
            answer = await self._shared_answer(rows) if rows else None
            if answer is not None:
                await self._answer_all(rows, answer)
        finally:
            self._is_asking = False

    async def _shared_answer(self, rows: Sequence[GateRow]) -> Answer | None:
        from unstuck.runs.answers.batch_question import shared_question
        from unstuck_tui.dialogs.confirm import ConfirmDialog
        from unstuck_tui.dialogs.question_dialog import QuestionDialog

        question = shared_question(self._tracker.state, rows)
        answer = await self._app.push_screen_wait(
            QuestionDialog(question, clock=self._tracker.clock, drafts=self.drafts)
        )
        if not isinstance(answer, Answer):
            if answer is not None:
                self._app.notify(_ONE_BY_ONE, severity="warning", timeout=10, markup=False)
            return None
        parts = [", ".join(row.gate.task for row in rows), *([answer.text] if answer.text else [])]
        title = f"{answer.choice.replace('_', ' ')}: {len(rows)} questions get this answer"
        dialog = ConfirmDialog(title, parts, "Answer all of them", clock=self._tracker.clock)
        if not await self._app.push_screen_wait(dialog):
            return None
        self.forget(question.about)
        return answer

    async def _answer_all(self, rows: Sequence[GateRow], answer: Answer) -> None:
        refused = []
        for row in rows:
            try:
                await self._view.answer(row.id, answer)
            except UnstuckError as error:
                refused.append(f"{row.gate.task}: {one_line(str(error), 200)}")
        text = "; ".join([f"{len(rows) - len(refused)} of {len(rows)} are answered", *refused])
        severity: Literal["warning", "information"] = "warning" if refused else "information"
        self._app.notify(f"{text}.", severity=severity, timeout=20, markup=False)

    def leave(self) -> None:
        if not self._is_leaving:
            self._is_leaving = True
            start(self._app, "leaving", self._leave)

    def _undecided(self) -> Standstill | None:
        """The decisions about a run that was cut off; None where there are none left."""
        standstill = self._view.recovery
        return standstill if standstill is not None and not standstill.is_over else None

    def _is_busy(self) -> bool:
        typing = isinstance(self._app.focused, Input | TextArea)
        if self._undecided() is not None:
            return True  # it asks about all of it at once
        return self._is_asking or typing or self._app.screen.is_modal

    async def _ask(self, gate: str, unasked: bool) -> None:
        from unstuck_tui.dialogs.question_dialog import NextQuestion
        from unstuck_tui.dialogs.questions import ByHand

        trouble = ""
        while (row := self._tracker.gate(gate)) is not None and row.status == "open":
            answer = None
            try:
                answer = await self._answer_to(row, trouble, unasked)
                shown = await self._by_hand(row.gate.task, answer.program) if isinstance(answer, ByHand) else None
            finally:
                self._is_asking = False  # another question may be asked while this answer is on its way
            if shown is not None:
                await self._tell_agent(*shown)
            if isinstance(answer, NextQuestion):
                self.ask(self._after(gate))
            if not isinstance(answer, Answer):
                return
            trouble = await self._sent(row, answer) or ""
            if not trouble:
                return
            if self._is_asking:
                self._tell(row.gate.task, trouble)
                return
            self._is_asking = True
        self._is_asking = False

    def _after(self, gate: str) -> str:
        """The open question after that of ``gate``; after the last one the first."""
        gates = [row.id for row in self._tracker.state.open_gates()]
        return gates[(gates.index(gate) + 1) % len(gates)] if gate in gates else next(iter(gates), gate)

    def _place_of(self, gate: str) -> tuple[int, int, str]:
        """The place of ``gate`` among the open questions, their number, and what the next of them is about."""
        gates = [row.id for row in self._tracker.state.open_gates()]
        after = self._tracker.state.gates.get(self._after(gate))
        about = after.gate.task if after is not None else ""
        return gates.index(gate) + 1 if gate in gates else 1, len(gates), about

    async def _answer_to(
        self, row: GateRow, trouble: str, unasked: bool
    ) -> Answer | ByHand | Jump | NextQuestion | None:
        from unstuck.runs.answers.question import question_of
        from unstuck_tui.dialogs.dialog import QUIET_S, UNASKED_QUIET_S
        from unstuck_tui.dialogs.question_dialog import QuestionDialog

        self._shown = QuestionDialog(
            question_of(self._tracker.state, row),
            clock=self._tracker.clock,
            drafts=self.drafts,
            trouble=trouble,
            place=self._place_of(row.id),
            changes=partial(self._changes_of, row.gate.task) if row.gate.type == POPS else None,
            quiet_s=UNASKED_QUIET_S if unasked else QUIET_S,
        )
        try:
            return await self._app.push_screen_wait(self._shown)
        finally:
            self._shown = None

    async def _changes_of(self, task: str) -> str:
        """The diff of all that ``task`` has changed."""
        _, diff = await self._view.changes(task)
        return diff

    async def _sent(self, row: GateRow, answer: Answer) -> str | None:
        """Give the gate its answer; what is wrong with it where it has to be asked again."""
        self._sending.add(row.id)
        try:
            await self._view.answer(row.id, answer)
        except AnswerRefused as refused:
            return str(refused)
        except GateClosed as closed:
            self._tell(row.gate.task, _answered(closed.by, closed.when, closed.what))
        except UnstuckError as error:
            self._app.notify(str(error), severity="error", timeout=20, markup=False)
        else:
            self.forget(row.gate.task)
            await self._offer_rule(row, answer)
        finally:
            self._sending.discard(row.id)
        return None

    async def _offer_rule(self, row: GateRow, answer: Answer) -> None:
        """Say that this answer was given often enough to be a rule."""
        folder = self._view.log.parent
        if answer.choice not in TOLD or not answer.text:
            return
        memory = Memory(memory_file(folder.parent.parent))
        with suppress(RecordError):
            await asyncio.to_thread(memory.load)
        if (offer := offer_for(memory, folder.name, row, answer)) is not None:
            keys = " ".join(map(spoken, ("view.browse", "browse.memory", "memory.promote")))
            said = f"{row.gate.task}: this answer was {offer.words}. {keys} makes it a rule"
            self._app.notify(f"{said}, or `unstuck memory promote {offer.id}`.", timeout=20, markup=False)

    async def _leave(self) -> None:
        from unstuck_tui.dialogs.quit import QuitDialog

        state = self._tracker.state
        if self._view.is_past or self._view.is_elsewhere or not (agents_at_work(state) or self._view.goes_on):
            self._app.exit()
            return
        self._leaving = QuitDialog(state, clock=self._tracker.clock)
        try:
            decided = await self._app.push_screen_wait(self._leaving)
        finally:
            self._is_leaving, self._leaving = False, None
        if decided == "stop":
            await self._view.stop("stopped by the person at the screen")
        if decided in ("stop", "leave"):
            self._app.exit()

    def _close_answered(self) -> None:
        """Close the dialog of a question that was answered elsewhere, or whose cause is gone.

        Not while something lies over the dialog: Textual would close that instead.
        """
        dialog = self._shown
        row = self._tracker.state.gates.get(dialog.question.gate.id) if dialog is not None else None
        if dialog is None or row is None or row.status == "open" or not dialog.is_active:
            return
        text = _answered(row.by, row.closed, answer_words(row)) if row.by else "its question is closed."
        if dialog.overtake(text):
            self._tell(row.gate.task, text)

    def _follow_leaving(self) -> None:
        """Keep the quit dialog up to date, and close it where no agent is at work any more."""
        dialog, state = self._leaving, self._tracker.state
        if dialog is None or not dialog.is_active:
            return
        if agents_at_work(state) or self._view.goes_on:
            dialog.follow(state)
        else:
            dialog.finish("stay")
            self._app.notify("No agent is at work any more.", markup=False)

    def _save_drafts_of_ended(self) -> None:
        """Nothing will be asked about a task that has ended: what was written for it goes where it can be found."""
        ended = {task for task, _ in drafts_of_ended(self._tracker.state, self.drafts)}
        if not ended:
            return
        from unstuck_tui.dialogs.question_dialog import QuestionDialog
        from unstuck_tui.dialogs.takeover import TakeoverDialog

        writing = {
            screen.about for screen in self._app.screen_stack if isinstance(screen, QuestionDialog | TakeoverDialog)
        }
        for task in ended - writing:
            self._tell(task, "has ended.", self.save_unsent(task))

    def forget(self, about: str) -> None:
        """Drop the drafts about this: they have been sent."""
        for draft in [draft for draft in self.drafts if draft[0] == about]:
            del self.drafts[draft]

    def save_unsent(self, task: str | None = None) -> str:
        """Keep the words that were written for ``task``, or for all of them, and never sent; says where they are."""
        left = {about: text for about, text in self.drafts.items() if task in (None, about[0]) and text.strip()}
        if not left:
            return ""
        for about in left:
            del self.drafts[about]
        try:
            save(self._unsent, left)
        except OSError as problem:
            words = one_line(" / ".join(left.values()), 1_000)
            return f"Your unsent text cannot be kept ({problem.strerror or problem}): {words}"
        return f"Your unsent text is in {self._unsent}."

    def _tell(self, task: str, said: str, more: str = "") -> None:
        row = self._tracker.state.tasks.get(task)
        kept = any(about == task and draft.strip() for (about, _), draft in self.drafts.items())
        if kept and (row is None or row.state != "ended"):
            more = "Your text is kept for the next question about it."
        said = f"{task or 'The run'}: {said} {more}".rstrip()
        self._app.notify(said, severity="warning", timeout=20, markup=False)


def _answered(by: str, when: str, what: str = "") -> str:
    """The actor who answered first, the time where it is known, and the answer of a person elsewhere."""
    text = f"answered meanwhile by {ACTORS.get(by, by)}"
    with suppress(ValueError):
        text += f" at {time_of_day(when)}"
    return f"{text}: {what}." if what else f"{text}."
