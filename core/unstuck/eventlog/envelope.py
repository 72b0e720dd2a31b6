"""One record: who, when and about what, round an event; to bytes and back."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from unstuck.contract import Actor
from unstuck.eventlog.events import EVENTS, Event, Unknown
from unstuck.text import sanitise

__all__ = ["SCHEMA", "Record", "decode", "encode"]

SCHEMA = 1
# A line without these cannot hold a control or format character, so it is clean as it is; we write only ASCII.
_SUSPECT = re.compile(rb"\\[ubfr]|[^\x00-\x7e]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An event with its envelope. ``time`` is ISO 8601 UTC, ``mono`` seconds, ``cause`` the seq that led here."""

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

    def as_dict(self) -> dict[str, Any]:
        """The record as the log has it, without its checksum."""
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
    """The record's body for the log writer: ASCII JSON without schema number, sequence number and checksum."""
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
    """A log line as a record; an unknown event or a known one with a shape from another version becomes Unknown.

    Raises ``pydantic.ValidationError`` for a line that is no record at all.
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
    """The member of the union that ``name`` stands for, picked by hand: few runs need all of them built."""
    known = EVENTS.get(name, Unknown)
    try:
        return known.model_validate(data)
    except ValidationError:
        return Unknown.model_validate(data)


def _sanitised(value: Any) -> Any:
    """``value`` with nothing in its texts that acts on a terminal: a log is a file that anybody may have edited.

    Texts that need it were redacted and cut before they were written. Here that would change what a run is told to do,
    such as a command that holds a token, by the mere reading of its log.
    """
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, list):
        return [_sanitised(item) for item in value]
    if isinstance(value, dict):
        return {sanitise(key): _sanitised(item) for key, item in value.items()}
    return value
