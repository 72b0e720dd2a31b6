"""The host's end: publishes the logs of this machine, and writes the answers that people gave into them.

The offset of each log is the last message on its subject in the stream. Each message names the one that it follows, so
that nothing can be missing or stored twice, however often the connection is lost. A stream that was deleted has no last
message: the log is published again from its start.

An answer that was heard is decided: it is written whether or not the connection lasts, for a link that is cut every few
seconds would otherwise end each write before it is done.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from nats.aio.msg import Msg

from unstuck.clock import SystemClock
from unstuck.errors import RecordError
from unstuck.eventlog.log.log_format import START as BEGIN
from unstuck.eventlog.log.log_format import Position, read_lines
from unstuck.fleet.host_logs import Broken, Ended, HostLog, HostLogs, Lines, News, Opened, batches
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.keys import Credentials, Forged, Pass, checked, write_secret
from unstuck.fleet.nats.session import FleetError, Message, Session, Worker, first_of
from unstuck.fleet.requests import CONTROLS, LOOKS, Requests
from unstuck.settings.paths import state_dir
from unstuck.text import one_line
from unstuck.version import __version__

ALIVE_S = 5.0
"""Seconds between two words of a host."""
CHUNK = 128 * 1024
"""Bytes of lines in a message; a longer line goes alone."""

_LOOK_S, _BELL_S = 0.1, (0.02, 0.1, 0.5)
_REMEMBERED, _AT_ONCE, _TRIES = 1000, 32, 3
_BACKFILL = 512 * 1024
_SEAL = len(b',"crc":"00000000"}\n')


class _Again(FleetError):
    """The stream is not as it was: look at it again."""


class _Given(NamedTuple):
    """An answer to a question of a log: the one with this ``number``, which ``who`` gave."""

    log: HostLog
    gate: str
    number: int
    answer: dict[str, Any]
    who: Pass

    @property
    def question(self) -> tuple[str, str]:
        return self.log.name, self.gate


class Forwarder(Worker):
    """Forwards the logs of this user on this machine with a host's key, until it is cancelled."""

    def __init__(self, credentials: Credentials, environ: Mapping[str, str]) -> None:
        super().__init__(credentials)
        self._environ = dict(environ)
        self._file = state_dir(environ) / "fleet-nats" / "forwarded.json"
        self._clock = SystemClock()
        self._known = _known(self._file)
        self._requests: dict[str, Requests] = {}
        self._open: dict[tuple[str, str], int] = {}
        self._refused: dict[str, tuple[int, str]] = {}
        self._seen: dict[str, None] = {}
        self._heard: asyncio.Queue[_Given] = asyncio.Queue()
        self.unwritten: set[tuple[str, str]] = set()
        """Logs and questions whose answers were heard and are not written yet."""
        self._begin()

    def _begin(self) -> None:
        self._logs = HostLogs(self._environ)
        self._ends: dict[str, tuple[Position, int]] = {}
        self._broken: dict[str, str] = {}
        self._over: set[str] = set()
        self._given: asyncio.Queue[tuple[str, str, int]] = asyncio.Queue(10_000)

    @property
    def logs(self) -> int:
        """The number of logs that are forwarded."""
        return len(self._ends)

    async def run(self) -> None:
        await first_of(super().run(), self._write_answers())

    async def _work(self, session: Session) -> None:
        self._begin()
        asked: asyncio.Queue[Msg] = asyncio.Queue(1000)

        async def ask(message: Msg) -> None:
            with suppress(asyncio.QueueFull):
                asked.put_nowait(message)

        async def ring(message: Msg) -> None:
            with suppress(ValueError):
                _, _, _, log, gate, _ = message.subject.split(".")
                self._ring(log, gate)

        await session.hear(s.ask(self._key.name), ask)
        await session.hear(s.answers(self._key.name), ring)
        for log, end in zip(self._known, await self._ends_of(session, self._known), strict=True):
            self._ends[log] = end
        self._logs = HostLogs(self._environ, {log: end[0] for log, end in self._ends.items()})
        async with asyncio.TaskGroup() as group:
            group.create_task(self._forward(session))
            group.create_task(self._speak(session))
            group.create_task(self._collect(session))
            group.create_task(self._reply(session, asked))

    # The logs

    async def _ends_of(self, session: Session, logs: Iterable[str]) -> list[tuple[Position, int]]:
        room = asyncio.Semaphore(_AT_ONCE)

        async def end_of(log: str) -> tuple[Position, int]:
            async with room:
                return self._end(await session.last(s.EVENTS, s.events(self._key.name, log)))

        return list(await asyncio.gather(*map(end_of, logs)))

    def _end(self, message: Message | None) -> tuple[Position, int]:
        """Return where the log ends in the stream, and the number of the message there."""
        if message is None:
            return BEGIN, 0
        start, end = (message.headers.get(name, "") for name in (s.START, s.END))
        try:
            roles = message.headers, self._key.owner, message.subject, f"{start} {end}", message.payload
            if checked(*roles, "host").name == self._key.name:
                return position_of(end), message.seq
        except Forged:
            pass
        return BEGIN, message.seq  # another put it there: all of the log follows it once more

    async def _forward(self, session: Session) -> None:
        while True:
            news = self._logs.news()
            while (item := await asyncio.to_thread(next, news, None)) is not None:
                await self._take(session, item)
            await self._say(session, "")
            await asyncio.sleep(_LOOK_S)

    async def _take(self, session: Session, item: News) -> None:
        name = item.log.name
        match item:
            case Opened():
                if name not in self._ends:
                    (self._ends[name],) = await self._ends_of(session, [name])
                self._remember(name)
                await asyncio.to_thread(self._find_questions, item.log)
                for log, gate in list(self._open):
                    if log == name:
                        self._ring(log, gate, len(_BELL_S))
            case Lines():
                self._over.discard(name)
                await self._publish(session, item)
            case Ended():
                self._over.add(name)
            case Broken():
                self._broken[name] = one_line(item.problem, 300)

    async def _publish(self, session: Session, item: Lines) -> None:
        """Publish the lines that the stream does not have, each part once its last one is on the server's disk."""
        log, subject = item.log.name, s.events(self._key.name, item.log.name)
        lines = item.raw.splitlines(keepends=True)
        place, end = _before(item), self._ends[log][0]
        part = list[bytes]()
        for number, line in enumerate(lines):
            place = Position(place.seq + 1, place.offset + len(line), int(line[-_SEAL + 8 : -3], 16))
            if place.seq <= end.seq:
                if place.seq == end.seq and place != end:
                    self._broken[log] = f"the stream has another record {end.seq} than this log"
                continue
            if log in self._broken:
                return
            part.append(line)
            following = len(lines[number + 1]) if number + 1 < len(lines) else CHUNK
            if sum(map(len, part)) + following > CHUNK:
                await self._publish_part(session, subject, log, part, place)
                part = []
        self._note_questions(log, lines)

    async def _publish_part(self, session: Session, subject: str, log: str, part: list[bytes], place: Position) -> None:
        start, end, payload = str(place.seq - len(part)), " ".join(map(str, place)), b"".join(part)
        headers = {
            s.START: start,
            s.END: end,
            s.MESSAGE_ID: f"{self._key.name}:{log}:{place.seq}",
            s.EXPECTED: str(self._ends[log][1]),
            **self._key.headers(subject, f"{start} {end}", payload),
        }
        self._ends[log] = place, await session.publish(subject, payload, headers)

    def _remember(self, log: str) -> None:
        if log not in self._known:
            self._known = [*self._known, log][-_REMEMBERED:]
            write_secret(self._file, json.dumps(self._known))

    async def _speak(self, session: Session) -> None:
        """Say again and again where the logs end, and look whether the stream still has what it had."""
        subject, turn = s.host(self._key.name), 0
        while True:
            words = {
                "protocol": s.PROTOCOL,
                "version": __version__,
                "now": self._clock.now(),
                "mono": self._clock.monotonic(),
                "logs": {log: list(end[0]) for log, end in self._ends.items()},
                "over": sorted(self._over),
                "live": await asyncio.to_thread(self._live),
                "broken": self._broken,
                "refused": self._refused,
            }
            payload = json.dumps(words).encode()
            await session.publish(subject, payload, self._key.headers(subject, "", payload))
            logs = [log for log, end in self._ends.items() if end[1]]
            if logs:
                turn += 1
                log = logs[turn % len(logs)]
                had = self._ends[log]
                (has,) = await self._ends_of(session, [log])
                if has[1] < had[1]:
                    raise _Again("the stream was deleted: publishing again")
            await asyncio.sleep(ALIVE_S)

    def _live(self) -> list[str]:
        logs = [self._logs.log(name) for name in self._ends if name not in self._over]
        return [log.name for log in logs if log is not None and log.is_live()]

    # Questions

    def _find_questions(self, log: HostLog) -> None:
        with suppress(RecordError):
            self._note_questions(log.name, (line.raw for line in read_lines(log.path)))

    def _note_questions(self, log: str, lines: Iterable[bytes]) -> None:
        for line in lines:
            if b'"event":"gate_' not in line:
                continue
            record = json.loads(line)
            gate = (log, str(record["data"].get("gate")))
            if record["event"] == "gate_opened":
                self._open.setdefault(gate, 0)
            elif record["event"] in ("gate_answered", "gate_withdrawn"):
                self._open.pop(gate, None)

    async def _collect(self, session: Session) -> None:
        """Hear answers: at once where the server says so, and all that were missed every few seconds."""
        due, room, loop = 0.0, asyncio.Semaphore(_AT_ONCE), asyncio.get_running_loop()

        async def look(log: str, gate: str, looks: int) -> None:
            async with room:
                found = await self._look_for_answer(session, log, gate)
            if not found and looks < len(_BELL_S):  # the server has heard it, and may not have stored it yet
                loop.call_later(_BELL_S[looks], self._ring, log, gate, looks + 1)

        while True:
            if self._clock.monotonic() >= due:
                rung = dict.fromkeys(self._open, len(_BELL_S))
                due = self._clock.monotonic() + ALIVE_S
            else:
                rung = await self._rung()
            # Side by side: on a slow link a look takes seconds, and one link may not live for as many as are open.
            async with asyncio.TaskGroup() as group:
                for (log, gate), looks in rung.items():
                    if (log, gate) in self._open and (log, gate) not in self.unwritten:
                        group.create_task(look(log, gate, looks))

    async def _rung(self) -> dict[tuple[str, str], int]:
        """Return the questions that were rung for, with the number of looks at each; wait a while for the first."""
        rung = dict[tuple[str, str], int]()
        with suppress(TimeoutError, asyncio.QueueEmpty):
            async with asyncio.timeout(ALIVE_S):
                log, gate, looks = await self._given.get()
            while True:
                rung[log, gate] = looks
                log, gate, looks = self._given.get_nowait()
        return rung

    def _ring(self, log: str, gate: str, looks: int = 0) -> None:
        with suppress(asyncio.QueueFull):
            self._given.put_nowait((log, gate, looks))

    async def _look_for_answer(self, session: Session, log: str, gate: str) -> bool:
        """Return whether there is an answer to this question now, which is then to be written or was refused."""
        place = self._logs.log(log)
        if place is None:
            return True  # a new session has not come to this log yet, and rings for its questions then
        key = f"{log}.{gate}"
        first = self._refused[key][0] + 1 if key in self._refused else 1
        for number in range(first, s.TRIES + 1):
            subject = s.answers(self._key.name, log, gate, number)
            message = await session.last(s.ANSWERS, subject)
            if message is None:
                return False
            try:
                who = checked(message.headers, self._key.owner, subject, "", message.payload, "person")
                answer = json.loads(message.payload)
            except (Forged, ValueError) as problem:
                self._refused[key] = number, one_line(str(problem), 300)
                continue
            if (log, gate) not in self.unwritten:
                self.unwritten.add((log, gate))
                self._heard.put_nowait(_Given(place, gate, number, answer, who))
            return True
        return True

    async def _write_answers(self) -> None:
        """Write the answers that were heard into the logs, one after the other, for as long as this is awaited."""
        while True:
            given = await self._heard.get()
            await self._write_answer(given)
            self.unwritten.discard(given.question)

    async def _write_answer(self, given: _Given) -> None:
        found = {name: given.answer.get(name) for name in ("choice", "text", "number", "scope")}
        reply = await self._asker(given.who).reply(given.log, {**found, "do": "answer", "gate": given.gate})
        tries = self._open.pop(given.question, 0) + 1
        if "error" not in reply or "is closed already" in str(reply["error"]):
            return
        if tries >= _TRIES:  # a run that was just being resumed takes it the next time
            self._refused[".".join(given.question)] = given.number, one_line(str(reply["error"]), 300)
            tries = 0
        self._open[given.question] = tries

    def _asker(self, who: Pass) -> Requests:
        return self._requests.setdefault(who.name, Requests(self._environ, who.name))

    # Requests

    async def _reply(self, session: Session, asked: asyncio.Queue[Msg]) -> None:
        """Carry out requests: lines of a log, what a screen shows beside it, and a person's steps but answers."""
        while True:
            message = await asked.get()
            subject = s.ask(self._key.name)
            try:
                who = checked(message.headers, self._key.owner, subject, "", message.data, "person", "viewer")
                wanted = json.loads(message.data)
                if wanted["id"] in self._seen:
                    continue
                self._seen[str(wanted["id"])] = None
                if len(self._seen) > 10_000:
                    del self._seen[next(iter(self._seen))]
                log, do = self._logs.log(str(wanted["log"])), wanted["message"]["do"]
                if do == "lines":
                    start, end, payload = await asyncio.to_thread(_lines, log, wanted["message"]["after"])
                    said = s.events(self._key.name, str(wanted["log"]))
                    headers = {s.START: start, s.END: end, **self._key.headers(said, f"{start} {end}", payload)}
                else:
                    reply = await self._asked(who, log, wanted["message"])
                    payload = json.dumps(reply).encode()
                    headers = self._key.headers(subject, str(wanted["id"]), payload)
            except (Forged, ValueError, KeyError, TypeError, AttributeError, RecordError):
                continue
            await session.say(message.reply, payload, headers)

    async def _asked(self, who: Pass, log: HostLog | None, message: dict[str, Any]) -> dict[str, Any]:
        do = message.get("do")
        if do == "answer" or (do in CONTROLS and who.role != "person") or do not in CONTROLS | LOOKS:
            return {"error": f"the key of {who.name} may not ask for this: {one_line(str(do), 60)}", "code": 2}
        return await self._asker(who).reply(log, message)


def _known(path: Path) -> list[str]:
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        return [str(one) for one in found][-_REMEMBERED:]
    return []


def position_of(written: str) -> Position:
    """Return a position as a header has it. Raises FleetError."""
    try:
        seq, offset, crc = map(int, written.split(" "))
        return Position(seq, offset, crc)
    except ValueError:
        raise FleetError(f"{one_line(written, 60)!r} is no position in a log") from None


def _before(item: Lines) -> Position:
    """Return number and place before the lines; its checksum is not known."""
    return Position(item.end.seq - item.raw.count(b"\n"), item.end.offset - len(item.raw), 0)


def _lines(log: HostLog | None, after: Any) -> tuple[str, str, bytes]:
    """Return lines of a log from a position on, with the headers that say which. Raises ValueError, RecordError."""
    if log is None:
        raise ValueError("this log is not followed here")
    start = Position(*map(int, after))
    payload, end = next(batches(log.path, start, _BACKFILL), (b"", start))
    return str(start.seq), " ".join(map(str, end)), payload
