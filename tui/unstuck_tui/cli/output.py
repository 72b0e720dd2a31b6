"""Prints a run as it goes: a line or a JSON object for each event, and its result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck_tui.cli.common import complain, echo, is_free
from unstuck_tui.cli.streams import can_show, discard, uncollected

if TYPE_CHECKING:
    from unstuck.eventlog.envelope import Record
    from unstuck.runs.answers.answer_rules import AnswerRules
    from unstuck.runs.run import Served
    from unstuck.runs.run_end import RunEnd
    from unstuck.supervision.run.finish import RunResult
    from unstuck.workspace.project import Project
    from unstuck_tui.app.host import ScreenHost
    from unstuck_tui.render.tasks.opening import Opening


_UNSAID = 50
"""Largest number of warnings that wait for the end of a screen."""


def answers_in(file: Path | None) -> AnswerRules | None:
    """The answer rules of a file, where one is named. Raises PlanError."""
    if file is None:
        return None
    from unstuck.runs.answers.answer_file import load_answers

    return load_answers(file)


def screen(options: Mapping[str, Any], environ: Mapping[str, str], output: Output) -> ScreenHost | None:
    """The screen, where one is wanted and there is a terminal to show it on. Raises SettingsError."""
    if options["headless"] or options.get("plain") or options["as_json"] or not can_show(dict(environ)):
        return None
    with uncollected():
        from unstuck_tui.app.host import ScreenHost
        from unstuck_tui.keys.preferences import preferences

    return ScreenHost(output, preferences(environ))


def opened(
    beside: ScreenHost | None, place: Project, page: Served | None, known: Callable[[], Opening | None]
) -> AbstractAsyncContextManager[bool]:
    """Context in which a screen shows what is ``known`` of a run already; yields whether the person is still there.

    Without a screen, or where nothing is known, it shows nothing. The link to a ``page`` is printed before a screen.
    """
    can_open = beside is not None and page is None and is_free(place)
    opening = known() if can_open else None
    return nullcontext(enter_result=True) if beside is None or opening is None else beside.opened(opening)


def page_of(options: Mapping[str, Any], place: Project, output: Output) -> Served | None:
    """The page, where one is wanted. Raises UsageError for an agent, and where its packages are missing."""
    if not options["web"]:
        return None
    from unstuck_tui.cli.web import refuse_agents, require_web, serving

    require_web()
    refuse_agents(place)
    return serving(complain if options["as_json"] else output.say)


class Output:
    """Prints a run as it goes; ``is_quiet`` while a screen shows it. ``plain``: with what the screen would say.

    A reader that goes away takes nothing with it: the run goes on, unseen.
    """

    def __init__(self, *, as_json: bool, plain: bool = False) -> None:
        self._as_json = as_json
        self._plain = plain
        self._told: Callable[[Record], Iterable[str]] | None = None
        self.run = ""
        self._gone = False
        self._painted = not plain
        self._is_quiet = False
        self._unsaid: dict[str, None] = {}
        self._branch = ""
        self._gates: tuple[str, ...] = ()
        self._watch = self._has_tasks = False
        self.how = ""
        """Options that the run has to be given again when it is resumed."""

    @property
    def is_quiet(self) -> bool:
        """True while a screen shows the run."""
        return self._is_quiet

    @is_quiet.setter
    def is_quiet(self, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        while self._unsaid and not is_quiet:
            line = next(iter(self._unsaid))
            del self._unsaid[line]
            complain(line)

    def warn(self, line: str) -> None:
        """Print a warning that no record has on standard error, or once the screen is closed."""
        if not self._is_quiet:
            complain(line)
        elif len(self._unsaid) < _UNSAID:
            self._unsaid[line] = None

    def started(self, run: str) -> None:
        self.run = run

    def notice(self, problem: str, gate: str) -> None:
        """Report that there is no room for records, which no record can say; on standard error beside rows."""
        from unstuck.words.narration import no_room

        line = no_room(problem, gate) if problem else "the disk has space again: the agents continue"
        if not self._as_json:
            self._print(line)
        elif not self.is_quiet:
            complain(line)

    def show(self, record: Record) -> None:
        if self._as_json:
            self._print(json.dumps(record.as_dict(), ensure_ascii=True))
            return
        for line in self._lines_of(record):
            self._print(line)
        self._note(record)

    def _note(self, record: Record) -> None:
        """Keep what the last lines tell of the run."""
        from unstuck.eventlog.events import ResultIntegrated, ResultsDelivered, RunParked, RunStarted, TaskAdded

        if isinstance(record.event, ResultIntegrated) and record.event.commit != "none":
            self._branch = f"unstuck/{self.run}/_run"
        elif isinstance(record.event, ResultsDelivered) and record.event.commit:
            self._branch = ""
        elif isinstance(record.event, RunStarted):
            self._watch = record.event.kind == "watch"
        elif isinstance(record.event, TaskAdded):
            self._has_tasks = True
        elif isinstance(record.event, RunParked):
            self._gates = record.event.gates

    def _lines_of(self, record: Record) -> Iterable[str]:
        if self._told is None:
            self._told = _plain_lines() if self._plain else _lines()
        return self._told(record)

    def known(self, record: Record) -> None:
        """Take an earlier record: it is not printed, but later lines may refer to it."""
        for _ in self._lines_of(record):
            pass
        self._note(record)

    async def finish(self, result: RunResult, place: Project) -> None:
        """Print the result of the run in ``place``."""
        from unstuck.runs.run_end import end_of_run

        self.end(result, await end_of_run(place, self.run))

    def end(self, result: RunResult, found: RunEnd, *, names_branch: bool = True) -> None:
        """Print the result of the run, with what was ``found`` at its end, and the branch of its results."""
        from unstuck.words.labels import UNSEEN
        from unstuck.words.narration import summary
        from unstuck_tui.render.printed.truth import changes_line, claims_line

        branch = self._branch if names_branch else ""
        if self._as_json:
            row = {"run": self.run, "exit_reason": result.exit_reason, "exit_code": result.exit_code}
            self._print(json.dumps(row | found.as_dict()))
            return
        ended = UNSEEN if self._watch and not self._has_tasks else result.exit_reason
        for line in summary(self.run, ended, gates=self._gates, branch=branch, watch=self._watch, how=self.how):
            self._print(line)
        if found.changes is not None:
            self._print(f"  {changes_line(found.changes)}")
        if found.claims is not None:
            self._print(f"  {claims_line(found.claims)}")

    def say(self, line: str) -> None:
        """One more line, for people."""
        self._print(line)

    def _print(self, line: str) -> None:
        if self._gone or self.is_quiet:
            return
        try:
            echo(line, painted=self._painted)
        except OSError:
            self._gone = True
            discard(sys.stdout)


def _lines() -> Callable[[Record], Iterable[str]]:
    from unstuck.words.narration import lines_of

    return lines_of


def _plain_lines() -> Callable[[Record], Iterable[str]]:
    from unstuck_tui.render.printed.plain_output import PlainLines

    return PlainLines().lines
