"""How long something took, in words. Pure, and light: commands that only look use it as well."""

from __future__ import annotations

__all__ = ["span"]


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
