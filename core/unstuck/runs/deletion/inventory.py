"""Inventory of a deletion: what it would destroy, in counts and bytes, and what blocks it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

Kind = Literal[
    "processes", "gates", "hooks", "servers", "worktrees", "branches", "checkpoints", "socket", "memory", "state",
    "logs",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The order of deletion: event logs last, because they lead to the rest."""


class Item(BaseModel):
    """Item to delete: its ``name``, the ``count`` of its parts and their ``size`` in bytes.

    ``holds`` describes work in it that exists nowhere else; empty without any.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    kind: Kind
    name: str
    run: str = ""
    count: int = 1
    size: int = 0
    holds: str = ""


class Stays(BaseModel):
    """Item that stays, and the reason."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    name: str
    reason: str


class Inventory(BaseModel):
    """All items of a project, or of one ``run``. A person types ``name`` to confirm.

    ``live`` is the live run; ``blocked`` has the reasons that forbid a deletion.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    name: str
    run: str = ""
    items: tuple[Item, ...] = ()
    stays: tuple[Stays, ...] = ()
    blocked: tuple[str, ...] = ()
    live: str = ""

    @property
    def holding(self) -> tuple[Item, ...]:
        """Items with work that exists nowhere else."""
        return tuple(item for item in self.items if item.holds)

    def totals(self) -> tuple[tuple[Kind, int, int], ...]:
        """Return the count and the bytes of each kind that has items."""
        return tuple((kind, *_sums(found)) for kind in KINDS if (found := self.of(kind)))

    def of(self, kind: Kind) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.kind == kind)


def _sums(items: Iterable[Item]) -> tuple[int, int]:
    found = list(items)
    return sum(item.count for item in found), sum(item.size for item in found)
