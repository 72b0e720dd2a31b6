"""Times and sizes in words. Pure, and light: commands that only look use it as well."""

from __future__ import annotations

__all__ = ["bytes_words", "span"]


def span(seconds: float) -> str:
    """How long something took or lasts: ``8s``, ``2m 10s``, ``1h 05m``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, left = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m {left:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m"


def bytes_words(size: int) -> str:
    """An amount of bytes for people: ``42 B``, ``1.5 KiB``, ``12 MiB``."""
    amount, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
