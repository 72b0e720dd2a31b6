"""The end of a person: copies what all hosts publish, and gives answers that the server takes once."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from nats.aio.msg import Msg

from unstuck.clock import SystemClock
from unstuck.contract import Answer
from unstuck.errors import UnstuckError
from unstuck.eventlog.log.log_format import Position
from unstuck.fleet.copies import Copies, CopyRefused
from unstuck.fleet.names import log_name
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.forwarder import ALIVE_S, position_of
from unstuck.fleet.nats.keys import Credentials, Forged, checked, made_name, write_secret
from unstuck.fleet.nats.session import NOT_YET, Fenced, FleetError, Message, Session, Worker
from unstuck.settings.paths import state_dir
from unstuck.text import one_line

SILENT_S = 3 * ALIVE_S
"""Seconds after which a host that says nothing is cut off."""

_POLL_S, _KEEP_S, _MOST = 2.0, 2.0, 1000
_TRIES, _WAIT_S, _PAUSE_S = 5, 30.0, 0.2


class Given(NamedTuple):
    """The answer that won: ``by`` whom it is, ``what`` it says, and whether it is the one that was just given."""

    by: str
    what: dict[str, Any]
    mine: bool


class Host:
    """The last words of a host. ``heard`` is this machine's monotonic time of them; 0 before the first."""

    def __init__(self) -> None:
        self.words: dict[str, Any] = {}
        self.time, self.heard = "", 0.0

    def ends(self) -> dict[str, Position]:
        """Return where the logs end that the host has published."""
        found = {}
        for log, end in self.words.get("logs", {}).items():
            with suppress(ValueError, TypeError):
                log_name(log)
                found[log] = Position(*end)
        return found

    def tries(self, log: str, gate: str) -> int:
        """Return the number of answers to this question that the host has refused."""
        with suppress(KeyError, TypeError, ValueError, IndexError):
            return int(self.words["refused"][f"{log}.{gate}"][0])
        return 0


