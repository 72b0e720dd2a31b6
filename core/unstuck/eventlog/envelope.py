"""A record: an event with its envelope, and its encoding as one log line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from unstuck.contract import Actor
from unstuck.eventlog.events import EVENTS, Event, Unknown
from unstuck.text import sanitise

SCHEMA = 1
# A line without these holds no control or format character and needs no sanitising: unstuck writes only ASCII.
_SUSPECT = re.compile(rb"\\[ubfr]|[^\x00-\x7e]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An event with its envelope. ``time`` is ISO 8601 UTC, ``mono`` seconds, ``cause`` the number of its cause.

    Example::

        async for record in supervisor.events():
            print(record.seq, record.task_id, record.name)
    """

    seq: int
    time: str
    mono: float
    run: str
    actor: Actor
    event: Event | Unknown
    name: str
    task: str = ""
    attempt: str = ""
    cause: int = 0
    version: int = SCHEMA

    @property
    def task_id(self) -> str:
        """The id of the task that it is about; empty for one about the whole run."""
        return self.task

    def as_dict(self) -> dict[str, Any]:
        """Return the record as the log holds it, without its checksum."""
        return {"v": self.version, "seq": self.seq, **_body(self)}


def _body(record: Record) -> dict[str, Any]:
    return {
        "time": record.time,
        "mono": record.mono,
        "run": record.run,
        "actor": record.actor,
        "task": record.task,
        "attempt": record.attempt,
        "cause": record.cause,
        "event": record.name,
        "data": record.event.model_dump(mode="json"),
    }


def encode(record: Record) -> bytes:
    """Return the body of the record for the log writer: ASCII JSON without schema number, number and checksum."""
    return json.dumps(_body(record), ensure_ascii=True, separators=(",", ":")).encode("ascii")


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    v: int
    seq: int
    time: str
    mono: float
    run: str
    actor: Actor
    event: str
    data: dict[str, Any]
    task: str = ""
    attempt: str = ""
    cause: int = 0


def decode(line: bytes) -> Record:
    """Return a log line as a record. An unknown event, or one with fields that do not fit, becomes Unknown.

    Raises ``pydantic.ValidationError`` for a line that is not a record.
    """
    if _SUSPECT.search(line):
        line = json.dumps(_sanitised(json.loads(line))).encode("ascii")
    parsed = _Line.model_validate_json(line)
    return Record(
        seq=parsed.seq,
        time=parsed.time,
        mono=parsed.mono,
        run=parsed.run,
        actor=parsed.actor,
        event=_event(parsed.event, parsed.data),
        name=parsed.event,
        task=parsed.task,
        attempt=parsed.attempt,
        cause=parsed.cause,
        version=parsed.v,
    )


def _event(name: str, data: dict[str, Any]) -> Event | Unknown:
    """Return the event of class ``name``. A tagged union would build the validators of all events."""
    known = EVENTS.get(name, Unknown)
    try:
        return known.model_validate(data)
    except ValidationError:
        return Unknown.model_validate(data)


def _sanitised(value: Any) -> Any:
    """Return ``value`` with sanitised texts, because a log may have been edited by hand.

    Texts were redacted and shortened before they were written. Redacting here would change a recorded command that
    holds a token.
    """
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, list):
        return [_sanitised(item) for item in value]
    if isinstance(value, dict):
        return {sanitise(key): _sanitised(item) for key, item in value.items()}
    return value
