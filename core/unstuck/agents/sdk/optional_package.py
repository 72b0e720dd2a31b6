"""The Claude Agent SDK, an optional extra: imported only when an agent needs it."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unstuck.errors import AgentNotFound

__all__ = ["program", "require_sdk", "sdk"]

_NAME = "claude_agent_sdk"
_MISSING = 'the Claude Agent SDK is not installed: pip install "unstuck[claude]"'


def require_sdk() -> Path:
    """Where the package lies, without importing it. Raises AgentNotFound with what to do about it."""
    found = find_spec(_NAME)
    if found is None or found.origin is None:
        raise AgentNotFound(_MISSING)
    return Path(found.origin).parent


def sdk() -> Any:
    """The package itself. Raises AgentNotFound."""
    require_sdk()
    try:
        return importlib.import_module(_NAME)
    except ImportError as error:
        raise AgentNotFound(f"the Claude Agent SDK cannot be imported: {error}") from None


def program(name: str, environ: Mapping[str, str]) -> str:
    """The program that the SDK is to speak with: the user's own on PATH, else the one that came with the package."""
    if "/" in name or shutil.which(name, path=environ.get("PATH")):
        return name
    bundled = require_sdk() / "_bundled" / name
    return str(bundled) if bundled.is_file() else name