class Viewer(Worker):
    """Copies of the logs of all hosts of a fleet, kept up with a person's or a viewer's key."""

    def __init__(self, credentials: Credentials, environ: Mapping[str, str], *, copies: Copies | None = None) -> None:
        super().__init__(credentials)
        self.copies = copies or Copies(environ)
        self._file = state_dir(environ) / "fleet-nats" / "viewed.json"
        self._clock = SystemClock()
        self._session: Session | None = None
        self._changed, self._bell = asyncio.Condition(), asyncio.Event()
        self._created, self._seq = _seen(self._file)
        self._kept = 0.0
        self.hosts: dict[str, Host] = {}
        self.gaps: dict[tuple[str, str], int] = {}
        self.forged: dict[str, str] = {}
        self.refused: dict[tuple[str, str], str] = {}
        self.copied: dict[str, set[str]] = {}
        self.lag = 0
        self.is_caught_up = False

    # Reading

    async def _work(self, session: Session) -> None:
        async def rung(_: Msg) -> None:
            self._bell.set()

        async def heard(message: Msg) -> None:
            self._hear(message.subject, message.headers, message.data, live=True)
            await self.wake()

        await session.hear(s.NEW, rung)
        await session.hear(s.host("*"), heard)
        await self.look_at_hosts(session)
        await self._check_stream(session)
        await self._say(session, "")
        while True:
            self._bell.clear()
            if not await self._copy_batch(session):
                await self._fill_gaps(session)
                self.is_caught_up = True
                await self._say(session, "")
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S):
                        await self._bell.wait()
                    continue
                await self._check_stream(session)

    async def look_at_hosts(self, session: Session) -> None:
        """Read the last words of all hosts, which the server has kept."""
        seq = 0
        while messages := await session.batch(s.HOSTS, s.host("*"), seq + 1):
            for message in messages:
                self._hear(message.subject, message.headers, message.payload, time=message.time)
            seq = messages[-1].seq

    async def _check_stream(self, session: Session) -> None:
        """Begin at the start of another stream than the one that was read before."""
        found = await session.info(s.EVENTS)
        if found["created"] != self._created or found["state"]["last_seq"] < self._seq:
            self._created, self._seq = found["created"], 0

    async def _copy_batch(self, session: Session) -> bool:
        messages = await session.batch(s.EVENTS, s.EVERY, self._seq + 1)
        if not messages:
            self.lag = 0
            return False
        for host, log in await asyncio.to_thread(self._take_all, messages):
            self.copied.setdefault(host, set()).add(log)
        self.lag, self._seq = messages[-1].pending, messages[-1].seq
        if self._clock.monotonic() - self._kept > _KEEP_S:  # what is read twice after a crash is not written twice
            self._kept = self._clock.monotonic()
            await asyncio.to_thread(write_secret, self._file, json.dumps([self._created, self._seq]))
        await self.wake()
        return True

    def _take_all(self, messages: Sequence[Message]) -> set[tuple[str, str]]:
        """Append the lines of all messages; return the hosts and logs of which there are more now."""
        named = [tuple(message.subject.split(".", 3)[2:]) for message in messages]
        return {
            (host, log)
            for (host, log), message in zip(named, messages, strict=True)
            if self._take(host, log, message.headers, message.payload)
        }

    def _take(self, host: str, log: str, headers: Mapping[str, str] | None, payload: bytes) -> bool:
        """Append the lines of a message to the copy; return whether something was appended."""
        found = headers or {}
        start, end = found.get(s.START, ""), found.get(s.END, "")
        try:
            made_name(host)
            log_name(log)
            who = checked(headers, self._key.owner, s.events(host, log), f"{start} {end}", payload, "host")
            if who.name != host:
                raise Forged(f"it is signed by {who.name}")
            first, last = int(start), position_of(end)
            if payload.count(b"\n") != last.seq - first:
                raise Forged("its numbers do not fit its lines")
        except (UnstuckError, ValueError) as problem:
            self._refuse(f"{host}.{log}", problem)
            return False
        with suppress(CopyRefused):
            has = self.copies.cursor(host, log).seq
            if first > has:
                self.gaps[host, log] = first
                return False
            if last.seq > has:
                lines = payload.splitlines(keepends=True)[has - first :]
                self.copies.append(host, log, b"".join(lines))
                self.gaps.pop((host, log), None)
                return True
        if reason := self.copies.refusal(host, log):
            self.refused[host, log] = reason
            self.gaps.pop((host, log), None)
        return False

    async def _fill_gaps(self, session: Session) -> None:
        """Ask the hosts that are there for what the stream does not have: it keeps the newest only."""
        for name, host in self.hosts.items():
            for log, end in host.ends().items():
                if self.missing(name, log, end) > 0 and (name, log) not in self.refused:
                    self.gaps.setdefault((name, log), end.seq)
        for name, log in list(self.gaps):
            with suppress(FleetError, ValueError, KeyError):
                while True:
                    after = list(self.copies.cursor(name, log))
                    reply = await self._request(session, name, log, {"do": "lines", "after": after})
                    if not await asyncio.to_thread(self._take, name, log, reply.headers, reply.data):
                        break
                    self.copied.setdefault(name, set()).add(log)

    def missing(self, host: str, log: str, end: Position) -> int:
        """Return how many records up to ``end`` the copy lacks; none of an ended run without a copy: it was pruned."""
        has = self.copies.cursor(host, log).seq
        return 0 if not has and log in self.hosts[host].words.get("over", ()) else end.seq - has

    def _hear(
        self, subject: str, headers: Mapping[str, str] | None, payload: bytes, *, live: bool = False, time: str = ""
    ) -> None:
        name = subject.rpartition(".")[2]
        try:
            who = checked(headers, self._key.owner, subject, "", payload, "host")
            words = json.loads(payload)
            if who.name != name or not isinstance(words, dict):
                raise Forged(f"it is signed by {who.name}")
        except (Forged, ValueError) as problem:
            self._refuse(name, problem)
            return
        if name not in self.hosts:
            self.hosts[name] = Host()
            self.copied.setdefault(name, set()).update(self.copies.logs(name))
        host = self.hosts[name]
        host.words, host.time = words, time or host.time
        if live:
            host.heard = self._clock.monotonic()

    def _refuse(self, about: str, problem: Exception) -> None:
        if len(self.forged) < _MOST:
            self.forged[one_line(about, 200)] = one_line(str(problem), 300)

    def is_known(self, host: str) -> bool:
        """Return whether the host was heard lately, so that what is shown of it is its present state."""
        found = self.hosts.get(host)
        return bool(found and found.heard and self._clock.monotonic() - found.heard < SILENT_S and not self.problem)

    async def until_caught_up(self, seconds: float) -> None:
        """Wait until all that the server has was read once. Raises FleetError with the reason why it was not."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self.is_caught_up or self.problem not in ("", NOT_YET))
        except TimeoutError:
            pass
        if not self.is_caught_up:
            raise FleetError(self.problem or f"{self.lag} messages of the server are not copied yet: try again")

    async def next_change(self) -> None:
        """Wait until something was copied or heard."""
        async with self._changed:
            await self._changed.wait()

    async def wake(self) -> None:
        """Wake those that wait for a change."""
        async with self._changed:
            self._changed.notify_all()

    def heard_ago(self, host: str) -> float:
        """Return the seconds since the last words of a host."""
        return self._clock.monotonic() - self.hosts[host].heard

    # Answering

    async def answer(self, host: str, log: str, gate: str, answer: Answer) -> Given:
        """Give an answer, and return the one that won. It is true once the host has written it into its log.

        Raises FleetError without a connection: the answer may have won then, and the same call says so.
        """
        if self._key.role != "person":
            raise FleetError(f"the key {self._key.name} may look and not answer: ask for one with `--person`")
        found = self.hosts.get(host, Host())
        fields = {"choice": answer.choice, "text": answer.text, "number": answer.number, "scope": answer.scope}
        payload = json.dumps(fields).encode()
        number = found.tries(log, gate) + 1
        while number <= s.TRIES:
            subject = s.answers(host, log, gate, number)
            headers = {s.EXPECTED: "0", **self._key.headers(subject, "", payload)}
            with suppress(Fenced):
                await self._when_connected(lambda now, at=subject, had=headers: now.publish(at, payload, had))
            if (given := await self._winner(subject)) is not None:
                return given._replace(mine=given.by == self._key.name and given.what == fields)
            number += 1
        raise FleetError(f"{gate}: {s.TRIES} answers were refused already: answer on {host} itself")

    async def _winner(self, subject: str) -> Given | None:
        """Return the answer that the server has taken; None where it was not signed by a person. Raises FleetError."""
        message = await self._when_connected(lambda now: now.stored(s.ANSWERS, subject))
        try:
            who = checked(message.headers, self._key.owner, subject, "", message.payload, "person")
            what = json.loads(message.payload)
            return Given(who.name, what, False) if isinstance(what, dict) else None
        except (Forged, ValueError):
            return None

    async def ask(self, host: str, log: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a host's reply to a request of a screen. Raises FleetError."""
        reply = await self._when_connected(lambda now: self._request(now, host, log, message))
        found = json.loads(reply.data)
        return found if isinstance(found, dict) else {}

    async def _request(self, session: Session, host: str, log: str, message: Mapping[str, Any]) -> Msg:
        subject = s.ask(host)
        payload = json.dumps({"id": uuid.uuid4().hex, "log": log, "message": dict(message)}).encode()
        return await session.request(subject, payload, self._key.headers(subject, "", payload))

    async def _when_connected(self, work: Any) -> Any:
        """Do ``work`` with a session, again after a lost connection: what was stored is not stored twice."""
        problem = FleetError(self.problem)
        for _ in range(_TRIES):
            try:
                async with asyncio.timeout(_WAIT_S), self._changed:
                    await self._changed.wait_for(lambda: self._session is not None)
            except TimeoutError:
                raise FleetError(self.problem) from None
            session = self._session
            try:
                if session is not None:
                    return await work(session)
            except Fenced:
                raise
            except FleetError as lost:
                problem = lost
                await asyncio.sleep(_PAUSE_S)
        raise problem

    async def _say(self, session: Session | None, problem: str) -> None:
        async with self._changed:
            self._session, self.problem = session, problem
            self._changed.notify_all()


def _seen(path: Any) -> tuple[str, int]:
    with suppress(OSError, ValueError, TypeError):
        created, seq = json.loads(path.read_bytes())
        return str(created), int(seq)
    return "", 0
