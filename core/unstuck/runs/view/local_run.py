"""The run that this process works, as a person sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from unstuck.clock import Clock
from unstuck.errors import UnstuckError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import NotificationSent
from unstuck.eventlog.state import GateRow, State
from unstuck.runs.view.hook_states import hook_states
from unstuck.runs.view.output_files import Printed, printed_of
from unstuck.runs.view.outputs import OutputKind, Outputs, OutputTail
from unstuck.runs.view.run_view import NoticeKind, agents_at_work, limits_of
from unstuck.supervision.context.next_step import can_progress
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean
from unstuck.workspace.project import Project

if TYPE_CHECKING:
    from unstuck.supervision.recovery.review import Standstill


class LiveRun:
    """The run that this process works."""

    title = ""
    is_past = False
    is_elsewhere = False
    no_takeover = ""

    def __init__(self, supervisor: Supervisor, via: str = "screen") -> None:
        self._supervisor, self._core = supervisor, supervisor.core
        self.changes, self.keep_open = supervisor.changes, supervisor.keep_open
        self.answer, self.step_in = partial(supervisor.answer, via=via), partial(supervisor.step_in, via=via)
        self.hold, self.choose_rung = supervisor.hold, supervisor.choose_rung
        self.start_takeover, self.end_takeover = supervisor.start_takeover, supervisor.end_takeover
        self.stop = supervisor.stop
        self._outputs = Outputs(supervisor.core.environ)
        self.rules = supervisor.core.limits
        self.limits = limits_of(self.rules, supervisor.core.settings.window_size)

    @property
    def clock(self) -> Clock:
        return self._core.clock

    @property
    def state(self) -> State:
        return self._supervisor.state

    @property
    def log(self) -> Path:
        return self._core.journal.path

    @property
    def place(self) -> Project:
        core = self._core
        return Project(core.root / core.subdirectory, core.root, core.repository, core.home)

    @property
    def held(self) -> str:
        return self._core.journal.held

    @property
    def unrecorded(self) -> GateRow | None:
        if not self.held:
            return None
        asked = self._core.head.open_gates()
        return next((row for row in asked if row.gate.type == "disk" and row.id not in self.state.gates), None)

    @property
    def goes_on(self) -> bool:
        state = self._core.head
        if state.run.kind == "watch":
            return bool(agents_at_work(state))
        accept = self._core.accept_unverified
        works = any(can_progress(state, row, accept_unverified=accept) for row in state.tasks.values())
        return state.run.state == "blocked" or (state.run.state == "running" and (works or not state.tasks))

    @property
    def recovery(self) -> Standstill | None:
        return self._supervisor.standstill

    def absent(self, task: str) -> tuple[str, str]:
        return "", ""

    def follow(self, see: Callable[[Record], None], trouble: Callable[[], None]) -> Callable[[], None]:
        journal = self._core.journal
        journal.on_durable(see)
        journal.on_trouble(trouble)

        def unfollow() -> None:
            journal.remove_listener(see)
            journal.remove_listener(trouble)

        return unfollow

    async def output(self, task: str, kind: OutputKind) -> OutputTail:
        limit = self._core.settings.output_limit
        return await self._outputs.tail(self.log, self.state, task, kind, live=True, limit=limit)

    async def hooks(self) -> Mapping[str, bool]:
        if self.state.run.kind != "watch":
            return {}
        return await hook_states(self._core.root, self._core.environ)

    async def printed(self, attempts: Sequence[str]) -> Mapping[str, Printed]:
        return await printed_of(self.log, attempts)

    def notified(self, kind: NoticeKind, way: str, tasks: tuple[str, ...], text: Clean) -> None:
        if self.held:
            return  # it would wait with all that matters more
        about = tasks[0] if len(tasks) == 1 else ""
        with suppress(UnstuckError):
            self._core.append(NotificationSent(kind=kind, way=way, tasks=tasks, text=text), task=about)
