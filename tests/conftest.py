"""Fixtures of every test: an isolated home, a short runtime directory, a real repository and a clock of its own."""

from __future__ import annotations

import compileall
import faulthandler
import fcntl
import gc
import importlib.util
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from tests.manual_clock import ManualClock

from unstuck.processes import Process, orphans
from unstuck_tui.cli import main

# A shared machine is slow at times: that is no failure of what is tested.
hypothesis_settings.register_profile(
    "unstuck",
    max_examples=int(os.environ.get("UNSTUCK_EXAMPLES", "50")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("unstuck")

# Importing some thousand tests, and painting screens, makes much and little of it is garbage in a circle.
gc.set_threshold(10_000, 10, 10)

# Every worker reads every test module and its plugins: compiled once is enough.
sys.dont_write_bytecode = False

TOP = Path(__file__).resolve().parents[1]
LONG = ("tests/rehearsal/", "tests/kills/", "tests/architecture/", "tests/deletion/", "tests/screen/terminal/")
"""Directories whose tests wait long for processes, or for many of them."""

KINDS = {
    "unit": (
        "detection/", "diagnosis/", "escalation/", "render/", "runs/", "seeds/", "settings/", "text/",
        "acp/test_acp_updates", "agents/test_presets", "agents/test_prompting", "agents/test_signals",
        "agents/test_streams", "hooks/test_claude_hooks", "hooks/test_dialects", "hooks/test_settings_text",
        "eventlog/test_envelope", "eventlog/test_fold", "eventlog/test_golden_log",
        "eventlog/test_attention_stats", "eventlog/test_record_reader", "supervision/test_handler",
        "supervision/test_liveness", "supervision/test_reconstruction", "supervision/test_steps",
    ),
    "integration": (
        "", "diagnosis/test_bounded_input", "diagnosis/test_fresh_runs", "escalation/test_answers_in_later_prompts",
        "escalation/test_repeated_approaches", "seeds/test_output_traces",
    ),
    "cli": ("e2e/",),
    "screen": ("screen/",),
    "terminal": ("screen/terminal/",),
    "crash": ("kills/",),
    "agents": ("real_agents/",),
    "browser": ("browser/",),
}  # fmt: skip
"""Each kind of test, a marker, with the folders and files that hold it; the longest that fits counts."""

KIND_OF = {place: kind for kind, places in KINDS.items() for place in places}

LONGEST_END = 120.0
"""Seconds that the end of a failed test may take."""

FORKED = ("unstuck", "unstuck-hook", sys.executable)
"""The programs that ``forking.py`` can become."""

SHORT = "/dev/shm" if tempfile.gettempdir() == "/dev/shm" else "/tmp"
# The last six change what pytest and other tools print.
INHERITED = (
    "GIT_", "UNSTUCK_", "XDG_", "PYTHONPATH",
    "PYTEST_ADDOPTS", "CI", "BUILD_NUMBER", "NO_COLOR", "FORCE_COLOR", "COLUMNS",
)  # fmt: skip
KEPT = ("UNSTUCK_KILLS", "UNSTUCK_EVENTS", "UNSTUCK_TREES")


def pytest_configure(config: pytest.Config) -> None:
    """Compile our modules before hundreds of short processes import them."""
    if not hasattr(config, "workerinput"):
        for package in ("core", "tui"):
            compileall.compile_dir(TOP / package, quiet=1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that short ones fill the end for every worker."""
    for item in items:
        path = item.path.relative_to(TOP / "tests").as_posix()
        item.add_marker(KIND_OF[max((place for place in KIND_OF if path.startswith(place)), key=len)])
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_collection_finish() -> None:
    """Keep imported modules out of garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(call: pytest.CallInfo[Any]) -> None:
    """A test that has failed is not timed any more, for a debugger's sake: an end that never comes is ended here."""
    if call.when == "call":
        faulthandler.dump_traceback_later(LONGEST_END, exit=True)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """It has come to its end."""
    faulthandler.cancel_dump_traceback_later()


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
    monkeypatch.setenv("TZ", "UTC")
    # A check that runs twice within a second must not meet the bytecode of the source that an agent has just changed.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    # The projects that are worked on have pytest and none of the plugins that we test with.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]))
    yield home
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(autouse=True)
def unit_starts_nothing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that is marked as ``unit`` fails as soon as it starts a process."""

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a unit test starts no process: see KINDS in tests/conftest.py")

    if request.node.get_closest_marker("unit"):
        monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
        monkeypatch.setattr(socket, "send_fds", refuse)


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


@pytest.fixture
def deaf_ended_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is deaf to being asked to end is asked for a short time only, before it is killed."""
    monkeypatch.setattr(Process.stop, "__kwdefaults__", {"interrupt": 0.1, "terminate": 0.1})


@pytest.fixture
def deaf_survivors_ended_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is what has outlived its supervisor or its helper."""
    asked, killed = orphans._RUNGS
    monkeypatch.setattr(orphans, "_RUNGS", ((asked[0], 0.3, asked[2]), killed))


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
            patch.setattr("unstuck.processes.process_title.show_as", lambda title: None)
            patch.setattr("gc.freeze", lambda: None)
            try:
                with pytest.raises(SystemExit) as ended:
                    main()
            finally:
                gc.enable()
        out, errors = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
        own = arguments[: arguments.index("--")] if "--" in arguments else arguments
        if "--json" in own:
            fits_its_schema(arguments[0], out)
        return int(ended.value.code or 0), out, errors

    return work


def fits_its_schema(command: str, out: str) -> None:
    """Whatever a command prints with ``--json`` is objects of its published schema."""
    from unstuck.schemas.catalogue import SCHEMAS

    adapter = SCHEMAS[{"verify": "fsck"}.get(command, command)].adapter
    for line in out.splitlines():
        adapter.validate_json(line)


class Forks:
    """The program of which every other one is forked, once the first is asked for."""

    def __init__(self, server: ModuleType) -> None:
        self._server = server
        self._process: subprocess.Popen[bytes] | None = None
        self._environment: dict[str, str] = {}

    def can(self, environment: Mapping[str, str]) -> bool:
        """Return whether a fork equals a start: not if Python itself reads something else at its start."""
        if self._server.CLONE is None:
            return False
        self._environment = self._environment or dict(os.environ)
        names = {name for name in (*environment, *self._environment) if name.startswith(("LANG", "LC_", "PYTHON"))}
        names -= {"PYTHONUNBUFFERED", "PYTHONIOENCODING"}  # which a fork heeds
        return all(environment.get(name) == self._environment.get(name) for name in names)

    def fork(self, streams: list[int], order: Mapping[str, Any]) -> int:
        """A new process with these standard streams; its id."""
        if self._process is None:
            self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            environment = self._environment | {"TEXTUAL_ANIMATIONS": "none"}
            command = [sys.executable, self._server.__file__]
            with theirs:
                self._process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=subprocess.DEVNULL)
        socket.send_fds(self._asking, [json.dumps(order).encode()], streams)
        number = self._asking.recv(32)
        assert number, "it has ended"
        return int(number)

    def end(self) -> None:
        if self._process is not None:
            self._asking.close()
            self._process.wait()


class Forked(subprocess.Popen[Any]):
    """``unstuck`` as a process of its own that was forked: in everything else like one that was started."""

    def __init__(self, forks: Forks, arguments: list[str | bytes], begun: Mapping[str, Any], **options: Any) -> None:
        self._forks, self._begun = forks, begun
        super().__init__(arguments, **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:
        """Fork where the library would start a program; ``rest`` is what it has prepared, the pipes among it."""
        folder, environment = rest[4:6]
        ends = rest[9:15]  # ours and theirs of each stream, -1 where it is not a pipe
        given = [end if end >= 0 else standard for standard, end in enumerate((ends[0], ends[3], ends[5]))]
        order = {
            "arguments": [os.fsdecode(word) for word in args],
            "folder": os.fspath(folder or Path.cwd()),
            "environment": dict(environment),
            **self._begun,
        }
        try:
            self.pid = self._forks.fork(given, order)
            self._child_created = True
        finally:
            self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


Start = Callable[..., subprocess.Popen[Any]]


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """``forking.py`` at work, once it is needed."""
    spec = importlib.util.spec_from_file_location("forking", Path(__file__).with_name("forking.py"))
    assert spec is not None
    assert spec.loader is not None
    server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(server)
    forks = Forks(server)
    yield forks
    forks.end()


@pytest.fixture
def start(forks: Forks) -> Start:
    """``start(*arguments, env=…, cwd=…, stdin=…)`` starts ``unstuck`` as a process of its own: a ``Popen``.

    It is forked from one that has imported everything, where that makes no difference; ``installed`` asks for the
    installed program all the same, ``program`` for another one (``unstuck-hook`` and Python with a script or ``-c`` are
    forked, too), ``terminal`` for a session of which standard input is the terminal, and ``ignored`` names signals that
    whoever starts it has ignored.
    """

    def start(
        *arguments: str | bytes | Path,
        env: Mapping[str, str] | None = None,
        program: str = "unstuck",
        installed: bool = False,
        terminal: bool = False,
        ignored: Sequence[int] = (),
        **options: Any,
    ) -> subprocess.Popen[Any]:
        found = shutil.which(program)
        assert found, f"{program} is not installed"
        environment = dict(os.environ) if env is None else dict(env)
        command = [found, *map(os.fspath, arguments)]
        if not installed and program in FORKED and forks.can(environment):
            return Forked(forks, command, {"terminal": terminal, "ignored": ignored}, env=environment, **options)
        return subprocess.Popen(command, env=environment, preexec_fn=partial(_prepare, terminal, ignored), **options)

    return start


def _prepare(terminal: bool, ignored: Sequence[int]) -> None:
    """As at a terminal: whoever runs the tests in the background hands on that some signals are ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    if terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
