"""Head and tail of a text: the bounded part that is parsed."""

from __future__ import annotations

HEAD_LIMIT = 16 * 1024
TAIL_LIMIT = 64 * 1024


def as_text(raw: object) -> str:
    """Return a text as it is, bytes decoded, what an object such as an exception says, or nothing of None.

    Never raises.
    """
    if isinstance(raw, str):
        return raw
    if isinstance(raw, (bytes, bytearray, memoryview)):
        return bytes(raw).decode("utf-8", "replace")
    try:
        return "" if raw is None else str(raw)
    except Exception:  # such as an exception whose own __str__ is broken
        return type(raw).__name__


def ends_of(output: object) -> str:
    """Return ``output`` as text where it is short, else its head and tail without the half lines at the cut."""
    whole = output if isinstance(output, (str, bytes)) else as_text(output)
    if len(whole) <= HEAD_LIMIT + TAIL_LIMIT:
        return as_text(whole)
    head, tail = as_text(whole[:HEAD_LIMIT]), as_text(whole[-TAIL_LIMIT:])
    return "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))
