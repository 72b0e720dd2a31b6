"""Head and tail of a text: the bounded part that is parsed."""

from __future__ import annotations

HEAD_LIMIT = 16 * 1024
TAIL_LIMIT = 64 * 1024


def ends_of(output: str | bytes) -> str:
    """Return ``output`` as text where it is short, else its head and tail without the half lines at the cut."""
    if len(output) <= HEAD_LIMIT + TAIL_LIMIT:
        return _text(output)
    head, tail = _text(output[:HEAD_LIMIT]), _text(output[-TAIL_LIMIT:])
    return "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))


def _text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")
