"""Retention of checkpoints by count, age and total size. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of the checkpoints that are kept: number, age in days, bytes in all; ``file_limit`` bytes of one file."""

    count: int = 200
    days: float = 30.0
    size: int = 2 * 2**30
    file_limit: int = 100 * 2**20


class Dated(Protocol):
    """Object with an id and a time in seconds since 1970."""

    @property
    def id(self) -> str: ...

    @property
    def created_at(self) -> float: ...


_Any = TypeVar("_Any", bound=Dated)


def outdated(
    checkpoints: Sequence[_Any], bounds: Bounds, *, now: float, needed: Collection[str], over: bool
) -> tuple[_Any, ...]:
    """Those of ``checkpoints`` (oldest first) to drop; never one that is ``needed``, and never the last.

    A tenth more than must go does, so that not every new one costs a clean-up. ``over`` says that they take too much
    room: then a tenth goes, at least one.
    """
    spare = [checkpoint for checkpoint in checkpoints[:-1] if checkpoint.id not in needed]
    old = sum(now - checkpoint.created_at > bounds.days * _DAY for checkpoint in spare)
    many = len(checkpoints) - bounds.count
    tenth = max(1, len(checkpoints) // 10)
    wanted = max(old, many + tenth - 1 if many > 0 else 0, tenth if over else 0)
    return tuple(spare[:wanted])
