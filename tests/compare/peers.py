"""Other programs beside ours in one run: ``python -m tests.compare peers``.

Each is installed into a folder of its own in ``build/peers``, with the newest Python there is, because some need 3.12.
One that cannot be installed is named, and nothing is said about it.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.compare.peer_detectors import DETECTORS
from tests.compare.peer_screens import MINIMAL, SCREENS, Shown, shown
from tests.detection.test_loop_corpus import cases, fires

import unstuck
from unstuck import __version__
from unstuck.clock import SystemClock
from unstuck.testing import Part, Rehearsal, load_scenario
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

TOP = Path(__file__).resolve().parents[2]
PEERS = TOP / "build" / "peers"
PACKAGES = {
    "unwedge": "0.2.0", "openhands-sdk": "1.58.0", "loopguard": "0.2.0", "loopguard-runtime": "0.2.1",
    "loop-guardrail": "1.0.0", "agent-loop-guard": "0.1.1", "savi-loop-guard": "0.1.0", "agentguard47": "2.0.0",
    "agent-supra": "1.1.1", "stepback": "0.2.0", "tracon": "0.3.0", "lazyagent": "0.8.0",
}  # fmt: skip
FOLDERS, ROUNDS = 100, 9
PAST = (10, 100)
"""Numbers of past calls of a session at which a hook is measured."""
_PAST_TASKS = ("succeeds-at-once", "fixed-on-a-retry", "fixed-by-a-pivot")
_ONE_TASK = ("run", "--check", "true", "--", "sleep", "60")
_UNSTUCK = Path(sys.executable).with_name("unstuck")
_OTHER = Path(__file__).with_name("peer_detectors.py")
_IDENTITY = {f"GIT_{role}_{what}": "c@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def _newest() -> str:
    """The newest Python there is; a name on PATH may stand for one that is not installed."""
    found = filter(None, map(shutil.which, ("python3.13", "python3.12")))
    return next(
        (one for one in found if not subprocess.run([one, "-c", ""], stderr=subprocess.DEVNULL).returncode),
        sys.executable,
    )


PYTHON = _newest()


def compare() -> int:
    """Print the tables."""
    version = subprocess.run([PYTHON, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"unstuck {__version__} with Python {platform.python_version()}; the others with {version}; {git}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    there = {name for name in PACKAGES if _installed(name)}
    if lacking := sorted(PACKAGES.keys() - there):
        print(f"cannot be installed here: {', '.join(lacking)}")
    _print_loops([name for name in DETECTORS if name in there])
    _print_checkpoints(there)
    _print_hooks(there)
    _print_screens([name for name in SCREENS if name in there])
    return 0


def _installed(name: str) -> bool:
    place, wanted = PEERS / name, f"{name}=={PACKAGES[name]}"
    if (place / ".version").exists() and (place / ".version").read_text("utf-8") == wanted:
        return True
    shutil.rmtree(place, ignore_errors=True)
    install = [PYTHON, "-m", "pip", "install", "--quiet", "--target", str(place), wanted]
    if subprocess.run(install, stderr=subprocess.DEVNULL).returncode:
        return False
    (place / ".version").write_text(wanted, "utf-8")
    return True


def environment(name: str) -> dict[str, str]:
    """The environment in which the other Python finds the program ``name``."""
    return {**os.environ, **_IDENTITY, "PYTHONPATH": str(PEERS / name), "OPENHANDS_SUPPRESS_BANNER": "1"}


def _named(name: str) -> str:
    return f"{name} {PACKAGES.get(name, __version__)}"


def _calls(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The history as calls, each with its result; a failure without a call is a call of the approach."""
    calls: list[dict[str, Any]] = []
    for event in case["events"]:
        call = {
            "tool": event.get("tool", "bash"),
            "command": event.get("approach") or "",
            "output": "",
            "failed": False,
        }
        if event["kind"] == "action":
            calls.append(call | {"command": event["text"]})
        elif event["kind"] in ("success", "failure"):
            if not calls or calls[-1]["output"]:
                calls.append(call)
            calls[-1] |= {"output": event["text"] or "-", "failed": event["kind"] == "failure"}
    return calls


