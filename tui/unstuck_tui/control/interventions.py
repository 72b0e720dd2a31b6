"""Interventions: hold agents at work, and decide about one task or about all that are marked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from textual.app import App

from unstuck.contract import Answer
from unstuck.errors import UnstuckError
from unstuck.runs.view.run_view import RunView
from unstuck.words.labels import named
from unstuck_tui.control.question_controller import QuestionController
from unstuck_tui.widgets.workers import start

if TYPE_CHECKING:
    from unstuck.runs.answers.question import Jump


_T = TypeVar("_T")


class Interventions:
    """Holds and decides about the given tasks; reports, for each of them, what cannot be done."""

    def __init__(self, app: App[None], view: RunView, questions: QuestionController) -> None:
        self._app, self._view, self._questions = app, view, questions
        self._is_deciding = False
        self._number = count()

    def hold(self, tasks: Sequence[str]) -> None:
        """Hold the agents of ``tasks``; for a single one, ask at once what comes next."""
        if tasks:
            start(self._app, self._own("holding"), self._hold, tuple(tasks))

    def decide(self, tasks: Sequence[str], decided: Callable[[], None]) -> None:
        """Ask for a decision about ``tasks`` and apply it; ``decided`` is called after the answer."""
        if tasks and not self._is_deciding:
            self._is_deciding = True
            start(self._app, self._own("deciding"), self._decide, tuple(tasks), decided)

    def _own(self, what: str) -> str:
        """A group of its own: what is being done to many tasks is done to all of them, whatever is begun meanwhile."""
        return f"{what} {next(self._number)}"

    async def _hold(self, tasks: Sequence[str]) -> None:
        gates: list[str] = []
        refused: list[tuple[str, str]] = []
        for task, gate in zip(tasks, await _at_once(self._view.hold, tasks), strict=True):
            if isinstance(gate, UnstuckError):
                refused.append((task, str(gate)))
            else:
                gates.append(gate)
        if refused:
            text = "\n".join(named(task, why) for task, why in refused[:6])
            self._app.notify(text, severity="warning", timeout=10, markup=False)
        if len(tasks) == len(gates) == 1:
            self._questions.ask(gates[0])
        elif gates:
            self._app.notify(f"{len(gates)} are held and wait for you.", markup=False)

    async def _decide(self, tasks: Sequence[str], decided: Callable[[], None]) -> None:
        from unstuck.runs.answers.batch_question import decision_question
        from unstuck.runs.answers.question import Jump
        from unstuck_tui.dialogs.question_dialog import QuestionDialog
        from unstuck_tui.dialogs.questions import ByHand

        try:
            question = decision_question(self._view.state, tasks)
            dialog = QuestionDialog(question, clock=self._view.clock, drafts=self._questions.drafts)
            answer = await self._app.push_screen_wait(dialog)
        finally:
            self._is_deciding = False
        if isinstance(answer, ByHand):
            if len(tasks) == 1:
                self._questions.show_how(tasks[0], answer.program)
            else:
                text = "Edit one task at a time: select it, without marks."
                self._app.notify(text, severity="warning", timeout=10, markup=False)
        elif isinstance(answer, Answer | Jump):
            self._questions.forget(question.about)
            decided()
            await self._answer(tasks, answer)

    async def _answer(self, tasks: Sequence[str], answer: Answer | Jump) -> None:
        from unstuck.runs.answers.batch_question import decision_outcome

        done: list[str] = []
        refused: list[tuple[str, str]] = []
        for task, problem in zip(tasks, await _at_once(partial(self._apply, answer), tasks), strict=True):
            if isinstance(problem, UnstuckError):
                refused.append((task, str(problem)))
            else:
                done.append(task)
        severity = "warning" if refused else "information"
        self._app.notify(decision_outcome(answer, done, refused), severity=severity, timeout=10, markup=False)  # type: ignore[arg-type]

    async def _apply(self, answer: Answer | Jump, task: str) -> None:
        from unstuck.runs.answers.question import Jump

        if isinstance(answer, Jump):
            await self._view.choose_rung(task, answer.level)
        else:
            await self._view.step_in(task, answer)


async def _at_once(do: Callable[[str], Awaitable[_T]], tasks: Sequence[str]) -> list[_T | UnstuckError]:
    """Do it for all ``tasks`` together, so that no agent works on while the files of others are saved."""

    async def one(task: str) -> _T | UnstuckError:
        try:
            return await do(task)
        except UnstuckError as error:
            return error

    return await asyncio.gather(*map(one, tasks))
