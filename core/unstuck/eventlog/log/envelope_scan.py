"""The envelope of a log line without its data: enough to look for records, for a small part of what decoding costs."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from unstuck.text import sanitise

__all__ = ["Head", "head_of"]

# The envelope comes first and is written by us; a text in it is JSON, in which a quotation mark is always escaped.
_TEXT = rb'"([^"\\]*(?:\\.[^"\\]*)*)"'
_HEAD = re.compile(
    rb'\{"v":\d{1,9},"seq":(\d{1,18}),"time":' + _TEXT + rb',"mono":([-+.eE\d]{1,32}),"run":"[^"\\]*","actor":' + _TEXT
    + rb',"task":' + _TEXT + rb',"attempt":' + _TEXT + rb',"cause":\d{1,18},"event":' + _TEXT + rb","
)  # fmt: skip


class Head(NamedTuple):
    """Who, when and about what: ``time`` is ISO 8601 in UTC, ``mono`` seconds, ``event`` the event's name."""

    seq: int
    time: str
    mono: float
    actor: str
    task: str
    attempt: str
    event: str


def head_of(line: bytes) -> Head:
    """The envelope of a log line as this program writes it, or as another version may. Raises ValueError for others."""
    found = _HEAD.match(line)
    if found is None:
        return _parsed(json.loads(line))
    seq, time, mono, actor, task, attempt, event = found.groups()
    plain = found[0].isascii() and b"\\" not in found[0]
    text = _PLAIN if plain else _text
    return Head(int(seq), text(time), float(mono), text(actor), text(task), text(attempt), text(event))


_PLAIN = bytes.decode


def _text(raw: bytes) -> str:
    return sanitise(json.loads(b'"%b"' % raw))


def _parsed(row: Any) -> Head:
    try:
        time, actor, event = row["time"], row["actor"], row["event"]
        texts = time, actor, row.get("task", ""), row.get("attempt", ""), event
        time, actor, task, attempt, event = (sanitise(str(text)) for text in texts)
        return Head(int(row["seq"]), time, float(row["mono"]), actor, task, attempt, event)
    except (AttributeError, KeyError, TypeError) as problem:
        raise ValueError(f"not an event:  {problem}") from problem
