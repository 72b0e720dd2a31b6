"""Every event of the event log with its fields, from the event classes."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from docs.generator.markdown import code, prose, table
from docs.generator.signatures import annotation
from pydantic_core import PydanticUndefined

from unstuck.eventlog.events import EVENTS, Event

__all__ = ["events"]


def events() -> str:
    """All events in alphabetical order, below their first letter."""
    names = sorted(EVENTS)
    return "\n\n".join(
        part
        for letter, group in groupby(names, key=lambda name: name[0])
        for part in (f"## {letter.upper()}", *(_described(name, EVENTS[name]) for name in group))
    )


def _described(name: str, event: type[Event]) -> str:
    parts = [f"### `{name}`", prose(event.__doc__)]
    if event.model_fields:
        rows = [
            (code(field), code(annotation(info.annotation)), code(_default(info)))
            for field, info in event.model_fields.items()
        ]
        parts.append(table(("field", "type", "default"), rows))
    return "\n\n".join(parts)


def _default(info: Any) -> str:
    if info.default_factory is not None:
        return repr(info.default_factory())
    return "" if info.default is PydanticUndefined else repr(info.default)
