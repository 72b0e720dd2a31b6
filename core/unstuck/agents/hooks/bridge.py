"""From hook calls to the one mechanism: a prompt begins an attempt, tool calls are its steps, the agent's stop ends it.

One session of an agent is one task, its sub-agents included. Everything in here is in Claude Code's terms; the other
agents' are translated when they come in and go out. The bridge never disturbs the agent it attends: what goes
wrong in here is warned about and the agent goes on. No hook is held past ``hold_limit_s``, because past its own limit
the agent would go on anyway and be told nothing; an end that takes longer (a check, a question to a person) goes on
without it, and what it decides is told at the next chance.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from unstuck.agents.command.signal_line import read_approach
from unstuck.agents.hooks.claude_hooks import observation, output, task_id
from unstuck.agents.hooks.codex_exit_code import exit_code
from unstuck.agents.hooks.dialects import DIALECTS, Dialect
from unstuck.agents.hooks.transcript_usage import Meter
from unstuck.agents.mcp.caller_identity import lineage
from unstuck.agents.mcp.tools import is_ours
from unstuck.channel import Message, Peer
from unstuck.clock import Clock
from unstuck.clock.waits import first_of
from unstuck.contract import Capabilities, Directive, Observation, Report, Task, TaskSession
from unstuck.text import Clean, admit, one_line

__all__ = ["CAPABILITIES", "HookBridge"]

CAPABILITIES = Capabilities(hold="step", tell=True, resume=True, fresh=False, stop=True, may_restore=False)
LATE_PROMPT = Clean("(the session began before anybody watched)")
MAX_REMEMBERED = 1024
_GO_ON = Directive(kind="go_on")
_NOT_YET = Directive(
    kind="deny",
    text=Clean("Nothing may begin before a person has answered the supervisor. Wait, then try the same again."),
)


@dataclass(slots=True, eq=False)
class _Attached:
    """One session of an agent. ``attempt`` is empty while none is live.

    ``closed``: nothing more is begun until the person asks for something. ``untold`` began an attempt that the agent
    has not heard of yet; ``stopping`` was decided where the event could not carry it out; ``sent_on`` is what made the
    agent go on at its last stop. ``lineage`` are the processes of its last prompt's hook, the agent among them.
    """

    id: str
    dialect: Dialect
    task: Task
    work: TaskSession
    meter: Meter
    attempt: str = ""
    began: bool = False
    closed: bool = False
    beginning: asyncio.Task[None] | None = None
    ending: asyncio.Task[None] | None = None
    untold: Directive | None = None
    stopping: Directive | None = None
    sent_on: str = ""
    lineage: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Receipt:
    """What an acknowledgement will mean. ``ends`` is the attempt that it ends; empty for none."""

    attached: _Attached
    directive: Directive
    ends: str


class HookBridge:
    """Drives one :class:`TaskSession` per session of an agent that runs elsewhere.

    ``open_session`` makes the session of a new task; ``verify`` is every task's check; ``warn`` gets one line whenever
    something went wrong that the agent was spared.
    """

    def __init__(
        self,
        open_session: Callable[[Task, Capabilities], TaskSession],
        *,
        verify: str | None,
        clock: Clock,
        hold_limit_s: float,
        warn: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._open_session = open_session
        self._verify = verify
        self._clock = clock
        self._hold_limit_s = hold_limit_s
        self._warn = warn
        self._attached: OrderedDict[str, _Attached] = OrderedDict()
        self._task_ids: set[str] = set()
        self._replies: OrderedDict[tuple[str, ...], asyncio.Future[Message | None]] = OrderedDict()
        self._calls: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._receipts: OrderedDict[str, _Receipt] = OrderedDict()
        self._receipt_count = 0
        self._background: set[asyncio.Task[None]] = set()

    async def handle(self, payload: dict[str, Any], peer: Peer, agent: str = "claude") -> Message:
        """The reply to one hook call: ``output`` to print, ``ack`` where we want to hear that it was; never raises.

        The same call sent twice gets the same reply and has no second effect. Cancelling gives up a hold.
        """
        dialect = DIALECTS.get(agent)
        said = str(payload.get("hook_event_name", ""))
        try:
            heard = await _heard(dialect, payload) if dialect is not None else None
        except Exception as error:
            self._complain(f"{agent} hook, {said}", error)
            heard = None
        if dialect is None or heard is None:
            return {"ok": True}
        self._pair(heard)
        reply = await self._handle(dialect, heard, peer)
        if "output" in reply:
            return {**reply, "output": dialect.spoken(said, reply["output"])}
        return reply

    def _pair(self, payload: dict[str, Any]) -> None:
        """Give a result the id of its call, where the agent has none."""
        call = (_text(payload, "session_id"), _text(payload, "call"))
        if not call[1]:
            return
        if payload.get("hook_event_name") == "PreToolUse":
            self._calls[call] = _text(payload, "tool_use_id")
            _keep_newest(self._calls)
        else:
            payload["tool_use_id"] = self._calls.get(call) or payload["tool_use_id"]

    def session_of(self, lineage: Sequence[int]) -> tuple[str, str, TaskSession] | None:
        """Task, live attempt and mechanism of the newest session whose agent has started the process ``lineage[0]``."""
        for attached in reversed(self._attached.values()):
            # Between an agent and its hook there may be a shell; whoever is above both may have started others, too.
            if len(lineage) > 1 and lineage[1] in attached.lineage[1:3]:
                return attached.task.id, attached.attempt, attached.work
        return None

    async def _handle(self, dialect: Dialect, payload: dict[str, Any], peer: Peer) -> Message:
        key = _call_key(payload)
        if key is None:
            return await self._spared(dialect, payload, peer)
        while (first := self._replies.get(key)) is not None:
            reply = await asyncio.shield(first)
            if reply is not None:
                return reply
        answer = self._replies[key] = asyncio.get_running_loop().create_future()
        _keep_newest(self._replies)
        reply = None
        try:
            reply = await self._spared(dialect, payload, peer)
            return reply
        finally:
            if reply is None:
                self._replies.pop(key, None)  # given up before it had an answer: the next one asks anew
            answer.set_result(reply)

    async def acknowledged(self, ack: str) -> None:
        """The output of the reply with this ``ack`` is with the agent; never raises."""
        receipt = self._receipts.pop(ack, None)
        if receipt is None:
            return
        try:
            await receipt.attached.work.delivered(receipt.directive)
        except Exception as error:
            self._complain("hooks, acknowledgement", error)
        if receipt.ends and receipt.ends == receipt.attached.attempt:  # one that comes late ends no later attempt
            # It does not say that it stopped when it was told to.
            self._start_ending(receipt.attached, Report(session=receipt.attached.id, how="stopped"))

    async def close(self) -> None:
        """Cancel what goes on without a hook waiting for it."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _spared(self, dialect: Dialect, payload: dict[str, Any], peer: Peer) -> Message:
        event = str(payload.get("hook_event_name", ""))
        session = payload.get("session_id")
        if not isinstance(session, str) or not session:
            return {"ok": True}
        try:
            attached = self._attached.get(session) or self._attach(dialect, session, event, payload)
            if attached is None:
                return {"ok": True}
            due = self._clock.monotonic() + self._hold_limit_s
            if event == "UserPromptSubmit" or not attached.lineage:
                # A session may be gone on with in another process; looking is not worth it at every step.
                attached.lineage = lineage(peer.pid)
            await self._count(attached, payload)
            return self._reply(event, attached, await self._direct(event, attached, payload, due), payload)
        except Exception as error:
            self._complain(f"{dialect.name} hook, {event}", error)
            return {"ok": True}

    async def _count(self, attached: _Attached, payload: dict[str, Any]) -> None:
        """Take note of what was used until now."""
        path, subagent = _text(payload, "transcript_path"), _text(payload, "agent_id")
        tokens = await asyncio.to_thread(attached.meter.more, path, subagent) if path else 0
        if tokens:
            attached.work.see(Observation(kind="usage", tokens=tokens, task_id=attached.task.id))

    async def _direct(self, event: str, attached: _Attached, payload: dict[str, Any], due: float) -> Directive:
        """What is decided; ``due`` is the monotonic time by which the call has its reply, whatever it meets."""
        if event == "Stop":
            return await self._on_stop(attached, payload, due)
        if event == "SessionEnd":
            self._start_ending(attached, Report(session=attached.id, how="stopped"))
            return _GO_ON
        if event == "UserPromptSubmit":
            await self._on_prompt(attached, payload, due)
            directive = _GO_ON
        else:
            directive = await self._on_step(event, attached, payload, due)
        if event in attached.dialect.telling:
            if directive.kind == "go_on" and not payload.get("agent_id"):
                directive, attached.untold = attached.untold or directive, None
        elif directive.kind == "tell":
            directive, attached.untold = _GO_ON, attached.untold or directive
        return directive

    async def _on_prompt(self, attached: _Attached, payload: dict[str, Any], due: float) -> None:
        if attached.dialect.echoes and attached.sent_on == _text(payload, "prompt").strip() != "":
            return  # our own words
        attached.stopping = None
        seen = observation(payload, self._clock.monotonic())
        if seen is not None and (attached.attempt or attached.ending):
            # The person speaks into a live attempt: a step of it, which nothing may hold.
            attached.work.see(replace(seen, task_id=attached.task.id))
            return
        await self._ensure_begun(attached, admit(_text(payload, "prompt")), due)

    async def _on_step(self, event: str, attached: _Attached, payload: dict[str, Any], due: float) -> Directive:
        seen = observation(payload, self._clock.monotonic())
        between = not (attached.attempt or attached.ending or attached.closed)
        if seen is not None and between and (event == "PreToolUse" or not attached.began):
            await self._ensure_begun(attached, attached.task.prompt, due)
            if attached.beginning is not None and event == "PreToolUse":
                return _NOT_YET
        if seen is not None:
            seen = replace(seen, task_id=attached.task.id)
        if attached.stopping is not None and (event == "PreToolUse" or event in attached.dialect.stopping):
            if seen is not None:
                attached.work.see(seen)
            return attached.stopping
        if seen is None or not (attached.attempt or attached.ending):
            return _GO_ON
        if is_ours(_text(payload, "tool_name")):
            return _GO_ON  # the call itself comes to us, and waits there
        directive = await attached.work.step(seen, within=max(0.0, due - self._clock.monotonic()))
        if directive.kind == "stop":
            attached.stopping = directive
        return directive

    async def _on_stop(self, attached: _Attached, payload: dict[str, Any], due: float) -> Directive:
        how: Literal["stopped", "ended"] = "stopped" if attached.stopping else "ended"
        said = admit(_text(payload, "last_assistant_message"))
        report = Report(
            session=attached.id,
            how=how,
            sample=said or None,
            approach=read_approach(said, attached.task.prompt),
        )
        ending = self._start_ending(attached, report)
        if ending is None:
            return _GO_ON
        await self._until(due, ending)
        directive, attached.untold = attached.untold or _GO_ON, None
        return directive

    def _attach(self, dialect: Dialect, session: str, event: str, payload: dict[str, Any]) -> _Attached | None:
        if observation(payload, 0.0) is None:
            return None  # nothing is done yet, or nothing any more
        prompt = admit(_text(payload, "prompt")) if event == "UserPromptSubmit" else LATE_PROMPT
        task = self._new_task(dialect, payload, prompt)
        work, meter = self._open_session(task, CAPABILITIES), Meter(dialect.name)
        attached = _Attached(id=session, dialect=dialect, task=task, work=work, meter=meter)
        self._attached[session] = attached
        idle = [key for key, old in self._attached.items() if not (old.attempt or old.ending or old.beginning)]
        for key in idle[: max(0, len(self._attached) - MAX_REMEMBERED)]:
            if key != session:
                del self._attached[key]
        return attached

    def _new_task(self, dialect: Dialect, payload: dict[str, Any], prompt: Clean) -> Task:
        wanted = name = task_id(payload, dialect.name)
        count = 1
        while name in self._task_ids:
            count += 1
            name = f"{wanted}-{count}"
        self._task_ids.add(name)
        return Task(id=name, prompt=prompt, agent=dialect.name, agent_type="default", verify=self._verify)

    async def _ensure_begun(self, attached: _Attached, prompt: Clean, due: float) -> None:
        """Parallel calls share one beginning."""
        if attached.beginning is None:
            attached.beginning = self._spawn("begin", self._begin(attached, prompt))
        await self._until(due, attached.beginning)

    async def _begin(self, attached: _Attached, prompt: Clean) -> None:
        try:
            directive = await attached.work.begin()
            if directive.kind == "end" and attached.began:
                # This task is over; what the person asks for next in the same session is another.
                attached.task = self._new_task(attached.dialect, {"session_id": attached.id}, prompt)
                attached.work = self._open_session(attached.task, CAPABILITIES)
                directive = await attached.work.begin()
            attached.began = True
            self._started(attached, directive)
            attached.closed = not attached.attempt
            if attached.untold is not None and not _beyond_prompt(attached.untold, prompt):
                attached.untold = None
                await attached.work.delivered(directive)  # the agent has the prompt already, and there is no more
        finally:
            attached.beginning = None

    def _start_ending(self, attached: _Attached, report: Report) -> asyncio.Task[None] | None:
        """End the live attempt, once; None where none is live and none is being ended."""
        if attached.attempt:
            attempt, attached.attempt = attached.attempt, ""
            attached.stopping = attached.untold = None
            attached.ending = self._spawn("end", self._end(attached, attempt, report))
        return attached.ending

    async def _end(self, attached: _Attached, attempt: str, report: Report) -> None:
        try:
            self._started(attached, await attached.work.end(attempt, report))
        finally:
            attached.ending = None

    @staticmethod
    def _started(attached: _Attached, directive: Directive) -> None:
        if directive.kind == "start" and directive.guidance is not None:
            attached.attempt, attached.untold = directive.guidance.attempt, directive

    def _reply(self, event: str, attached: _Attached, directive: Directive, payload: dict[str, Any]) -> Message:
        stopping = attached.dialect.stopping
        printed = output(event, _told(event, directive, attached.task.prompt), stopping=stopping)
        if printed is None:
            return {"ok": True}
        if event == "Stop":
            attached.sent_on = str(printed.get("reason", "")).strip()
        self._receipt_count += 1
        ack = f"{attached.task.id}:{self._receipt_count}"
        ends = directive.kind == "stop" and event in stopping and not payload.get("agent_id")
        self._receipts[ack] = _Receipt(attached, directive, attached.attempt if ends else "")
        _keep_newest(self._receipts)
        return {"ok": True, "output": printed, "ack": ack}

    async def _until(self, due: float, task: asyncio.Task[None]) -> None:
        """Wait for ``task``, which goes on when the limit is reached or the waiting is given up."""
        await first_of(task, self._clock.sleep(due - self._clock.monotonic()))

    def _spawn(self, what: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        async def spared() -> None:
            try:
                await work
            except Exception as error:
                self._complain(f"hooks, {what}", error)

        task = asyncio.ensure_future(spared())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _complain(self, where: str, error: Exception) -> None:
        self._warn(one_line(f"{where}: {type(error).__name__}: {error}"))


async def _heard(dialect: Dialect, payload: dict[str, Any]) -> dict[str, Any] | None:
    """What the agent says, in Claude Code's terms; None where it is of no interest."""
    if dialect.name == "codex" and payload.get("hook_event_name") == "PostToolUse":
        path, call = _text(payload, "transcript_path"), _text(payload, "tool_use_id")
        payload = {**payload, "exit_code": await asyncio.to_thread(exit_code, path, call)}
    return dialect.heard(payload)


def _told(event: str, directive: Directive, prompt: Clean) -> Directive:
    """A start that no Stop can carry is told beside what the agent is doing, without the prompt it knows."""
    if directive.kind != "start" or event == "Stop":
        return directive
    return replace(directive, kind="tell", text=_beyond_prompt(directive, prompt))


def _beyond_prompt(directive: Directive, prompt: Clean) -> Clean:
    text = directive.guidance.text if directive.guidance else directive.text
    return Clean(text.removeprefix(prompt).strip())


def _call_key(payload: dict[str, Any]) -> tuple[str, ...] | None:
    """What tells one tool call's event from every other; None where sending it twice is nothing special."""
    parts = tuple(_text(payload, key) for key in ("session_id", "agent_id", "hook_event_name", "tool_use_id"))
    return parts if parts[-1] else None


def _keep_newest(remembered: OrderedDict[Any, Any]) -> None:
    while len(remembered) > MAX_REMEMBERED:
        remembered.popitem(last=False)


def _text(payload: dict[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""
