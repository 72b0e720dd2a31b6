"""One line of a dialog's choices. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Listed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A choice by its ``name``: its ``key`` as people write it, what it ``touches``; ``refused``: why it cannot be."""

    name: str
    key: str
    label: str
    touches: str
    refused: str = ""
