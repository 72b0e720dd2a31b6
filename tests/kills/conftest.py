"""The scripted run as a module, for tests that work it in their own process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).with_name("scripted_run.py")


@pytest.fixture(scope="session")
def scripted() -> Iterator[ModuleType]:
    """``scripted_run.py``, imported."""
    spec = importlib.util.spec_from_file_location("scripted_run", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scripted_run"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["scripted_run"]
