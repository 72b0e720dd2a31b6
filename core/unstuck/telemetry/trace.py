"""Spans and metrics of a run from its event log. Pure.

A run is a trace. The names of attributes are those of the GenAI conventions of :data:`CONVENTIONS`; what they do not
name is in the namespace ``unstuck``. Texts of prompts, steps and outputs are left out unless they are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from unstuck.contract import Task
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record

CONVENTIONS = "1.44.0"
"""Version of OpenTelemetry's semantic conventions."""
Value = str | int | float | bool | list[str]
Status = Literal["", "ok", "error"]
_PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A finished span: its ids in hexadecimal, and its times in nanoseconds since 1970."""

    trace: str
    id: str
    name: str
    start: int
    end: int
    parent: str = ""
    attributes: dict[str, Value] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    status: Status = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Sums of a run, from ``start`` to ``end`` (nanoseconds since 1970). ``cost`` is in US dollars."""

    run: str
    start: int
    end: int
    read: int = 0
    written: int = 0
    cost: float | None = None


class Tracer:
    """The spans of one run. ``texts``: prompts, steps and questions are attributes, too."""

    def __init__(self, run: str, *, texts: bool = False) -> None:
        self._run, self._texts = run, texts
        self._trace = hashlib.sha256(f"trace {run}".encode()).hexdigest()[:32]
        self._open: dict[str, Span] = {}
        self._tasks: dict[str, Task] = {}
        self._last: dict[str, str] = {}
        self._at = 0
        self.metrics = Metrics(run=run, start=0, end=0)

    def take(self, record: Record) -> Iterator[Span]:
        """Yield the spans that ``record`` ends."""
        at = _nanoseconds(record.time)
        self._at = max(self._at, at)
        self.metrics = replace(self.metrics, start=self.metrics.start or at, end=self._at)
        match record.event:
            case e.RunStarted(project=project, kind=kind):
                name = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": project}
                self._begin("run", f"invoke_workflow {project}", at, {**name, "unstuck.run.kind": kind})
            case e.RunResumed() if "run" not in self._open:
                self._begin("run", "invoke_workflow", at, {"gen_ai.operation.name": "invoke_workflow"})
            case e.TaskAdded(work=work):
                self._tasks[work.id] = work
            case e.AttemptStarted() as started:
                self._begin(record.attempt, *self._attempt(record, started, at))
            case e.SessionNamed(session=session) if record.attempt in self._open:
                self._open[record.attempt].attributes["gen_ai.conversation.id"] = session
            case e.StepRecorded(kind="action") as step:
                yield from self._step(record, at, "ok")
                tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": step.tool}
                text = {"gen_ai.tool.call.arguments": step.text}
                self._begin(f"step {record.attempt}", f"execute_tool {step.tool}", at, tool, text, record.attempt)
            case e.StepRecorded(kind="success" | "failure") as step:
                found = {"error.type": step.error_type or "_OTHER"} if step.kind == "failure" else {}
                yield from self._step(record, at, "error" if found else "ok", found)
            case e.UsageCounted() as used:
                self._count(record, used)
            case e.AttemptEnded(report=report):
                yield from self._step(record, at, "ok")
                told: dict[str, str] = {"unstuck.attempt.end": report.how, "gen_ai.response.model": report.model}
                told["gen_ai.provider.name"] = _PROVIDERS.get(report.program, "")
                good = report.how == "ended" and not report.error
                yield from self._end(record.attempt, at, "ok" if good else "error", told)
            case e.AttemptInterrupted():
                yield from self._step(record, at, "")
                yield from self._end(record.attempt, at, "error", {"unstuck.attempt.end": "interrupted"})
            case e.CheckFinished() as check:
                yield self._check(record, check, at)
            case e.GateOpened(gate=gate, type=kind) as opened:
                asked = {"unstuck.question.id": gate, "unstuck.question.type": kind, "unstuck.task.id": record.task}
                said = {"unstuck.question.text": str(opened.context.get("question", ""))}
                link = self._last.get(record.task, "")
                self._begin(gate, f"unstuck.question {kind}", at, asked, said, link=link)
            case e.GateAnswered(gate=gate) as answer:
                chosen: dict[str, str] = {"unstuck.answer.choice": answer.choice, "unstuck.answer.actor": record.actor}
                yield from self._end(gate, at, "ok", chosen)
            case e.GateWithdrawn(gate=gate):
                yield from self._end(gate, at, "", {})
            case e.RestoreDone() as restored:
                told = {"unstuck.task.id": record.task, "unstuck.checkpoint.id": restored.target}
                link = self._last.get(record.task, "")
                self._begin("restore", "unstuck.restore", at, told, link=link)
                yield from self._end("restore", at, "ok", {"unstuck.restore.files": restored.changed})
            case e.RunEnded(exit_reason=reason):
                yield from self._rest(reason)
            case e.RunParked():
                yield from self._rest("needs_person")
            case _:
                pass

    def finish(self) -> Iterator[Span]:
        """Yield what the log has left open, as it stands."""
        if "run" in self._open:
            yield from self._rest("unfinished")

    def _rest(self, reason: str) -> Iterator[Span]:
        for key in [key for key in self._open if key != "run"]:
            yield from self._end(key, self._at, "", {})
        told = {"unstuck.run.exit_reason": reason}
        yield from self._end("run", self._at, "ok" if reason == "succeeded" else "error", told)

    def _begin(
        self,
        key: str,
        name: str,
        at: int,
        attributes: dict[str, str],
        texts: Mapping[str, str] | None = None,
        parent: str = "run",
        link: str = "",
    ) -> None:
        told = {**attributes, **(texts or {} if self._texts else {})}
        above = self._open.get(parent) or self._open.get("run")
        self._open[key] = Span(
            trace=self._trace,
            id=self._id(key, at),
            parent=above.id if above is not None and key != "run" else "",
            name=name.strip(),
            start=at,
            end=at,
            attributes={name: value for name, value in told.items() if value},
            links=(link,) if link else (),
        )

    def _end(self, key: str, at: int, status: Status, attributes: dict[str, str] | dict[str, int]) -> Iterator[Span]:
        span = self._open.pop(key, None)
        if span is not None:
            told = {name: value for name, value in attributes.items() if value}
            yield replace(span, end=max(at, span.start), status=status, attributes=span.attributes | told)

    def _id(self, key: str, at: int) -> str:
        return hashlib.sha256(f"span {self._run} {key} {at}".encode()).hexdigest()[:16]

    def _attempt(
        self, record: Record, started: e.AttemptStarted, at: int
    ) -> tuple[str, int, dict[str, str], Mapping[str, str]]:
        task, guidance = self._tasks.get(record.task), started.guidance
        agent = (task.agent if task is not None else "") or "agent"
        self._last[record.task] = self._id(record.attempt, at)
        told = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "gen_ai.agent.id": record.attempt,
            "gen_ai.conversation.id": guidance.session or "",
            "unstuck.task.id": record.task,
            "unstuck.escalation.level": guidance.level,
        }
        return f"invoke_agent {agent}", at, told, {"unstuck.attempt.prompt": guidance.text}

    def _step(
        self, record: Record, at: int, status: Status, attributes: dict[str, str] | None = None
    ) -> Iterator[Span]:
        yield from self._end(f"step {record.attempt}", at, status, attributes or {})

    def _count(self, record: Record, used: e.UsageCounted) -> None:
        sums = self.metrics
        read, cost = used.tokens - used.written, sums.cost
        cost = cost if used.cost is None else (cost or 0.0) + used.cost
        self.metrics = replace(sums, read=sums.read + read, written=sums.written + used.written, cost=cost)
        if (span := self._open.get(record.attempt)) is not None:
            for name, more in (("input", read), ("output", used.written)):
                key = f"gen_ai.usage.{name}_tokens"
                before = span.attributes.get(key, 0)
                span.attributes[key] = more + (before if isinstance(before, int) else 0)

    def _check(self, record: Record, check: e.CheckFinished, at: int) -> Span:
        run = self._open.get("run")
        told: dict[str, Value] = {"unstuck.task.id": record.task, "unstuck.check.result": check.result}
        if check.exit_code is not None:
            told["unstuck.check.exit_code"] = check.exit_code
        if self._texts:
            told["unstuck.check.command"] = check.command
        return Span(
            trace=self._trace,
            id=self._id(f"check {record.seq}", at),
            parent=run.id if run is not None else "",
            name="unstuck.check",
            start=at - int(check.seconds * 1e9),
            end=at,
            attributes=told,
            links=tuple(filter(None, [self._last.get(record.task, "")])),
            status="ok" if check.result == "passed" else "error",
        )


def spans_of(tracer: Tracer, records: Iterable[Record]) -> Iterator[Span]:
    """Yield the spans of ``records`` as they end, the run's own last."""
    for record in records:
        yield from tracer.take(record)
    yield from tracer.finish()


def _nanoseconds(time: str) -> int:
    moment = datetime.fromisoformat(time)
    return int(moment.timestamp()) * 10**9 + moment.microsecond * 1000
