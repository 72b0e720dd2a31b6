"""Conversation of one attempt with the app-server: a thread, its turns, approvals, and messages of a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from unstuck.agents.appserver.jsonrpc import JsonRpc, Refused
from unstuck.agents.appserver.stream import AppServerStream
from unstuck.agents.command.agent_output import own
from unstuck.agents.command.conversation_agent import ConversationAgent, Outcome
from unstuck.agents.command.jsonl_reader import ProtocolProblem
from unstuck.agents.command.observation_queue import ObservationQueue
from unstuck.agents.streams.stream import mapping, text
from unstuck.contract import Directive, Guidance, Observation, Observer
from unstuck.errors import RecordError
from unstuck.text import Clean, admit, one_line

_WHY_LIMIT = 2_000

_OPEN_S = 120.0
"""Seconds to open a thread: programs start slowly on a busy machine."""
_MOST_APPROVALS = 32
"""Most approvals that wait at once; more are declined, as no person could tell them apart."""
_OPTED_OUT = ("item/agentMessage/delta", "item/reasoning/textDelta", "item/reasoning/summaryTextDelta",
            "item/commandExecution/outputDelta", "item/fileChange/outputDelta", "item/plan/delta")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An action that waits for approval: the results for yes, no, and no with the end of the turn.

    ``plain``: the request gives no reason; it waits only because every action does.
    """

    action: Observation
    why: Clean
    yes: Mapping[str, Any]
    no: Mapping[str, Any]
    end: Mapping[str, Any]
    plain: bool


def approval(stream: AppServerStream, method: str, params: Mapping[str, Any]) -> Approval | None:
    """Return the approval that a request asks for; None if no yes or no can answer it."""
    id = text(params, "itemId")
    why = admit(text(params, "reason") or text(params, "message"), limit=_WHY_LIMIT)
    yes: Mapping[str, Any] = {"decision": "accept"}
    no: Mapping[str, Any] = {"decision": "decline"}
    end: Mapping[str, Any] = {"decision": "cancel"}
    plain = not why and not params.get("networkApprovalContext") and text(params, "kind") in ("", "command")
    match method:
        case "item/commandExecution/requestApproval":
            command = text(params, "command")
            # A separately approved part of a command has its own id.
            own = text(params, "approvalId")
            action = stream.command(own or id, command) if command else stream.call(id)
        case "item/fileChange/requestApproval":
            plain = plain and not params.get("grantRoot")
            action = stream.call(id) or stream.tool(id, "apply_patch", {"root": params.get("grantRoot")})
        case "item/permissions/requestApproval":
            plain = False
            wanted = {key: value for key, value in mapping(params, "permissions").items() if value is not None}
            action = stream.tool(id, "more permissions", wanted)
            yes, no = {"permissions": wanted, "scope": "turn"}, {"permissions": {}, "scope": "turn"}
            end = no
        case "mcpServer/elicitation/request":
            plain = False
            action = stream.tool("", f"{text(params, 'serverName')} asks", {"message": text(params, "message")})
            fillable = not mapping(mapping(params, "requestedSchema"), "properties")
            no = end = {"action": "decline", "content": None, "_meta": None}
            # A form with fields can only be declined: unstuck fills in none.
            yes = {"action": "accept", "content": {}, "_meta": None} if fillable else no
        case _:
            return None
    if action is None:
        return None
    return Approval(action=action, why=why, yes=yes, no=no, end=end, plain=plain)


