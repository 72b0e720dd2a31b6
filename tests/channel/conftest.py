"""Socket directory of a test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def sockets() -> Path:
    """The test's own runtime directory, whose path is short enough for a socket."""
    return Path(os.environ["UNSTUCK_RUNTIME_DIR"])
