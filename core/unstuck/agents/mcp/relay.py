"""Relay of an agent's calls to the run or watch of its project, with advice for the agent if there is none."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from unstuck.agents.forwarder import connect, socket_paths
from unstuck.channel import Exchange, Message, converse
from unstuck.errors import ChannelError

_ABSENT = "Nobody watches this project at the moment (neither `unstuck watch` nor `unstuck run` is at work here). "
_ADVICE = {
    "ask_human": "So nobody can be asked this way. Do not wait and do not guess: put the question into your answer and "
    "end your turn; or, if it can be taken back, take the safest way and say what you have assumed.",
    "report_failure": "So nothing is known about this failure but what you see. Do not try the very same again: "
    "understand it first, then take another way; if there is none, end your turn and say what is in the way.",
    "report_progress": "Nothing is lost by that. Go on.",
    "checkpoint": "So nothing was saved. Save what must not be lost yourself, for instance with a commit or a copy.",
}
_GONE = (
    "The supervisor went away before it had an answer. Call this once more; if nobody is there then, you will be told "
    "what to do."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Reply to the agent. ``exchange`` has to be acknowledged once the agent has the reply, or closed."""

    text: str
    failed: bool = False
    exchange: Exchange | None = None


class Supervised:
    """Connection of one agent to its supervisor. ``client`` is the agent's own name."""

    def __init__(self, environ: Mapping[str, str], client: str = "") -> None:
        self.client = client
        self._environ = environ
        self._session = uuid4().hex
        self._presence: asyncio.Task[None] | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Return the result of ``tool``; an error says what to do next. A cancellation abandons the call."""
        path = await asyncio.to_thread(_listening)
        if path is None:
            return Result(text=_ABSENT + _ADVICE[tool], failed=tool != "report_progress")
        message = self._message("tool") | {"tool": tool, "arguments": _shortened(arguments), "call": uuid4().hex}
        try:
            exchange = await converse(path, message)
        except ChannelError:
            return Result(text=_GONE, failed=True)
        reply = exchange.reply
        if reply.get("stay"):
            self._stay(path)
        if "ack" not in reply:
            await exchange.close()
        if "error" in reply:
            said = f"The supervisor refused the call: {reply['error']}. Go on without it, and say so in your answer."
            return Result(text=said, failed=True)
        text, failed = str(reply.get("text", "")), bool(reply.get("failed"))
        return Result(text=text, failed=failed, exchange=exchange if "ack" in reply else None)

    async def close(self) -> None:
        """Close the open line of an agent that has disconnected."""
        if self._presence is not None:
            self._presence.cancel()
            await asyncio.gather(self._presence, return_exceptions=True)

    def _stay(self, path: Path) -> None:
        """Keep a line open; its end tells the supervisor that the agent has disconnected."""
        if self._presence is None or self._presence.done():
            self._presence = asyncio.ensure_future(self._hold_line(path))

    async def _hold_line(self, path: Path) -> None:
        with suppress(ChannelError):
            await (await converse(path, self._message("stay"))).close()

    def _message(self, do: str) -> Message:
        named = self._environ.get("UNSTUCK_ATTEMPT", "")
        return {"do": do, "session": self._session, "client": self.client, "attempt": named}


def _listening() -> Path | None:
    """Return the first socket of this agent's project with a listener."""
    payload = {"cwd": os.getcwd()}
    for path in socket_paths(payload):
        if os.path.exists(path):
            connection = connect(payload)
            if connection is not None:
                found = connection.getpeername()
                connection.close()
                return Path(found)
            return None
    return None


_MOST, _MOST_IN_ALL = 40_000, 80_000
"""Characters of up to 12 bytes each: a message to the supervisor has at most 1 MiB."""


def _shortened(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``arguments`` with long texts cut to their head and tail."""
    texts = sum(len(value) if isinstance(value, list) else 1 for value in arguments.values())
    most = min(_MOST, _MOST_IN_ALL // max(1, texts))
    return {name: _cut(value, most) for name, value in arguments.items()}


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, list):
        return [_cut(one, most) for one in value]
    if not isinstance(value, str) or len(value) <= most:
        return value
    left_out = len(value) - most
    return f"{value[: most // 2]}\n… {left_out} characters left out …\n{value[-most // 2 :]}"
