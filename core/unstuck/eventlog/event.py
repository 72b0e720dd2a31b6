"""Base class of events: a frozen model whose name in the log is its class name in snake case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict

MAX_PATHS_IN_EVENT = 50
"""Largest number of paths that an event names."""
EVENTS: dict[str, type[Event]] = {}
"""Event classes by their name in the log."""


def _as_read(value: Any) -> Any:
    """Return ``value`` as JSON gives it back, so that a live run and a replayed log have equal state."""
    if isinstance(value, Mapping):
        return {str(key): _as_read(item) for key, item in value.items()}
    return [_as_read(item) for item in value] if isinstance(value, list | tuple) else value


Object = Annotated[dict[str, Any], AfterValidator(_as_read)]
"""A JSON object with any content."""


class Event(BaseModel):
    """The base of all events."""

    # A run uses a third of the events, so each validator is built on first use.
    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True, defer_build=True)
    name: ClassVar[str] = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        EVENTS[cls.name] = cls


class Unknown(BaseModel):
    """Event of a later version. It is kept and shown, and changes no state."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)
    name: ClassVar[str] = "unknown"
