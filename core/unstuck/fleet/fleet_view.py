"""All runs of all hosts as one run: one list of tasks and questions, each with its host's name before its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from unstuck.clock import Clock, SystemClock, iso
from unstuck.contract import Answer
from unstuck.errors import GateUnknown, RecordError, UsageError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.rows import changed
from unstuck.eventlog.log.log_format import read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.state import AttemptRow, GateRow, RunRow, State, TaskRow
from unstuck.fleet.copies import Copies
from unstuck.fleet.hosts import LinkOpener, RemoteHost
from unstuck.fleet.remote_run import RemoteRun
from unstuck.runs.view.output_files import Printed
from unstuck.runs.view.outputs import OutputKind, OutputTail
from unstuck.runs.view.run_elsewhere import RunElsewhere
from unstuck.settings.models import Settings
from unstuck.supervision.checkpointing import Since
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.supervision.intervention.allowed import NextRung
from unstuck.text import one_line

_MERGE_S = 0.2
_EXACT_S = 1.0
_WIDE = ("gate_", "timer_", "task_ended")
"""Beginnings of the names of events about one task that change others as well."""


class FleetView(RunElsewhere):
    """The runs of ``hosts`` in one state. Ids of tasks and questions are ``HOST/PROJECT/ID``.

    All times in it are by this machine's clocks, so that a countdown is right however wrong the host's clock is.
    """

    place = None

    def __init__(
        self, hosts: Sequence[str], open_link: LinkOpener, copies: Copies, *, clock: Clock | None = None
    ) -> None:
        if not hosts or len(set(hosts)) < len(hosts):
            raise UsageError("name each host once")
        super().__init__(Settings(), clock or SystemClock())
        self.log = copies.folder / "fleet.jsonl"
        self.state = State(run=RunRow(state="running", started=iso(self.clock.now())))
        self._open_link, self._copies = open_link, copies
        self._following: asyncio.TaskGroup | None = None
        self._prefixes: dict[RemoteRun, str] = {}
        self._owners: dict[str, RemoteRun] = {}
        self._merged: dict[RemoteRun, dict[type[Any], dict[str, Any]]] = {}
        self._due: set[RemoteRun] = set()
        self._clocks: dict[str, tuple[float, float]] = {}
        self._hosts: dict[str, RemoteHost] = {}
        for name in hosts:
            self.add(name)

    @property
    def hosts(self) -> Sequence[RemoteHost]:
        """The hosts that are shown, in the order in which they were named."""
        return tuple(self._hosts.values())

    @property
    def title(self) -> str:
        return ", ".join(host.name for host in self.hosts)

    def add(self, name: str) -> None:
        """Show one more host."""
        host = RemoteHost(name, self._open_link, self._copies, self._changed, clock=self.clock)
        self._hosts[name] = host
        self.state.run = replace(self.state.run, project=self.title)
        for run in host.runs.values():
            self._merge(run)
        if self._following is not None:
            self._following.create_task(host.follow())
            self._show_trouble()

    async def follow_hosts(self) -> None:
        """Follow all hosts for as long as this is awaited."""
        async with asyncio.TaskGroup() as self._following:
            for host in self.hosts:
                self._following.create_task(host.follow())

    def run_of(self, id: str) -> tuple[RemoteRun, str]:
        """Return the run of a task or question, and its id there. Raises GateUnknown."""
        prefix, _, own = id.rpartition("/")
        run = self._owners.get(prefix) or self._owners.get(id)
        if run is None:
            raise GateUnknown(id)
        return run, own if prefix in self._owners else ""

    def absent(self, task: str) -> tuple[str, str]:
        run = self._owners.get(task.rpartition("/")[0]) or self._owners.get(task)
        if run is None:
            return "", ""
        host = self._host(run)
        if host.standing != "connected":
            return "UNKNOWN", host.age
        over = run.live or run.state.run.state in ("parked", "ended")
        return ("", "") if over else ("stopped", "")

    def past(self, keep: Callable[[bytes], bool]) -> Iterator[Record]:
        """Yield the records that are in the state already, of lines that ``keep`` accepts, run by run."""
        for run in list(self._prefixes):
            last = run.state.seq
            try:
                for line in read_lines(run.log):
                    if line.seq > last:
                        break
                    if keep(line.raw):
                        yield self._relayed(run, decoded(run.log, line))
            except RecordError:
                continue  # its host's line says what is wrong

    # --- what a person does ------------------------------------------------------------------------------------------

    async def output(self, task: str, kind: OutputKind) -> OutputTail:
        run, own = self.run_of(task)
        return await run.output(own, kind)

    async def printed(self, attempts: Sequence[str]) -> Mapping[str, Printed]:
        wanted: dict[RemoteRun, list[str]] = {}
        for attempt in attempts:
            run, own = self.run_of(attempt)
            wanted.setdefault(run, []).append(own)
        connected = [run for run in wanted if self._host(run).standing == "connected"]
        found = await asyncio.gather(*(run.printed(wanted[run]) for run in connected))
        return {
            f"{self._prefixes[run]}/{own}": printed
            for run, sizes in zip(connected, found, strict=True)
            for own, printed in sizes.items()
        }

    async def changes(self, task: str, since: Since = "start") -> tuple[str, str]:
        run, own = self.run_of(task)
        return await run.changes(own, since)

    async def answer(self, gate: str, answer: Answer) -> object:
        run, own = self.run_of(gate)
        return await run.answer(own, answer)

    async def hold(self, task: str) -> str:
        run, own = self.run_of(task)
        return f"{self._prefixes[run]}/{await run.hold(own)}"

    async def step_in(self, task: str, answer: Answer) -> object:
        run, own = self.run_of(task)
        return await run.step_in(own, answer)

    async def choose_rung(self, task: str, level: NextRung) -> None:
        run, own = self.run_of(task)
        await run.choose_rung(own, level)

    async def start_takeover(self, task: str) -> Takeover:
        run, own = self.run_of(task)
        return await run.start_takeover(own)

    async def end_takeover(self, taken: Takeover) -> TakeoverChanges:
        raise UsageError("no files were taken over here")

    async def keep_open(self, gate: str) -> object:
        run, own = self.run_of(gate)
        return await run.keep_open(own)

    async def stop(self, reason: str) -> object:
        raise UsageError("stop each run on its own host")

    # --- the merged state --------------------------------------------------------------------------------------------

    def _host(self, run: RemoteRun) -> RemoteHost:
        return self._hosts[run.host]

    def _changed(self, run: RemoteRun | None, record: Record | None) -> None:
        """Take in a record of ``run``; without one a host stands otherwise."""
        if run is None or record is None:
            self._set_clocks()
            self._show_trouble()
            return
        if run not in self._prefixes:
            self._merge(run)
        else:
            self._merge_about(run, record)
        self.state.seq += 1
        if run not in self._due and (not record.task or record.name.startswith(_WIDE)):
            self._due.add(run)
            asyncio.get_running_loop().call_later(_MERGE_S, self._merge_late, run)
        self._show(self._relayed(run, record))

    def _set_clocks(self) -> None:
        """Take in all rows of a host again whose clocks stand otherwise than was known."""
        for host in self.hosts:
            if self._clocks.get(host.name) != (clocks := (host.offset, host.mono_offset)):
                self._clocks[host.name] = clocks
                for run in host.runs.values():
                    self._merged.pop(run, None)
                    self._merge(run)

    def _prefix(self, run: RemoteRun) -> str:
        """Return what stands before the ids of a run; another run of the same project has a number."""
        if (known := self._prefixes.get(run)) is not None:
            return known
        project = one_line(run.state.run.project, 40).replace("/", "-") or "run"
        prefix, number = f"{run.host}/{project}", 1
        while prefix in self._owners:
            number += 1
            prefix = f"{run.host}/{project}~{number}"
        self._prefixes[run], self._owners[prefix] = prefix, run
        return prefix

    def _merge_about(self, run: RemoteRun, record: Record) -> None:
        """Take in the rows that ``record`` is about at once; what else it has changed follows soon."""
        state, task = run.state, run.state.tasks.get(record.task)
        gate = str(getattr(record.event, "gate", "") or "")
        for id in {gate, task.gate if task is not None else ""} & state.gates.keys():
            self._put(run, state.gates[id])
        for id in {record.attempt, task.attempt if task is not None else ""} & state.attempts.keys():
            self._put(run, state.attempts[id])
        for row in (task, state.tasks.get(getattr(record.event, "other", ""))):
            if row is not None:
                self._put(run, row)

    def _merge_late(self, run: RemoteRun) -> None:
        self._merge(run)
        self._show_trouble()

    def _merge(self, run: RemoteRun) -> None:
        """Take in all rows of a run that are others than before."""
        self._due.discard(run)
        if not run.state.seq:
            return
        state = run.state
        kinds: list[tuple[type[Any], Mapping[str, TaskRow | AttemptRow | GateRow]]]
        kinds = [(GateRow, state.gates), (AttemptRow, state.attempts), (TaskRow, state.tasks)]
        for kind, rows in kinds:
            known = self._known(run, kind)
            for id, row in rows.items():
                if known.get(id) is not row:
                    self._put(run, row)
        runs = [one.state.run for one in self._prefixes]
        costs = [one.cost for one in runs if one.cost is not None]
        tokens = sum(one.tokens for one in runs)
        self.state.run = replace(self.state.run, tokens=tokens, cost=sum(costs) if costs else None)

    def _known(self, run: RemoteRun, kind: type[Any]) -> dict[str, Any]:
        """Return the rows of a kind that were taken in, as they are in the run itself."""
        return self._merged.setdefault(run, {}).setdefault(kind, {})

    def _put(self, run: RemoteRun, row: TaskRow | AttemptRow | GateRow) -> None:
        known = self._known(run, type(row))
        before = known.get(row.id)
        if before is row:
            return
        known[row.id] = row
        prefix, host = self._prefix(run), self._host(run)

        def own(id: str) -> str:
            return f"{prefix}/{id}" if id else ""

        def mono(seconds: float | None) -> float | None:
            return None if seconds is None else seconds + host.mono_offset

        match row:
            case TaskRow():
                if before is not None and before.task is row.task:
                    task = self.state.tasks[own(row.id)].task  # making one cleans its whole prompt
                else:
                    task = replace(row.task, id=own(row.id), needs=tuple(map(own, row.task.needs)))
                until = row.backoff_until + host.mono_offset
                gate, attempt = own(row.gate), own(row.attempt)
                collisions = tuple(replace(one, other=own(one.other)) for one in row.collisions)
                self.state.tasks[task.id] = changed(
                    row, task=task, gate=gate, attempt=attempt, backoff_until=until, collisions=collisions
                )
            case AttemptRow():
                self.state.attempts[own(row.id)] = changed(
                    row,
                    id=own(row.id),
                    task=own(row.task),
                    started=row.started + host.mono_offset,
                    deadline=mono(row.deadline),
                    warn_at=mono(row.warn_at),
                    held_since=mono(row.held_since),
                )
            case GateRow():
                question = replace(
                    row.gate,
                    id=own(row.id),
                    task=own(row.gate.task) or prefix,
                    attempt=own(row.gate.attempt) if row.gate.attempt else row.gate.attempt,
                    acts_at=mono(row.gate.acts_at),
                )
                self.state.gates[question.id] = replace(
                    row,
                    gate=question,
                    opened=_shifted(row.opened, host.offset),
                    closed=_shifted(row.closed, host.offset),
                    since=row.since + host.mono_offset,
                    holds=tuple(map(own, row.holds)),
                )

    def _relayed(self, run: RemoteRun, record: Record) -> Record:
        """Return a record as the merged run would hold it. The ids in its event stay those of its own log."""
        host = self._host(run)
        task = f"{self._prefix(run)}/{record.task}" if record.task else ""
        time = _shifted(record.time, host.offset)
        return changed(record, task=task, time=time, mono=record.mono + host.mono_offset)


def _shifted(time: str, seconds: float) -> str:
    """Return an ISO 8601 time by this machine's clock; one that is nearly right stays as it is."""
    if not time or abs(seconds) < _EXACT_S:
        return time
    try:
        return iso(datetime.fromisoformat(time).timestamp() + seconds)
    except (ValueError, OverflowError, OSError):
        return time
