"""The runs that the page shows: followed while a browser has it open, answered and resumed, each by its id."""

from __future__ import annotations

import asyncio
import subprocess
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from unstuck.clock import SystemClock
from unstuck.contract import Answer
from unstuck.errors import GateClosed, GateUnknown, ProjectLocked, RecordError, UnstuckError, UsageError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import RunResumed
from unstuck.eventlog.log.load_state import live_agents
from unstuck.eventlog.log.tail import LogFollower
from unstuck.eventlog.state import GateRow, TaskRow, later_of
from unstuck.eventlog.storage.run_store import run_names
from unstuck.processes import agent_sign, callers, mark_of
from unstuck.processes.background import start_in_background
from unstuck.runs.answers.answer_live import answer_online
from unstuck.runs.answers.answer_offline import answer_offline
from unstuck.runs.queries.run_list import find_run, is_live, live_run, run_rows
from unstuck.runs.view.followed_run import FollowedRun
from unstuck.runs.view.run_view import RunView, rows_after
from unstuck.text import one_line
from unstuck.workspace.project import Project
from unstuck_web.guard import is_here

VIA = "page"
_LOOK_S = 0.1
_LIVE_S = 1.0
_KEPT = 3
_TRIES = 3
_CLOSED_S = 5.0
_CHANGES_S, _MOST_CHANGES = 2.0, 200
_GOING = ("running", "blocked", "draining")


class WatchedRun:
    """A run with what has changed in it, by the number of the record: its tasks, and itself under an empty name."""

    def __init__(self, view: RunView, run: str) -> None:
        self.view, self.run = view, run
        self.since = self.seq
        self.changed: dict[str, int] = {}
        self.live = True
        self.problem = ""
        self.viewers: set[asyncio.Event] = set()
        self._unfollow = view.follow(self._see, self._stand)

    @property
    def seq(self) -> int:
        """The number of the last change."""
        return self.view.state.seq

    @property
    def hosts(self) -> tuple[tuple[bool, str], ...]:
        """For runs of other machines: whether each is connected, and how it stands in words."""
        return ()

    def _see(self, record: Record) -> None:
        self.changed |= dict.fromkeys(("", *rows_after(self.view.state, record)), record.seq)
        self.wake()

    def _stand(self) -> None:
        self.wake()

    def wake(self) -> None:
        """Tell everybody who looks that there is something new."""
        for viewer in self.viewers:
            viewer.set()

    def changed_after(self, seq: int) -> set[str] | None:
        """Return the tasks with records after number ``seq``; None where that is not known."""
        if not self.since <= seq <= self.seq:
            return None
        return {task for task, at in self.changed.items() if at > seq and task}

    @property
    def can_resume(self) -> bool:
        """True for a paused or interrupted run, which `unstuck run --resume` continues."""
        run = self.view.state.run
        return not self.live and run.kind != "watch" and run.state not in ("ended", "new")

    def close(self) -> None:
        self._unfollow()


