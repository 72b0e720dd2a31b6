"""What every test stands on: an isolated home, a short runtime directory, a real repository and a clock of its own."""

from __future__ import annotations

import compileall
import gc
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from unstuck.clock import ManualClock
from unstuck_tui.cli import main

# A shared machine is slow at times: that is no failure of what is tested.
hypothesis_settings.register_profile("unstuck", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("unstuck")

# Importing some thousand tests, and painting screens, makes much and little of it is garbage in a circle.
gc.set_threshold(10_000, 10, 10)

# Every worker reads every test module and its plugins: compiled once is enough.
sys.dont_write_bytecode = False

TOP = Path(__file__).resolve().parents[1]
SHORT = "/dev/shm" if tempfile.gettempdir() == "/dev/shm" else "/tmp"
INHERITED = ("GIT_", "UNSTUCK_", "XDG_", "PYTEST_ADDOPTS", "PYTHONPATH")
KEPT = ("UNSTUCK_KILLS", "UNSTUCK_EVENTS", "UNSTUCK_TREES")


def pytest_configure(config: pytest.Config) -> None:
    """Compile our modules before hundreds of short processes import them."""
    if not hasattr(config, "workerinput"):
        for package in ("core", "tui"):
            compileall.compile_dir(TOP / package, quiet=1)


def pytest_collection_finish() -> None:
    """What has been imported stays: a search for garbage need not go through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home directory of the test's own; nothing of the user's settings, state or git configuration is seen."""
    for name in list(os.environ):
        if name.startswith(INHERITED) and name not in KEPT:
            monkeypatch.delenv(name)
    # A socket's path holds at most 108 bytes, so this is not below pytest's own long directory.
    place = Path(tempfile.mkdtemp(prefix="u-", dir=SHORT))
    home, runtime = place / "home", place / "run"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
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
    shutil.rmtree(place, ignore_errors=True)


IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ann Example"), ("EMAIL", "ann@example.org"))
}


@pytest.fixture(scope="session")
def first_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that every test's own one is copied from."""
    root = tmp_path_factory.mktemp("first") / "repo"
    root.mkdir()
    (root / "README.md").write_text("# Example\n", encoding="utf-8")
    nobody = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | IDENTITY
    environment = nobody | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    for arguments in (
        ("init", "-q", "-b", "main", "--template="),
        ("add", "README.md"),
        ("commit", "-q", "-m", "Start"),
    ):
        subprocess.run(["git", *arguments], cwd=root, env=environment, check=True, capture_output=True)
    return root


@pytest.fixture
def repo(first_repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real git repository with one commit (``README.md``) on ``main``; the identity comes from the environment."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    return Path(shutil.copytree(first_repo, tmp_path / "repo", symlinks=True))


@pytest.fixture
def clock() -> ManualClock:
    """Time that passes only when the test says so."""
    return ManualClock()


Inside = Callable[..., tuple[int, str, str]]


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Inside:
    """``inside(directory, *arguments)`` works a command line of ``unstuck`` to its end: exit code, and what it said.

    It is the program's own entry, without the half second that a new interpreter takes to import it; whatever it starts
    is as real as ever. That the installed program starts, and what a signal does to it, is shown in tests/e2e.
    """

    def work(directory: Path, *arguments: str) -> tuple[int, str, str]:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.chdir(directory)
            patch.setattr("sys.argv", ["unstuck", *arguments])
            patch.setattr("sys.stdout", streams[0])
            patch.setattr("sys.stderr", streams[1])
            patch.setattr("unstuck.processes.naming.show_as", lambda title: None)
            patch.setattr("gc.freeze", lambda: None)
            try:
                with pytest.raises(SystemExit) as ended:
                    main()
            finally:
                gc.enable()
        out, errors = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
        return int(ended.value.code or 0), out, errors

    return work
