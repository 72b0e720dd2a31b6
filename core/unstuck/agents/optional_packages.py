"""Optional packages of agents, each an extra of unstuck: imported only when an agent needs it."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unstuck.errors import AgentNotFound, UsageError

_SDK = "claude_agent_sdk"


def install_words(extra: str) -> str:
    """Return how to install ``extra`` of unstuck: from its checkout, since no package index has it."""
    return f'in the checkout of unstuck: pip install ".[{extra}]" (or uv tool install, pipx install, with --force)'


def require_acp() -> None:
    """Raise AgentNotFound with the command to install the ``acp`` package if it is missing."""
    if find_spec("acp") is None:
        raise AgentNotFound(f"the Agent Client Protocol's package is not installed: {install_words('acp')}")


def has_mcp() -> bool:
    """Return whether the ``mcp`` package is installed."""
    return find_spec("mcp") is not None


def require_mcp() -> None:
    """Raise UsageError if the ``mcp`` package is missing."""
    if not has_mcp():
        raise UsageError(f"the Model Context Protocol needs the package mcp: {install_words('mcp')}")


def require_sdk() -> Path:
    """Return the folder of the Claude Agent SDK without importing it. Raises AgentNotFound."""
    found = find_spec(_SDK)
    if found is None or found.origin is None:
        raise AgentNotFound(f"the Claude Agent SDK is not installed: {install_words('claude')}")
    return Path(found.origin).parent


def sdk() -> Any:
    """Return the Claude Agent SDK. Raises AgentNotFound."""
    require_sdk()
    try:
        return importlib.import_module(_SDK)
    except ImportError as error:
        raise AgentNotFound(f"the Claude Agent SDK cannot be imported: {error}") from None


def sdk_program(name: str, environ: Mapping[str, str]) -> str:
    """Return the program for the SDK: the user's own on PATH, else the one bundled with the package."""
    if "/" in name or shutil.which(name, path=environ.get("PATH")):
        return name
    bundled = require_sdk() / "_bundled" / name
    return str(bundled) if bundled.is_file() else name
