"""Entry point for untrusted text.

Text of an agent, a tool, a file or a person passes :func:`admit` once. It removes terminal escapes, control and
invisible characters, replaces secrets, and bounds the length. The result is ``Clean``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NewType

from unstuck.errors import ArgumentError
from unstuck.text._sanitise import sanitise
from unstuck.text._shorten import clip, ends, join, shorten

if TYPE_CHECKING:
    from unstuck.text._redact import PLACEHOLDER, known_values, redact, secret_values, set_secret_values

__all__ = [
    "PLACEHOLDER",
    "Clean",
    "admit",
    "end_of",
    "is_text",
    "known_values",
    "one_line",
    "redact",
    "sanitise",
    "secret_values",
    "set_secret_values",
    "shorten",
]

Clean = NewType("Clean", str)
"""Text that has passed :func:`admit`."""

# Escapes and secrets make clean text shorter than raw text, so more is looked at than is kept.
_SLACK = 65_536


def __getattr__(name: str) -> Any:
    """Load the rules about secrets when they are needed first: no first frame and no help waits for them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from unstuck.text import _redact

    globals().update({known: getattr(_redact, known) for known in __all__ if hasattr(_redact, known)})
    return globals()[name]


def admit(raw: str | bytes | bytearray | None, *, limit: int = 20_000) -> Clean:
    """Clean, redacted text of at most ``limit`` characters; head and tail are kept around a visible marker.

    Bytes are read as UTF-8. Admitting the result again with the same ``limit`` changes nothing. It takes time
    linear in the length of ``raw``, which may be anything. None becomes the empty text.
    Raises ArgumentError for a limit that is no number.
    """
    if not isinstance(limit, int):
        raise ArgumentError(f"admit: limit must be a whole number, not {type(limit).__name__}")
    from unstuck.text._redact import redact

    limit = max(0, limit)
    head, tail, missing = ends(_decoded(raw), 4 * limit + _SLACK)
    head = redact(sanitise(head))
    if missing:
        tail = redact(sanitise(tail))
    elif len(head) <= limit:
        return Clean(head)
    else:
        middle = len(head) // 2
        head, tail = head[:middle], head[middle:]
    return _fitted(lambda room: join(head, tail, missing, room), limit)


def end_of(raw: str, limit: int) -> Clean:
    """The last ``limit`` characters of ``raw``, admitted before they are cut: half a secret cannot be recognised."""
    whole = limit + _SLACK
    return admit(admit(raw[-whole:], limit=whole)[-limit:], limit=limit)


def one_line(raw: str | bytes | bytearray | None, limit: int = 200) -> Clean:
    """``raw`` admitted, with every run of white space as one blank, cut at the end to ``limit`` characters."""
    limit = max(0, limit)
    text = " ".join(admit(raw, limit=max(20_000, 4 * limit)).split())
    return _fitted(lambda room: clip(text, room), limit)


def is_text(value: str) -> bool:
    """Return whether ``value`` can be encoded as UTF-8. Names of other bytes have lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _decoded(raw: str | bytes | bytearray | None) -> str:
    """Undecodable bytes become lone surrogates, so that a C1 control sent as one byte is still seen as one."""
    if type(raw) is str:
        return raw
    if raw is None:
        return ""
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes | bytearray) else str(raw)


def _fitted(cut: Callable[[int], str], limit: int) -> Clean:
    """The result of ``cut``, redacted, within ``limit``.

    A cut can make a secret's shape out of something longer, and redacting that can make the text longer again;
    only text that is both short enough and free of secrets is stable when it is admitted again.
    """
    from unstuck.text._redact import PLACEHOLDER, redact

    room = limit
    while len(text := redact(cut(room))) > limit:
        room -= len(PLACEHOLDER)
    return Clean(text)
