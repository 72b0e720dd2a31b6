"""Bridge from hook calls to task sessions: a prompt begins an attempt, tool calls are steps, the agent's stop ends it.

One session of an agent, with its sub-agents, is one task. This module uses Claude Code's terms; payloads of other
agents are translated on the way in and out. The bridge never disturbs an agent: its errors become warnings, and the
agent proceeds. No hook is held past ``hold_limit_s``, because past its own limit the agent would proceed without an
answer. A longer end (a check, a question) continues without the hook, and the next event carries its decision.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from unstuck.agents.command.signal_line import read_approach
from unstuck.agents.hooks.claude_hooks import asked_there, call_of, observation, output, slug, task_id
from unstuck.agents.hooks.dialects import DIALECTS, Dialect
from unstuck.agents.hooks.transcripts import Meter, exit_code
from unstuck.agents.mcp.caller_identity import lineage
from unstuck.agents.mcp.tools import is_ours
from unstuck.agents.streams.stream import text
from unstuck.channel import Message, Peer
from unstuck.clock import Clock
from unstuck.clock.waits import first_of
from unstuck.contract import Capabilities, Directive, Observation, Report, Task, TaskSession
from unstuck.text import Clean, admit, one_line

CAPABILITIES = Capabilities(hold="step", tell=True, resume=True, fresh=False, stop=True, may_restore=False)
LATE_PROMPT = Clean("(the session began before anybody watched)")
MAX_REMEMBERED = 1024
_TOGETHER_S = 2.0
_GO_ON = Directive(kind="go_on")
_NOT_YET = Directive(
    kind="deny",
    text=Clean("Nothing may begin before a person has answered the supervisor. Wait, then try the same again."),
)


@dataclass(slots=True, eq=False)
class _Attached:
    """One session of an agent. ``attempt`` is empty while none is live.

    ``closed``: nothing begins before the next prompt. ``pending`` is a directive that the agent has not received yet,
    ``stopping`` a stop that the event could not carry out. ``continuation`` is the text that continued its last stop.
    ``lineage`` holds the processes of its last prompt's hook, the agent among them. ``asks`` is the call that the
    person is asked about in the agent's own terminal, and since when; ``called`` is the last call.
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
    pending: Directive | None = None
    stopping: Directive | None = None
    continuation: str = ""
    lineage: tuple[int, ...] = ()
    asks: tuple[tuple[str, Any], float] | None = None
    called: tuple[str, Any] = ("", None)


@dataclass(frozen=True, slots=True)
class _Receipt:
    """Effect of an acknowledgement. ``ends`` is the attempt that it ends; empty for none."""

    attached: _Attached
    directive: Directive
    ends: str


