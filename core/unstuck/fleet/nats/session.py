"""One connection to the server, never mended: what breaks it ends it, and its user begins again from what is durable.

A client that reconnects within itself sends again what it had in hand, waits for pulls that the server has forgotten,
and reports a refusal to a callback alone. Here each request is answered, fails, or ends with the session.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

import nats
from unstuck.errors import UnstuckError
from unstuck.fleet.nats.keys import Credentials
from unstuck.fleet.nats.subjects import DIRECT
from unstuck.text import one_line

REPLY_S = 5.0
BATCH, BATCH_BYTES = 256, 4 << 20

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_LOOK_S = 1.0
_WRONG_LAST, _TAKEN = 10071, 10077


class FleetError(UnstuckError):
    """The server of the fleet cannot be reached, or does not do what it is asked."""


class Fenced(FleetError):
    """Another message came first on this subject."""


class Message(NamedTuple):
    """A message in a stream: ``pending`` of the same request come after it."""

    subject: str
    seq: int
    time: str
    headers: Mapping[str, str]
    payload: bytes
    pending: int


class Session:
    """A connection to the server as long as it lasts."""

    def __init__(self, client: Client, over: asyncio.Event, refusals: list[str]) -> None:
        self.client, self._over, self._refusals = client, over, refusals

    async def until_over(self) -> None:
        """Wait for the end of the connection. Raises FleetError always."""
        while not self.client.is_closed:  # the client does not always say so
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _LOOK_S)
                break
        raise FleetError("the connection to the server of the fleet was lost")

    async def request(self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None) -> Msg:
        """Return the reply. Raises FleetError."""
        try:
            found: Msg = await self.client.request(
                subject, payload, timeout=REPLY_S, headers=dict(headers or {}) or None
            )
        except NoRespondersError:
            raise FleetError(f"nobody takes {subject}: the stream is missing there, or the host is away") from None
        except (NatsError, OSError, TimeoutError) as problem:
            why = self._refusals[-1] if self._refusals else one_line(str(problem)) or "no reply"
            raise FleetError(f"{subject}: {why}") from None
        return found

    async def publish(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> int:
        """Return the number of the message in its stream, on the server's disk by now. Raises Fenced, FleetError."""
        reply = _parsed(await self.request(subject, payload, headers))
        if problem := reply.get("error"):
            kind = Fenced if problem.get("err_code") in (_WRONG_LAST, _TAKEN) else FleetError
            raise kind(f"{subject}: {one_line(str(problem.get('description')))}")
        return int(reply["seq"])

    async def say(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> None:
        """Publish without waiting for the server."""
        with suppress(NatsError, OSError):
            await self.client.publish(subject, payload, headers=dict(headers))

    async def api(self, name: str, message: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the reply of the server's interface for streams, an ``error`` included."""
        return _parsed(await self.request(f"$JS.API.{name}", json.dumps(message).encode() if message else b""))

    async def info(self, stream: str) -> dict[str, Any]:
        """Return the server's words on a stream. Raises FleetError."""
        found = await self.api(f"STREAM.INFO.{stream}")
        if problem := found.get("error"):
            raise FleetError(f"{stream}: {one_line(str(problem.get('description')))}")
        return found

    async def last(self, stream: str, subject: str) -> Message | None:
        """Return the last message on a subject; None without one. Raises FleetError."""
        return _message(await self.request(f"{DIRECT}.{stream}.{subject}"))

    async def stored(self, stream: str, subject: str) -> Message:
        """Return the last message on a subject that has one. Raises FleetError.

        Of a cluster, another server may reply than the one that has taken the message, and have it a moment later.
        """
        for pause in _PAUSES:
            if (message := await self.last(stream, subject)) is not None:
                return message
            await asyncio.sleep(pause)
        raise FleetError(f"{subject}: the server has lost what it had taken")

    async def batch(self, stream: str, subject: str, first: int) -> list[Message]:
        """Return the next messages from the number ``first`` on, at most BATCH. Raises FleetError."""
        box = self.client.new_inbox()
        wanted = {"batch": BATCH, "max_bytes": BATCH_BYTES, "seq": first, "next_by_subj": subject}
        found: list[Message] = []
        try:
            replies = await self.client.subscribe(box)
            try:
                await self.client.publish(f"{DIRECT}.{stream}", json.dumps(wanted).encode(), reply=box)
                while (message := _message(await replies.next_msg(timeout=REPLY_S))) is not None:
                    found.append(message)
            finally:
                await replies.unsubscribe()
        except (NatsError, OSError, TimeoutError) as problem:
            why = self._refusals[-1] if self._refusals else one_line(str(problem)) or "no reply"
            raise FleetError(f"{stream}: {why}") from None
        return found

    async def hear(self, subject: str, heard: Callable[[Msg], Awaitable[None]]) -> None:
        """Call ``heard`` for each message on ``subject`` from now on. Raises FleetError."""
        try:
            await self.client.subscribe(subject, cb=heard)
            await self.client.flush(int(REPLY_S))
        except (NatsError, OSError, TimeoutError) as problem:
            raise FleetError(f"{subject}: {one_line(str(problem)) or 'no reply'}") from None


@asynccontextmanager
async def connected(credentials: Credentials) -> AsyncIterator[Session]:
    """Connect with the key to one of its servers. Raises FleetError with one line that says what to do."""
    servers = credentials.url.split(",")
    random.shuffle(servers)
    for url in servers[:-1]:
        with suppress(FleetError):
            session = await _connected(credentials, url)
            break
    else:
        session = await _connected(credentials, servers[-1])
    try:
        yield session
    finally:
        with suppress(NatsError, OSError, TimeoutError):
            await session.client.close()


async def _connected(credentials: Credentials, url: str) -> Session:
    over, refusals = asyncio.Event(), list[str]()
    logging.getLogger("asyncio").addFilter(_is_worth_saying)

    async def on_error(problem: Exception) -> None:
        if "ermissions" in str(problem):  # the client tells nobody else
            refusals[:] = [one_line(str(problem))]

    async def on_closed() -> None:
        over.set()

    try:
        client = await nats.connect(
            url,
            tls=ssl.create_default_context(cadata=credentials.ca),
            nkeys_seed_str=credentials.seed,
            inbox_prefix=f"_INBOX_{credentials.name}",
            allow_reconnect=False,
            error_cb=on_error,
            closed_cb=on_closed,
            connect_timeout=int(REPLY_S),
            ping_interval=10,
            reconnect_time_wait=0,
            name=f"unstuck {credentials.role} {credentials.name}",
        )
    except ssl.SSLCertVerificationError as problem:
        why = f"its certificate is not one of this fleet ({problem.verify_message})"
        raise FleetError(f"{url}: {why}: use the credentials that its `unstuck fleet up` wrote") from None
    except (NatsError, OSError, TimeoutError, ValueError) as problem:
        if "uthorization" in str(problem):
            why = "the server refuses this key: it was revoked, or belongs to another fleet"
        else:
            why = f"cannot be reached ({one_line(str(problem)) or 'no reply'}): is `unstuck fleet up` running there?"
        raise FleetError(f"{url}: {why}") from None
    return Session(client, over, refusals)


def _is_worth_saying(said: logging.LogRecord) -> bool:
    """Return False for what asyncio says of each end of the client's connections, which nobody can change."""
    return "eof_received" not in said.getMessage()


def _parsed(message: Msg) -> dict[str, Any]:
    try:
        found = json.loads(message.data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise FleetError(f"{message.subject}: the reply is not a JSON object")
    return found


def _message(reply: Msg) -> Message | None:
    """Return the message in a reply; None at the end and where there is none. Raises FleetError."""
    headers = reply.headers or {}
    status = headers.get("Status", "")
    if status in ("204", "404"):
        return None
    if status == "503":
        raise FleetError("the server has no streams: is `unstuck fleet up` running there?")
    if status:
        raise FleetError(f"the server says {status} {one_line(str(headers.get('Description', '')))}")
    try:
        seq, pending = int(headers["Nats-Sequence"]), int(headers.get("Nats-Num-Pending", "0"))
        return Message(headers["Nats-Subject"], seq, headers["Nats-Time-Stamp"], headers, reply.data, pending)
    except (KeyError, ValueError):
        raise FleetError("a message of the server has no number") from None
