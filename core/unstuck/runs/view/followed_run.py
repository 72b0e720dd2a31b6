"""A run that another process works, followed through its log and answered through its socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from unstuck.channel import request, socket_path
from unstuck.clock import SystemClock
from unstuck.errors import AnswerRefused, ChannelError, RecordError, UnstuckError
from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.eventlog.log.tail import LogFollower
from unstuck.eventlog.state import State
from unstuck.runs.checkpoint_commands import store_of
from unstuck.runs.queries.run_list import is_live
from unstuck.runs.recovery_choices import tree_of
from unstuck.runs.view.hook_states import hook_states
from unstuck.runs.view.output_files import Printed, printed_of
from unstuck.runs.view.outputs import OutputKind, Outputs, OutputTail
from unstuck.runs.view.run_elsewhere import AskedRun
from unstuck.settings.models import Settings
from unstuck.settings.paths import runtime_dir
from unstuck.supervision.checkpointing import Since, diff_since
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.workspace.project import Project

LOOK_S = 0.2
_REPLY_S = 30.0


class FollowedRun(AskedRun):
    """The run ``run`` of a project, which another process works."""

    title = "ATTACHED"
    no_takeover = "this is an attached screen: edit by hand at the screen of the run"

    def __init__(self, place: Project, run: str, environ: Mapping[str, str]) -> None:
        self.run = run
        self.place, self._environ = place, environ
        self._follower = LogFollower(place.runs / run / LOG_NAME)
        self._follower.read()
        self._settings = Settings.thaw(self.state.run.settings) if self.state.run.settings else Settings()
        self._outputs = Outputs(environ)
        super().__init__(self._settings, SystemClock())

    @property
    def state(self) -> State:
        return self._follower.state

    @property
    def log(self) -> Path:
        return self._follower.path

    @property
    def is_live(self) -> bool:
        """True while some process works it."""
        return is_live(self.place, self.run)

    def look(self) -> int:
        """Take in what the log has more; returns how many records. Raises RecordError."""
        new = self._follower.read()
        for record in new:
            self._show(record)
        return len(new)

    async def refresh_held(self) -> None:
        """Ask whether the run can be recorded for the moment: that is in no record."""
        held = ""
        try:
            reply = await self._ask({"do": "state"})
            held = str(reply.get("held") or "")
        except ChannelError:
            pass
        if held != self.held:
            self.held = held
            self._show_trouble()

    async def output(self, task: str, kind: OutputKind) -> OutputTail:
        limit = self._settings.output_limit
        return await self._outputs.tail(self.log, self.state, task, kind, live=True, limit=limit)

    async def hooks(self) -> Mapping[str, bool]:
        return await hook_states(self.place.root, self._environ) if self.state.run.kind == "watch" else {}

    async def printed(self, attempts: Sequence[str]) -> Mapping[str, Printed]:
        return await printed_of(self.log, attempts)

    async def changes(self, task: str, since: Since = "start") -> tuple[str, str]:
        row = self.state.tasks.get(task)
        if row is None:
            return "", ""
        tree = tree_of(self.place, self.run, row, self._environ)
        return await diff_since(self.state, row, store_of(self.place, tree, self._settings, gone=True), since)

    async def start_takeover(self, task: str) -> Takeover:
        raise UnstuckError(self.no_takeover)

    async def end_takeover(self, taken: Takeover) -> TakeoverChanges:
        raise UnstuckError("this is an attached screen: no files were taken over here")

    async def stop(self, reason: str) -> object:
        raise UnstuckError("this is an attached screen: stop the run at its own screen")

    async def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            reply = await self._ask(message)
        except ChannelError:
            if await asyncio.to_thread(lambda: self.is_live):  # such as one that waits for room on its disk
                raise UnstuckError(f"no reply within {_REPLY_S:.0f} s: it may still be applied") from None
            raise UnstuckError(
                f"the supervisor is gone; `unstuck answer` takes answers, `unstuck run --resume {self.run}` resumes it"
            ) from None
        if "error" in reply:
            raise AnswerRefused(str(reply["error"]))
        with suppress(RecordError):  # the app that follows the log reports it
            self.look()  # what was done stands there, and is to be shown with what comes next
        return reply

    async def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        path = socket_path(runtime_dir(self._environ), self.place.home, watch=self.state.run.kind == "watch")
        return await request(path, message, timeout=_REPLY_S)