class AppServerConversation:
    """Conversation in one thread until its last turn is over. ``feed`` takes the app-server's output.

    With ``every`` each action waits for the supervisor, else only those that Codex asks about.
    """

    def __init__(self, guidance: Guidance, observer: Observer, *, every: bool = False) -> None:
        self._guidance, self._observer, self._every = guidance, observer, every
        self._say: Callable[[bytes], None] = lambda words: None
        self._rpc = JsonRpc(lambda words: self._say(words), told=self._told, asked=self._asked, broken=self._fail)
        self.stream = AppServerStream()
        self._thread = self._server = ""
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._passing: list[asyncio.Task[None]] = []
        self._queue = ObservationQueue(observer, self._nudged)
        self._waiting = 0
        self._late: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.feed = self._rpc.feed

    async def work(self, say: Callable[[bytes], None]) -> None:
        """Run the thread to the end of its last turn; ``say`` writes to the app-server. Raises ProtocolProblem."""
        self._say = say
        try:
            async with asyncio.timeout(_OPEN_S):
                await self._open()
        except TimeoutError:
            raise ProtocolProblem(f"it did not open a thread within {_OPEN_S:g} s") from None
        self._spawn(self._listen())
        told: str = self._guidance.text
        while told:
            await self._turn(told)
            await self._queue.drained()  # a step may lead to a question whose answer adds a turn
            await asyncio.gather(*self._passing)
            self._passing.clear()
            # Messages that came too late for the turn make another one.
            told, self._late = "\n\n".join(self._late), []

    async def interrupt(self) -> None:
        """End the current turn and return when it is over."""
        if turn := self.stream.turn:
            with suppress(ProtocolProblem):
                await self._rpc.ask("turn/interrupt", {"threadId": self._thread, "turnId": turn})
                await asyncio.wait([self._over])

    def ended(self, why: str) -> None:
        """Fail whatever still waits: the app-server has exited."""
        self._rpc.end(ProtocolProblem(why))

    async def close(self) -> None:
        """Cancel everything that still runs beside the turns."""
        self._queue.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._over.done() and not self._over.cancelled():
            self._over.exception()

    @property
    def outcome(self) -> Outcome:
        """Return the outcome so far."""
        stream = self.stream
        return Outcome(
            stream.messages,
            stream.session,
            failed=stream.error if stream.failed else "",
            interrupted="its turn was interrupted, not by unstuck" if stream.interrupted else "",
            last_message=stream.last_message,
            model=stream.model,
        )

    async def _open(self) -> None:
        about = {"name": "unstuck", "title": "unstuck", "version": _version()}
        capabilities = {
            "experimentalApi": True, "requestAttestation": False, "optOutNotificationMethods": list(_OPTED_OUT),
        }  # fmt: skip
        reply = await self._rpc.ask("initialize", {"clientInfo": about, "capabilities": capabilities})
        self._server = one_line(text(reply, "userAgent"), 100)
        if not self._server:
            raise ProtocolProblem("it answers `initialize` as no app-server does that is known here")
        self._rpc.tell("initialized")
        where = {"cwd": str(self._guidance.workdir)} | ({"approvalPolicy": "untrusted"} if self._every else {})
        if session := self._guidance.session:
            reply = await self._rpc.ask("thread/resume", {"threadId": session, "excludeTurns": True, **where})
        else:
            reply = await self._rpc.ask("thread/start", where)
        self._thread = text(mapping(reply, "thread"), "id")
        if not self._thread:
            raise ProtocolProblem(f"it names no thread: {self._server} speaks another version of its protocol")
        self.stream.begin(self._thread, text(reply, "model"))

    async def _turn(self, told: str) -> None:
        if self._over.done():
            self._over.result()
            self._over = asyncio.get_running_loop().create_future()
        self.stream.ended = False
        await self._rpc.ask("turn/start", {"threadId": self._thread, "input": _words(told)})
        await self._over

    # --- notifications -----------------------------------------------------------------------------------------------

    def _told(self, method: str, params: Mapping[str, Any]) -> None:
        self._queue.add(map(self._own, self.stream.take({"method": method, "params": params})))
        if method == "error" and self.stream.refused and self.stream.turn:
            self._spawn(self.interrupt())
        if method == "turn/completed" and self.stream.ended and not self._over.done():
            self._over.set_result(None)
            self._rpc.forgo("turn/steer")

    def _own(self, observation: Observation) -> Observation:
        return own(observation, self._guidance.attempt)

    # --- messages to the agent ---------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            await self._pass_on(await self._observer.next_answer())

    def _nudged(self, directive: Directive) -> None:
        self._passing.append(self._spawn(self._pass_on(directive)))

    async def _pass_on(self, directive: Directive) -> None:
        if await self._steer(directive.text, later=directive.gate is not None):
            await self._observer.delivered(directive)

    async def _steer(self, told: str, *, later: bool = True) -> bool:
        """Add the message to the current turn; without one it begins the next turn if it may come ``later``.

        Return whether it reaches the agent.
        """
        if turn := self.stream.turn:
            with suppress(Refused):
                params = {"threadId": self._thread, "expectedTurnId": turn, "input": _words(told)}
                await self._rpc.ask("turn/steer", params)
                return True
        if later:
            self._late.append(told)
        return later

    # --- approvals ---------------------------------------------------------------------------------------------------

    def _asked(self, id: Any, method: str, params: Mapping[str, Any]) -> None:
        wanted = approval(self.stream, method, params)
        if wanted is None:
            self._rpc.refuse(id, method)
        elif self._waiting < _MOST_APPROVALS:
            self._waiting += 1
            self._spawn(self._permit(id, wanted))
        else:
            self._rpc.answer(id, wanted.no)

    async def _permit(self, id: Any, wanted: Approval) -> None:
        action = self._own(wanted.action)
        try:
            if self._every and wanted.plain:
                directive = await self._observer.step(action)
            else:
                directive = await self._observer.permit(action, why=wanted.why)
        finally:
            self._waiting -= 1
        if directive.kind == "stop":
            self._rpc.answer(id, wanted.end)
        elif directive.kind != "deny":
            self._rpc.answer(id, wanted.yes)
        else:
            # The reason goes first, so that the model sees it together with the refusal.
            reason = asyncio.ensure_future(self._steer(directive.text)) if directive.text else None
            await asyncio.sleep(0)
            self._rpc.answer(id, wanted.no)
            if reason is not None:
                await reason
        await self._observer.delivered(directive)

    # --- tasks beside the turns --------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        async def watched() -> None:
            try:
                await work
            except (RecordError, ProtocolProblem):
                pass  # the attempt ends elsewhere for the same reason
            except Exception as error:
                self._fail(error)

        task = asyncio.create_task(watched())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _fail(self, error: Exception) -> None:
        if not self._over.done():
            self._over.set_exception(error)


def _words(told: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": told, "text_elements": []}]


def _version() -> str:
    from unstuck.version import __version__

    return __version__


class AppServerAgent(ConversationAgent[AppServerConversation]):
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``.

    ``hold`` selects how it waits for a question: suspended with its processes, or held before its next action.
    """

    label = "codex app-server"

    def _command(self, guidance: Guidance) -> tuple[str, ...]:
        return self._spec.command

    def _conversation(self, guidance: Guidance, observer: Observer) -> AppServerConversation:
        return AppServerConversation(guidance, observer, every=self.can.hold == "step")