class HookBridge:
    """Drives one :class:`TaskSession` per session of an agent that runs elsewhere.

    ``open_session`` creates the session of a new task; ``verify`` is every task's check; ``warn`` gets one line for
    each error that the agent does not see.
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
        """Return the reply to one hook call: ``output`` to print, ``ack`` to confirm afterwards. Never raises.

        A repeated call gets the same reply and has no second effect. A cancellation ends a hold.
        """
        dialect = DIALECTS.get(agent)
        said = str(payload.get("hook_event_name", ""))
        try:
            decoded = await _decoded(dialect, payload) if dialect is not None else None
        except Exception as error:
            self._warn_of(f"{agent} hook, {said}", error)
            decoded = None
        if dialect is None or decoded is None:
            return {"ok": True}
        self._pair(decoded)
        reply = await self._handle(dialect, decoded, peer)
        if "output" in reply:
            return {**reply, "output": dialect.encode(said, reply["output"])}
        return reply

    def _pair(self, payload: dict[str, Any]) -> None:
        """Set the call's id on a result of an agent without ids."""
        call = (text(payload, "session_id"), text(payload, "call"))
        if not call[1]:
            return
        if payload.get("hook_event_name") == "PreToolUse":
            self._calls[call] = text(payload, "tool_use_id")
            _keep_newest(self._calls)
        else:
            payload["tool_use_id"] = self._calls.get(call) or payload["tool_use_id"]

    def session_of(self, lineage: Sequence[int]) -> tuple[str, str, TaskSession] | None:
        """Return task, live attempt and session of the newest agent that has started the process ``lineage[0]``."""
        for attached in reversed(self._attached.values()):
            # A shell may be between an agent and its hook; a process above both may have started other agents.
            if len(lineage) > 1 and lineage[1] in attached.lineage[1:3]:
                return attached.task.id, attached.attempt, attached.work
        return None

    async def _handle(self, dialect: Dialect, payload: dict[str, Any], peer: Peer) -> Message:
        key = _call_key(payload)
        if key is None:
            return await self._safe_reply(dialect, payload, peer)
        while (first := self._replies.get(key)) is not None:
            reply = await asyncio.shield(first)
            if reply is not None:
                return reply
        answer = self._replies[key] = asyncio.get_running_loop().create_future()
        _keep_newest(self._replies)
        reply = None
        try:
            reply = await self._safe_reply(dialect, payload, peer)
            return reply
        finally:
            if reply is None:
                self._replies.pop(key, None)  # cancelled without an answer: a repetition asks again
            answer.set_result(reply)

    async def acknowledged(self, ack: str) -> None:
        """Confirm that the agent has the reply with this ``ack``. Never raises."""
        receipt = self._receipts.pop(ack, None)
        if receipt is None:
            return
        try:
            await receipt.attached.work.delivered(receipt.directive)
        except Exception as error:
            self._warn_of("hooks, acknowledgement", error)
        if receipt.ends and receipt.ends == receipt.attached.attempt:  # a late one ends no later attempt
            # The agent does not report a stop that unstuck requested.
            self._start_ending(receipt.attached, Report(session=receipt.attached.id, how="stopped"))

    async def close(self) -> None:
        """Cancel everything that runs without a waiting hook."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _safe_reply(self, dialect: Dialect, payload: dict[str, Any], peer: Peer) -> Message:
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
                # A session may be resumed in another process, but a lookup at every step costs too much.
                attached.lineage = lineage(peer.pid)
            await self._count(attached, payload)
            return self._reply(event, attached, await self._direct(event, attached, payload, due), payload)
        except Exception as error:
            self._warn_of(f"{dialect.name} hook, {event}", error)
            return {"ok": True}

    async def _count(self, attached: _Attached, payload: dict[str, Any]) -> None:
        """Record the usage so far."""
        path, subagent = text(payload, "transcript_path"), text(payload, "agent_id")
        tokens = await attached.meter.more(path, subagent) if path else 0
        if tokens:
            attached.work.see(Observation(kind="usage", tokens=tokens, task_id=attached.task.id))

    async def _direct(self, event: str, attached: _Attached, payload: dict[str, Any], due: float) -> Directive:
        """Return the directive for a call; ``due`` is the monotonic time of its reply at the latest."""
        self._note_terminal(event, attached, payload)
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
                directive, attached.pending = attached.pending or directive, None
        elif directive.kind == "tell":
            directive, attached.pending = _GO_ON, attached.pending or directive
        return directive

    def _note_terminal(self, event: str, attached: _Attached, payload: dict[str, Any]) -> None:
        """Tell whether the agent asks the person in its own terminal.

        The end has no event of its own: it is seen by what the agent does next. Calls that were made together may
        still be announced while the question is open.
        """
        now, call = self._clock.monotonic(), call_of(payload)
        if event == "PreToolUse":
            attached.called = call
        about = asked_there(event, payload)
        if about and event == "Notification" and attached.asks is not None:
            return  # it says less of what is asked already
        if about:
            # A notification does not say which call it is about.
            attached.asks = (call if call[0] else attached.called, now)
            attached.work.see(Observation(kind="asks", text=about, task_id=attached.task.id))
        elif attached.asks is not None:
            asked, since = attached.asks
            other = event in ("PostToolUse", "PostToolUseFailure") and call != asked
            together = event == "PreToolUse" and now - since < _TOGETHER_S
            if not (other or together):
                attached.asks = None
                attached.work.see(Observation(kind="asks", task_id=attached.task.id))

    async def _on_prompt(self, attached: _Attached, payload: dict[str, Any], due: float) -> None:
        if attached.dialect.echoes and attached.continuation == text(payload, "prompt").strip() != "":
            return  # an echo of the continuation
        attached.stopping = None
        seen = observation(payload, self._clock.monotonic())
        if seen is not None and (attached.attempt or attached.ending):
            # A prompt during a live attempt is a step of it that nothing may hold.
            attached.work.see(replace(seen, task_id=attached.task.id))
            return
        await self._ensure_begun(attached, admit(text(payload, "prompt")), due)

    async def _on_step(self, event: str, attached: _Attached, payload: dict[str, Any], due: float) -> Directive:
        seen = observation(payload, self._clock.monotonic())
        between = not (attached.attempt or attached.ending or attached.closed)
        if seen is not None and between and (event == "PreToolUse" or not attached.began):
            await self._ensure_begun(attached, attached.task.prompt, due)
            if attached.beginning is not None and event == "PreToolUse":
                return _NOT_YET
        if seen is not None:
            seen = replace(seen, task_id=attached.task.id, session=attached.id)
        if attached.stopping is not None and (event == "PreToolUse" or event in attached.dialect.stopping):
            if seen is not None:
                attached.work.see(seen)
            return attached.stopping
        if seen is None or not (attached.attempt or attached.ending):
            return _GO_ON
        if is_ours(text(payload, "tool_name")):
            return _GO_ON  # the call itself reaches the supervisor, and waits there
        directive = await attached.work.step(seen, within=max(0.0, due - self._clock.monotonic()))
        if directive.kind == "stop":
            attached.stopping = directive
        return directive

    async def _on_stop(self, attached: _Attached, payload: dict[str, Any], due: float) -> Directive:
        how: Literal["stopped", "ended"] = "stopped" if attached.stopping else "ended"
        said = admit(text(payload, "last_assistant_message"))
        report = Report(
            session=attached.id,
            how=how,
            sample=said or None,
            approach=read_approach(said, attached.task.prompt),
            last_message=said or None,
            model=one_line(text(payload, "model"), 100),
        )
        ending = self._start_ending(attached, report)
        if ending is None:
            return _GO_ON
        await self._until(due, ending)
        directive, attached.pending = attached.pending or _GO_ON, None
        return directive

    def _attach(self, dialect: Dialect, session: str, event: str, payload: dict[str, Any]) -> _Attached | None:
        if observation(payload, 0.0) is None:
            return None  # no work has begun, or all has ended
        prompt = admit(text(payload, "prompt")) if event == "UserPromptSubmit" else LATE_PROMPT
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
        # The first prompt names a session; one that began before has only its id.
        words = "" if prompt == LATE_PROMPT else slug(prompt)
        wanted = name = f"{dialect.name}-{words}" if words else task_id(payload, dialect.name)
        count = 1
        while name in self._task_ids:
            count += 1
            name = f"{wanted}-{count}"
        self._task_ids.add(name)
        return Task(id=name, prompt=prompt, agent=dialect.name, agent_type="default", verify=self._verify)

    async def _ensure_begun(self, attached: _Attached, prompt: Clean, due: float) -> None:
        """Begin an attempt; parallel calls share one beginning."""
        if attached.beginning is None:
            attached.beginning = self._spawn("begin", self._begin(attached, prompt))
        await self._until(due, attached.beginning)

    async def _begin(self, attached: _Attached, prompt: Clean) -> None:
        try:
            directive = await attached.work.begin()
            if directive.kind == "end" and attached.began:
                # The task is over, so the next prompt in the same session is another one.
                attached.task = self._new_task(attached.dialect, {"session_id": attached.id}, prompt)
                attached.work = self._open_session(attached.task, CAPABILITIES)
                directive = await attached.work.begin()
            attached.began = True
            self._started(attached, directive)
            attached.closed = not attached.attempt
            if attached.pending is not None and not _beyond_prompt(attached.pending, prompt):
                attached.pending = None
                await attached.work.delivered(
                    directive
                )  # the agent already has the prompt, and nothing else is pending
        finally:
            attached.beginning = None

    def _start_ending(self, attached: _Attached, report: Report) -> asyncio.Task[None] | None:
        """End the live attempt once; return None if none is live or ending."""
        if attached.attempt:
            attempt, attached.attempt = attached.attempt, ""
            attached.stopping = attached.pending = None
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
            attached.attempt, attached.pending = directive.guidance.attempt, directive

    def _reply(self, event: str, attached: _Attached, directive: Directive, payload: dict[str, Any]) -> Message:
        stopping = attached.dialect.stopping
        printed = output(event, _carried(event, directive, attached.task.prompt), stopping=stopping)
        if printed is None:
            return {"ok": True}
        if event == "Stop":
            attached.continuation = str(printed.get("reason", "")).strip()
        self._receipt_count += 1
        ack = f"{attached.task.id}:{self._receipt_count}"
        ends = directive.kind == "stop" and event in stopping and not payload.get("agent_id")
        self._receipts[ack] = _Receipt(attached, directive, attached.attempt if ends else "")
        _keep_newest(self._receipts)
        return {"ok": True, "output": printed, "ack": ack}

    async def _until(self, due: float, task: asyncio.Task[None]) -> None:
        """Wait for ``task`` until the limit; ``task`` continues afterwards."""
        await first_of(task, self._clock.sleep(due - self._clock.monotonic()))

    def _spawn(self, what: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        async def safely() -> None:
            try:
                await work
            except Exception as error:
                self._warn_of(f"hooks, {what}", error)

        task = asyncio.ensure_future(safely())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _warn_of(self, where: str, error: Exception) -> None:
        self._warn(one_line(f"{where}: {type(error).__name__}: {error}"))


async def _decoded(dialect: Dialect, payload: dict[str, Any]) -> dict[str, Any] | None:
    """Return the payload in Claude Code's terms; None for an ignored event."""
    if dialect.name == "codex" and payload.get("hook_event_name") == "PostToolUse":
        path, call = text(payload, "transcript_path"), text(payload, "tool_use_id")
        payload = {**payload, "exit_code": await exit_code(path, call)}
    return dialect.decode(payload)


def _carried(event: str, directive: Directive, prompt: Clean) -> Directive:
    """Return ``directive`` for an event; a start outside Stop becomes a message without the known prompt."""
    if directive.kind != "start" or event == "Stop":
        return directive
    return replace(directive, kind="tell", text=_beyond_prompt(directive, prompt))


def _beyond_prompt(directive: Directive, prompt: Clean) -> Clean:
    told = directive.guidance.text if directive.guidance else directive.text
    return Clean(told.removeprefix(prompt).strip())


def _call_key(payload: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the identity of a tool call's event; None for events that may be repeated."""
    parts = tuple(text(payload, key) for key in ("session_id", "agent_id", "hook_event_name", "tool_use_id"))
    return parts if parts[-1] else None


def _keep_newest(remembered: OrderedDict[Any, Any]) -> None:
    while len(remembered) > MAX_REMEMBERED:
        remembered.popitem(last=False)
