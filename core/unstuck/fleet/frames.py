"""Frames between a host and a screen elsewhere: one JSON object a line, each with its model.

A frame of an unknown name is passed over, and so is an unknown field: they come from a later version. What cannot be
understood any more has another :data:`PROTOCOL`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from unstuck.eventlog.log.log_format import LINE_LIMIT, Position

PROTOCOL = 1
FRAME_LIMIT = 2 * LINE_LIMIT + 4096
"""Largest frame in bytes: a line of a log whose every character is escaped, and what surrounds it."""
ALIVE_S = 5.0
"""Seconds after which each side says that it is there."""


class _Frame(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Hello(_Frame):
    """The first frame of a host: its versions, its name for itself, its time (seconds since 1970) and its monotonic."""

    frame: Literal["hello"] = "hello"
    protocol: int
    version: str
    host: str = Field(max_length=255)
    now: float
    mono: float


class LogOpened(_Frame):
    """A log is sent from here on. ``live``: a process works its run."""

    frame: Literal["opened"] = "opened"
    log: str
    live: bool


class LogLines(_Frame):
    """Whole lines of a log as they stand there."""

    frame: Literal["lines"] = "lines"
    log: str
    lines: str


class LogLive(_Frame):
    """A process has begun to work the run, or has gone."""

    frame: Literal["live"] = "live"
    log: str
    live: bool


class LogEnded(_Frame):
    """The run has ended, and all its lines were sent."""

    frame: Literal["ended"] = "ended"
    log: str


class LogBroken(_Frame):
    """The host cannot send the log any further."""

    frame: Literal["broken"] = "broken"
    log: str
    problem: str = Field(max_length=10_000)


class Reply(_Frame):
    """The reply to the request ``id``; what is wrong with it is its ``error``."""

    frame: Literal["reply"] = "reply"
    id: int
    reply: dict[str, Any]


class Alive(_Frame):
    """The sender is there; ``now`` and ``mono`` are its time."""

    frame: Literal["alive"] = "alive"
    now: float = 0.0
    mono: float = 0.0


class Follow(_Frame):
    """The first frame of a screen: where its copies end, and the name that its answers carry."""

    frame: Literal["follow"] = "follow"
    protocol: int = PROTOCOL
    version: str = ""
    who: str = Field("", max_length=80)
    cursors: dict[str, Position] = Field(default_factory=dict)


class Ask(_Frame):
    """A request about a run: a message of the local socket, or what a screen wants to see of it."""

    frame: Literal["ask"] = "ask"
    id: int
    log: str
    message: dict[str, Any]


FromHost = Hello | LogOpened | LogLines | LogLive | LogEnded | LogBroken | Reply | Alive
FromScreen = Follow | Ask | Alive

_FROM_HOST: TypeAdapter[FromHost] = TypeAdapter(Annotated[FromHost, Field(discriminator="frame")])
_FROM_SCREEN: TypeAdapter[FromScreen] = TypeAdapter(Annotated[FromScreen, Field(discriminator="frame")])


def encode(frame: BaseModel) -> bytes:
    """Return the line of a frame."""
    return frame.model_dump_json().encode() + b"\n"


def from_host(line: bytes) -> FromHost | None:
    """Return the frame of a host, None for one that this version does not know. Raises ValueError for no frame."""
    frame: FromHost | None = _known(_FROM_HOST, line)
    return frame


def from_screen(line: bytes) -> FromScreen | None:
    """Return the frame of a screen, as :func:`from_host` does."""
    frame: FromScreen | None = _known(_FROM_SCREEN, line)
    return frame


def _known(adapter: TypeAdapter[Any], line: bytes) -> Any:
    try:
        return adapter.validate_json(line)
    except ValidationError as problem:
        if problem.errors(include_input=False, include_url=False)[0]["type"] == "union_tag_invalid":
            return None
        raise ValueError("it is not a frame") from None
