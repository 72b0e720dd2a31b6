"""One attempt under its time limits: it runs the agent, asks at a limit, and ends every process at a stop."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from unstuck.clock.deadlines import Deadlines
from unstuck.clock.waits import first_of
from unstuck.contract import Agent, Capabilities, Gate, Guidance, Observer, Receipt, Report, Task
from unstuck.errors import AgentNotFound, AgentUnusable, system_failure
from unstuck.eventlog import events as e
from unstuck.eventlog.state import AttemptRow
from unstuck.processes import is_alive
from unstuck.supervision.attempt.idle import Attentive, IdleClock
from unstuck.supervision.attempt.liveness import Liveness
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.next_step import pending_answer
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.budget import used_up
from unstuck.supervision.gates.gate_timers import timer_of
from unstuck.supervision.gates.gate_types import CHOICES
from unstuck.supervision.gates.live_questions import ask, is_asking
from unstuck.supervision.gates.service import standing_of
from unstuck.supervision.standalone.timeout_monitor import timeout_context
from unstuck.text import admit, one_line

Attempt = Callable[[Guidance], Awaitable[Report | str | None]]


class CallableAgent:
    """A coroutine function of the caller as an agent; what it raises is a failure, a text its last message."""

    can = Capabilities(stop=True, fresh=True, may_restore=True)

    def __init__(self, function: Attempt) -> None:
        self._function = function
        self._running: dict[str, asyncio.Future[Report | str | None]] = {}

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Await the caller's coroutine once. Raises AgentUnusable for a function that is none."""
        coroutine = self._function(guidance)
        if not inspect.isawaitable(coroutine):
            raise AgentUnusable("an agent is a coroutine function: write `async def`, and await what takes long")
        work = self._running[guidance.attempt] = asyncio.ensure_future(coroutine)
        try:
            said = await work
        except Exception as error:
            return Report(error=admit("".join(traceback.format_exception(error))))
        finally:
            self._running.pop(guidance.attempt, None)
        if said is not None and not isinstance(said, Report | str):
            raise AgentUnusable(f"an agent returns a Report, its last message or None, not {type(said).__name__}")
        return said if isinstance(said, Report) else Report(last_message=said or None)

    async def stop(self, attempt: str) -> Receipt:
        """Cancel the coroutine and wait for it."""
        work = self._running.get(attempt)
        if work is not None:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        return Receipt()


def as_agent(given: Agent | Attempt) -> Agent:
    """Return a caller's agent. Raises AgentUnusable for what cannot be one, before a run begins."""
    if inspect.isclass(given):
        raise AgentUnusable(f"agent is the class {given.__name__}: pass an instance of it")
    if isinstance(given, Agent):
        return given
    if not callable(given):
        raise AgentUnusable(f"agent must be a coroutine function or an Agent, not {type(given).__name__}")
    if inspect.isgeneratorfunction(given) or inspect.isasyncgenfunction(given):
        raise AgentUnusable("an agent is a coroutine function: return a Report or None, and do not yield")
    with suppress(ValueError):  # a function of an extension module may have no signature
        try:
            inspect.signature(given).bind(None)
        except TypeError as error:
            raise AgentUnusable(f"an agent takes one argument, its Guidance: {error}") from None
    return CallableAgent(given)


async def run_attempt(
    core: RunContext,
    deadlines: Deadlines,
    agent: Agent,
    task: Task,
    guidance: Guidance,
    observer: Observer,
    asked: str = "",
) -> Report:
    """Return the attempt's report, with a stop from outside or by a clock. ``asked`` is a gate that holds it now."""
    return await _Running(core, deadlines, agent, task, guidance, asked).report(observer)


@dataclass(frozen=True, slots=True)
class _Due:
    """The clock that has reached its limit (seconds), and the agent's liveness."""

    clock: e.ClockName
    limit: float
    found: Liveness | None = None


class _Running:
    def __init__(
        self, core: RunContext, deadlines: Deadlines, agent: Agent, task: Task, guidance: Guidance, asked: str
    ) -> None:
        self._core, self._deadlines, self._agent, self._task, self._guidance = core, deadlines, agent, task, guidance
        self._key, self._began = guidance.attempt, core.clock.now()
        self._idle = IdleClock(
            core,
            deadlines,
            task=task.id,
            attempt=guidance.attempt,
            tree=core.tree_of(core.row(task.id)),
            limit=core.idle_limit_of(task),
            stalled=self._on_stall,
        )
        self._idles = self._row.deadline is not None
        self._armed: tuple[float | None, float | None] = (None, None)
        # An orphan may be suspended; it continues if no question holds it.
        self._held = (bool(self._row.pid), bool(self._row.pid), 0)
        self._due: _Due | None = None
        self._timed_out = self._is_over = False
        self._over = ""
        self._gate = asked
        self._receipt: Receipt | None = None

    @property
    def _row(self) -> AttemptRow:
        return self._core.head.attempts[self._guidance.attempt]

    async def report(self, observer: Observer) -> Report:
        if self._row.pid:  # an orphan
            self._idle.spawned(self._row.pid, self._row.spawned)
        if self._idles:
            self._idle.run()
        self._core.live.keep_time[self._key] = self._keep_time
        self._core.live.ask[self._key] = self._question
        attentive = self._core.live.observers[self._key] = Attentive(observer, self._idle)
        self._keep_time()
        work = asyncio.ensure_future(self._agent.attempt(self._task, self._guidance, attentive))
        try:
            await self._until_done(work)
        except BaseException:
            # Cancelled, or the log cannot be written: no agent may be left at work.
            await _to_its_end(self._agent.stop(self._guidance.attempt))
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            raise
        finally:
            del (
                self._core.live.keep_time[self._key],
                self._core.live.ask[self._key],
                self._core.live.observers[self._key],
            )
            self._arm(None, None)
            self._idle.stand()
            self._withdraw()
        return self._told(work)

    async def _until_done(self, work: asyncio.Future[Report]) -> None:
        while not work.done():
            changed = self._core.signals.next(Subject.ATTEMPT, self._key)
            self._core.journal.require()
            if self._gate and self._core.head.gates[self._gate].status == "answered":
                # Before the stop, which may itself be the answer: the next step depends on the answer.
                self._on_answer()
                continue
            if self._must_stop() and self._receipt is None:
                await self._stop(work)
                continue
            if self._cannot_hear_answer():
                # Before it continues: it takes no further step in the corrected direction.
                stop = e.StopRequested(reason="answered", attempt_id=self._guidance.attempt)
                self._core.append(stop, task=self._task.id, attempt=self._guidance.attempt)
                continue
            if self._due is not None and self._receipt is None and not is_asking(self._core, self._key):
                due, self._due = self._due, None
                # The rest of an ended agent's output is cleaned now, and that is not its time.
                self._is_over = self._is_over or bool(self._row.pid and not is_alive(self._row.pid, self._row.spawned))
                if not self._is_over:
                    self._on_time(due)
                continue
            if self._receipt is None and not self._over and not self._must_stop():
                self._stop_at_budget()
            self._keep_time()
            await first_of(work, changed.wait())

    def _stop_at_budget(self) -> None:
        """Stop the attempt where its budget, or that of its task, is used up."""
        core, task, attempt = self._core, self._task.id, self._guidance.attempt
        part = used_up(core.head, core.row(task), attempt)
        if part is None:
            return
        self._over = part.words
        reached = e.AttemptBudgetReached(scope=part.scope, kind=part.kind, used=round(part.used, 6), limit=part.limit)
        core.append(reached, task=task, attempt=attempt, actor="timer")
        core.append(e.StopRequested(reason="attempt_budget", attempt_id=attempt), task=task, attempt=attempt)

    def _cannot_hear_answer(self) -> bool:
        """Return whether an answer is pending that only the next attempt can get."""
        row, can = self._core.row(self._task.id), self._agent.can
        deaf = not can.tell and can.hold != "step" and self._row.state == "live" and self._receipt is None
        if not deaf or row.gate:
            return False
        pending = pending_answer(self._core.head, row)
        return bool(pending) and pending not in self._core.live.calls

    def _must_stop(self) -> bool:
        return self._row.state == "stopping" or self._core.head.run.state == "draining"

    async def _stop(self, work: asyncio.Future[Report]) -> None:
        self._idle.stand()
        self._receipt = await self._agent.stop(self._guidance.attempt)
        if not self._receipt.ended and not self._receipt.alive:
            # Nothing to end yet: the agent was about to start.
            work.cancel()
            if self._row.pid:
                await asyncio.wait([work])
                self._receipt = _receipt_of(self._row)
        event = e.StopReceipt(ended=self._receipt.ended, alive=self._receipt.alive)
        self._core.append(event, task=self._task.id, attempt=self._guidance.attempt)

    def _keep_time(self) -> None:
        """Run both clocks, or stop them while a question holds the attempt or the disk is full."""
        row, before = self._row, self._held
        held = row.state == "held" or bool(self._core.journal.held) or is_asking(self._core, row.id)
        # Only the stop wakes a suspended agent that has to end, so that it takes no step in between.
        held = held or (before[0] and (self._must_stop() or self._cannot_hear_answer()))
        still = held and not self._waits_in_call()
        self._held = held, still, row.pid
        # A question may be open before the process exists: the agent is suspended from its start.
        if self._held != before and (still or before[1]):
            self._freeze(still)
        if held and not before[0]:
            self._idle.stand()
        elif before[0] and not held and self._idles:
            self._idle.run()
        if held or self._receipt is not None or self._is_over:
            self._arm(None, None)
        else:
            self._arm(row.warn_at, row.deadline)

    def _waits_in_call(self) -> bool:
        """True where the agent waits for every open answer in its own calls: suspended, it could not receive them."""
        core, key = self._core, self._key
        if core.journal.held or core.head.run.over or is_asking(core, key):
            return False
        asked = [row.id for row in core.head.open_gates() if row.gate.attempt == key]
        return bool(asked) and all(gate in core.live.calls for gate in asked)

    def _arm(self, warning: float | None, limit: float | None) -> None:
        if (warning, limit) == self._armed:
            return
        self._armed = warning, limit
        for name, moment, then in (("warning", warning, self._warn), ("limit", limit, self._on_limit)):
            if moment is None:
                self._deadlines.cancel(f"{self._key} {name}")
            else:
                self._deadlines.at(f"{self._key} {name}", moment, then)

    def _warn(self) -> None:
        row = self._row
        event = e.TimeoutWarned(
            clock="wall",
            elapsed_s=round(row.used(self._core.clock.monotonic()), 3),
            limit_s=row.limit,
            last_sign=one_line(self._idle.last_sign),
        )
        self._core.append(event, task=self._task.id, attempt=row.id, actor="timer")

    def _on_limit(self) -> None:
        self._armed = (None, None)
        self._tell(_Due("wall", self._row.limit))

    def _on_stall(self, found: Liveness) -> None:
        self._tell(_Due("idle", self._idle.limit, found))

    def _tell(self, due: _Due) -> None:
        self._due = due
        self._core.signals.wake(Subject.ATTEMPT, self._key)

    def _on_time(self, due: _Due) -> None:
        """Ask where a person or a rule can answer; otherwise stop the attempt and dispatch it again."""
        core, task, attempt = self._core, self._task, self._guidance.attempt
        agent = task.agent or task.agent_type
        elapsed = core.head.attempts[attempt].used(core.clock.monotonic())
        signals = tuple(map(one_line, due.found.signals)) if due.found is not None else ()
        event = e.AgentTimeout(
            agent_id=agent,
            task_id=task.id,
            elapsed_ms=int(elapsed * 1000),
            clock=due.clock,
            limit_s=due.limit,
            verdict=due.found.verdict if due.found is not None else None,
            signals=signals,
            last_sign=one_line(self._idle.last_sign),
        )
        core.append(event, task=task.id, attempt=attempt, actor="timer")
        context = timeout_context(
            task_id=task.id, agent_id=agent, elapsed=elapsed, limit=due.limit, started_at=self._began
        )
        context |= {"clock": due.clock, "last_sign": one_line(self._idle.last_sign)}
        if due.found is not None:
            silent = round(self._idle.silent, 1)
            context |= {"timeout_type": "idle_timeout", "verdict": due.found.verdict, "signals": list(signals)}
            context |= {"silent_seconds": silent}
        preview = Gate(id="", type="timeout", task=task.id, key=due.clock, context=context, choices=CHOICES["timeout"])
        found = core.policy(preview) if core.may_ask else None
        if core.may_ask and (core.person or found is not None or timer_of(core, preview) is not None):
            question = Question(
                type="timeout",
                key=due.clock,
                context=context,
                task=task.id,
                attempt=attempt,
                standing=standing_of(self._agent.can),
                found=found,
                opened=self._asked,
            )
            ask(core, question)
            return
        self._timed_out = True
        core.append(e.StopRequested(reason="timeout", attempt_id=attempt), task=task.id, attempt=attempt)

    def _question(self, question: Question) -> None:
        """Ask a question that a person has requested."""
        ask(self._core, replace(question, standing=standing_of(self._agent.can), opened=self._asked))

    def _asked(self, gate: str) -> None:
        self._gate = gate
        self._core.signals.wake(Subject.ATTEMPT, self._key)

    def _on_answer(self) -> None:
        gate = self._core.head.gates[self._gate]
        answer = gate.answer
        assert answer is not None
        self._gate = ""
        if gate.gate.type == "timeout" and gate.effect == "stop" and not answer.text:
            self._timed_out = True
        self._keep_time()
        if gate.gate.key == "idle" and gate.effect == "go_on":
            self._idles = answer.choice == "extend"
            self._idle.run(answer.number) if self._idles else self._idle.stand()
        if not answer.text or answer.choice not in ("retry", "show_me"):
            self._core.append(e.AnswerDelivered(gate=gate.id), task=self._task.id, attempt=self._guidance.attempt)

    def _freeze(self, still: bool) -> None:
        """Suspend or continue an agent that supports it; any other runs on, and the gate says so."""
        if self._agent.can.hold == "freeze":
            getattr(self._agent, "freeze" if still else "thaw")(self._guidance.attempt)

    def _withdraw(self) -> None:
        if self._gate and self._core.head.gates[self._gate].status == "open":
            event = e.GateWithdrawn(gate=self._gate, reason="the attempt has ended")
            self._core.append(event, task=self._task.id, attempt=self._guidance.attempt)

    def _told(self, work: asyncio.Future[Report]) -> Report:
        try:
            report = work.result()
        except asyncio.CancelledError:
            report = Report(how="stopped")
        except AgentNotFound as error:
            return Report(how="not_started", error=admit(str(error), limit=2_000))
        except AgentUnusable:
            raise
        except Exception as error:
            if (failure := system_failure(error)) is not None:
                raise failure from error
            return Report(how="crashed", error=admit("".join(traceback.format_exception(error))))
        if self._timed_out:
            report = replace(report, how="timed_out", error=None)
        elif self._over and self._receipt is not None:
            report = replace(report, how="over_budget", error=admit(self._over))
        elif self._receipt is not None:
            report = replace(report, how="stopped", error=None)
        return replace(report, receipt=self._receipt) if self._receipt is not None else report


def _receipt_of(row: AttemptRow) -> Receipt:
    """The receipt of a process that was ended between its record and its first instruction."""
    if is_alive(row.pid, row.spawned):
        return Receipt(alive=((row.pid, row.spawned),))
    return Receipt(ended=((row.pid, row.spawned, "exited"),))


async def _to_its_end(work: Coroutine[Any, Any, object]) -> None:
    """Wait for the end of ``work``, also when the waiting task is cancelled: after a stop no process is left."""
    running = asyncio.ensure_future(work)
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([running])
    if not running.cancelled():
        running.exception()
