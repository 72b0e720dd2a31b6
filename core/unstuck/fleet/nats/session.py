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
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

import nats
from unstuck.errors import UnstuckError
from unstuck.fleet.nats.keys import Credentials
from unstuck.fleet.nats.subjects import DIRECT
from unstuck.text import one_line

T = TypeVar("T")

REPLY_S = 5.0
BATCH, BATCH_BYTES = 256, 4 << 20
NOT_YET = "it has not connected yet"

_LOOKS_S, _PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0), (0.2, 0.5, 1.0, 2.0, 5.0)
_LOOK_S, _RELOAD_S = 1.0, 0.3
_TAKEN = (10071, 10077, 10164)


class FleetError(UnstuckError):
    """The server of the fleet cannot be reached, or does not do what it is asked."""


class Fenced(FleetError):
    """Another message came first on this subject."""


class Refused(FleetError):
    """The server does not take this key."""


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
                async with asyncio.timeout(_LOOK_S):
                    await self._over.wait()
                break
        raise FleetError("the connection to the server of the fleet was lost")

    async def request(self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None) -> Msg:
        """Return the reply. Raises FleetError."""
        with self._named(subject):
            given = dict(headers or {}) or None
            return await _apart(self.client.request(subject, payload, timeout=REPLY_S, headers=given))

    @contextmanager
    def _named(self, subject: str) -> Iterator[None]:
        """Raise FleetError for what goes wrong with ``subject``."""
        try:
            yield
        except NoRespondersError:
            raise FleetError(f"nobody takes {subject}: the stream is missing there, or the host is away") from None
        except (NatsError, OSError, TimeoutError) as problem:
            why = self._refusals[-1] if self._refusals else one_line(str(problem)) or "no reply"
            raise FleetError(f"{subject}: {why}") from None

    async def publish(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> int:
        """Return the number of the message in its stream, on the server's disk by now. Raises Fenced, FleetError."""
        reply = _parsed(await self.request(subject, payload, headers))
        if problem := reply.get("error"):
            kind = Fenced if problem.get("err_code") in _TAKEN else FleetError
            raise kind(f"{subject}: {one_line(str(problem.get('description')))}")
        return int(reply["seq"])

    async def say(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> None:
        """Publish without waiting for the server."""
        with suppress(FleetError), self._named(subject):
            await _apart(self.client.publish(subject, payload, headers=dict(headers)))

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
        for pause in _LOOKS_S:
            if (message := await self.last(stream, subject)) is not None:
                return message
            await asyncio.sleep(pause)
        raise FleetError(f"{subject}: the server has lost what it had taken")

    async def batch(self, stream: str, subject: str, first: int) -> list[Message]:
        """Return the next messages from the number ``first`` on, at most BATCH. Raises FleetError."""
        wanted = {"batch": BATCH, "max_bytes": BATCH_BYTES, "seq": first, "next_by_subj": subject}
        with self._named(stream):
            return await _apart(self._replies(f"{DIRECT}.{stream}", json.dumps(wanted).encode()))

    async def _replies(self, subject: str, payload: bytes) -> list[Message]:
        """Return the messages that reply to a request, up to the end that the server says."""
        box, found = self.client.new_inbox(), list[Message]()
        replies = await self.client.subscribe(box)
        try:
            await self.client.publish(subject, payload, reply=box)
            while (message := _message(await replies.next_msg(timeout=REPLY_S))) is not None:
                found.append(message)
        finally:
            await replies.unsubscribe()
        return found

    async def hear(self, subject: str, heard: Callable[[Msg], Awaitable[None]]) -> None:
        """Call ``heard`` for each message on ``subject`` from now on. Raises FleetError."""
        with self._named(subject):
            await _apart(self.client.subscribe(subject, cb=heard))
            await _apart(self.client.flush(int(REPLY_S)))


class Worker(ABC):
    """One end of a fleet: works with a key for ever, each time with a new session.

    ``problem`` is the reason why it does not work at the moment; empty while it does.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._key = credentials
        self.problem = NOT_YET

    async def run(self) -> None:
        """Work until it is cancelled. A session that ends is followed by another one after a growing pause."""
        tries = 0
        while True:
            try:
                async with connected(self._key) as session:
                    await _first_of(self._work(session), session.until_over())
            except* FleetError as problems:
                first: BaseException = problems
                while isinstance(first, BaseExceptionGroup):
                    first = first.exceptions[0]
                tries = min(tries + 1, len(_PAUSES_S) - 1) if self.problem else 0
                await self._say(None, str(first))
            await asyncio.sleep(_PAUSES_S[tries])

    @abstractmethod
    async def _work(self, session: Session) -> None:
        """Work with ``session``. Raises FleetError, also in a group, where that cannot go on."""

    async def _say(self, session: Session | None, problem: str) -> None:
        """Note that it works with ``session``, or why it has none."""
        self.problem = problem


@asynccontextmanager
async def connected(credentials: Credentials) -> AsyncIterator[Session]:
    """Connect with the key to one of its servers. Raises FleetError with one line that says what to do."""
    try:
        session = await _reached(credentials)
    except Refused:  # a server refuses every key for a moment while it reads its configuration again
        await asyncio.sleep(_RELOAD_S)
        session = await _reached(credentials)
    try:
        yield session
    finally:
        with suppress(NatsError, OSError, TimeoutError):
            await _apart(session.client.close())


async def _reached(credentials: Credentials) -> Session:
    """Connect to any of the servers. Raises Refused where one refuses the key and none takes it, else FleetError."""
    servers = credentials.url.split(",")
    random.shuffle(servers)
    problems = list[FleetError]()
    for url in servers:
        try:
            return await _connected(credentials, url)
        except FleetError as problem:
            problems.append(problem)
    raise next((one for one in problems if isinstance(one, Refused)), problems[-1])


async def _connected(credentials: Credentials, url: str) -> Session:
    over, refusals, met = asyncio.Event(), list[str](), list[Exception]()
    logging.getLogger("asyncio").addFilter(_is_worth_saying)

    async def on_error(problem: Exception) -> None:
        met[:] = [problem]
        if "ermissions" in str(problem):  # the client tells nobody else
            refusals[:] = [one_line(str(problem))]

    async def on_closed() -> None:
        over.set()

    try:
        connecting = nats.connect(
            url,
            tls=ssl.create_default_context(cadata=credentials.ca),
            nkeys_seed_str=credentials.seed,
            inbox_prefix=f"_INBOX_{credentials.name}",
            allow_reconnect=False,
            max_reconnect_attempts=1,
            verbose=True,  # without a reply to its first words the client writes on, and loses a refusal that is unread
            error_cb=on_error,
            closed_cb=on_closed,
            connect_timeout=int(REPLY_S),
            ping_interval=10,
            reconnect_time_wait=0,
            name=f"unstuck {credentials.role} {credentials.name}",
        )
        client = await _apart(connecting)
    except ssl.SSLCertVerificationError as problem:
        why = f"its certificate is not one of this fleet ({problem.verify_message})"
        raise FleetError(f"{url}: {why}: use the credentials that its `unstuck fleet up` wrote") from None
    except (NatsError, OSError, TimeoutError, ValueError) as problem:
        if "uthorization" in str(problem):
            why = "the server refuses this key: it was revoked, or belongs to another fleet"
            raise Refused(f"{url}: {why}") from None
        said = one_line(str(met[-1] if met else problem)) or "no reply"
        raise FleetError(f"{url}: cannot be reached ({said}): is `unstuck fleet up` running there?") from None
    return Session(client, over, refusals)


async def _first_of(*works: Coroutine[Any, Any, None]) -> None:
    """Do all ``works`` until one of them ends. A group of tasks would forget a cancellation that meets an error."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _apart(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns. It is a task of its own: while it writes, the client passes over a cancellation."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody waits for it any more
        raise


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
