"""How much of a list of paths an event names."""

from __future__ import annotations

__all__ = ["MOST_NAMED"]

MOST_NAMED = 50
"""So many paths are named; how many there are in all is said beside them."""
