"""The signatures tab: the failures of the run, how often and where, and one answer for all that ask."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from unstuck.contract import Guidance
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.runs.queries.failures import groups_of, learnt_in, rows_of
from unstuck.words.labels import counted
from unstuck_tui.control.external_editor import locate, open_place
from unstuck_tui.render.browse.columns import spark
from unstuck_tui.render.browse.signatures import (
    COLUMNS,
    SPARK,
    Failure,
    failure_about,
    failure_history,
    failure_texts,
    gates_about,
    ordered,
)
from unstuck_tui.runs.log.occurrences import FailureTimes, Occurrences
from unstuck_tui.screens.browse.tab import Tab, TabContext


class SignaturesTab(Tab[Failure]):
    """The run's own failures, alike ones together; of a replay those up to the moment that is shown."""

    name: ClassVar[str] = "signatures"
    empty = "no failure"
    would: ClassVar[str] = "Each failure of the run, once: how often it occurred, its level, and what solved it."
    columns = COLUMNS
    texts = staticmethod(failure_texts)
    about = staticmethod(failure_about)
    beside = staticmethod(failure_history)
    beside_title = "history"
    follows = True

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._occurrences = Occurrences(context.view.log)

    list_title = "failures · most often first"

    @property
    def summary(self) -> str:
        times = sum(int(failure.row["count"]) for failure in self.rows)
        return f"{counted(len(self.rows), 'failure')}, {counted(times, 'time')}" if self.rows else ""

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
        rows = list(rows_of([(state.run.id, seen)], worked))
        until = state.seq if view.is_past else 0
        agents = {task.id: task.task.agent or task.task.agent_type for task in state.tasks.values()}
        guidances = {attempt.id: attempt.guidance for attempt in state.attempts.values()}
        return await asyncio.to_thread(listed, rows, found, agents, begin, end, until, guidances)

    # --- what the person does ----------------------------------------------------------------------------------------

    async def do_log(self, row: Failure) -> None:
        from unstuck_tui.screens.log import LogScreen

        self.context.screen.app.push_screen(LogScreen(self.context.view, words=f"failure:{row.identity}"))

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
) -> list[Failure]:
    """``rows`` with what was ``found`` of each from ``begin`` to ``end`` (seconds since 1970), and whose ``agents``.

    ``until`` is the last record that counts, 0 where all do. ``guidances`` are those of the attempts.
    """
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
        failures.append(
            Failure(
                row=row,
                agents=tuple(sorted({agents[task] for task in tasks if agents.get(task)})),
                speaker=groups[identity],
                spark=spark([time for time in seen.times if not until or time <= end], begin, end, SPARK),
                alike=tuple(headlines[other] for other in members[groups[identity]] if other != identity),
                occurrences=tuple(one for one in reversed(seen.last) if not until or one.seq <= until),
                guidances=guidances,
                diagnosis=seen.diagnosis,
                printed=seen.printed,
            )
        )
    return ordered(failures)
