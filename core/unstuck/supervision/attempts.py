"""One attempt under the clock: the agent works, its time runs, and stop means stopped."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace

from unstuck.contract import Agent, Capabilities, Gate, Guidance, Observer, Receipt, Report, Task
from unstuck.errors import AgentNotFound
from unstuck.record import events as e
from unstuck.supervision.asking import open_gate, standing_of
from unstuck.supervision.core import Core
from unstuck.supervision.gates import CHOICES
from unstuck.supervision.timeouts import TimeoutMonitor, timeout_context
from unstuck.text import admit

__all__ = ["CallableAgent", "run_attempt"]

Attempt = Callable[[Guidance], Awaitable[Report | None]]


class CallableAgent:
    """A coroutine function of the caller as an agent; what it raises is a failure."""

    can = Capabilities(stop=True, fresh=True, may_restore=True)

    def __init__(self, function: Attempt) -> None:
        self._function = function
        self._running: dict[str, asyncio.Task[Report | None]] = {}

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Await the caller's coroutine once."""
        work = asyncio.ensure_future(self._function(guidance))
        self._running[guidance.attempt] = work
        try:
            return await work or Report()
        except Exception as error:
            return Report(error=admit("".join(traceback.format_exception(error))))
        finally:
            self._running.pop(guidance.attempt, None)

    async def stop(self, attempt: str) -> Receipt:
        """Cancel the coroutine and wait for it."""
        work = self._running.get(attempt)
        if work is not None:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        return Receipt()


async def run_attempt(
    core: Core, monitor: TimeoutMonitor, agent: Agent, task: Task, guidance: Guidance, observer: Observer
) -> Report:
    """The attempt's report; a stop from outside or by the clock is part of it."""
    return await _Running(core, monitor, agent, task, guidance).report(observer)


class _Running:
    def __init__(self, core: Core, monitor: TimeoutMonitor, agent: Agent, task: Task, guidance: Guidance) -> None:
        self._core, self._monitor, self._agent, self._task, self._guidance = core, monitor, agent, task, guidance
        self._changed = core.changed(f"attempt {guidance.attempt}")
        self._due = False
        self._timed_out = False
        self._stands = (False, 0)
        self._gate = ""
        self._receipt: Receipt | None = None

    async def report(self, observer: Observer) -> Report:
        work = asyncio.ensure_future(self._agent.attempt(self._task, self._guidance, observer))
        await self._watch(self._core.limit_of(self._task))
        try:
            await self._until_done(work)
        except BaseException:
            # Cancelled, or the record cannot be written any more: either way no agent may be left at work.
            await asyncio.gather(self._agent.stop(self._guidance.attempt), return_exceptions=True)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            raise
        finally:
            self._monitor.complete_task(self._guidance.attempt)
            self._withdraw()
        return self._told(work)

    async def _watch(self, limit: float) -> None:
        agent = self._task.agent or self._task.agent_type
        await self._monitor.monitor_task(
            self._guidance.attempt, agent, self._task.agent_type, timeout_seconds=limit, on_timeout=self._time_is_up
        )
        self._limit, self._since = limit, self._core.clock.monotonic()

    def _time_is_up(self) -> None:
        self._due = True
        self._changed.set()

    async def _until_done(self, work: asyncio.Future[Report]) -> None:
        while not work.done():
            self._changed.clear()
            self._keep_still()
            if self._gate and self._core.head.gates[self._gate].status == "answered":
                # Before the stop, which may be what was answered: what follows depends on which answer it was.
                await self._on_answer()
                continue
            if self._must_stop() and self._receipt is None:
                await self._stop(work)
                continue
            if self._due and self._receipt is None:
                self._due = False
                self._on_time()
                continue
            changed = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait((work, changed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                changed.cancel()

    def _must_stop(self) -> bool:
        attempt = self._core.head.attempts[self._guidance.attempt]
        return attempt.state == "stopping" or self._core.head.run.state == "draining"

    async def _stop(self, work: asyncio.Future[Report]) -> None:
        self._receipt = await self._agent.stop(self._guidance.attempt)
        if not self._receipt.ended and not self._receipt.alive:
            # There was nothing to end yet: the agent was only about to be started.
            work.cancel()
        event = e.StopReceipt(ended=self._receipt.ended, alive=self._receipt.alive)
        self._core.append(event, task=self._task.id, attempt=self._guidance.attempt)

    def _on_time(self) -> None:
        """Ask where somebody or a rule can answer; otherwise the attempt is stopped and dispatched again."""
        core, task, attempt = self._core, self._task, self._guidance.attempt
        agent = task.agent or task.agent_type
        elapsed = core.clock.monotonic() - core.head.attempts[attempt].started
        core.append(
            e.AgentTimeout(agent_id=agent, task_id=task.id, elapsed_ms=int(elapsed * 1000)),
            task=task.id,
            attempt=attempt,
            actor="timer",
        )
        context = timeout_context(
            task_id=task.id, agent_id=agent, elapsed=elapsed, limit=self._limit, started_at=core.clock.now() - elapsed
        )
        preview = Gate(id="", type="timeout", task=task.id, key="wall", context=context, choices=CHOICES["timeout"])
        found = core.policy(preview) if core.may_ask else None
        if core.may_ask and (core.person or found is not None):
            self._gate = open_gate(
                core,
                "timeout",
                task=task.id,
                key="wall",
                context=context,
                attempt=attempt,
                standing=standing_of(self._agent.can),
                found=found,
            )
            self._changed.set()
            return
        self._timed_out = True
        core.append(e.StopRequested(reason="timeout", attempt_id=attempt), task=task.id, attempt=attempt)

    async def _on_answer(self) -> None:
        gate = self._core.head.gates[self._gate]
        answer = gate.answer
        assert answer is not None
        self._gate = ""
        if gate.effect == "stop" and not answer.text:
            self._timed_out = True
        if answer.choice == "extend" and answer.number:
            await self._watch(answer.number)
        if not answer.text or answer.choice not in ("retry", "show_me"):
            self._core.append(e.AnswerDelivered(gate=gate.id), task=self._task.id, attempt=self._guidance.attempt)

    def _keep_still(self) -> None:
        """Freeze an agent that can be frozen while a question about its attempt is open, and thaw it afterwards."""
        if self._agent.can.hold != "freeze":
            return
        attempt = self._core.head.attempts[self._guidance.attempt]
        before, self._stands = self._stands, (attempt.state == "held", attempt.pid)
        if self._stands != before and (before[0] or self._stands[0]):
            act = getattr(self._agent, "freeze" if self._stands[0] else "thaw")
            act(self._guidance.attempt)

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
        except Exception as error:
            return Report(how="crashed", error=admit("".join(traceback.format_exception(error))))
        if self._timed_out:
            report = replace(report, how="timed_out")
        elif self._receipt is not None:
            report = replace(report, how="stopped")
        return replace(report, receipt=self._receipt) if self._receipt is not None else report
