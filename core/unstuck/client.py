"""Client of a project's runs for other programs, such as an editor or a dashboard.

It reads event logs as ``unstuck show`` does, and speaks to a live run over the local socket. The models of what it
returns are in ``unstuck.schemas``; ``unstuck schema`` prints them for other languages.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from unstuck.arguments import checked
from unstuck.channel import call, socket_path
from unstuck.clock import SystemClock
from unstuck.contract import Choice, Scope
from unstuck.errors import ArgumentError, ChannelError, GateError, GateUnknown, RecordError, UnstuckError
from unstuck.eventlog.events import RunStarted, TaskAdded
from unstuck.eventlog.log.record_reader import RunReader
from unstuck.eventlog.storage.run_store import run_names
from unstuck.processes.background import start_in_background
from unstuck.runs.queries.run_list import find_run, rows_of, run_rows
from unstuck.schemas.catalogue import SCHEMAS
from unstuck.schemas.control import EventsReply, StateReply
from unstuck.schemas.runs import DamagedRun, EventRecord, OpenQuestion, Run, ShownRun, ShownTask
from unstuck.settings.models import plain_name
from unstuck.settings.paths import runtime_dir
from unstuck.workspace.project import located

_REPLY_S = 30.0
_Row = TypeVar("_Row")


class Shown(NamedTuple):
    """A run with its tasks and its open questions."""

    run: ShownRun
    tasks: tuple[ShownTask, ...]
    questions: tuple[OpenQuestion, ...]


class Started(subprocess.Popen[bytes]):
    """The process of a run that was started; ``run`` is the run's id."""

    run = ""


