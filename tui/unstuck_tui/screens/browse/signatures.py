"""The signatures tab: the failures of the run, how often and where, and one answer for all that ask."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from unstuck.contract import Guidance
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.eventlog.storage.run_store import run_names
from unstuck.eventlog.summary_rows import SignatureRow
from unstuck.runs.queries.failures import groups_of, learnt_in, rows_of
from unstuck.runs.queries.run_list import states_of
from unstuck.words.labels import counted
from unstuck.workspace.project import Project
from unstuck_tui.control.external_editor import locate, open_place
from unstuck_tui.render.browse.columns import spark
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.browse.signatures import (
    COLUMNS,
    SPARK,
    Failure,
    check_line,
    failure_about,
    failure_history,
    failure_texts,
    gates_about,
    ordered,
)
from unstuck_tui.render.format import Line
from unstuck_tui.runs.log.occurrences import FailureTimes, Occurrences
from unstuck_tui.screens.browse.tab import Tab, TabContext

_LOGS = 3
"""Logs of other runs that are read for one failure, the newest."""


class SignaturesTab(Tab[Failure]):
    """The run's own failures, alike ones together; of a replay those up to the moment that is shown."""

    name: ClassVar[str] = "signatures"
    empty = "no failure"
    would: ClassVar[str] = "Each failure of the run, once: how often it occurred, its level, and what solved it."
    columns = COLUMNS
    texts = staticmethod(failure_texts)
    beside_title = "history"
    follows = True
    head = "WHAT FAILED"
    spans_runs = True
    title = "failures"
    orders: ClassVar[Sequence[Order]] = (
        Order("most often first"),
        Order("newest first", lambda failure: str(failure.row["last"]), descends=True),
        Order("by place", lambda failure: str(failure.row["location"] or "~")),
        Order("unsolved first", lambda failure: bool(failure.row["worked"])),
    )

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._occurrences = Occurrences(context.view.log)
        self._elsewhere: dict[str, Sequence[SignatureRow]] = {}
        self._looked_at: dict[str, dict[str, FailureTimes]] = {}

    @property
    def summary(self) -> str:
        times = sum(int(failure.row["count"]) for failure in self.found)
        return f"{counted(len(self.found), 'failure')}, {counted(times, 'time')}" if self.found else ""

    def group(self, row: Failure) -> str:
        return row.speaker

    def searched(self, row: Failure) -> str:
        return " ".join((super().searched(row), *row.row["tasks"], *row.agents))

    def about(self, row: Failure, width: int) -> Sequence[Line]:
        seen = self._found_in_others(row)
        if row.diagnosis is None and seen:
            last = next(reversed(seen.values()))
            row = replace(row, diagnosis=last.diagnosis, printed=last.printed)
        return failure_about(row, width)

    def beside(self, row: Failure, width: int) -> Sequence[Line]:
        seen = self._found_in_others(row)
        said = {run: check_line(one.diagnosis, one.printed) for run, one in seen.items()}
        return failure_history(replace(row, said=said), width)

    def _found_in_others(self, row: Failure) -> dict[str, FailureTimes]:
        """Return the failure as it was read in the logs of other runs, the oldest first."""
        read = {run: self._looked_at.get(run, {}).get(row.identity) for run in row.elsewhere}
        return {run: found for run, found in read.items() if found is not None}

    def read_for(self, row: Failure) -> object:
        return row.identity, tuple(row.elsewhere)

    async def look(self, row: Failure) -> None:
        """Read the output of a failure of other runs in the logs of the last ones."""
        for run in tuple(row.elsewhere)[-_LOGS:]:
            if run not in self._looked_at:
                self._looked_at[run] = await asyncio.to_thread(_all_in, self.context.place.runs / run / LOG_NAME)

    def key(self, row: Failure) -> str:
        return row.identity

    async def read(self) -> Sequence[Failure]:
        view = self.context.view
        state = view.state
        seen = tuple(state.signatures.values())
        found = await asyncio.to_thread(self._occurrences.look)
        self.is_whole = self._occurrences.is_whole
        self.note = "" if self.is_whole else "looking for occurrences"
        worked = await asyncio.to_thread(learnt_in, view.place) if view.place is not None else {}
        begin, end = seconds_of(state.run.started) or 0.0, view.clock.now()
        last = max((times.times[-1] for times in found.values() if times.times), default=end)
        end = min(end, last)  # a run that waits for its person says nothing about when it failed
        if not self.all_runs:
            self._elsewhere = {}
        elif not self._elsewhere:
            self._elsewhere = await asyncio.to_thread(_other_runs, self.context.place, state.run.id)
        rows = list(rows_of([*self._elsewhere.items(), (state.run.id, seen)], worked))
        until = state.seq if view.is_past else 0
        agents = {task.id: task.task.agent or task.task.agent_type for task in state.tasks.values()}
        guidances = {attempt.id: attempt.guidance for attempt in state.attempts.values()}
        return await asyncio.to_thread(listed, rows, found, agents, begin, end, until, guidances, self._elsewhere)

    # --- what the person does ----------------------------------------------------------------------------------------

    async def do_log(self, row: Failure) -> None:
        from unstuck_tui.screens.log import LogScreen

        reads_history = getattr(self.context.screen.app.focused, "id", "") == "beside"
        is_elsewhere = bool(row.elsewhere) and (reads_history or not row.occurrences)
        view = await self.context.view_of(tuple(row.elsewhere)[-1]) if is_elsewhere else self.context.view
        self.context.screen.app.push_screen(LogScreen(view, words=f"failure:{row.identity}"))

    async def do_edit(self, row: Failure) -> None:
        place = await asyncio.to_thread(locate, self._trees(row), str(row.row["location"] or ""))
        if place is None:
            where = row.row["location"]
            text = f"{where} is not a file of the task's worktree." if where else "Its file and line are not known."
            self.context.screen.report(text, trouble=True)
            return
        screen = self.context.screen
        screen.report(await open_place(screen.app, self.context.view, place, self.context.environ, screen.lend))

    def _trees(self, row: Failure) -> list[Path]:
        """The worktrees of its tasks, the last one first."""
        state = self.context.view.state
        attempts = (state.attempts.get(one.attempt) for one in row.occurrences)
        return list(dict.fromkeys(Path(one.guidance.workdir) for one in attempts if one is not None))

    async def do_answer(self, row: Failure) -> None:
        gates = gates_about(self.context.view.state, row.identity)
        if gates:
            await self.context.screen.answer_all(gates)
        else:
            self.context.screen.report("No open question is about this failure.")