def _print_loops(names: list[str]) -> None:
    histories = [*cases(), *cases("more_loops")]
    loops = {case["id"] for case in histories if case["expect"] == "loop"}
    given = json.dumps({case["id"]: _calls(case) for case in histories})
    found = {"unstuck": {case["id"] for case in histories if fires(case)}}
    for name in names:
        command = [PYTHON, str(_OTHER), "loops", name]
        done = subprocess.run(command, input=given, capture_output=True, text=True, env=environment(name))
        if done.returncode:
            raise SystemExit(done.stderr)
        found[name] = set(json.loads(done.stdout.splitlines()[-1]))
    print(f"\n{len(histories)} histories, {len(loops)} of them loops")
    print(f"{'detector':<26}{'loops found':>12}{'false alarms':>14}")
    for name, ids in found.items():
        print(f"{_named(name):<26}{len(ids & loops):>12}{len(ids - loops):>14}")


def _print_checkpoints(there: set[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch, asyncio.Runner() as loop:
        root = Path(scratch)
        for folder in range(FOLDERS):
            (root / f"part_{folder}").mkdir()
            for number in range(20):
                (root / f"part_{folder}" / f"file_{number}.py").write_text(
                    f"NUMBER = {number}\n" * 20, encoding="utf-8"
                )
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Start"]):
            _git(root, *command)
        repository = loop.run(find_repository(root))
        store = CheckpointStore(root, project_home(root, repository), repository, clock=SystemClock())
        times: dict[str, list[float]] = {"unstuck": [], "git stash create": []}
        for turn in range(ROUNDS + 1):
            for name in times:
                for folder in range(FOLDERS):
                    (root / f"part_{folder}" / "file_0.py").write_text(f"{name} {turn}\n", encoding="utf-8")
                began = time.perf_counter()
                if name == "unstuck":
                    loop.run(store.create("compare", run="compare"))
                else:
                    _git(root, "stash", "create")
                times[name] += [1e3 * (time.perf_counter() - began)] if turn else []
        if "stepback" in there:
            command = [PYTHON, str(_OTHER), "checkpoint", str(root), str(ROUNDS)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment("stepback"))
            times["stepback"] = [float(line) for line in done.stdout.split()]
    print(f"\ncheckpoint of {FOLDERS * 20:,} files, {FOLDERS} changed, median of {ROUNDS}")
    for name, measured in times.items():
        print(f"{name if ' ' in name else _named(name):<26}{statistics.median(measured):>9.0f} ms")


def _print_hooks(there: set[str]) -> None:
    """A process for each call, as Claude Code starts it after a tool: how long it waits for it."""
    hook = [sys.executable, "-IS", str(Path(unstuck.__file__).parent / "agents" / "forwarder.py"), "claude"]
    print(f"\nhook after so many tool calls of a session: time and CPU, median of {ROUNDS}")
    print(f"{'program':<34}{''.join(f'{past:>10}       CPU' for past in PAST)}")
    _print_hook("python -S -c pass", [sys.executable, "-S", "-c", "pass"], dict(os.environ))
    _print_hook(f"{_named('unstuck')}, no run", hook, {**os.environ, "UNSTUCK_RUNTIME_DIR": "/nowhere"})
    with _watching() as (watched, root):
        _print_hook(f"{_named('unstuck')}, watching", hook, watched, root)
    if "unwedge" in there:
        _print_hook(_named("unwedge"), [PYTHON, "-m", "unwedge", "hook"], environment("unwedge"))


def _print_hook(name: str, command: list[str], environ: dict[str, str], folder: Path | None = None) -> None:
    with tempfile.TemporaryDirectory() as home:
        times, cwd = [], str(folder or home)
        for number in range(max(PAST) + ROUNDS):
            call = {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "cwd": cwd}
            call |= {"tool_input": {"command": f"cat file_{number}"}, "tool_response": {"stdout": f"text {number}"}}
            began, before = time.perf_counter(), os.times()
            subprocess.run(
                command,
                input=json.dumps(call).encode(),
                capture_output=True,
                check=True,
                cwd=cwd,
                env={**environ, "HOME": home},
            )
            after = os.times()
            spent = after.children_user + after.children_system - before.children_user - before.children_system
            times.append((1e3 * (time.perf_counter() - began), 1e3 * spent))
    told = ""
    for past in PAST:
        waited, used = (statistics.median(value) for value in zip(*times[past : past + ROUNDS], strict=True))
        told += f"{waited:>7.0f} ms{used:>7.0f} ms"
    print(f"{name:<34}{told}")


@contextmanager
def _watching() -> Iterator[tuple[dict[str, str], Path]]:
    """A live ``unstuck watch`` in a repository of its own: the environment and the directory of its hooks."""
    with tempfile.TemporaryDirectory(dir="/tmp") as scratch:
        root = Path(scratch) / "project"
        root.mkdir()
        _git(root, "init", "-q")
        environ = {**os.environ, "UNSTUCK_RUNTIME_DIR": scratch, "PYTHONUNBUFFERED": "1"}
        command = [str(_UNSTUCK), "watch", "--headless"]
        with subprocess.Popen(command, cwd=root, env=environ, stdout=subprocess.PIPE, text=True) as watch:
            assert watch.stdout is not None
            assert any("watching" in line for line in watch.stdout)
            try:
                yield environ, root
            finally:
                watch.terminate()
                watch.communicate()


def _print_screens(names: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as scratch:
        home, root = Path(scratch) / "home", Path(scratch) / "project"
        home.mkdir()
        root.mkdir()
        for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Start"]):
            _git(root, *command)
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "UNSTUCK_RUNTIME_DIR": scratch}
        past = Rehearsal.prepare(
            [Part(name, load_scenario(name)) for name in _PAST_TASKS], Path(scratch) / "demo", speed=50, environ=environ
        )
        asyncio.run(past.run())
        unstuck = str(_UNSTUCK)
        rows: list[tuple[str, list[str], str, Path, dict[str, str]]] = [
            ("a Textual app of one word", [sys.executable, "-c", MINIMAL], "HELLO", root, environ),
            (f"{_named('unstuck')} watch, empty", [unstuck, "watch"], "q quit", root, environ),
            (f"{_named('unstuck')} run, 1 task", [unstuck, *_ONE_TASK], "queued", root, environ),
            (
                f"{_named('unstuck')} replay, 3 tasks",
                [unstuck, "replay", "last"],
                _PAST_TASKS[-1],
                past.project,
                environ,
            ),
        ]
        for name in names:
            arguments, words = SCREENS[name]
            started = [PYTHON, str(PEERS / name / "bin" / name), *arguments]
            rows.append((_named(name), started, words, root, {**environ, "PYTHONPATH": str(PEERS / name)}))
        print(f"\nfirst frame in a terminal of 120 by 40, CPU until then, and memory 2 s later, median of {ROUNDS}")
        found: dict[str, list[Shown]] = {name: [] for name, *_ in rows}
        for turn in range(ROUNDS + 1):
            for name, started, words, folder, variables in rows:
                one = shown(started, words, folder=folder, environ=variables)
                found[name] += [one] if turn else []
        for name, each in found.items():
            frame, cpu, memory = (statistics.median(value) for value in zip(*each, strict=True))
            print(f"{name:<34}{frame:>7.2f} s{cpu:>9.2f} s CPU{memory / 2**20:>9.0f} MiB")


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env=os.environ | _IDENTITY)
