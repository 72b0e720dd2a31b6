"""Times, durations, costs and amounts of bytes in words. Pure, and light: commands that only look use it as well."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from unstuck.text import one_line

_MOST = 1e12


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


def ago(time: str, now: float) -> str:
    """An ISO 8601 time seen from ``now`` (seconds since 1970): ``12s ago``, ``5 d ago``, after a month the date.

    Empty for anything else.
    """
    try:
        then = datetime.fromisoformat(time)
        seconds = max(0, int(now - then.timestamp()))
    except (ValueError, OverflowError):
        return ""
    for most, unit, word in ((60, 1, "s"), (3600, 60, " min"), (86_400, 3600, " h"), (2_592_000, 86_400, " d")):
        if seconds < most:
            return f"{seconds // unit}{word} ago" if seconds else "now"
    return then.astimezone().date().isoformat()


class Spent(Protocol):
    """Figures of what agents have used."""

    @property
    def tokens(self) -> int: ...
    @property
    def cost(self) -> float | None: ...


def spent_of(used: Spent) -> str:
    """The agents' own figures of what they used: dollars, else tokens; empty where there are none."""
    if used.cost:
        return f"${used.cost:,.2f}" if used.cost >= 0.01 else "<$0.01"
    return tokens_of(used.tokens)


def limit_of(kind: str, amount: float) -> str:
    """An amount of a budget: ``1.6 s`` or ``2m 10s``, ``$0.12``, ``1,200 tokens``."""
    if not abs(amount) < _MOST:  # a log may also say what is no number
        return f"{amount:g} {kind}"
    if kind == "time":
        return f"{round(amount, 1):g} s" if amount < 10 else span(amount)
    if kind == "cost":
        return f"${amount:,.2f}" if amount >= 0.01 or not amount else f"${amount:.2g}"
    return f"{int(amount):,} {kind}"


def used_of(kind: str, used: float, limit: float) -> str:
    """The used part of a budget: ``1.6 s of 2 s``, ``$0.12 of $5.00``, ``1,200 of 2,000 tokens``."""
    return f"{limit_of(kind, used).removesuffix(f' {kind}')} of {limit_of(kind, limit)}"


def tokens_of(tokens: int) -> str:
    """A number of tokens in words; empty without any."""
    if tokens >= 1_000_000:
        return f"{tokens / 1e6:,.1f}M tokens"
    if tokens >= 1_000:
        return f"{tokens / 1e3:,.1f}k tokens"
    return f"{tokens} tokens" if tokens else ""


def sized(size: int) -> str:
    """An amount of bytes: ``42 B``, ``1.5 KiB``, ``12 MiB``."""
    amount, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"


def time_of_day(time: str, *, seconds: bool = False) -> str:
    """An ISO 8601 time as hours and minutes (and ``seconds``) where the person is; its own digits if it is damaged."""
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%H:%M:%S" if seconds else "%H:%M") if time else ""
    except (ValueError, OverflowError):
        return one_line(time[11 : 19 if seconds else 16])


def clock_time(time: str) -> str:
    """An ISO 8601 time as the time of day where the person is, with its zone: ``14:30:05+01``, ``13:30:05Z``.

    ``--since`` reads it. Anything else gives the place of the time in it, as far as it has one.
    """
    try:
        return _zoned(datetime.fromisoformat(time), "%H:%M:%S")
    except (ValueError, OverflowError):
        return one_line(time[11:19])


def day_time(time: str, *, seconds: bool = False) -> str:
    """An ISO 8601 time as day and time where the person is: ``11-22 08:30``; a dash for anything else."""
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%m-%d %H:%M:%S" if seconds else "%m-%d %H:%M")
    except (ValueError, OverflowError):
        return "-"


def full_time(time: str) -> str:
    """An ISO 8601 time as date and time where the person is, with its zone: ``2026-11-22 14:30:05+01``."""
    try:
        return _zoned(datetime.fromisoformat(time), "%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return one_line(time)


def _zoned(then: datetime, form: str) -> str:
    here = then.astimezone()
    zone = here.strftime("%z")
    hours, minutes = zone[:3], zone[3:]
    return here.strftime(form) + ("Z" if zone == "+0000" else f"{hours}:{minutes}" if minutes != "00" else hours)
