"""The package that the protocol needs, which not everybody has."""

from __future__ import annotations

import importlib.util

from unstuck.errors import UsageError

__all__ = ["EXTRA", "is_possible", "require"]

EXTRA = 'pip install "unstuck[mcp]"'


def is_possible() -> bool:
    """Whether the ``mcp`` package is there."""
    return importlib.util.find_spec("mcp") is not None


def require() -> None:
    """Raise UsageError without the ``mcp`` package."""
    if not is_possible():
        raise UsageError(f"the Model Context Protocol needs the package mcp: {EXTRA}")
