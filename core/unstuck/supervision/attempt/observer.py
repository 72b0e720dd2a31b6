"""Observations of a live attempt: recorded and judged; an open gate holds the agent's next step."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

from unstuck.clock import iso
from unstuck.clock.waits import first_of
from unstuck.contract import Capabilities, Directive, GateTypeName, Observation, Verdict
from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow, TaskRow
from unstuck.supervision.attempt.repetition import (
    EVIDENCE_LIMIT,
    STEP_LIMIT,
    Concern,
    alarm_of,
    failure_fields,
    nudge,
)
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.budget import count_usage
from unstuck.supervision.gates.live_questions import ask, is_asking
from unstuck.supervision.gates.service import standing_of
from unstuck.supervision.memory.answer_memory import answered_before, keep_rules
from unstuck.supervision.memory.failure_memory import keep_safe
from unstuck.text import Clean, admit, one_line

_GO_ON = Directive(kind="go_on")
_ENDED = Directive(kind="stop", text=Clean("The person has ended this task."))
_NO_ROOM = Directive(
    kind="deny", text=Clean("The supervisor's disk is full, so nothing can be recorded. Wait, then try the same again.")
)
_NOT_ASKED_YET = Directive(
    kind="deny", text=Clean("Your files are being saved before a person is asked. Wait, then try the same again.")
)
_WORDS = {"retry": "Try again with a different approach", "deny": "This was not allowed"}
_NAME_LIMIT = 100
_IDS_KEPT = 1_024
_LOOP, _BLOCKED = "loop", "blocked"


class Holding:
    """The part of a session that lives between two steps of an attempt."""

    def __init__(self, core: RunContext, task: str, can: Capabilities) -> None:
        self._core, self._task, self._can = core, task, can
        self._refused: dict[str, int] = {}
        self._asked = ""
        self._subagent = ""
        self._seen: OrderedDict[tuple[bool, str, str], None] = OrderedDict()
        self._taken: set[str] = set()
        self._waiting: Counter[str] = Counter()

    def note(self, observation: Observation) -> Verdict | None:
        """Count, record and judge an observation, then warn or ask where that is due."""
        core = self._core
        row = core.row(self._task)
        if observation.kind == "usage":
            # Counted in every state: use by an idle agent is exactly what has to be reported.
            # An agent that runs elsewhere reports its use late, at its next hook.
            idle = False if core.head.run.kind == "watch" else None
            count_usage(
                core,
                self._task,
                row.attempt,
                observation.tokens,
                observation.cost,
                written=observation.written,
                idle=idle,
            )
            return None
        attempt = core.head.attempts.get(row.attempt)
        if observation.session and attempt is not None and attempt.is_live and attempt.session != observation.session:
            named = e.SessionNamed(session=one_line(observation.session, _NAME_LIMIT))
            core.append(named, task=self._task, attempt=row.attempt, actor="agent")
        if observation.session and observation.kind == "alive":
            return None
        if observation.kind == "asks":
            self._note_terminal(row, admit(observation.text, limit=STEP_LIMIT))
            return None
        if row.state != "running" or self._is_repeated(observation):
            return None
        self._forget_answered()
        self._subagent = one_line(observation.agent_id, _NAME_LIMIT)
        verdict, seen, identity = self._record(observation)
        ours = core.head.run.kind in ("plan", "command")
        alarm = alarm_of(core.detector, seen, verdict, identity, gates=core.head.gates_of(seen.task_id), ours=ours)
        if alarm is None:
            return None
        if (told := alarm.nudge) is not None:
            warned = e.LoopWarned(
                pattern=told.pattern,
                repeats=told.repeats,
                evidence=told.evidence,
                deaf=self._deaf(observation, bool(attempt is not None and attempt.session)),
            )
            core.append(warned, task=self._task, attempt=row.attempt)
        if alarm.concern is not None:
            self._ask_about(alarm.concern, alarm.signature)
        return verdict

    def _deaf(self, observation: Observation, has_session: bool) -> Literal["", "agent", "subagent"]:
        """Return who cannot be told of a loop: an agent that is held or in a session hears, one between two turns of it
        too."""
        can = self._can
        if can.hold == "step":
            return ""
        if observation.agent_id:
            return "subagent"
        return "" if can.tell or (can.resume and has_session) else "agent"

    def _note_terminal(self, row: TaskRow, text: Clean) -> None:
        """Record that the agent asks the person in its own terminal, or with no ``text`` that this is over."""
        attempt = self._core.head.attempts.get(row.attempt)
        if attempt is not None and attempt.is_live and attempt.asks != text:
            event = e.TerminalAsked(text=text) if text else e.TerminalAnswered()
            self._core.append(event, task=self._task, attempt=row.attempt, actor="agent")

    def _record(self, observation: Observation) -> tuple[Verdict | None, Observation, str]:
        """Record a step; the detector's verdict, the observation as it saw it, and the identity of its failure."""
        core = self._core
        text = admit(observation.text, limit=STEP_LIMIT)
        failure = failure_fields(observation, text, self._task)
        seen = replace(observation, text=text, task_id=self._task)
        verdict = core.detector.observe(seen)
        step = e.StepRecorded(
            kind=observation.kind,
            tool=observation.tool,
            text=text,
            exit_code=observation.exit_code,
            agent_id=observation.agent_id,
            role=observation.role or "",
            repeats=core.detector.rounds(self._task, observation.agent_id),
            **failure,
        )
        core.append(step, task=self._task, attempt=core.row(self._task).attempt, actor="agent")
        return verdict, seen, failure.get("identity", "")

    def _forget_answered(self) -> None:
        """Reset the counts of repetition once a person has answered."""
        gate = self._core.head.gates.get(self._asked)
        if gate is not None and gate.status != "open":
            self._asked = ""
            self._core.detector.answered(self._task)

    def _is_repeated(self, observation: Observation) -> bool:
        """Return whether this call, or this result, of this agent has been seen under the same id."""
        if not observation.id:
            return False
        key = (observation.kind == "action", observation.agent_id, observation.id)
        repeated = key in self._seen
        self._seen[key] = None
        if len(self._seen) > _IDS_KEPT:
            self._seen.popitem(last=False)
        return repeated

    def _ask_about(self, concern: Concern, signature: str) -> None:
        """Ask the person about a loop, or about what the agent cannot cure."""
        context: dict[str, Any]
        if concern.kind == "blocked":
            context = {
                "question": admit(f"Nothing the agent does gets past this: {concern.evidence}", limit=STEP_LIMIT),
                "options": ["It works again: go on", "Leave it out and do what can be done without it"],
                "error_type": "blocked",
            }
            self._gate("question", _BLOCKED, context)
            return
        context = {
            "loop_type": "execution_loop",
            "window_size": self._core.settings.window_size,
            "repeats": concern.repeats,
            "error_signature": signature,
            "problem": one_line(concern.evidence, EVIDENCE_LIMIT),
            "detected_at": iso(self._core.clock.now()),
        }
        if learnt := answered_before(self._core, signature):
            context["learnt"] = learnt
        self._gate("loop_detected", _LOOP, context)

    def _gate(self, kind: GateTypeName, key: str, context: dict[str, Any]) -> None:
        """Ask about this attempt, unless a question is open or no person may be asked."""
        core, row = self._core, self._core.row(self._task)
        if row.gate or not core.may_ask or is_asking(core, row.attempt):
            return
        about = {"task_id": self._task, "agent_id": row.task.agent or row.task.agent_type}
        if self._subagent:
            about["subagent"] = self._subagent
        question = Question(
            type=kind,
            key=key,
            context=about | context,
            task=self._task,
            attempt=row.attempt,
            standing=standing_of(self._can),
            opened=self._opened,
        )
        ask(core, question)

    def _opened(self, gate: str) -> None:
        self._asked = gate

    async def step(self, observation: Observation, *, within: float | None) -> Directive:
        """Note an observation, hold an action while a gate is open, and deliver a pending answer."""
        if self._is_stopping():
            return _ENDED
        verdict = self.note(observation)
        if observation.kind == "action":
            held = await self.hold(observation, within)
            if held is not None:
                return held
        elif self._is_asking():
            # The question that a result leads to is about the files as they are now.
            await self._until(lambda: not self._is_asking(), Subject.TASK, self._task, self._due(within))
        if verdict is not None and verdict.nudge:
            return Directive(kind="tell", text=nudge(verdict), loop=verdict.pattern)
        return _GO_ON

    def _is_asking(self) -> bool:
        return is_asking(self._core, self._core.row(self._task).attempt)

    def _is_stopping(self) -> bool:
        attempt = self._core.head.attempts.get(self._core.row(self._task).attempt)
        return self._core.head.run.state == "draining" or (attempt is not None and attempt.state == "stopping")

    async def hold(self, observation: Observation, within: float | None) -> Directive | None:
        """Wait for the answer to the questions about this attempt; None where there is none for this call."""
        agent = one_line(observation.agent_id, _NAME_LIMIT)
        self._waiting[agent] += 1
        try:
            return await self._settled(agent, observation, self._due(within))
        finally:
            self._waiting[agent] -= 1
            self._waiting += Counter()  # drops the counts of zero

    def _due(self, within: float | None) -> float | None:
        """The monotonic time by which a call needs its reply, however many questions come before."""
        return None if within is None else self._core.clock.monotonic() + within

    async def _settled(self, agent: str, observation: Observation, due: float | None) -> Directive | None:
        if not await self._has_room(due):
            return _NO_ROOM
        while True:
            if not await self._until(lambda: not self._is_asking(), Subject.TASK, self._task, due):
                return _NOT_ASKED_YET
            asked = self._core.row(self._task).gate or self._over()
            if not asked:
                break
            if not await self._answered(asked, due):
                return await self._refuse(asked)
        gate = next((one for one in self._undelivered() if self._is_for(agent, one, observation)), None)
        if gate is not None:
            return await self.hand_over(gate, observation.id)
        # The answer to another question may have ended the task meanwhile.
        return _ENDED if self._is_stopping() else None

    async def _has_room(self, due: float | None) -> bool:
        """Wait until the log can be written; False when it is ``due`` first."""
        journal = self._core.journal
        return not journal.held or await self._until(lambda: not journal.held, Subject.TASK, self._task, due)

    async def _answered(self, gate: str, due: float | None) -> bool:
        """Wait for the gate's answer; False when it is ``due`` first."""
        core = self._core
        await core.journal.committed()
        return await self._until(lambda: core.head.gates[gate].status != "open", Subject.GATE, gate, due)

    async def _until(self, done: Callable[[], bool], subject: Subject, id: str, due: float | None) -> bool:
        """Wait until ``done()``, looked at after every change of the subject; False when it is ``due`` first."""
        core = self._core
        left = due - core.clock.monotonic() if due is not None else None
        patience = asyncio.ensure_future(core.clock.sleep(left)) if left is not None else None
        try:
            while not done():
                _, is_late = await first_of(core.signals.next(subject, id).wait(), patience)
                if is_late:
                    break
        finally:
            if patience is not None:
                patience.cancel()
        return done()

    async def _refuse(self, gate: str) -> Directive:
        """Send a call back before the agent's own limit runs out; after a few times stop the attempt."""
        core, row = self._core, self._core.row(self._task)
        count = self._refused.get(gate, 0) + 1
        self._refused[gate] = count
        core.append(e.HoldRefused(gate=gate, count=count), task=self._task, attempt=row.attempt, actor="timer")
        await core.journal.committed()
        if count > core.settings.hold_limit:
            return Directive(kind="stop", gate=gate, text=Clean("A person has to answer before this can go on."))
        return Directive(
            kind="deny", gate=gate, text=Clean("A question to the person is still open. Wait, then try the same again.")
        )

    def _over(self) -> str:
        """The open question about a budget that is used up; it holds every agent."""
        if not self._core.head.run.over:
            return ""
        return next((row.id for row in self._core.head.open_gates() if row.gate.type == "budget"), "")

    async def next_answer(self) -> Directive:
        """Wait for an answer to a question about the live attempt, and deliver it."""
        while True:
            await self._until(lambda: self._words() is not None, Subject.TASK, self._task, None)
            if (gate := self._words()) is not None:
                return await self.hand_over(gate, "")

    def _words(self) -> GateRow | None:
        """A pending answer for the agent. A waiting call gets it first, and a permission goes to its own call only."""
        if self._waiting:
            return None
        told = (one for one in self._undelivered() if one.effect == "tell")
        return next((one for one in told if one.gate.type != "permission"), None)

    def _undelivered(self) -> Iterator[GateRow]:
        row = self._core.row(self._task)
        for gate in self._core.head.gates_of(self._task):
            if gate.gate.attempt != row.attempt or gate.status != "answered" or gate.id in self._taken:
                continue
            # A call that asked itself returns its own answer.
            if gate.id not in self._core.live.calls:
                yield gate

    def _is_for(self, agent: str, gate: GateRow, observation: Observation) -> bool:
        """True where the answer is for this agent: the one that led to the question, or the main agent in its place.

        A permission is only for the call that it is about.
        """
        if gate.gate.type == "permission":
            return gate.gate.key == permission_key(gate.gate.attempt or "", observation)
        if gate.gate.key not in (_LOOP, _BLOCKED):
            return True
        asker = gate.gate.context.get("subagent", "")
        return agent == asker or (not agent and not self._waiting[asker])

    async def hand_over(self, gate: GateRow, call: str) -> Directive:
        """Record that the answer is on its way in this call, and return it."""
        self._taken.add(gate.id)
        core, answer = self._core, gate.answer
        assert answer is not None
        row = core.row(self._task)
        if (gate.gate.type, gate.effect) != ("permission", "go_on"):  # an allowed call is no way out of a loop
            core.detector.answered(self._task)
        keep_rules(core, (gate.id,))
        await keep_safe(core)
        sent = e.AnswerSent(gate=gate.id, call=call, incarnation=row.attempt)
        core.append(sent, task=self._task, attempt=row.attempt)
        await core.journal.committed()
        if gate.effect in ("skipped", "abandoned", "stop"):
            return Directive(kind="stop", gate=gate.id, text=admit(f"The person chose: {answer.choice}."))
        if gate.effect == "go_on":
            return Directive(kind="go_on", gate=gate.id)
        words = _WORDS.get(answer.choice, "A person says")
        return Directive(kind="deny", gate=gate.id, text=admit(f"{words}: {answer.text}" if answer.text else words))

    async def delivered(self, directive: Directive) -> None:
        """The agent has the answer, or the nudge, that the directive carried."""
        if directive.loop:
            row = self._core.row(self._task)
            self._core.append(e.LoopTold(pattern=directive.loop), task=self._task, attempt=row.attempt)
        if directive.gate is None:
            return
        gate = self._core.head.gates.get(directive.gate)
        if gate is not None and gate.status == "sent":
            self._core.append(e.AnswerDelivered(gate=gate.id), task=self._task, attempt=gate.gate.attempt or "")
            await self._core.journal.committed()


def permission_key(attempt: str, call: Observation) -> str:
    """The key of the question whether ``call`` may be made."""
    return f"call {attempt} {call.id}"
