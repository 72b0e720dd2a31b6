"""Mirror of the bucket of shared plans: what stands there, heard as it changes, and written with compare-and-set."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple, TypeVar

from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from unstuck.clock import SystemClock
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.keys import Credentials, Forged, Pass, checked
from unstuck.fleet.nats.session import Fenced, FleetError, Message, Session, Worker
from unstuck.fleet.shared_plan.entries import KINDS, parts
from unstuck.text import one_line

_Value = TypeVar("_Value", bound=BaseModel)
_POLL_S, _AGAIN_S, _BELL_S = 2.0, 0.5, 0.05
_OWNERS = ("plan", "lease", "work")


class Entry(NamedTuple):
    """An entry of the bucket: ``value`` as ``who`` wrote it, and when this machine saw it first (monotonic)."""

    kind: str
    names: tuple[str, ...]
    revision: int
    who: Pass
    value: BaseModel
    seen: float


class PlanTable(Worker):
    """The entries of all shared plans, kept up with one key."""

    def __init__(self, credentials: Credentials) -> None:
        super().__init__(credentials)
        self.name, self.public = credentials.name, credentials.public
        self.entries: dict[str, Entry] = {}
        self.refused: dict[str, str] = {}
        """Reasons why entries were passed over, by subject."""
        self.connected_at = 0.0
        """Monotonic time since which changes are heard without a break; 0 while they are not."""
        self._clock = SystemClock()
        self._session: Session | None = None
        self._changed, self._bell = asyncio.Condition(), asyncio.Event()
        self._created, self._seq = "", 0
        self._revisions: dict[str, int] = {}

    async def _say(self, session: Session | None, problem: str) -> None:
        self.problem, self._session = problem, session
        if session is None:
            self.connected_at = 0.0
        await self._wake()

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _work(self, session: Session) -> None:
        async def rung(_: Msg) -> None:
            self._bell.set()

        await session.hear(f"{s.PLANS_PREFIX}.>", rung)
        await self._check_stream(session)
        looked = self._clock.monotonic()
        while True:
            self._bell.clear()
            while messages := await session.batch(s.PLANS, f"{s.PLANS_PREFIX}.>", self._seq + 1):
                for message in messages:
                    self._take(message)
                self._seq = max(self._seq, messages[-1].seq)
                await self._wake()
            if not self.connected_at:
                self.connected_at = self._clock.monotonic()
                await self._say(session, "")
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._bell.wait()
                await asyncio.sleep(_BELL_S)  # it rings before the server has stored the message
            # Also where it never stops ringing: those who know of a wipe write on in the new bucket.
            if self._clock.monotonic() - looked > _POLL_S:
                await self._check_stream(session)
                looked = self._clock.monotonic()

    async def _check_stream(self, session: Session) -> None:
        """Forget all that stood in another bucket than the one that is there now."""
        found = await session.info(s.PLANS)
        if found["created"] != self._created or found["state"]["last_seq"] < self._seq:
            self._created, self._seq, self.connected_at = found["created"], 0, 0.0
            self.entries.clear()
            self._revisions.clear()

    def _take(self, message: Message) -> None:
        if self._revisions.get(message.subject, 0) >= message.seq:
            return
        self._revisions[message.subject] = message.seq  # also of what is refused: it can be written over
        try:
            kind, names = parts(message.subject)
            # The revision that it follows is signed, and the server has compared it: an old entry cannot come again.
            about = message.headers.get(s.EXPECTED, "")
            roles = ("host",) if kind in ("claim", "offer") else ("person",)
            who = checked(message.headers, self._key.owner, message.subject, about, message.payload, *roles)  # type: ignore[arg-type]
            if kind in (*_OWNERS, "offer") and who.name != names[0]:
                raise Forged(f"it is signed by {one_line(who.name, 80)}")
            value = KINDS[kind].model_validate_json(message.payload)
            if kind == "claim" and getattr(value, "host", "") != who.name:
                raise Forged(f"it is signed by {one_line(who.name, 80)}")
        except (Forged, ValueError) as problem:
            said = _first(problem) if isinstance(problem, ValidationError) else str(problem)
            self.refused[message.subject] = one_line(said, 300)
            self.entries.pop(message.subject, None)
            return
        self.refused.pop(message.subject, None)
        self.entries[message.subject] = Entry(kind, names, message.seq, who, value, self._clock.monotonic())

    def value(self, subject: str, kind: type[_Value]) -> _Value | None:
        """Return what stands at ``subject``; None without an entry."""
        entry = self.entries.get(subject)
        return entry.value if entry is not None and isinstance(entry.value, kind) else None

    def revision(self, subject: str) -> int:
        """Return the number that the next entry at ``subject`` has to follow."""
        return self._revisions.get(subject, 0)

    def unchanged_for(self, entry: Entry) -> float:
        """Return for how many seconds this machine would have heard of a change and did not."""
        if not self.connected_at:
            return 0.0
        return self._clock.monotonic() - max(entry.seen, self.connected_at)

    async def connected(self) -> Session:
        """Return the session once all that stands in the bucket is known."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._session is not None and self.connected_at > 0)
        assert self._session is not None
        return self._session

    async def until_changed(self, seconds: float = _POLL_S) -> None:
        """Wait for the next change, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait()

    async def write(self, subject: str, value: BaseModel, revision: int | None = None) -> int:
        """Write an entry that follows ``revision``, by default the one that is known; return its own.

        Waits for the server as long as that takes. Raises Fenced where another entry came first.
        """
        payload = value.model_dump_json(exclude_defaults=True).encode()
        while True:
            session = await self.connected()
            follows = str(self.revision(subject) if revision is None else revision)
            headers = {s.EXPECTED: follows, **self._key.headers(subject, follows, payload)}
            try:
                seq = await session.publish(subject, payload, headers)
            except Fenced:
                stored = await self._stored(session, subject)
                if stored is None:
                    if revision is not None and not self.revision(subject):
                        revision = 0  # the bucket was wiped, and nobody has written here since
                    continue
                if stored.payload != payload or stored.headers.get(s.EXPECTED) != follows:
                    self._take(stored)
                    await self._wake()
                    raise
                seq = stored.seq  # only its acknowledgement was lost
            except FleetError as problem:
                self.problem = str(problem)
                await asyncio.sleep(_AGAIN_S)
                continue
            self._take(Message(subject, seq, "", headers, payload, 0))
            await self._wake()
            return seq

    @staticmethod
    async def _stored(session: Session, subject: str) -> Message | None:
        """Return what stands at ``subject``; None where the server cannot be asked now."""
        try:
            return await session.stored(s.PLANS, subject)
        except FleetError:
            await asyncio.sleep(_AGAIN_S)
            return None


def _first(problem: ValidationError) -> str:
    found = problem.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"
