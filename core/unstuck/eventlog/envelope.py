"""A record: an event with its envelope, and its encoding as one log line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema

from unstuck.contract import Actor
from unstuck.eventlog.events import EVENTS, Event, Unknown
from unstuck.text import sanitise

SCHEMA = 1
# An ASCII line without these holds no control or format character and needs no sanitising: unstuck writes only ASCII.
_ESCAPE = re.compile(rb"\\[ubfr]")
_NAME = re.compile(rb'"event":\s*"([a-z_]+)"')


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


def decode(line: bytes) -> Record:
    """Return a log line as a record. An unknown event, or one with fields that do not fit, becomes Unknown.

    Raises ``pydantic.ValidationError`` for a line that is not a record.
    """
    if not line.isascii() or b"\x7f" in line or (b"\\" in line and _ESCAPE.search(line)):
        line = json.dumps(_sanitised(json.loads(line))).encode("ascii")
    name = event_name(line)
    try:
        record = _validator(EVENTS[name])(line)
        if record.name == name:
            return record
    except (KeyError, ValidationError):
        pass
    # Written in another way, it may have another name than was found.
    record = _validator(Unknown)(line)
    try:
        return _validator(EVENTS[record.name])(line)
    except (KeyError, ValidationError):
        return record


def event_name(line: bytes) -> str:
    """Return the name of the event in a log line as unstuck writes it, and of any other line a guess or nothing."""
    found = _NAME.search(line)
    return found[1].decode() if found else ""


@cache
def _validator(event: type[Event | Unknown]) -> Callable[[bytes], Record]:
    """Return what makes the record of a whole line. A tagged union would build the validators of all events at once."""

    def field(name: str, schema: core_schema.CoreSchema, written: str = "") -> core_schema.DataclassField:
        return core_schema.dataclass_field(name, schema, kw_only=True, validation_alias=written or name)

    def optional(schema: core_schema.CoreSchema, default: object) -> core_schema.CoreSchema:
        return core_schema.with_default_schema(schema, default=default)

    event.model_rebuild()
    text, number = core_schema.str_schema(), core_schema.int_schema()
    fields = [
        field("seq", number),
        field("time", text),
        field("mono", core_schema.float_schema()),
        field("run", text),
        field("actor", core_schema.literal_schema(list(get_args(Actor)))),
        field("event", event.__pydantic_core_schema__, "data"),
        field("name", text, "event"),
        field("task", optional(text, "")),
        field("attempt", optional(text, "")),
        field("cause", optional(number, 0)),
        field("version", number, "v"),
    ]
    names = [one["name"] for one in fields]
    arguments = core_schema.dataclass_args_schema(Record.__name__, fields)
    return SchemaValidator(core_schema.dataclass_schema(Record, arguments, names, slots=True)).validate_json


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