def listed(
    rows: Sequence[Mapping[str, Any]],
    found: Mapping[str, FailureTimes],
    agents: Mapping[str, str],
    begin: float,
    end: float,
    until: int = 0,
    guidances: Mapping[str, Guidance] = MappingProxyType({}),
    elsewhere: Mapping[str, Sequence[SignatureRow]] = MappingProxyType({}),
) -> list[Failure]:
    """``rows`` with what was ``found`` of each from ``begin`` to ``end`` (seconds since 1970), and whose ``agents``.

    ``until`` is the last record that counts, 0 where all do. ``guidances`` are those of the attempts.
    ``elsewhere`` are the rows of other runs by their ids, the oldest first.
    """
    others: dict[str, dict[str, SignatureRow]] = {}
    for run, its_rows in elsewhere.items():
        for one in its_rows:
            others.setdefault(one.identity, {})[run] = one
    identities = [str(row["signature"]) for row in rows]
    known = {identity: seen.signature for identity, seen in found.items() if seen.signature is not None}
    groups = groups_of(identities, known)
    headlines = {identity: str(row["headline"]) for identity, row in zip(identities, rows, strict=True)}
    members: dict[str, list[str]] = {}
    for identity, speaker in groups.items():
        members.setdefault(speaker, []).append(identity)
    failures = []
    for identity, row in zip(identities, rows, strict=True):
        seen, tasks = found.get(identity, FailureTimes()), row["tasks"]
        times = [time for time in seen.times if not until or time <= end]
        failures.append(
            Failure(
                row=row,
                agents=tuple(sorted({agents[task] for task in tasks if agents.get(task)})),
                speaker=groups[identity],
                spark=spark(times, begin, end, SPARK) if times else "",
                alike=tuple(headlines[other] for other in members[groups[identity]] if other != identity),
                occurrences=tuple(one for one in reversed(seen.last) if not until or one.seq <= until),
                guidances=guidances,
                diagnosis=seen.diagnosis,
                printed=seen.printed,
                elsewhere=others.get(identity, {}),
            )
        )
    return ordered(failures)


def _other_runs(place: Project, own: str) -> dict[str, Sequence[SignatureRow]]:
    """The failures of all runs of the project besides ``own``, the oldest run first."""
    runs = (run for run in run_names(place.runs) if run != own)
    return {run: tuple(state.signatures.values()) for run, state in states_of(place, runs, lambda said: None)}


def _all_in(log: Path) -> dict[str, FailureTimes]:
    """All failures of ``log``."""
    occurrences = Occurrences(log)
    occurrences.look()
    while not occurrences.is_whole:
        occurrences.look()
    return occurrences.found
