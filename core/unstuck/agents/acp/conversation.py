"""Conversation with an agent: initialization, session, turns, steering, cancellation.

Optional parts of a reply are read leniently. A missing required part ends the conversation with a one-line error. No
other module needs the protocol's package.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from acp.connection import Connection
from acp.schema import (
    CancelNotification,
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    InitializeRequest,
    LoadSessionRequest,
    NewSessionRequest,
    PromptRequest,
    ResumeSessionRequest,
    SetSessionModeRequest,
    TextContentBlock,
)
from pydantic import BaseModel

from acp import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION, RequestError
from unstuck.agents.acp.transport import AcpTransport
from unstuck.agents.acp_agents import Quirks
from unstuck.agents.command.jsonl_reader import ProtocolProblem
from unstuck.agents.streams.stream import canonical, items, mapping, text
from unstuck.clock import Clock
from unstuck.text import one_line

INITIALIZE_S = 120.0
"""Seconds to initialize: with five others on a small machine an agent may need more than forty."""
SESSION_S = 300.0
"""Seconds to open a session: the agent may read a long one and start its tools."""
_STEERING = "_session/steering"
_AUTH_REQUIRED = -32000
_ERROR_LIMIT = 2_000
_Result = TypeVar("_Result")


class Broken(ProtocolProblem):
    """Error that ends the conversation, in one line. ``refused``: the agent itself rejected a request."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.refused = refused