class Client:
    """The runs of the project around ``project``, and control of the live one.

    It raises UsageError (with ProjectError and SettingsError) where the project or its directories cannot be used, and
    RecordError for an event log that cannot be read. Methods that ask the live run raise ChannelError without one,
    GateError for a refused answer, and UnstuckError for another refusal.

    Example::

        client = Client("path/to/project")
        for question in client.show().questions:
            client.answer(question.gate, "retry", "Keep the public names.")
    """

    @checked
    def __init__(self, project: str | Path = ".", *, environ: Mapping[str, str] | None = None) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._place = located(project)

    def runs(self) -> list[Run | DamagedRun]:
        """List the runs, oldest first."""
        return [SCHEMAS["runs"].adapter.validate_python(row) for row in run_rows(self._place)]

    @checked
    def show(self, run: str = "last") -> Shown:
        """Show a run: an id, the start of one, or ``last``. Raises UsageError, and RecordError for a damaged one."""
        rows, damage = rows_of(self._place, find_run(self._place, run), SystemClock().now())
        if damage is not None:
            raise damage
        found = [SCHEMAS["show"].adapter.validate_python(row) for row in rows]
        return Shown(found[0], _of(ShownTask, found), _of(OpenQuestion, found))

    def state(self) -> StateReply:
        """Return the tasks and open questions of the live run."""
        return StateReply.model_validate(self._ask({"do": "state"}))

    @checked
    def follow(self, after: int = 0) -> Iterator[EventRecord]:
        """Yield the events of the live run after number ``after``, until it ends or its process is gone."""
        run = self.state().run
        for record in chain(self._live(run, after), self._logged(run)):
            if record.seq > after:
                after = record.seq
                yield record
                if record.event in ("run_ended", "run_parked"):
                    return

    def _live(self, run: str, after: int) -> Iterator[EventRecord]:
        with suppress(ChannelError):  # a run that ends closes its socket; its last events are in the log
            while True:
                reply = EventsReply.model_validate(self._ask({"do": "events", "after": after}, timeout=None))
                if not reply.records or reply.records[0].run != run:
                    return
                yield from reply.records
                after = reply.records[-1].seq

    def _logged(self, run: str) -> Iterator[EventRecord]:
        for record in RunReader(self._place.runs / run).records():
            yield EventRecord.model_validate(record.as_dict())

    @checked
    def answer(
        self, gate: str, choice: str, text: str = "", *, number: float | None = None, scope: Scope = "once"
    ) -> None:
        """Answer a question. ``number`` is in seconds for ``extend`` and a position from 1 for ``choose``."""
        self._ask({"do": "answer", "gate": gate, **_answer(choice, text, number), "scope": scope})

    @checked
    def hold(self, task_id: str) -> str:
        """Hold a task at its agent's next step; return the id of the question that releases it.

        A run without a screen refuses, because nobody is there to release it: use :meth:`decide`.
        """
        return str(self._ask({"do": "hold", "task": task_id})["gate"])

    @checked
    def release(self, task_id: str) -> None:
        """Release a held task. Raises GateUnknown for one that is not held."""
        for question in self.state().questions:
            if question.task == task_id and "continue" in question.choices:
                self.answer(question.gate, "continue")
                return
        raise GateUnknown(f"of a held task {task_id}")

    @checked
    def decide(self, task_id: str, choice: Choice, text: str = "", *, number: float | None = None) -> None:
        """Decide about a task that works: skip, abandon, retry, or extend its time by ``number`` seconds."""
        self._ask({"do": "step", "task": task_id, **_answer(choice, text, number)})

    @checked
    def stop(self, reason: str = "") -> None:
        """Stop the live run. It can be resumed."""
        self._ask({"do": "stop", "reason": reason})

    @checked
    def start(self, prompt: str, *, agent: str | Sequence[str], check: str | None = None) -> Started:
        """Start a run of one task in the background and return its process, which outlives this one.

        It returns when the task is in the event log, from which a killed run can be resumed. A project has one live
        run, whose tasks are decided at its start: with another one live, this is refused. ``agent`` is the name of a
        known one, or a command. The run asks nobody who is present: it pauses for a question, and :meth:`show` has
        it. Raises UsageError, and UnstuckError for another reason not to start.
        """
        if not agent:
            raise ArgumentError("Client.start: agent must name an agent or be a command, and it is empty")
        words = [f"--agent={agent}"] if isinstance(agent, str) else ["--", *agent]
        if "\0" in "".join([prompt, *words, check or ""]):
            raise ArgumentError("Client.start: prompt, agent and check must have no NUL character")
        options = [f"--task={prompt}", *([f"--check={check}"] if check is not None else [])]
        before = set(run_names(self._place.runs))

        def begun(process: Started) -> bool:
            process.run = self._run_of(process.pid, before)
            return bool(process.run)

        command = ["run", "--headless", *options, *words]
        return start_in_background(command, cwd=self._place.directory, environ=self._environ, begun=begun, kind=Started)

    def _run_of(self, pid: int, before: Container[str]) -> str:
        """Return the run that the process ``pid`` works, once its task is recorded."""
        for run in run_names(self._place.runs):
            with suppress(RecordError):
                records = iter(() if run in before else RunReader(self._place.runs / run).records())
                first = next(records, None)
                mine = first is not None and isinstance(first.event, RunStarted) and first.event.pid == pid
                if mine and any(isinstance(record.event, TaskAdded) for record in records):
                    return run
        return ""

    def _ask(self, message: Mapping[str, Any], *, timeout: float | None = _REPLY_S) -> dict[str, Any]:
        path = socket_path(runtime_dir(self._environ), self._place.home)
        reply = call(path, dict(message), timeout=timeout)
        if "error" in reply:
            raise (GateError if message["do"] in ("answer", "step", "hold") else UnstuckError)(str(reply["error"]))
        return reply


def _of(kind: type[_Row], rows: Sequence[object]) -> tuple[_Row, ...]:
    return tuple(row for row in rows if isinstance(row, kind))


def _answer(choice: str, text: str, number: float | None) -> dict[str, Any]:
    return {"choice": plain_name(choice), "text": text, "number": number}
