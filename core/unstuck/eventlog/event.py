"""What every event is: a frozen model, known by its class name in snake case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict

__all__ = ["EVENTS", "MAX_PATHS_IN_EVENT", "Event", "Object", "Unknown"]

MAX_PATHS_IN_EVENT = 50
"""Paths that an event names of a longer list."""
EVENTS: dict[str, type[Event]] = {}
"""Every event by its name in the log."""


def _as_read(value: Any) -> Any:
    """``value`` as JSON gives it back, so that what a live run knows is what reading its log tells."""
    if isinstance(value, Mapping):
        return {str(key): _as_read(item) for key, item in value.items()}
    return [_as_read(item) for item in value] if isinstance(value, list | tuple) else value


Object = Annotated[dict[str, Any], AfterValidator(_as_read)]
"""What JSON calls an object, whatever is in it."""


class Event(BaseModel):
    """The base of all events."""

    # A run meets a third of the events, so each is built when it is first met.
    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True, defer_build=True)
    name: ClassVar[str] = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        EVENTS[cls.name] = cls


class Unknown(BaseModel):
    """An event of a later version: kept and shown, never acted on."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)
    name: ClassVar[str] = "unknown"
