"""How much is looked at of a text of any length: its head and its tail."""

from __future__ import annotations

__all__ = ["HEAD_LIMIT", "TAIL_LIMIT", "ends_of"]

HEAD_LIMIT = 16 * 1024
TAIL_LIMIT = 64 * 1024


def ends_of(output: str | bytes) -> str:
    """``output`` as text where it is short, else its head and its tail; half lines at the cut are dropped."""
    if len(output) <= HEAD_LIMIT + TAIL_LIMIT:
        return _text(output)
    head, tail = _text(output[:HEAD_LIMIT]), _text(output[-TAIL_LIMIT:])
    return "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))


def _text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")