class Runs:
    """The runs of a project, all of them or those in ``only``. ``own`` is the one that this process works."""

    is_elsewhere = False
    """True where only the logs are at hand: no checkpoints, no ended runs, nothing to resume."""

    def __init__(
        self, place: Project, environ: Mapping[str, str], *, only: Sequence[str] = (), own: RunView | None = None
    ) -> None:
        self.place, self._environ, self._only = place, dict(environ), tuple(only)
        self._open: OrderedDict[str, WatchedRun] = OrderedDict()
        self._own = own.state.run.id if own is not None else ""
        if own is not None:
            self._open[self._own] = WatchedRun(own, self._own)
        self._pollers: dict[str, asyncio.Task[None]] = {}
        self._opening = asyncio.Lock()
        self._changes: dict[tuple[str, str], asyncio.Task[tuple[str, str] | None]] = {}

    @property
    def title(self) -> str:
        """The name on each page."""
        return self.place.root.name

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return SystemClock().now()

    def names(self) -> list[str]:
        """Return the ids of the runs that may be shown, oldest first."""
        return [run for run in run_names(self.place.runs) if not self._only or run in self._only]

    @property
    def is_restricted(self) -> bool:
        """True for a page of some runs only."""
        return bool(self._only)

    def may_show(self, run: str) -> bool:
        """True for a run that may be shown; what belongs to none is not shown where the page is of some runs only."""
        return not self._only or run in self._only

    def first(self) -> str:
        """Return the run to begin with: this process's own, a live one, else the last. Raises UsageError."""
        live = live_run(self.place)
        wanted = self._own or (live.run if live is not None else "")
        if wanted and (not self._only or wanted in self._only):
            return wanted
        return self._only[-1] if self._only else find_run(self.place, "last")

    async def rows(self, newest: int) -> list[dict[str, Any]]:
        """Return a row for each of the newest runs, the newest first."""
        rows = await asyncio.to_thread(lambda: list(run_rows(self.place, newest=0 if self._only else newest)))
        return [row for row in reversed(rows) if not self._only or row["run"] in self._only][:newest]

    async def open(self, run: str) -> WatchedRun:
        """Return ``run`` as it is now. Raises UsageError for one that is not shown, and RecordError."""
        if run != self._own and run not in self.names():
            raise UsageError(f"there is no run {one_line(run, 60)} here")
        async with self._opening:
            if (known := self._open.get(run)) is None:
                view = await asyncio.to_thread(FollowedRun, self.place, run, self._environ)
                known = self._open[run] = WatchedRun(view, run)
                self._forget()
        self._open.move_to_end(run)
        self._look(known)
        known.live = await self._is_live(known)
        return known

    @asynccontextmanager
    async def followed(self, run: WatchedRun) -> AsyncIterator[asyncio.Event]:
        """Follow ``run`` for as long as the context lasts: the event is set when something has changed."""
        viewer = asyncio.Event()
        run.viewers.add(viewer)
        if run.run not in self._pollers:
            self._pollers[run.run] = asyncio.create_task(self._poll(run))
        try:
            yield viewer
        finally:
            run.viewers.discard(viewer)
            if not run.viewers and (poller := self._pollers.pop(run.run, None)) is not None:
                poller.cancel()

    async def close(self) -> None:
        """Follow nothing any more."""
        for poller in self._pollers.values():
            poller.cancel()
        for run in self._open.values():
            run.close()
        for task in self._changes.values():
            task.cancel()
        await asyncio.gather(*self._changes.values(), return_exceptions=True)

    def agent_at(self, host: str, client: int, server: int) -> str:
        """Return the sign by which an agent is at the ``client`` port of a connection to ``server``; empty without.

        What has ended its connection on this machine cannot be looked up, and is taken for one.
        """
        pids = callers(client, server)
        if pids is None:
            return "its process is gone" if is_here(host) else ""
        agents = self._agents()
        unwatched = [life for run in self._open.values() for life in run.view.state.run.unwatched]
        signs = (agent_sign(pid, agents, unwatched) or mark_of(pid) for pid in pids)
        return next(filter(None, signs), "")

    def _agents(self) -> list[tuple[int, float]]:
        opened = (one for run in self._open.values() for one in run.view.state.agents())
        return [*live_agents(self.place.home), *opened]

    async def changes(self, run: WatchedRun, row: GateRow) -> tuple[str, str]:
        """Return the changes of the task of a question, whose agent waits: since when, and their diff.

        Empty where they cannot be had, or come late: another machine may be slow, and its question is here already.
        """
        key = run.run, row.id
        if key not in self._changes:
            self._changes[key] = asyncio.create_task(_changes_of(run, row))
            while len(self._changes) > _MOST_CHANGES:
                self._changes.pop(next(iter(self._changes))).cancel()
        task = self._changes[key]
        await asyncio.wait({task}, timeout=_CHANGES_S)
        if not task.done() or task.cancelled():
            return "", ""
        if (found := task.result()) is None:  # what stood in its way may be gone at the next look
            self._changes.pop(key, None)
        return found or ("", "")

    # --- what a person says ------------------------------------------------------------------------------------------

    async def answer(self, run: WatchedRun, gate: str, answer: Answer) -> None:
        """Give ``gate`` its answer, as `unstuck answer` does: to the live run, else into its log.

        Raises AnswerRefused, GateClosed, GateUnknown, and UnstuckError where it cannot be recorded.
        """
        if run.run == self._own and await self._is_live(run):
            await run.view.answer(gate, answer)
            return
        for left in reversed(range(_TRIES)):
            if await asyncio.to_thread(answer_online, self.place, gate, answer, self._environ, via=VIA):
                return
            try:
                await answer_offline(self.place, gate, answer, via=VIA)
                break
            except ProjectLocked:  # it was resumed meanwhile, and takes the answer itself
                if not left:
                    raise
        self._look(run)

    async def closed(self, run: WatchedRun, gate: str) -> GateRow | None:
        """Return the question once the log holds the answer that another person has just given."""
        async with self.followed(run) as moved:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSED_S):
                    while (row := run.view.state.gates.get(gate)) is not None and row.status == "open":
                        moved.clear()
                        await moved.wait()
        return run.view.state.gates.get(gate)

    async def keep_open(self, run: WatchedRun, gate: str) -> None:
        """Stop the timer of ``gate``. Raises UnstuckError."""
        row = run.view.state.gates.get(gate)
        if row is None or row.status != "open":
            raise GateUnknown(gate) if row is None else GateClosed(gate, row.by or "the supervisor", row.closed)
        await run.view.keep_open(gate)

    async def hold(self, run: WatchedRun, row: TaskRow) -> None:
        """Hold the agent of ``row``, the later one of a collision. Raises UnstuckError where it is that no more."""
        if row.id not in later_of(run.view.state, row.id):
            raise UsageError(f"{row.id} changes no file that another task has changed before it")
        await run.view.hold(row.id)

    async def resume(self, run: WatchedRun) -> None:
        """Start `unstuck run --resume` in the background. Raises UnstuckError with its reason where it ends."""
        if not run.can_resume:
            raise UsageError(f"run {run.run} is not paused")
        log = await asyncio.to_thread(_read_log, run.view.log)
        await asyncio.to_thread(
            start_in_background,
            ["run", "--headless", "--resume", run.run],
            cwd=self.place.directory,
            environ=self._environ,
            begun=lambda process: _is_resumed(log, process.pid),
            kind=subprocess.Popen,
        )

    # --- how it is followed ------------------------------------------------------------------------------------------

    async def _poll(self, run: WatchedRun) -> None:
        """Look for new records, and sometimes whether the run is live, while a browser has it open."""
        looked = 0.0
        while True:
            self._look(run)
            looked += _LOOK_S
            if looked >= _LIVE_S:
                looked, live = 0.0, await self._is_live(run)
                if live != run.live:
                    run.live = live
                    run.wake()
            await asyncio.sleep(_LOOK_S)

    def _look(self, run: WatchedRun) -> None:
        if isinstance(run.view, FollowedRun):
            problem = ""
            try:
                run.view.look()
            except (RecordError, OSError) as error:
                problem = str(error)
            if problem != run.problem:
                run.problem = problem
                run.wake()

    async def _is_live(self, run: WatchedRun) -> bool:
        state = run.view.state.run.state
        return state not in ("parked", "ended") and await asyncio.to_thread(is_live, self.place, run.run)

    def _forget(self) -> None:
        """Drop the runs that nobody has looked at for the longest time."""
        for name in list(self._open):
            if len(self._open) <= _KEPT:
                return
            if name != self._own and not self._open[name].viewers:
                self._open.pop(name).close()


async def _changes_of(run: WatchedRun, row: GateRow) -> tuple[str, str] | None:
    with suppress(UnstuckError, OSError):
        return await run.view.changes(row.gate.task)
    return None


def _read_log(path: Path) -> LogFollower:
    """Return a reader that stands at the end of a log. Raises RecordError."""
    log = LogFollower(path)
    log.read()
    return log


def _is_resumed(log: LogFollower, pid: int) -> bool:
    """True once the process ``pid``, and no other that was started at the same time, works the run."""
    return any(isinstance(record.event, RunResumed) and record.event.pid == pid for record in log.read())
