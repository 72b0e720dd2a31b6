"""The takeover of a task's worktree: a shell or an editor in this terminal, and the changes as words.

The run goes on beside it: its clocks, its log, its other agents. Back in it, the person sees the changes and says why.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from unstuck.contract import Answer
from unstuck.errors import UsageError
from unstuck.runs.view.run_view import RunView
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.text import one_line
from unstuck.words.amounts import span
from unstuck.words.labels import some
from unstuck_tui.control.external_editor import command_for, editor, locate, waited_for
from unstuck_tui.dialogs.drafts import Drafts
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.terminal.driver import TerminalDriver
from unstuck_tui.textual_internals.screens import driver_of

if TYPE_CHECKING:
    from unstuck_tui.dialogs.questions import Program


_NAMED = 4
_TELLS = ("The agent is shown your changes", "The result is checked and brought in when you say so")


class TakeoverController:
    """Hands a worktree over to the person and takes it back; ``is_active`` meanwhile.

    ``leaves_when_back``: the screen has nothing to show any more and goes when the person is back.
    """

    def __init__(
        self, app: App[Any], tracker: Tracker, view: RunView, drafts: Drafts, *, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._app, self._tracker, self._view, self._environ = app, tracker, view, environ
        self._drafts = drafts
        self._returning: set[asyncio.Task[TakeoverChanges]] = set()
        self.is_active = self.leaves_when_back = False

    async def show(self, task: str, program: Program) -> tuple[str, Answer] | None:
        """Give the files of ``task`` to the person; return the question that this answers, and the answer.

        None where the question stays open, or has gone meanwhile. Raises UnstuckError where it cannot be done.
        """
        from unstuck.escalation.prompts import by_hand
        from unstuck_tui.dialogs.takeover import TakeoverDialog

        if program == "editor" and not editor(self._environ):
            raise UsageError("neither VISUAL nor EDITOR names an editor")
        driver = self._terminal()
        while True:
            taken = await self._view.start_takeover(task)
            asked = {row.id for row in self._tracker.state.open_gates()}
            back, notes = await self._lent(driver, taken, program)
            if self.leaves_when_back:
                self._app.exit()
                return None
            row = self._tracker.state.gates.get(taken.gate)
            if row is None or row.status != "open":
                message = f"{task}: its question is closed; your changes stay in {taken.folder}"
                self._app.notify(message, severity="warning", timeout=20, markup=False)
                return None
            notes += self._meanwhile(asked)
            dialog = TakeoverDialog(taken, row.gate, back, notes, self._drafts, clock=self._tracker.clock)
            chosen = await self._app.push_screen_wait(dialog)
            if chosen is None:
                return None
            what, why = chosen
            if what == "check":
                return taken.gate, Answer(choice="check" if "check" in row.gate.choices else "retry")
            if what == "tell":
                text = by_hand(why, back.changes, back.diff, files=back.files, others=taken.others)
                return taken.gate, Answer(choice="show_me", text=text)

    async def lend(self, command: Sequence[str], folder: Path) -> None:
        """Give the terminal to ``command`` until it ends; no agent hears of it.

        Raises OSError where it cannot be started, UsageError where there is no terminal to be had.
        """
        driver = self._terminal()
        self.is_active = True
        try:
            await driver.lend(command, folder=folder, environ=self._environ, notice="")
        finally:
            self.is_active = False
        if self.leaves_when_back:
            self._app.exit()

    def _terminal(self) -> TerminalDriver:
        driver = driver_of(self._app)
        if not isinstance(driver, TerminalDriver):
            raise UsageError("this terminal cannot run another program now")
        return driver

    async def _lent(
        self, driver: TerminalDriver, taken: Takeover, program: Program
    ) -> tuple[TakeoverChanges, list[str]]:
        """Lend the terminal and take it back; what is different then, and what is to be said about it."""
        notes: list[str] = []
        command: list[str] = []
        began = self._tracker.clock.monotonic()
        self.is_active = True
        try:
            command = await self._command(taken, program)
            notice = _notice(taken, command[0], program)
            code = await driver.lend(command, folder=taken.folder, environ=self._environ, notice=notice)
            if code:
                lasted = span(self._tracker.clock.monotonic() - began)
                how = f"ended with {code}" if code > 0 else f"was ended by signal {-code}"
                notes.append(f"{one_line(command[0], 60)} {how} after {lasted}")
        except OSError as problem:
            notes.append(f"{one_line(command[0], 60)} cannot be started: {problem.strerror or problem}")
        except BaseException:
            # The screen is being left, or broken: the run goes on, and so does the question.
            returning = asyncio.ensure_future(self._view.end_takeover(taken))
            self._returning.add(returning)
            returning.add_done_callback(self._returning.discard)
            raise
        finally:
            self.is_active = False
        return await self._view.end_takeover(taken), notes

    async def _command(self, taken: Takeover, program: Program) -> list[str]:
        """The program and its arguments; an editor begins where the failure is."""
        if program == "shell":
            return [self._environ.get("SHELL") or "/bin/sh"]
        row = self._tracker.state.tasks.get(taken.task)
        location = row.diagnosis.signature.location if row is not None and row.diagnosis is not None else ""
        place = await asyncio.to_thread(locate, [taken.folder], location) if location else None
        return waited_for(command_for(self._environ, place) if place is not None else editor(self._environ))

    def _meanwhile(self, before: set[str]) -> list[str]:
        tasks = [row.gate.task or "the run" for row in self._tracker.state.open_gates() if row.id not in before]
        if not tasks:
            return []
        return [f"{some(tasks, _NAMED)} {'needs' if len(tasks) == 1 else 'need'} you since then"]


def _notice(taken: Takeover, command: str, program: Program) -> str:
    """The text that stands in the terminal before the program starts."""
    meanwhile = {
        "held": "Its agent is held at its next tool call.",
        "frozen": "Its agent is suspended, and its timeouts are paused.",
    }.get(taken.standing, "No agent works on it.")
    name = one_line(taken.task, 100)
    leave = "the shell (exit)" if program == "shell" else "the editor"
    lines = [
        f"unstuck: you edit the files of {name} in {one_line(command, 100)}. {meanwhile} The run continues.",
        f"{_TELLS[bool(taken.merging)]}: leave {leave} to come back.",
    ]
    if taken.merging:
        lines.append(f"The merge has begun. Remove the conflict markers from {some(taken.merging, _NAMED)}.")
    if taken.others:
        others = ", ".join(map(one_line, taken.others[:_NAMED]))
        lines.append(f"These files are shared: agents of {others} may change them meanwhile.")
    width = shutil.get_terminal_size().columns
    return "".join(f"{textwrap.fill(line, width)}\n" for line in lines) + "\n"
