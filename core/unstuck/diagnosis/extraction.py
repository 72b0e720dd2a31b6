"""From the text of an error to its signature."""

from __future__ import annotations

from types import MappingProxyType

from unstuck.diagnosis.essence import digest, essence_of
from unstuck.diagnosis.kinds import ErrorType
from unstuck.diagnosis.making import maker_of
from unstuck.diagnosis.reader import read
from unstuck.diagnosis.reading import Reading
from unstuck.diagnosis.signature import MESSAGE_LIMIT, FailureSignature
from unstuck.diagnosis.waiting import waits
from unstuck.text import Clean, admit, shorten

__all__ = ["read_error", "signature_of"]

_signature = maker_of(FailureSignature)


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
    context, subject = essence_of(reading)
    return _signature(
        _exact(reading),
        error_type,
        reading.location,
        digest(context),
        timestamp,
        agent_id,
        task_id,
        MappingProxyType(_known(reading, passes, exit_code, tool)),
        subject,
    )


def _known(reading: Reading, passes: bool, exit_code: int | None, tool: str | None) -> dict[str, str]:
    """What else is known of it, as far as it is."""
    known: dict[str, str] = {}
    if reading.headline:
        known["headline"] = reading.headline
    if reading.function:
        known["function"] = reading.function
    if reading.test:
        known["test"] = reading.test
    if exit_code is not None:
        known["exit_code"] = str(exit_code)
    if tool:
        known["tool"] = tool
    if passes:
        known |= waits(reading)
    return known


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