class Client(Protocol):
    """Receiver of the agent's own notifications and requests."""

    def updated(self, update: Mapping[str, Any]) -> None:
        """Take one update of the agent's work."""

    async def permitted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a request for permission."""

    def is_suspended(self) -> bool:
        """Return whether the agent is suspended, so that no time passes for it."""


class Conversation:
    """Conversation with one agent. ``session`` is the agent's own, ``model`` the one it names, if any.

    With ``steers`` it takes messages during a turn.
    """

    def __init__(self, transport: AcpTransport, client: Client, *, clock: Clock, quirks: Quirks) -> None:
        self._transport, self._client, self._clock, self._quirks = transport, client, clock, quirks
        self._connection = Connection(self._handle, transport)
        self._can: Mapping[str, Any] = {}
        self._listening = False
        self.session = self.model = ""
        self.steers = False

    async def introduce(self) -> None:
        """Exchange versions and capabilities. Raises Broken."""
        from unstuck.version import __version__

        request = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
            ),
            client_info=Implementation(name="unstuck", version=__version__),
        )
        reply = await self._within(INITIALIZE_S, "initialize", self._request("initialize", request))
        version = reply.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            said = one_line(canonical(version), 40)
            raise Broken(f"it speaks version {said} of the Agent Client Protocol, not version {PROTOCOL_VERSION}")
        self._can = mapping(reply, "agentCapabilities")
        self.steers = mapping(mapping(reply, "_meta"), "steering").get("supported") is True

    async def open(self, directory: Path, session: str | None) -> None:
        """Resume ``session`` if the agent can, else begin a new one in ``directory``. Raises Broken."""
        reply = await self._within(SESSION_S, "open a session", self._open_session(str(directory), session))
        self.model = one_line(text(mapping(reply, "models"), "currentModelId"), 100)
        modes = mapping(reply, "modes")
        offered = [text(mode, "id") for mode in items(modes, "availableModes")]
        if self._quirks.mode in offered and text(modes, "currentModeId") != self._quirks.mode:
            request = SetSessionModeRequest(session_id=self.session, mode_id=self._quirks.mode)
            try:
                await self._within(SESSION_S, "change its mode", self._request("session_set_mode", request))
            except Broken as problem:
                if not problem.refused:  # an agent that keeps its own mode asks more, or less
                    raise

    async def prompt(self, words: str) -> Mapping[str, Any]:
        """Run one turn and return its result. Raises Broken."""
        self._listening = True  # earlier updates replay the past of a resumed session
        request = PromptRequest(session_id=self.session, prompt=[TextContentBlock(type="text", text=words)])
        return await self._request("session_prompt", request)

    async def steer(self, words: str) -> bool:
        """Add ``words`` to the current turn; return False if there is none. Raises Broken."""
        params = {
            "sessionId": self.session,
            "prompt": [{"type": "text", "text": words}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        }
        return text(await self._send(_STEERING, params), "outcome") == "injected"

    async def cancel(self) -> None:
        """Ask the agent to end its turn now."""
        params = _dumped(CancelNotification(session_id=self.session))
        try:
            await self._connection.send_notification(AGENT_METHODS["session_cancel"], params)
        except ConnectionError:
            return

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    async def _open_session(self, directory: str, session: str | None) -> Mapping[str, Any]:
        if session and (resumed := await self._resumed(directory, session)) is not None:
            return resumed
        reply = await self._request("session_new", NewSessionRequest(cwd=directory, mcp_servers=[]))
        self.session = text(reply, "sessionId")
        if not self.session:
            raise Broken("it opened a session without an id")
        return reply

    async def _resumed(self, directory: str, session: str) -> Mapping[str, Any] | None:
        """Resume ``session``, without a replay if possible; return None if the agent cannot."""
        ways: list[tuple[str, BaseModel]] = []
        if "resume" in mapping(self._can, "sessionCapabilities"):
            ways.append(("session_resume", ResumeSessionRequest(session_id=session, cwd=directory, mcp_servers=[])))
        if self._can.get("loadSession") is True:
            ways.append(("session_load", LoadSessionRequest(session_id=session, cwd=directory, mcp_servers=[])))
        for method, request in ways:
            try:
                reply = await self._request(method, request)
            except Broken as problem:
                if not problem.refused:
                    raise
                continue
            self.session = session
            return reply
        return None

    async def _request(self, method: str, request: BaseModel) -> Mapping[str, Any]:
        return await self._send(AGENT_METHODS[method], _dumped(request))

    async def _send(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            reply = await self._connection.send_request(method, params)
        except RequestError as error:
            raise Broken(self._refusal(method, error), refused=True) from None
        except ConnectionError:
            raise Broken(self._transport.fault or "the connection ended") from None
        return reply if isinstance(reply, Mapping) else {}

    def _refusal(self, method: str, error: RequestError) -> str:
        said: str = one_line(str(error), _ERROR_LIMIT)
        details = text(error.data, "details") or text(error.data, "message")
        if details and details not in said:
            said = f"{said}: {one_line(details, _ERROR_LIMIT)}"
        if error.code == _AUTH_REQUIRED:
            hint = f": sign in first with `{self._quirks.sign_in}`" if self._quirks.sign_in else ""
            return f"it is not signed in{hint} ({said})"
        return f"{method}: {said}"

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Handle a notification or request of the agent; only an answer to a request may raise."""
        if method == CLIENT_METHODS["session_update"]:
            if self._listening and text(params, "sessionId") == self.session:
                self._client.updated(mapping(params, "update"))
            return None
        if method == CLIENT_METHODS["session_request_permission"] and not is_notification:
            return await self._client.permitted(params if isinstance(params, Mapping) else {})
        if is_notification:
            return None
        raise RequestError.method_not_found(method)

    async def _within(self, seconds: float, what: str, work: Awaitable[_Result]) -> _Result:
        """Return the result of ``work``. Raises Broken after ``seconds`` in which the agent was not suspended."""
        working = asyncio.ensure_future(work)
        try:
            while not working.done():
                limit = asyncio.ensure_future(self._clock.sleep(seconds))
                try:
                    await asyncio.wait((working, limit), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    limit.cancel()
                if not working.done() and not self._client.is_suspended():
                    raise Broken(f"it did not {what} within {seconds:g} s")
            return working.result()
        finally:
            if not working.done():
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)


def _dumped(request: BaseModel) -> dict[str, Any]:
    dumped: dict[str, Any] = request.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped
