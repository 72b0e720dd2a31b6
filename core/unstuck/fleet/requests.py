"""Requests of screens elsewhere, carried out on the host as the local screen does: through the run's own socket."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter

from unstuck.channel import request, socket_path
from unstuck.contract import Answer
from unstuck.errors import ChannelError, ProjectLocked, UnstuckError
from unstuck.eventlog.log.load_state import is_watch
from unstuck.fleet.host_logs import HostLog
from unstuck.runs.answers.answer_offline import answer_offline
from unstuck.runs.view.followed_run import FollowedRun
from unstuck.runs.view.output_files import Printed
from unstuck.runs.view.outputs import OutputTail
from unstuck.settings.paths import runtime_dir
from unstuck.supervision.checkpointing import Since
from unstuck.supervision.gates.gate_types import admitted
from unstuck.text import admit
from unstuck.workspace.project import Project, located

CONTROLS = frozenset(("answer", "hold", "step", "rung", "keep", "stop", "state"))
"""Messages of the local socket that a screen elsewhere may send; a person's own, as from a screen here."""
LOOKS = frozenset(("output", "printed", "changes"))
"""Requests of a screen elsewhere for what lies beside the log."""
TAIL: TypeAdapter[OutputTail] = TypeAdapter(OutputTail)
PRINTED: TypeAdapter[dict[str, Printed]] = TypeAdapter(dict[str, Printed])

_REPLY_S = 30.0
_TRIES = 3
_MOST = 500
_DIFF = 4_000_000
_WHO = re.compile(r"[\w.@-]{1,80}")


class Requests:
    """The runs of this user on this machine, for one screen elsewhere. ``who`` is what it says who sits there."""

    def __init__(self, environ: Mapping[str, str], who: str) -> None:
        self._environ = dict(environ)
        self._via = f"fleet:{who}" if _WHO.fullmatch(who) else "socket"
        self._views: dict[str, FollowedRun] = {}

    async def reply(self, log: HostLog | None, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to one request; what is wrong with it comes back as ``error``."""
        do = message.get("do")
        if log is None:
            return {"error": "this run is not followed here", "code": 2}
        try:
            if do in LOOKS:
                return await self._look(log, message)
            if do in CONTROLS:
                return await self._control(log, dict(message))
        except (UnstuckError, TypeError, ValueError, KeyError) as problem:
            return {"error": str(problem), "code": getattr(problem, "exit_code", 2)}
        except OSError as problem:
            return {"error": f"it cannot be read: {problem.strerror or problem}", "code": 2}
        return {"error": f"this version does not know the request {admit(str(do), limit=60)}", "code": 2}

    async def _control(self, log: HostLog, message: dict[str, Any]) -> dict[str, Any]:
        place, message["via"] = log.place, self._via
        for left in reversed(range(_TRIES)):
            try:
                watch = await asyncio.to_thread(is_watch, log.path.parent)
                path = socket_path(runtime_dir(self._environ), place.home, watch=watch)
                return await request(path, message, timeout=_REPLY_S)
            except ChannelError as gone:
                if message["do"] != "answer":
                    return {"error": f"no process works this run: {gone}", "code": 2}
            try:
                await answer_offline(place, str(message["gate"]), _answer(message), via=self._via)
                return {"ok": True, "resume": log.run}
            except ProjectLocked:  # it was resumed meanwhile, and takes the answer itself
                if not left:
                    raise
        raise AssertionError

    async def _look(self, log: HostLog, message: Mapping[str, Any]) -> dict[str, Any]:
        view = self._views.get(log.name)
        if view is None:
            view = await asyncio.to_thread(FollowedRun, log.place, log.run, self._environ)
            view.place = await asyncio.to_thread(_found, log, view)
            self._views[log.name] = view
        view.look()
        task = str(message.get("task", ""))
        match message["do"]:
            case "output":
                kind = message["kind"]
                if kind not in ("check", "agent", "prompt"):
                    raise ValueError("kind is check, agent or prompt")
                tail = await view.output(task, kind)
                return {"tail": TAIL.dump_python(tail, mode="json")}
            case "printed":
                attempts = [one for one in map(str, message["attempts"][:_MOST]) if one in view.state.attempts]
                return {"printed": PRINTED.dump_python(dict(await view.printed(attempts)), mode="json")}
            case _:
                since = message.get("since", "start")
                if since not in get_args(Since):
                    raise ValueError(f"since is one of: {', '.join(get_args(Since))}")
                checkpoint, diff = await view.changes(task, since)
                return {"checkpoint": checkpoint, "diff": admit(diff, limit=_DIFF)}


def _found(log: HostLog, view: FollowedRun) -> Project:
    """Return the project of a log with its files, wherever they are: above its home, or where its agents work."""
    trees = [Path(row.guidance.workdir) for row in view.state.attempts.values()]
    for directory in (log.home.parent, log.home.parent.parent, *dict.fromkeys(trees)):
        with suppress(UnstuckError):
            place = located(directory)
            if place.home == log.home:
                return place
    return view.place


def _answer(message: Mapping[str, Any]) -> Answer:
    number = message.get("number")
    return Answer(
        choice=message.get("choice", ""),
        text=admitted(str(message.get("text", ""))),
        number=float(number) if number is not None else None,
        scope=message.get("scope", "once"),
    )
