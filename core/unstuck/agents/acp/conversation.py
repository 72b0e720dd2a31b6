"""One conversation with an agent: introduction, session, turns, steering, cancelling.

Everything it says of itself is read leniently; what has to be there and is not ends the conversation with one clear
line. Only here the protocol's package is needed.
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
from unstuck.agents.acp.transport import Wire
from unstuck.agents.acp_agents import Quirks
from unstuck.agents.command.jsonl_reader import ProtocolProblem
from unstuck.agents.streams.stream import canonical, items, mapping, text
from unstuck.clock import Clock
from unstuck.text import one_line

__all__ = ["Broken", "Client", "Conversation"]

INITIALIZE_S = 120.0
"""An agent that is started with five others on a small machine may need more than forty seconds."""
SESSION_S = 300.0
"""Opening a session may mean to read a long one, and to start what it uses."""
_STEERING = "_session/steering"
_AUTH_REQUIRED = -32000
_SAID_LIMIT = 2_000
_Result = TypeVar("_Result")


class Broken(ProtocolProblem):
    """The conversation cannot go on; the message is one line that says why. ``refused``: the agent itself said so."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.refused = refused


class Client(Protocol):
    """Who hears what the agent does of its own accord."""

    def updated(self, update: Mapping[str, Any]) -> None:
        """Something of its work."""

    async def permitted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request for permission."""

    def is_suspended(self) -> bool:
        """Return whether the agent is suspended, so that no time passes for it."""


class Conversation:
    """``session`` is the agent's own session; ``steers``: words reach a turn that is under way."""

    def __init__(self, wire: Wire, client: Client, *, clock: Clock, quirks: Quirks) -> None:
        self._wire, self._client, self._clock, self._quirks = wire, client, clock, quirks
        self._connection = Connection(self._handle, wire)
        self._can: Mapping[str, Any] = {}
        self._listening = False
        self.session = ""
        self.steers = False

    async def introduce(self) -> None:
        """Say who we are, and learn what it can do. Raises Broken."""
        from unstuck import __version__

        request = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
            ),
            client_info=Implementation(name="unstuck", version=__version__),
        )
        told = await self._within(INITIALIZE_S, "initialize", self._ask("initialize", request))
        version = told.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            said = one_line(canonical(version), 40)
            raise Broken(f"it speaks version {said} of the Agent Client Protocol, not version {PROTOCOL_VERSION}")
        self._can = mapping(told, "agentCapabilities")
        self.steers = mapping(mapping(told, "_meta"), "steering").get("supported") is True

    async def open(self, directory: Path, session: str | None) -> None:
        """Go on with ``session``, as far as the agent can, else begin a new one, in ``directory``. Raises Broken."""
        told = await self._within(SESSION_S, "open a session", self._opened(str(directory), session))
        modes = mapping(told, "modes")
        offered = [text(mode, "id") for mode in items(modes, "availableModes")]
        if self._quirks.mode in offered and text(modes, "currentModeId") != self._quirks.mode:
            request = SetSessionModeRequest(session_id=self.session, mode_id=self._quirks.mode)
            try:
                await self._within(SESSION_S, "change its mode", self._ask("session_set_mode", request))
            except Broken as problem:
                if not problem.refused:  # one that stays in its own mode asks more, or less
                    raise

    async def prompt(self, words: str) -> Mapping[str, Any]:
        """Take one turn; how it ended. Raises Broken."""
        self._listening = True  # what came before was said long ago: some tell all of it again
        request = PromptRequest(session_id=self.session, prompt=[TextContentBlock(type="text", text=words)])
        return await self._ask("session_prompt", request)

    async def steer(self, words: str) -> bool:
        """Say ``words`` into the turn that is under way; False where there is none. Raises Broken."""
        params = {
            "sessionId": self.session,
            "prompt": [{"type": "text", "text": words}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        }
        return text(await self._sent(_STEERING, params), "outcome") == "injected"

    async def cancel(self) -> None:
        """Ask it to end its turn now."""
        params = _dumped(CancelNotification(session_id=self.session))
        try:
            await self._connection.send_notification(AGENT_METHODS["session_cancel"], params)
        except ConnectionError:
            return

    async def close(self) -> None:
        """Say and hear nothing more."""
        await self._connection.close()

    async def _opened(self, directory: str, session: str | None) -> Mapping[str, Any]:
        if session and (again := await self._again(directory, session)) is not None:
            return again
        told = await self._ask("session_new", NewSessionRequest(cwd=directory, mcp_servers=[]))
        self.session = text(told, "sessionId")
        if not self.session:
            raise Broken("it opened a session without an id")
        return told

    async def _again(self, directory: str, session: str) -> Mapping[str, Any] | None:
        """Go on with ``session``: without hearing all of it again, where that can be; None where it cannot go on."""
        ways: list[tuple[str, BaseModel]] = []
        if "resume" in mapping(self._can, "sessionCapabilities"):
            ways.append(("session_resume", ResumeSessionRequest(session_id=session, cwd=directory, mcp_servers=[])))
        if self._can.get("loadSession") is True:
            ways.append(("session_load", LoadSessionRequest(session_id=session, cwd=directory, mcp_servers=[])))
        for method, request in ways:
            try:
                told = await self._ask(method, request)
            except Broken as problem:
                if not problem.refused:
                    raise
                continue
            self.session = session
            return told
        return None

    async def _ask(self, method: str, request: BaseModel) -> Mapping[str, Any]:
        return await self._sent(AGENT_METHODS[method], _dumped(request))

    async def _sent(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            told = await self._connection.send_request(method, params)
        except RequestError as error:
            raise Broken(self._refusal(method, error), refused=True) from None
        except ConnectionError:
            raise Broken(self._wire.fault or "the connection ended") from None
        return told if isinstance(told, Mapping) else {}

    def _refusal(self, method: str, error: RequestError) -> str:
        said: str = one_line(str(error), _SAID_LIMIT)
        details = text(error.data, "details") or text(error.data, "message")
        if details and details not in said:
            said = f"{said}: {one_line(details, _SAID_LIMIT)}"
        if error.code == _AUTH_REQUIRED:
            hint = f": sign in first with `{self._quirks.sign_in}`" if self._quirks.sign_in else ""
            return f"it is not signed in{hint} ({said})"
        return f"{method}: {said}"

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """What the agent says of its own accord; nothing of it may raise but what is an answer."""
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
        """The result of ``work``; Broken after ``seconds`` of the agent's own time."""
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
