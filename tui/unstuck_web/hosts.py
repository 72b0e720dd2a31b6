"""The runs of several machines on the page, in one list. What needs the files of a project stays on its host."""

from __future__ import annotations

from collections.abc import Mapping

from unstuck.clock import SystemClock
from unstuck.contract import Answer
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.load_state import live_agents
from unstuck.eventlog.state import TaskRow
from unstuck.eventlog.storage.project_list import listed_homes
from unstuck.fleet.fleet_view import FleetView
from unstuck.runs.view.run_view import rows_after
from unstuck.settings.paths import state_dir
from unstuck.workspace.project import Project
from unstuck_web.runs import Runs, WatchedRun

NAME = "hosts"


class WatchedHosts(WatchedRun):
    """All runs of all hosts with what has changed in them. A record has the number of its own log, so here is another.

    Numbers go by the clock: a page that was left open asks another process with one of an earlier one.
    """

    def __init__(self, view: FleetView) -> None:
        self._fleet, self._shown = view, dict[str, tuple[TaskRow, str]]()
        self._number = int(SystemClock().now() * 1000)
        super().__init__(view, NAME)

    @property
    def seq(self) -> int:
        return self._number

    @property
    def hosts(self) -> tuple[tuple[bool, str], ...]:
        return tuple((host.standing == "connected", host.words_since) for host in self._fleet.hosts)

    def _see(self, record: Record) -> None:
        self._note(rows_after(self.view.state, record))

    def _stand(self) -> None:
        """Note the tasks that were merged since the last look, and those of hosts that stand otherwise."""
        now = {id: (row, self.view.absent(id)[0]) for id, row in self.view.state.tasks.items()}
        before, self._shown = self._shown, now
        self._note({id for id, shown in now.items() if before.get(id) != shown})

    def _note(self, tasks: set[str]) -> None:
        self._number += 1
        self.changed |= dict.fromkeys(("", *tasks), self._number)
        self.wake()


class HostRuns(Runs):
    """The runs of the hosts in ``view``, as one run for the site."""

    is_elsewhere = True
    title = "all hosts"

    def __init__(self, view: FleetView, environ: Mapping[str, str]) -> None:
        folder = state_dir(environ) / "fleet-page"
        super().__init__(Project(folder, folder, None, folder), environ)
        self._state = state_dir(environ)
        self._own, self._open[NAME] = NAME, WatchedHosts(view)

    def first(self) -> str:
        return NAME

    def names(self) -> list[str]:
        return [NAME]

    async def answer(self, run: WatchedRun, gate: str, answer: Answer) -> None:
        await super().answer(run, gate, answer)
        await self.closed(run, gate)  # the host's own line comes a moment after its reply

    def _agents(self) -> list[tuple[int, float]]:
        return [agent for home in listed_homes(self._state) for agent in live_agents(home)]

    async def _is_live(self, run: WatchedRun) -> bool:
        return True
