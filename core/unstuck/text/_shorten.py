"""Shortening: text is cut in its middle with a marker, because errors are at either end."""

from __future__ import annotations

_LONGEST_WORD = 4_096
_WORTH_A_MARKER = 16


def shorten(text: str, limit: int) -> str:
    """``text``, or its head and tail around ``… N characters left out …``, at most ``limit`` characters."""
    if len(text) <= limit:
        return text
    middle = len(text) // 2
    return join(text[:middle], text[middle:], 0, limit)


def clip(text: str, limit: int) -> str:
    """``text``, or its beginning and an ellipsis, at most ``limit`` characters."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rstrip() + "…" if limit > 0 else ""


def join(head: str, tail: str, missing: int, limit: int) -> str:
    """The two ends of a text that lacks ``missing`` characters between them, at most ``limit`` characters."""
    total = len(head) + len(tail)
    if not missing and total <= limit:
        return head + tail
    room = limit - len(_marker(missing + total))
    if room < _WORTH_A_MARKER:
        return clip(f"{head}…{tail}" if missing else head + tail, limit)
    from_tail = min(len(tail), room // 2)
    from_head = min(len(head), room - from_tail)
    from_tail = min(len(tail), room - from_head)
    marker = _marker(missing + total - from_head - from_tail)
    return head[:from_head] + marker + tail[len(tail) - from_tail :]


def ends(text: str, bound: int) -> tuple[str, str, int]:
    """Return head, tail and the number of dropped characters between them; the tail is empty if none were.

    Words at the cut are dropped whole, because half a secret cannot be recognised.
    """
    if len(text) <= bound:
        return text, "", 0
    half = bound // 2
    head, tail = text[:half], text[len(text) - half :]
    head = head[: _last_blank(head)]
    tail = tail[_first_blank(tail) :]
    return head, tail, len(text) - len(head) - len(tail)


def _marker(count: int) -> str:
    return f" … {count} characters left out … "


def _last_blank(text: str) -> int:
    at = max(text.rfind(" ", -_LONGEST_WORD), text.rfind("\n", -_LONGEST_WORD))
    return at if at >= 0 else len(text)


def _first_blank(text: str) -> int:
    found = [at for at in (text.find(" ", 0, _LONGEST_WORD), text.find("\n", 0, _LONGEST_WORD)) if at >= 0]
    return min(found, default=0)
