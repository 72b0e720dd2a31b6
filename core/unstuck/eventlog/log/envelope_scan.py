"""Envelope of a log line without its data, for searches that need not decode every record."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from unstuck.text import sanitise

# The envelope comes first. Its texts are JSON, in which a quotation mark is always escaped.
_TEXT = rb'"([^"\\]*(?:\\.[^"\\]*)*)"'
_ENVELOPE = re.compile(
    rb'\{"v":\d{1,9},"seq":(\d{1,18}),"time":' + _TEXT + rb',"mono":([-+.eE\d]{1,32}),"run":"[^"\\]*","actor":' + _TEXT
    + rb',"task":' + _TEXT + rb',"attempt":' + _TEXT + rb',"cause":\d{1,18},"event":' + _TEXT + rb","
)  # fmt: skip


class Envelope(NamedTuple):
    """Envelope of a record: ``time`` is ISO 8601 in UTC, ``mono`` seconds, ``event`` the name of the event."""

    seq: int
    time: str
    mono: float
    actor: str
    task: str
    attempt: str
    event: str


def envelope_of(line: bytes) -> Envelope:
    """Return the envelope of a log line of this or another version. Raises ValueError for any other line."""
    found = _ENVELOPE.match(line)
    if found is None:
        return _decoded(json.loads(line))
    seq, time, mono, actor, task, attempt, event = found.groups()
    plain = found[0].isascii() and b"\\" not in found[0]
    text = _PLAIN if plain else _text
    return Envelope(int(seq), text(time), float(mono), text(actor), text(task), text(attempt), text(event))


_PLAIN = bytes.decode


def _text(raw: bytes) -> str:
    return sanitise(json.loads(b'"%b"' % raw))


def _decoded(row: Any) -> Envelope:
    try:
        time, actor, event = row["time"], row["actor"], row["event"]
        texts = time, actor, row.get("task", ""), row.get("attempt", ""), event
        time, actor, task, attempt, event = (sanitise(str(text)) for text in texts)
        return Envelope(int(row["seq"]), time, float(row["mono"]), actor, task, attempt, event)
    except (AttributeError, KeyError, TypeError) as problem:
        raise ValueError(f"not an event:  {problem}") from problem
