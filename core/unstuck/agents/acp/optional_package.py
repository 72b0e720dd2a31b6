"""The protocol's package, an optional extra: imported only when an agent needs it."""

from __future__ import annotations

from importlib.util import find_spec

from unstuck.errors import AgentNotFound

__all__ = ["require_package"]


def require_package() -> None:
    """Raise AgentNotFound, with what to do about it, where it is not installed."""
    if find_spec("acp") is None:
        raise AgentNotFound('the Agent Client Protocol\'s package is not installed: pip install "unstuck[acp]"')
