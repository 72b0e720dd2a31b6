"""JSON-RPC over lines in both directions, without input or output of its own.

The app-server omits the member ``jsonrpc``, and so does this module.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from unstuck.agents.command.jsonl_reader import Lines, ProtocolProblem
from unstuck.agents.streams.stream import canonical
from unstuck.text import one_line

_UNKNOWN_METHOD = -32601
_ERROR_LIMIT = 300

Params = Mapping[str, Any]


class Refused(ProtocolProblem):
    """The peer rejected one request."""


class JsonRpc:
    """One connection. ``say`` writes bytes to the peer.

    ``told(method, params)`` gets the peer's notifications, ``asked(id, method, params)`` its requests, each of which
    needs an answer. ``broken(problem)`` is called once, at the end.
    """

    def __init__(
        self,
        say: Callable[[bytes], None],
        *,
        told: Callable[[str, Params], None],
        asked: Callable[[Any, str, Params], None],
        broken: Callable[[ProtocolProblem], None],
    ) -> None:
        self._say, self._told, self._asked, self._broken = say, told, asked, broken
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._count = 0
        self._lines = Lines()
        self._over = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the peer."""
        try:
            for message in self._lines.add(piece):
                if not self._over:
                    self._read(message)
        except ProtocolProblem as problem:
            self.end(problem)

    async def ask(self, method: str, params: Params) -> Any:
        """Return the result of a request. Raises Refused, and ProtocolProblem after the end."""
        if self._over:
            raise ProtocolProblem(f"{method}: the conversation is over")
        self._count += 1
        id = self._count
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id] = method, answer
        self._send({"id": id, "method": method, "params": params})
        try:
            return await answer
        finally:
            self._waiting.pop(id, None)

    def forgo(self, method: str) -> None:
        """Count waiting requests of this name as refused: the peer will not answer them."""
        for name, answer in self._waiting.values():
            if name == method and not answer.done():
                answer.set_exception(Refused("it has not been answered"))

    def tell(self, method: str) -> None:
        """Send a notification."""
        self._send({"method": method})

    def answer(self, id: Any, result: Params) -> None:
        """Answer a request of the peer."""
        self._send({"id": id, "result": result})

    def refuse(self, id: Any, method: str) -> None:
        """Answer a request of the peer with an unknown-method error."""
        self._send({"id": id, "error": {"code": _UNKNOWN_METHOD, "message": f"{method} is not known here"}})

    def end(self, problem: ProtocolProblem) -> None:
        """End the connection; requests that still wait fail."""
        if self._over:
            return
        self._over = True
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(problem)
        self._broken(problem)

    def _send(self, message: Params) -> None:
        if not self._over:
            self._say(json.dumps(message).encode() + b"\n")

    def _read(self, message: Params) -> None:
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if isinstance(method, str) and ("id" not in message or isinstance(message["id"], str | int)):
            if "id" in message:
                self._asked(message["id"], method, params)
            else:
                self._told(method, params)
        elif method is None and ("result" in message or "error" in message):
            self._answered(message)
        else:
            shown = one_line(canonical(message), _ERROR_LIMIT)
            self.end(ProtocolProblem(f"it said what is no message of its protocol: {shown}"))

    def _answered(self, message: Mapping[str, Any]) -> None:
        id = message.get("id")
        _, answer = self._waiting.get(id, ("", None)) if type(id) is int else ("", None)
        if answer is None or answer.done():
            return  # the caller was cancelled
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
            return
        shown = error.get("message") if isinstance(error, dict) else error
        answer.set_exception(Refused(one_line(str(shown), _ERROR_LIMIT)))
