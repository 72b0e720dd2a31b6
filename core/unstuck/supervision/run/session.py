"""Session of a task, from its first attempt to its outcome. ``supervise()`` and the hook bridge both drive it.

The session looks at what the state's next step is, does it, records the result and looks again; it holds nothing that
the log does not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from unstuck.clock.waits import first_of
from unstuck.contract import Agent, Capabilities, Directive, Observation, Outcome, Report
from unstuck.diagnosis.claim import claim_of
from unstuck.errors import WorkspaceError, system_failure
from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.attempt import preparation, worktree_setup
from unstuck.supervision.attempt.baseline_check import check_baseline
from unstuck.supervision.attempt.guidance import first_guidance, note_for, with_ways_left
from unstuck.supervision.attempt.observer import Holding
from unstuck.supervision.attempt.permissions import Permitting, granted
from unstuck.supervision.checkpointing import checkpoint
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.next_step import Step, next_step
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.gates.budget import count_usage, left_words, price_the_rest
from unstuck.supervision.gates.disk_space import ask_for_room, has_no_room
from unstuck.supervision.memory.answer_memory import remember_end
from unstuck.supervision.memory.failure_memory import keep_safe
from unstuck.supervision.outcome import decision, restore, stuck_question
from unstuck.supervision.recovery import interrupted_attempt
from unstuck.text import Clean, admit, one_line
from unstuck.text.last_words import SAID_LIMIT

_APPROACH_LIMIT, _OPTION_LIMIT, _LAST_MESSAGE_LIMIT = 500, 4_000, 4_000
_Result = TypeVar("_Result")


class Session:
    """Implements :class:`unstuck.contract.TaskSession` for one task of one run."""

    def __init__(self, core: RunContext, task: str, can: Capabilities) -> None:
        self._core, self._task = core, task
        self.replaced: Agent | None = None
        """The agent that goes on with the task in place of the first one, since this session began."""
        self._name = self.row.task.agent
        self._work_with(can)

    def _work_with(self, can: Capabilities) -> None:
        self.can = can
        self._holding = Holding(self._core, self._task, can)
        self._permitting = Permitting(self._core, self._task, can, self._holding)

    def _take_replacement(self) -> None:
        """Work with the agent that the task names now, where another one has taken its place."""
        task, make = self.row.task, self._core.agent_for
        if task.agent != self._name and make is not None:
            self._name, self.replaced = task.agent, make(task, {})
            self._work_with(self.replaced.can)

    @property
    def row(self) -> TaskRow:
        """The task as decided so far."""
        return self._core.row(self._task)

    async def begin(self) -> Directive:
        """Drive until an attempt has to start or the task has ended."""
        return await self._drive()

    async def end(self, attempt: str, report: Report) -> Directive:
        """The attempt is over: check, diagnose, decide, prepare. A stale attempt id changes nothing."""
        live = self._core.head.attempts.get(attempt)
        if live is not None and live.is_live and live.task == self._task:
            count_usage(self._core, self._task, attempt, report.tokens, report.cost)
            price_the_rest(self._core, self._task, attempt)
            self._permitting.withdraw(attempt)
            seconds = round(self._core.clock.monotonic() - live.started, 3)
            report = replace(report, denied=(*report.denied, *self._permitting.denied))
            self._permitting.denied.clear()
            ended = e.AttemptEnded(report=_admitted(report), seconds=seconds)
            self._core.append(ended, task=self._task, attempt=attempt, actor="agent")
        else:
            self._core.append(e.StaleReport(attempt_id=attempt, how=report.how), task=self._task, actor="agent")
        return await self._drive()

    def see(self, observation: Observation) -> None:
        """Take note of something in a stream that cannot be held."""
        self._holding.note(observation)

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        """Take note of a step inside the attempt; hold it while a gate of this task is open."""
        return await self._holding.step(observation, within=within)

    async def permit(self, observation: Observation, *, why: Clean = Clean("")) -> Directive:
        """Ask a person whether the agent may do this."""
        return await self._permitting.permit(observation, why=why)

    async def next_answer(self) -> Directive:
        """Wait for what a person has to say to the live attempt."""
        return await self._holding.next_answer()

    async def delivered(self, directive: Directive) -> None:
        """The agent has what ``directive`` says."""
        await self._holding.delivered(directive)

    async def spawned(self, pid: int, start: float) -> None:
        """The attempt's process exists; it may act once this has returned."""
        self._core.append(e.AgentSpawned(pid=pid, start=start), task=self._task, attempt=self.row.attempt)
        await self._core.journal.committed()

    async def interrupt(self, attempt: str, reason: str) -> Directive:
        """The attempt was ended by us, not by its own: it can be gone on with later."""
        self.abandon(attempt, reason)
        return await self._drive()

    def abandon(self, attempt: str, reason: str) -> None:
        """Record that the attempt was ended by us; a stale attempt id changes nothing."""
        live = self._core.head.attempts.get(attempt)
        if live is not None and live.is_live and live.task == self._task:
            used = self.row.used + live.used(self._core.clock.monotonic())
            price_the_rest(self._core, self._task, attempt)
            event = e.AttemptInterrupted(reason=reason, used_s=round(used, 3))
            self._core.append(event, task=self._task, attempt=attempt)

    async def _drive(self) -> Directive:
        line = ""  # that in which this task has the turn
        while True:
            changed = self._core.signals.next(Subject.TASK, self._task)
            self._core.journal.require()
            if self._core.journal.held:
                await changed.wait()
                continue
            step = self._next()
            if step.kind == "start":
                directive = None
                try:
                    directive = await self._start()
                finally:
                    if directive is None and line:
                        self._core.signals.wake_first(line)
                if directive is not None:
                    return directive
                line = ""
                continue
            if line:
                self._core.signals.wake_first(line)
                line = ""
            if step.kind == "done":
                remember_end(self._core, self.row)
                await keep_safe(self._core)
                await self._core.journal.committed()
                return Directive(kind="end", outcome=self.outcome())
            if step.kind == "halted":
                await self._core.journal.committed()
                cancelled = replace(self.outcome(), status="cancelled")
                return Directive(kind="stop", text=admit(step.about, limit=500), outcome=cancelled)
            if step.kind == "wait_backoff":
                await self._back_off(changed)
            elif step.kind in ("wait_slot", "wait_tree"):
                name = step.kind if step.kind == "wait_slot" else str(self._core.tree_of(self.row))
                with self._core.signals.line(name) as turn:
                    await first_of(turn.wait(), changed.wait())
                line = name if turn.is_set() else ""
            elif step.kind.startswith("wait_"):
                await changed.wait()
            else:
                await self.unless_stopped(self._perform(step))

    async def unless_stopped(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """The result of ``work``; None where the run was stopped first: then it is left, and done again on resume.

        A check may take minutes, and a stop of the run does not wait for it.
        """
        working = asyncio.ensure_future(work)
        try:
            while not working.done() and self._core.head.run.state != "draining":
                await first_of(working, self._core.signals.next(Subject.TASK, self._task).wait())
        finally:
            if not working.done():
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
        return None if working.cancelled() else working.result()

    def _next(self) -> Step:
        row = self.row
        return next_step(
            self._core.head,
            row,
            max_parallel=self._core.settings.max_parallel,
            tree=str(self._core.workdir(self._core.tree_of(row))),
            accept_unverified=self._core.accept_unverified,
            busy=self._core.busy(),
        )

    async def _perform(self, step: Step) -> None:
        core, task = self._core, self._task
        match step.kind:
            case "unblock":
                core.append(e.TaskUnblocked(task_id=task), task=task)
            case "skip":
                reason = admit(f"{step.about} was not done", limit=200)
                core.append(e.TaskEnded(task_id=task, status="skipped", reason=reason), task=task)
            case "recover":
                await interrupted_attempt.recover(core, self.row)
            case "check":
                await decision.check(core, self.row)
            case "decide":
                await decision.decide_next(core, self.row, self.can)
                self._take_replacement()
            case "integrate":
                await decision.integrate(core, self.row)
            case "finish":
                await decision.finish(core, self.row)
            case "checkpoint":
                await checkpoint(core, self.row, step.about, purpose="directive")
            case "restore":
                await restore.restore(core, self.row, self.can)
            case "run":
                await preparation.run_command(core, self.row, step.about)
            case "research":
                await preparation.research(core, self.row)
            case "ask":
                await stuck_question.ask(core, self.row)
            case _:
                preparation.prepare(core, self.row, self.can)

    async def _start(self) -> Directive | None:
        """Record the next attempt, unless something came between while its tree was made ready."""
        core = self._core
        async with core.worktree_slots, core.tree_locks[core.tree_of(self.row)]:
            if self._next().kind != "start":
                return None
            row, problem, merge = self.row, "", ""
            try:
                workdir = await worktree_setup.tree_ready(core, row)
                problem = await self.unless_stopped(worktree_setup.set_up(core, self.row, workdir)) or ""
                merge = await worktree_setup.merge_begun(core, row)
                if not problem and self._next().kind == "start":
                    await self.unless_stopped(check_baseline(core, self.row, workdir))
            except (WorkspaceError, OSError) as error:
                if has_no_room(error):
                    if self._next().kind == "start":
                        ask_for_room(core, row, error)
                    return None
                if (failure := system_failure(error)) is not None:
                    raise failure from error
                workdir, problem = core.workdir(core.tree_of(row)), f"no worktree: {error}"
            row = self.row
            if self._next().kind != "start":
                return None
            attempt, number = f"{row.id}.{row.attempts + 1}", row.attempts + 1
            session = self._conversation_of(row)
            # An agent that runs elsewhere has its prompt already.
            left = left_words(core, row) if core.head.run.kind != "watch" else ""
            prepared = row.prepared or first_guidance(row, self.can, core.settings.prompts)
            prepared = with_ways_left(core.head, row, prepared)
            note = note_for(core.head, row, left=left, merge=merge)
            guidance = replace(
                prepared,
                attempt=attempt,
                number=number,
                workdir=workdir,
                text=Clean(prepared.text + note),
                allowed=granted(core.head, row),
            )
            guidance = replace(guidance, session=session or guidance.session)
            limit = core.time_left(row) if self.can.stop else 0.0
            event = e.AttemptStarted(guidance=guidance, limit_s=limit, note=note, phase=self._phase())
            core.append(event, task=row.id, attempt=attempt)
            core.detector.started(row.id, row.task.prompt)
        if problem:
            report = Report(how="not_started", error=admit(problem, limit=4_000))
            core.append(e.AttemptEnded(report=report), task=row.id, attempt=attempt)
            return None
        await keep_safe(core)
        await core.journal.committed()
        return Directive(kind="start", guidance=guidance, text=guidance.text)

    def _conversation_of(self, row: TaskRow) -> str:
        """Return the session of the interrupted attempt that the next one goes on with; empty where none can be."""
        last = self._core.head.attempts.get(row.attempt)
        goes_on = row.prepared is None or row.prepared.attempt == row.attempt
        interrupted = last is not None and last.state == "interrupted" and goes_on
        return last.session if last is not None and interrupted and self.can.resume else ""

    def _phase(self) -> tuple[int, int]:
        head = self._core.head
        if head.run.kind != "plan" or len(head.tasks) == 1:
            return 0, 0
        return list(head.tasks).index(self._task) + 1, len(head.tasks)

    async def _back_off(self, changed: asyncio.Event) -> None:
        """Wait for the rest of the back-off; a clock that was set again cannot make it longer than it was decided."""
        core, row = self._core, self.row
        left = row.backoff_until - core.clock.monotonic()
        due, _ = await first_of(core.clock.sleep(min(max(0.0, left), row.backoff_delay)), changed.wait())
        if due and self.row.state == "backoff" and self._next().kind == "wait_backoff":
            if self.row.backoff_quota and not core.limits.resume_after_quota:
                await decision.ask_to_go_on(core, self.row)
            else:
                core.append(e.BackoffOver(task_id=self._task), task=self._task, actor="timer")

    def outcome(self) -> Outcome:
        """Result of the task."""
        row = self.row
        return Outcome(
            task=row.id, status=row.status or "cancelled", attempts=row.attempts, level=row.level, last=row.diagnosis
        )


def _admitted(report: Report) -> Report:
    """The report of an adapter that may not have admitted what its agent said; one that has stays as it is."""

    def clean(text: str | None) -> Clean | None:
        return None if text is None else admit(text)

    def line(text: str | None) -> Clean | None:
        return None if text is None else one_line(text, _APPROACH_LIMIT)

    last_message = None if report.last_message is None else admit(report.last_message, limit=_LAST_MESSAGE_LIMIT)
    ended_itself = report.how in ("ended", "no_signal", "bad_signal")
    return replace(
        report,
        last_message=last_message,
        model=one_line(report.model, 100),
        claim=claim_of(report.signal, last_message if ended_itself else None),
        session=None if report.session is None else one_line(report.session),
        error=clean(report.error),
        approach=line(report.approach),
        question=clean(report.question),
        context=clean(report.context),
        phase=line(report.phase),
        summary=line(report.summary),
        sample=clean(report.sample),
        said=admit(report.said, limit=SAID_LIMIT),
        program=one_line(report.program, 100),
        output=admit(report.output, limit=4_096),
        output_lost=admit(report.output_lost, limit=200),
        options=tuple(one_line(option, _OPTION_LIMIT) for option in report.options),
        alternatives=tuple(one_line(way, _APPROACH_LIMIT) for way in report.alternatives),
        denied=tuple(
            replace(
                one,
                what=one_line(one.what, _APPROACH_LIMIT),
                rules=tuple(one_line(rule, _APPROACH_LIMIT) for rule in one.rules),
                cure=admit(one.cure, limit=_APPROACH_LIMIT * 2),
            )
            for one in report.denied
        ),
    )
