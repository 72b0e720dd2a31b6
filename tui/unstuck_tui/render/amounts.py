"""Durations and costs in words. Pure, and light: commands that only look use it as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unstuck.eventlog.state import RunRow
    from unstuck.eventlog.usage import Usage

__all__ = ["span", "spent_of", "tokens_of"]


def span(seconds: float) -> str:
    """A duration in words: ``8s``, ``2m 10s``, ``1h 05m``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, left = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m {left:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m"


def spent_of(used: RunRow | Usage) -> str:
    """The agents' own figures of what they used: dollars, else tokens; empty where there are none."""
    if used.cost:
        return f"${used.cost:,.2f}" if used.cost >= 0.01 else "<$0.01"
    return tokens_of(used.tokens)


def tokens_of(tokens: int) -> str:
    """A number of tokens in words; empty without any."""
    if tokens >= 1_000_000:
        return f"{tokens / 1e6:,.1f}M tokens"
    if tokens >= 1_000:
        return f"{tokens / 1e3:,.1f}k tokens"
    return f"{tokens} tokens" if tokens else ""
