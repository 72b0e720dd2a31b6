"""Amounts of bytes in words. Pure."""

from __future__ import annotations

__all__ = ["sized"]


def sized(size: int) -> str:
    """An amount of bytes: ``42 B``, ``1.5 KiB``, ``12 MiB``."""
    amount, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
