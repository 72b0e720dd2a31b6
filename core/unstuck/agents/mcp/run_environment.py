"""How what an agent starts finds the run that it belongs to: it may work in a tree that is not the project's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from unstuck.channel import socket_path
from unstuck.errors import ChannelError
from unstuck.settings.paths import runtime_dir

__all__ = ["reached"]


def reached(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """What an agent's environment says of the socket of the run whose record is ``folder``; empty where none can be."""
    try:
        return {"UNSTUCK_SOCKET": str(socket_path(runtime_dir(environ), folder.parent.parent))}
    except ChannelError:
        return {}
