"""Turns of one attempt: the agent's work, its requests for permission, and messages of a person between them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from unstuck.agents.acp.cache_reads import CacheReads
from unstuck.agents.acp.conversation import Broken, Conversation
from unstuck.agents.acp.transport import AcpTransport
from unstuck.agents.acp.updates import CANCELLED, Updates, permission_outcome
from unstuck.agents.acp_agents import Quirks, program_of, quirks_of
from unstuck.agents.command.agent_output import own
from unstuck.agents.command.conversation_agent import ConversationAgent, Outcome
from unstuck.agents.command.observation_queue import ObservationQueue
from unstuck.agents.command.process_agent import CommandSpec
from unstuck.agents.command.refused_requests import GEMINI_LOG, LOGGING, refused_in_log
from unstuck.agents.streams.stream import text
from unstuck.clock import Clock, SystemClock
from unstuck.contract import Directive, Guidance, Observation, Observer, Report, Task
from unstuck.diagnosis.agent_messages.troubles import known_agent
from unstuck.errors import RecordError
from unstuck.processes import Exit
from unstuck.text import Clean, one_line

_MOST_REQUESTS = 32
_MOST_REFUSALS = 3
_CANCEL_S = 2.0
"""Seconds for an agent that only repeats a refused request to end its turn."""
_Refused = Callable[[Callable[[], str], Callable[[], int]], Awaitable[Clean]]
_WHY = {
    "max_tokens": "the maximum context length was reached (max_tokens)",
    "max_turn_requests": "it stopped at its limit of requests in one turn (max_turn_requests)",
    "refusal": "the model refused to go on (refusal)",
}


class Turns:
    """Drives one conversation to the end of its last turn.

    ``updates`` holds the agent's reported work. ``is_suspended`` returns whether its process is suspended. ``refused``
    returns the request that the provider refuses again and again, for an agent that logs it; see
    :func:`refused_in_log` for its arguments.
    """

    def __init__(
        self,
        guidance: Guidance,
        observer: Observer,
        *,
        clock: Clock,
        quirks: Quirks,
        before: tuple[int, float],
        is_suspended: Callable[[], bool],
        cache_reads: CacheReads,
        refused: _Refused | None,
    ) -> None:
        self._guidance, self._observer = guidance, observer
        self.updates = Updates(quirks, before=before[0], cost_before=before[1])
        self._transport = AcpTransport()
        self.feed, self.ended = self._transport.feed, self._transport.end
        self._conversation = Conversation(self._transport, self, clock=clock, quirks=quirks)
        self._problem, self._cache_reads, self._refused_in_log = "", cache_reads, refused
        self._outage, self._heard = Clean(""), 0
        self.is_suspended = is_suspended
        self._queue = ObservationQueue(observer, self._forward)
        self._messages: deque[tuple[Clean, Directive | None]] = deque([(guidance.text, None)])
        self._in_turn = self._stopped = self._cut_off = False
        self._refusal: Clean | None = None
        self._refusals = self._requests = self._turn = 0
        self._request_lock = asyncio.Lock()
        self._over = asyncio.Event()
        self._undelivered: list[Directive] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def outcome(self) -> Outcome:
        """Return the outcome so far."""
        return Outcome(
            self.updates.messages,
            self._conversation.session,
            failed=self._problem,
            last_message=self.updates.last_message,
            model=self._conversation.model,
        )

    async def work(self, say: Callable[[bytes], None]) -> None:
        """Run from the introduction to the end of the last turn; ``say`` writes to the agent. Raises Broken."""
        self._transport.connect(say)
        try:
            await self._conversation.introduce()
            await self._conversation.open(self._guidance.workdir, self._guidance.session)
            await self._cache_reads.open(self._conversation.session)
            self._start(self._forward_answers())
            self._start(self._end_refused())
            await self._take_turns()
        except Broken as problem:
            if not self._outage and not (problem.refused and self._conversation.session):
                raise
            self._problem = str(problem)
        finally:
            self._problem = self._outage or self._problem
            self._over.set()

    async def interrupt(self) -> None:
        """Ask the agent to end its turn, begin no other one, and wait for the end; return at once outside a turn."""
        self._stopped = True
        self._messages.clear()
        if self._in_turn:
            self._cut_off = True
            await self._conversation.cancel()
            await self._over.wait()

    async def close(self) -> None:
        """Cancel everything that still runs beside the turns."""
        for task in self._tasks:
            task.cancel()
        self._queue.close()
        await self._conversation.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- the agent's work --------------------------------------------------------------------------------------------

    def updated(self, update: Mapping[str, Any]) -> None:
        """Take one update of the agent's work."""
        self._heard += 1
        self._confirm_delivery()
        self._observe(self.updates.update(update))

    async def permitted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the decision on a request for permission; a reason follows as a message."""
        if self._requests >= _MOST_REQUESTS or permission_outcome(request, allowed=True) == CANCELLED:
            return CANCELLED  # also if no option allows it
        if self._in_turn and self._cut_off:
            return CANCELLED  # requested before the agent saw the cancellation
        self._requests += 1
        turn = self._turn
        try:
            async with self._request_lock:
                # The end of a turn withdraws its other requests, so no person is asked about them.
                return await self._permitted(request) if turn == self._turn else CANCELLED
        except RecordError:
            return CANCELLED
        finally:
            self._requests -= 1

    async def _permitted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        before, wanted, why = self.updates.permission(request)
        self._observe(before)
        directive = await self._observer.permit(self._own(wanted), why=why)
        if directive.kind == "stop":
            return CANCELLED
        if directive.kind == "deny":
            # The reason comes before the answer, so that the agent has it before its next step.
            await self._refused(directive)
            return permission_outcome(request, allowed=False)
        if directive.gate is not None:
            self._undelivered.append(directive)
        return permission_outcome(request, allowed=True)

    async def _refused(self, directive: Directive) -> None:
        """Pass on the reason of a refusal: a person's in a new turn at once, a rule's if the turn ends for it.

        The agent waits for the answer and loses nothing by a new turn, while a message in its turn would come late.
        """
        if directive.gate is not None:
            await self._next_turn(directive)
        else:
            self._refusal = directive.text

    def _observe(self, observations: Iterable[Observation]) -> None:
        own = [self._own(observation) for observation in observations]
        if any(one.kind in ("message", "action") for one in own):
            self._refusal = None
        self._queue.add(own)

    def _own(self, observation: Observation) -> Observation:
        return own(observation, self._guidance.attempt)

    # --- messages to the agent ---------------------------------------------------------------------------------------

    async def _take_turns(self) -> None:
        while self._messages:
            words, directive = self._messages.popleft()
            self._in_turn, self._cut_off = True, False
            if directive is not None:
                self._undelivered.append(directive)
            try:
                result = await self._conversation.prompt(words)
            except Broken as problem:
                if not (problem.refused and self._cut_off):
                    raise
                result = {}  # some agents report a cancellation as an error
            finally:
                self._in_turn = False
                self._turn += 1
            self._confirm_delivery()
            refusal = self._refusal
            self._observe(self.updates.turn_over(result, cached=await self._cache_reads.more()))
            await self._queue.drained()
            self._problem = _WHY.get(text(result, "stopReason"), "") or self.updates.error
            if refusal is not None and not self._messages and self._refusals < _MOST_REFUSALS:
                self._refusals += 1
                self._refusal = None
                self._messages.append((refusal, None))

    async def _end_refused(self) -> None:
        """End the conversation in a turn that only repeats a request, which the provider refuses."""
        while self._refused_in_log is not None and not self._outage:
            said = await self._refused_in_log(lambda: self._conversation.session, lambda: self._heard)
            if self._in_turn and not self.updates.calling and not self.is_suspended():
                self._outage = said
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.interrupt(), _CANCEL_S)
                self._transport.end(said)

    async def _forward_answers(self) -> None:
        """Pass on the messages of a person whenever they come."""
        with suppress(RecordError):
            while True:
                self._forward(await self._observer.next_answer())

    def _forward(self, directive: Directive) -> None:
        """Steer the current turn if the agent supports it, else end the turn and begin another one with the message."""
        self._start(self._interject(directive))

    async def _interject(self, directive: Directive) -> None:
        if self._stopped or (directive.gate is None and not self._in_turn):
            return  # a nudge about a turn that is over
        with suppress(Broken):
            if self._in_turn and self._conversation.steers and await self._conversation.steer(directive.text):
                await self._delivered(directive)
                return
        await self._next_turn(directive)

    async def _next_turn(self, directive: Directive) -> None:
        self._messages.append((directive.text, directive))
        if self._in_turn:
            self._cut_off = True
            self._turn += 1
            await self._conversation.cancel()

    def _confirm_delivery(self) -> None:
        """Confirm delivery of earlier messages: the agent has worked since."""
        undelivered, self._undelivered = self._undelivered, []
        for directive in undelivered:
            self._start(self._delivered(directive))

    async def _delivered(self, directive: Directive) -> None:
        with suppress(RecordError):
            await self._observer.delivered(directive)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class AcpAgent(ConversationAgent[Turns]):
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``.

    ``used`` returns the tokens and the cost of a session in attempts of an earlier supervisor.
    """

    def __init__(
        self,
        spec: CommandSpec,
        *,
        folder: Path,
        environ: Mapping[str, str],
        limit: int,
        clock: Clock | None = None,
        used: Callable[[str], tuple[int, float]] = lambda session: (0, 0.0),
    ) -> None:
        super().__init__(spec, folder=folder, environ=environ, limit=limit, hold="freeze" if spec.freeze else "none")
        self._program = program_of(spec.command)
        self.label = one_line(self._program[0])
        self._clock, self._quirks = clock or SystemClock(), quirks_of(self._program)
        self._used: dict[str, tuple[int, float]] = {}
        self._used_before = used

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Run one attempt, and remove the log that the agent was given for it."""
        try:
            return await super().attempt(task, guidance, observer)
        finally:
            with suppress(OSError):  # it goes with the run, too
                await asyncio.to_thread(self._log(guidance).unlink, missing_ok=True)

    def _command(self, guidance: Guidance) -> tuple[str, ...]:
        return self._program

    def _environment(self, guidance: Guidance) -> Mapping[str, str]:
        # Over the protocol it repeats a refused request for minutes and says nothing; a log of the person's is kept.
        return {GEMINI_LOG: str(self._log(guidance)), **self._environ} if self._quirks.logs else self._environ

    def _log(self, guidance: Guidance) -> Path:
        return self._output(guidance.attempt).with_suffix(".debug")

    def _conversation(self, guidance: Guidance, observer: Observer) -> Turns:
        session, agent, environ = guidance.session or "", known_agent(self._program), self._environment(guidance)
        return Turns(
            guidance,
            observer,
            clock=self._clock,
            quirks=self._quirks,
            before=self._used.get(session) or self._used_before(session),
            is_suspended=lambda: guidance.attempt in self._suspended,
            cache_reads=CacheReads(self._quirks.keeps, environ),
            refused=partial(refused_in_log, agent, environ, guidance.workdir) if agent in LOGGING else None,
        )

    def _report(self, task: Task, guidance: Guidance, conversation: Turns, done: Exit, problem: str) -> Report:
        updates = conversation.updates
        self._used[conversation.outcome.session] = updates.tokens, updates.session_cost
        return super()._report(task, guidance, conversation, done, problem)
