"""Conversation of one attempt through the SDK: hooks hold and steer the agent, a person grants permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from unstuck.agents.command.agent_output import MOST_STEPS, own, see
from unstuck.agents.command.conversation_agent import ConversationAgent, Outcome
from unstuck.agents.command.jsonl_reader import ProtocolProblem
from unstuck.agents.command.presets import resumed
from unstuck.agents.command.process_agent import CommandSpec
from unstuck.agents.hooks.claude_hooks import observation, output
from unstuck.agents.optional_packages import sdk, sdk_program
from unstuck.agents.sdk.transport import Transport
from unstuck.agents.streams.claude import ClaudeStream
from unstuck.agents.streams.stream import text
from unstuck.contract import Directive, Guidance, Observation, Observer
from unstuck.errors import RecordError
from unstuck.text import Clean, admit

_HELD_S = 24 * 3600.0
"""Seconds that a hook may wait: past its limit the program would proceed without an answer."""
_MARGIN_S = 60.0
_WHY_LIMIT = 2_000
_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_REPORTED_BY_HOOKS = ("action", "success", "failure")


class SdkConversation:
    """Conversation in one session until its last turn is over. ``feed`` takes the program's output."""

    def __init__(self, sdk: Any, guidance: Guidance, observer: Observer) -> None:
        self._sdk, self._guidance, self._observer = sdk, guidance, observer
        self._transport = Transport(self._seen)
        self._client: Any = None
        self._count = 0
        self._late: list[str] = []
        self._failure: Exception | None = None
        self._over = asyncio.Event()
        self.stream = ClaudeStream()
        self.feed = self._transport.feed

    async def work(self, say: Callable[[bytes], None]) -> None:
        """Run the session to the end of its last turn; ``say`` writes to the program. Raises ProtocolProblem."""
        self._transport.begin(say)
        hooks = {name: [self._sdk.HookMatcher(hooks=[self._on_hook], timeout=_HELD_S)] for name in _EVENTS}
        options = self._sdk.ClaudeAgentOptions(hooks=hooks, can_use_tool=self._on_permission)
        self._client = self._sdk.ClaudeSDKClient(options, transport=self._transport)
        listening = None
        try:
            await self._client.connect()
            listening = asyncio.ensure_future(self._listen())
            await self._client.query(self._guidance.text)
            await self._until_over()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise self._transport.problem or ProtocolProblem(str(error)) from error
        finally:
            if listening is not None:
                listening.cancel()
            with suppress(Exception):
                await self._client.disconnect()
        if self._failure is not None:
            raise self._failure
        if self._transport.problem is not None and not self.stream.ended:
            raise self._transport.problem

    async def _until_over(self) -> None:
        """Wait for the end of the turn, and of those that late messages have added."""
        while True:
            async for _ in self._client.receive_response():
                pass
            if not self._late or self._transport.problem is not None:
                return

    async def interrupt(self) -> None:
        """End the current turn and return when it is over."""
        if self._client is not None:
            with suppress(Exception):
                await self._client.interrupt()
                await self._over.wait()

    def ended(self, why: str) -> None:
        """Fail whatever still waits: the program has exited."""
        self._transport.end(ProtocolProblem(why))

    async def close(self) -> None:
        """Do nothing: the end of ``work`` has closed the client."""

    @property
    def outcome(self) -> Outcome:
        """Return the outcome so far."""
        return Outcome(self.stream.messages, self.stream.session, failed=self.stream.error)

    # --- messages of the program -------------------------------------------------------------------------------------

    def _seen(self, message: Mapping[str, Any]) -> None:
        if message.get("isReplay") is True and self._late:
            self._late.pop(0)  # the program has taken up the message
        told = self.stream.take(message)
        if self.stream.ended:
            self._over.set()
        for found in told:
            # Hooks report calls and results, because they can answer.
            if found.kind in _REPORTED_BY_HOOKS or (found.kind != "usage" and self._count >= MOST_STEPS):
                continue
            self._count += 1
            see(self._observer, self._own(found))

    def _own(self, found: Observation) -> Observation:
        return own(found, self._guidance.attempt)

    # --- hooks and permissions ---------------------------------------------------------------------------------------

    async def _on_hook(self, payload: Mapping[str, Any], call: str | None, context: Any) -> dict[str, Any]:
        event = text(payload, "hook_event_name")
        found = observation({"tool_use_id": call or "", **payload}, 0.0)
        if found is None:
            return {}
        try:
            directive = await self._observer.step(self._own(found), within=_HELD_S - _MARGIN_S)
            reply = output(event, directive)
            if reply is not None:
                await self._observer.delivered(directive)
        except Exception as error:
            # An error here would allow the call.
            self._failure = self._failure or error
            return output(event, Directive(kind="deny", text=Clean("The supervisor has ended."))) or {}
        return reply or {}

    async def _on_permission(self, tool: str, given: Mapping[str, Any], context: Any) -> Any:
        payload = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given}
        found = observation(payload | {"tool_use_id": getattr(context, "tool_use_id", None) or ""}, 0.0)
        assert found is not None
        why = getattr(context, "decision_reason", None) or getattr(context, "blocked_path", None) or ""
        try:
            directive = await self._observer.permit(self._own(found), why=admit(str(why), limit=_WHY_LIMIT))
            await self._observer.delivered(directive)
        except Exception as error:
            self._failure = self._failure or error
            return self._sdk.PermissionResultDeny(message="The supervisor has ended.", interrupt=True)
        if directive.kind in ("deny", "stop"):
            return self._sdk.PermissionResultDeny(
                message=directive.text or "not allowed", interrupt=directive.kind == "stop"
            )
        return self._sdk.PermissionResultAllow()

    # --- messages to the agent ---------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        with suppress(RecordError):
            while True:
                directive = await self._observer.next_answer()
                self._late.append(directive.text)
                await self._client.query(directive.text)
                await self._observer.delivered(directive)


class SdkAgent(ConversationAgent[SdkConversation]):
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``."""

    label = "Claude Agent SDK"

    def __init__(self, spec: CommandSpec, *, folder: Path, environ: Mapping[str, str], limit: int) -> None:
        environ = {**environ, "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}
        super().__init__(spec, folder=folder, environ=environ, limit=limit, hold="step")

    def _command(self, guidance: Guidance) -> tuple[str, ...]:
        command = resumed(self._spec.command, guidance.session)
        return (sdk_program(command[0], self._environ), *command[1:])

    def _conversation(self, guidance: Guidance, observer: Observer) -> SdkConversation:
        return SdkConversation(sdk(), guidance, observer)
