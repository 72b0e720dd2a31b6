"""Handlers of agents' calls: each becomes a question, an observation, advice or a checkpoint of its task.

An error reaches the agent only as a text that says what to do next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from unstuck.agents.mcp.caller_identity import Caller, Sessions, Visitors, attempt_of, lineage
from unstuck.agents.mcp.tools import MAX_GIVEN, TOOLS, given
from unstuck.channel import Message, Peer
from unstuck.contract import Observation
from unstuck.errors import RecordError, UnstuckError, UsageError
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow
from unstuck.supervision.checkpointing import save_requested
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.gate_types import ASKED, CHOICES
from unstuck.text import admit, one_line

if TYPE_CHECKING:
    from unstuck.supervision.intervention.advice import Advice, Reported
    from unstuck.supervision.intervention.tool_call import Call


QUESTION_LIMIT, OPTION_LIMIT, CONTEXT_LIMIT, STEP_LIMIT = 4_000, 500, 8_000, 2_000
LOST_S = 10.0
"""Seconds without an acknowledgement after which an answer counts as not delivered."""

STRANGER = "You are not one of the agents of the run that is live here. Ask the person you work for yourself."
OVER = "This task is over. Make no further changes, and end your turn."
NOBODY = "Nobody may be asked in this run. Decide yourself, take the way that can be taken back, and say so in the end."


class ToolHandlers:
    """Handlers for one run or watch. ``sessions`` are known from hooks; ``visitors`` admits any agent."""

    def __init__(self, core: RunContext, *, sessions: Sessions | None = None, visitors: Visitors | None = None) -> None:
        self._core, self._sessions, self._visitors = core, sessions, visitors
        self._climbs: dict[str, Climb] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._sent: dict[str, tuple[Call, asyncio.Task[None]]] = {}
        self._count = 0
        self._work: Mapping[str, Callable[[Caller, dict[str, Any], str], Any]] = {
            "ask_human": self._ask_human,
            "report_failure": self._report_failure,
            "report_progress": self._report_progress,
            "checkpoint": self._checkpoint,
        }

    async def handle(self, message: Message, peer: Peer) -> Message:
        """Return the reply to one call: ``text``, and ``failed`` if the agent should treat it as a failure."""
        tool = TOOLS.get(str(message.get("tool", "")))
        arguments = message.get("arguments")
        try:
            if tool is None or not isinstance(arguments, dict):
                raise UsageError("this is not a tool of the supervisor that is live here: use the same unstuck on both")
            found = given(tool, arguments)
            caller, stay = await self._caller(message, peer)
            if caller is None:
                return _reply(STRANGER if self._visitors is None else OVER, failed=True)
            reply: Message = await self._work[tool.name](caller, found, _field(message, "call"))
            return {**reply, "stay": True} if stay else reply
        except RecordError:
            raise
        except UnstuckError as error:
            return _reply(str(error), failed=True)

    async def stay(self, message: Message, peer: Peer) -> Message:
        """Wait until the agent disconnects, then end its visit."""
        token = _field(message, "session")
        if self._visitors is None or not token:
            return {}
        try:
            await asyncio.Event().wait()
        finally:
            self._visitors.leave(token)
        return {}

    async def acknowledged(self, ack: str) -> None:
        """Confirm that the agent has the reply with this ``ack``."""
        call, waiting = self._sent.pop(ack, (None, None))
        if call is not None and waiting is not None:
            waiting.cancel()
            try:
                await call.delivered()
            finally:
                call.close()

    async def close(self) -> None:
        """Cancel what waits for agents: the run ends."""
        waiting = [task for _, task in self._sent.values()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        if self._visitors is not None:
            await self._visitors.close()

    async def _caller(self, message: Message, peer: Peer) -> tuple[Caller | None, bool]:
        """Return the caller, and whether the supervisor has to notice its disconnection."""
        processes = lineage(peer.pid)
        if (caller := attempt_of(self._core, processes, _field(message, "attempt"))) is not None:
            return caller, False
        if self._sessions is not None and (found := self._sessions.session_of(processes)) is not None:
            task, attempt, work = found
            return (Caller(task=task, attempt=attempt, observer=work) if attempt else None), False
        token = _field(message, "session")
        if self._visitors is None or not token:
            return None, False
        return await self._visitors.caller(token, _field(message, "client")), True

    # --- the tools --------------------------------------------------------------------------------------------------

    async def _ask_human(self, caller: Caller, arguments: dict[str, Any], call: str) -> Message:
        options = [option for given in arguments.get("options", ()) if (option := one_line(given, OPTION_LIMIT))]
        text = admit(arguments["question"], limit=QUESTION_LIMIT)
        # The digest covers the whole question: a person sees only head and tail of a long one.
        whole = admit(arguments["question"], limit=MAX_GIVEN)
        asked = sha256("\n".join([whole, *options]).encode()).hexdigest()[:8]
        context = {
            "task_id": caller.task,
            "agent_id": self._agent(caller),
            "question": text,
            "options": options,
            "context": admit(arguments.get("context", ""), limit=CONTEXT_LIMIT),
            "error_type": "asked",
        }
        choices = tuple(choice for choice in CHOICES["question"] if options or choice != "choose")
        question = Question(
            type="question",
            key=f"{ASKED}{asked}",
            context=context,
            task=caller.task,
            attempt=caller.attempt,
            choices=choices,
        )
        return await self._asked(question, call)

    async def _report_failure(self, caller: Caller, arguments: dict[str, Any], call: str) -> Message:
        from unstuck.supervision.intervention.advice import Reported, advise

        command, approach = one_line(arguments.get("command", ""), 500), one_line(arguments.get("approach", ""), 500)
        reported = Reported(error=admit(arguments["error"]), exit_code=arguments.get("exit_code"), approach=approach)
        async with self._turns.setdefault(caller.attempt, asyncio.Lock()):
            row = self._core.row(caller.task)
            advice = await advise(self._core, row, self._climbs.get(caller.attempt, row.climb), reported)
            self._note(caller, reported, command, advice)
            self._climbs[caller.attempt] = advice.climb
            if advice.question is None:
                return _reply(advice.text)
            reply = await self._asked(advice.question, call)
            self._climbs[caller.attempt] = advice.climb.answered()
            return reply

    async def _report_progress(self, caller: Caller, arguments: dict[str, Any], call: str) -> Message:
        text = admit(arguments["message"], limit=STEP_LIMIT)
        seen = Observation(kind="message", text=text, at=self._core.clock.monotonic(), tool="message", role="agent")
        directive = await caller.observer.step(seen)
        return _reply(directive.text or "Noted. Go on.", failed=directive.kind == "stop")

    async def _checkpoint(self, caller: Caller, arguments: dict[str, Any], call: str) -> Message:
        event = await save_requested(self._core, self._core.row(caller.task), arguments["reason"])
        await self._core.journal.committed()
        if event.id == "none":
            return _reply(f"Nothing was saved ({event.reason}). Be careful with what you do next.", failed=True)
        missing = f" Not covered: {', '.join(event.not_covered)}." if event.not_covered else ""
        back = f"A person can go back to it: unstuck checkpoints restore {event.id}."
        return _reply(f"Saved as {event.id}: {event.files} files.{missing} {back}")

    # --- questions and advice ---------------------------------------------------------------------------------------

    async def _asked(self, question: Question, id: str) -> Message:
        """Ask the question, wait for its answer without a limit, and return the reply."""
        from unstuck.supervision.intervention.tool_call import Call

        if not self._core.may_ask:
            return _reply(NOBODY, failed=True)
        call = Call(self._core, question, id)
        sent = False
        try:
            row = await call.answered()
            sent = row is not None and self._core.head.gates[row.id].status == "sent"
        finally:
            if not sent:
                call.close()
        if row is None:
            return _reply(OVER, failed=True)
        ends = row.effect in ("skipped", "abandoned") or row.status == "withdrawn"
        reply = _reply(_answer_text(row), failed=ends)
        return {**reply, "ack": self._expect(call)} if sent else reply

    def _expect(self, call: Call) -> str:
        """Return the id of the acknowledgement without which the answer counts as not delivered."""
        self._count += 1
        ack = f"call {self._count}"
        self._sent[ack] = call, asyncio.ensure_future(self._lost(ack))
        return ack

    async def _lost(self, ack: str) -> None:
        await self._core.clock.sleep(LOST_S)
        call, _ = self._sent.pop(ack)
        call.close()

    def _note(self, caller: Caller, reported: Reported, command: str, advice: Advice) -> None:
        """Record the report and the advice; the escalation level has already answered repetitions."""
        text = admit(f"{command}\n{reported.error}" if command else reported.error, limit=STEP_LIMIT)
        failure = e.StepRecorded(
            kind="failure", tool="report_failure", text=text, exit_code=reported.exit_code, identity=advice.identity
        )
        told = e.StepRecorded(
            kind="message", tool="report_failure", text=admit(advice.text, limit=STEP_LIMIT), role="system"
        )
        for event, actor in ((failure, "agent"), (told, "policy")) if advice.identity else ():
            self._core.append(event, task=caller.task, attempt=caller.attempt, actor=actor)  # type: ignore[arg-type]

    def _agent(self, caller: Caller) -> str:
        task = self._core.row(caller.task).task
        return task.agent or task.agent_type


def _answer_text(row: GateRow) -> str:
    """Return the text of an answer for the agent that waits for it."""
    answer, effect = row.answer, row.effect
    if row.status == "withdrawn" or answer is None:
        return "The question was withdrawn: nobody will answer it. Go on without it if you can, else end your turn."
    if effect in ("skipped", "abandoned"):
        reason = f" They say: {answer.text}" if answer.text else ""
        return f"The person has decided to {answer.choice} this task.{reason} {OVER}"
    who = "A person" if row.by == "human" else "A rule that the person has set up"
    match answer.choice:
        case "choose":
            return f"{who} has chosen option {int(answer.number or 1)}: {answer.text}"
        case "retry":
            return f"{who} says: leave this approach and take {answer.text or 'a really different one'}"
        case "show_me":
            return f"{who} answers: {answer.text}"
    return f"{who} says: go on."


def _reply(text: str, *, failed: bool = False) -> Message:
    return {"text": text, "failed": failed}


def _field(message: Message, key: str) -> str:
    return one_line(str(message.get(key) or ""), 100)
