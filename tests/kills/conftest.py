"""The scripted run as a module, for tests that work it in their own process."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="session")
def forking_runs() -> Iterator[subprocess.Popen[str]]:
    """``forking_runs.py`` at work."""
    command = [sys.executable, str(SCRIPT.with_name("forking_runs.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.communicate()


@pytest.fixture
def forked(forking_runs: subprocess.Popen[str], tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """``forked(*arguments)`` works the scripted run in a process of its own: exit code, and what it printed."""
    said = tmp_path / "said"

    def work(*arguments: str) -> tuple[int, str]:
        order = {"arguments": arguments, "environment": dict(os.environ), "said": str(said)}
        assert forking_runs.stdin is not None
        assert forking_runs.stdout is not None
        print(json.dumps(order), file=forking_runs.stdin, flush=True)
        return int(forking_runs.stdout.readline()), said.read_text(encoding="utf-8")

    return work
