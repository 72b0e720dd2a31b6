"""What a deletion would destroy, in numbers and bytes, and what stands in its way. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["KINDS", "Inventory", "Item", "Kind", "Stays"]

Kind = Literal[
    "processes",
    "gates",
    "hooks",
    "servers",
    "worktrees",
    "branches",
    "checkpoints",
    "socket",
    "memory",
    "state",
    "logs",
]
KINDS: tuple[Kind, ...] = (
    "processes", "gates", "hooks", "servers", "worktrees", "branches", "checkpoints", "socket", "memory", "state",
    "logs",
)  # fmt: skip
"""In the order in which they go: the event log of a run last, because it is how the rest is found again."""


class Item(BaseModel):
    """One thing of ours. ``name`` says which; ``count`` how many there are of it, ``size`` how many bytes they take.

    ``holds`` says what is in it that exists nowhere else; empty where nothing is.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    kind: Kind
    name: str
    run: str = ""
    count: int = 1
    size: int = 0
    holds: str = ""


class Stays(BaseModel):
    """Something that is left where it is, and why."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    name: str
    reason: str


class Inventory(BaseModel):
    """Everything of ours in a project, or of one ``run`` of it. ``name`` is what a person types to say yes.

    ``live`` is the run that is live now; ``blocked`` says why nothing may be deleted as things stand.
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
        """What holds work that exists nowhere else."""
        return tuple(item for item in self.items if item.holds)

    def totals(self) -> tuple[tuple[Kind, int, int], ...]:
        """For each kind of which there is anything: how many, and how many bytes."""
        return tuple((kind, *_sums(found)) for kind in KINDS if (found := self.of(kind)))

    def of(self, kind: Kind) -> tuple[Item, ...]:
        """The items of one kind."""
        return tuple(item for item in self.items if item.kind == kind)


def _sums(items: Iterable[Item]) -> tuple[int, int]:
    found = list(items)
    return sum(item.count for item in found), sum(item.size for item in found)
