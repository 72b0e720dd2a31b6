"""Rows of a list that pass a filter, in an order, with those of a group together and folded groups as one row. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from unstuck_tui.render.tasks.sorting import matches

Row = TypeVar("Row")


class Order(NamedTuple):
    """An order in words. ``key`` is None for that in which the rows were read; ``descends``: the greatest first."""

    name: str
    key: Callable[[Any], Any] | None = None
    descends: bool = False


@dataclass(frozen=True, slots=True)
class Listed(Generic[Row]):
    """A row that is shown. ``others`` follow it in its group, ``hidden`` of them folded; a member leads none."""

    row: Row
    group: str = ""
    is_member: bool = False
    others: int = 0
    hidden: int = 0

    @property
    def sign(self) -> str:
        """The sign before the first row of a group: it is folded, or can be."""
        return "▸" if self.hidden else "▾" if self.others else ""


def listing(
    rows: Sequence[Row],
    *,
    words: str = "",
    text: Callable[[Row], str] = str,
    order: Order | None = None,
    group: Callable[[Row], str] = lambda row: "",
    folded: Collection[str] = (),
) -> list[Listed[Row]]:
    """The rows to show; the groups come in the order of their first rows. Rows of group "" stand alone."""
    found = [row for row in rows if matches(words, text(row))] if words else list(rows)
    if order is not None and order.key is not None:
        found.sort(key=order.key, reverse=order.descends)
    groups: dict[str, list[Row]] = {}
    for place, row in enumerate(found):
        groups.setdefault(group(row) or f"\n{place}", []).append(row)
    shown: list[Listed[Row]] = []
    for name, (first, *others) in groups.items():
        name = name if not name.startswith("\n") else ""
        is_folded = bool(others) and name in folded
        shown.append(Listed(first, name, others=len(others), hidden=len(others) if is_folded else 0))
        shown += [] if is_folded else [Listed(row, name, is_member=True) for row in others]
    return shown
