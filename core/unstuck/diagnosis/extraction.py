"""From the text of an error to its signature."""

from __future__ import annotations

from types import MappingProxyType

from unstuck.diagnosis.essence import context_of, digest, subject_of
from unstuck.diagnosis.kinds import ErrorType
from unstuck.diagnosis.reader import read
from unstuck.diagnosis.reading import Reading
from unstuck.diagnosis.signature import MESSAGE_LIMIT, FailureSignature
from unstuck.diagnosis.waiting import waits
from unstuck.text import Clean, admit, shorten

__all__ = ["read_error", "signature_of"]


def signature_of(
    reading: Reading,
    error_type: ErrorType,
    *,
    passes: bool = True,
    agent_id: str = "",
    task_id: str = "",
    timestamp: float = 0.0,
    exit_code: int | None = None,
    tool: str | None = None,
) -> FailureSignature:
    """The signature of text that was read; what the caller knows of it goes along.

    Only a failure that ``passes`` by itself is asked how long that takes.
    """
    known = {
        "headline": str(reading.headline),
        "function": reading.function,
        "test": reading.test,
        "exit_code": "" if exit_code is None else str(exit_code),
        "tool": tool or "",
    }
    if passes:
        known |= waits(reading)
    context_hash, subject = digest(context_of(reading)), subject_of(reading)
    metadata = MappingProxyType({key: value for key, value in known.items() if value})
    # By position, in the order of the fields: a class takes three times as long to take them by name.
    return FailureSignature(
        _exact(reading),
        error_type,
        reading.location,
        context_hash,
        timestamp,
        agent_id,
        task_id,
        metadata,
        subject,
    )


def read_error(message: str | bytes, trace: str | bytes | None = None) -> Reading:
    """Read an error's text and, where it is apart, its stack trace."""
    return read(_joined(message, trace))


def _joined(message: str | bytes, trace: str | bytes | None) -> str:
    """The trace goes first, as the tools print it: the message is the last word."""
    said, where = (_as_text(message), _as_text(trace or ""))
    return said if not where or (said in where and "\n" in said) else f"{where}\n{said}"


def _as_text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")


def _exact(reading: Reading) -> Clean:
    """The text itself where it is short; otherwise its headline, with what goes on from there."""
    text = reading.seen.text
    if len(text) <= MESSAGE_LIMIT:
        return admit(text.strip(), limit=MESSAGE_LIMIT)
    return Clean(shorten(f"{reading.headline} {reading.detail}".strip(), MESSAGE_LIMIT))
