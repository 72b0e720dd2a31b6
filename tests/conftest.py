"""What every test stands on: an isolated home, a short runtime directory, a real repository and a clock of its own."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from unstuck.clock import ManualClock

# A shared machine is slow at times: that is no failure of what is tested.
hypothesis_settings.register_profile("unstuck", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("unstuck")

# Every worker reads every test module and its plugins: compiled once is enough.
sys.dont_write_bytecode = False

TOP = Path(__file__).resolve().parents[1]
INHERITED = ("GIT_", "UNSTUCK_", "XDG_", "PYTEST_ADDOPTS", "PYTHONPATH")
KEPT = ("UNSTUCK_KILLS",)


def pytest_configure(config: pytest.Config) -> None:
    """Compile our modules before hundreds of short processes import them."""
    if not hasattr(config, "workerinput"):
        for package in ("core", "tui"):
            compileall.compile_dir(TOP / package, quiet=1)


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home directory of the test's own; nothing of the user's settings, state or git configuration is seen."""
    for name in list(os.environ):
        if name.startswith(INHERITED) and name not in KEPT:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    # A socket's path holds at most 108 bytes, so this one is not below pytest's own long directory.
    runtime = Path(tempfile.mkdtemp(prefix="u-", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("UNSTUCK_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("UNSTUCK_STATE_DIR", str(home / "state" / "unstuck"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # A check that runs twice within a second must not meet the bytecode of the source that an agent has just changed.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    # The projects that are worked on have pytest and none of the plugins that we test with.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]))
    yield home
    shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real git repository with one commit (``README.md``) on ``main``; the identity comes from the environment."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ann Example")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ann@example.org")
    root = tmp_path / "repo"
    root.mkdir()
    (root / "README.md").write_text("# Example\n", encoding="utf-8")
    for arguments in (("init", "-q", "-b", "main"), ("add", "README.md"), ("commit", "-q", "-m", "Start")):
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture
def clock() -> ManualClock:
    """Time that passes only when the test says so."""
    return ManualClock()
