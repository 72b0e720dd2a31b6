"""Other programs beside ours in one run: ``python -m tests.compare peers``.

They are installed into ``build/peers``. What cannot be installed is named, and nothing is said about it.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.detection.test_loop_corpus import cases, fires

from unstuck import __version__
from unstuck.clock import SystemClock
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

TOP = Path(__file__).resolve().parents[2]
VENV = TOP / "build" / "peers"
PACKAGES = {"unwedge": "0.2.0", "loopguard": "0.2.0", "agent-loop-guard": "0.1.1", "stepback": "0.2.0"}
FOLDERS, ROUNDS = 100, 9
_OTHER = Path(__file__).with_name("peer_detectors.py")
_IDENTITY = {f"GIT_{role}_{what}": "c@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def compare() -> int:
    """Print the tables."""
    print(f"unstuck {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores")
    there = [name for name in PACKAGES if _installed(name)]
    if len(there) < len(PACKAGES):
        print(f"cannot be installed here: {', '.join(sorted(PACKAGES.keys() - set(there)))}")
        return 1
    _print_loops()
    _print_checkpoints()
    return 0


def _installed(name: str) -> bool:
    if not VENV.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    install = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet", f"{name}=={PACKAGES[name]}"]
    return subprocess.run(install, stderr=subprocess.DEVNULL).returncode == 0


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


def _print_loops() -> None:
    histories = [*cases(), *cases("more_loops")]
    loops = {case["id"] for case in histories if case["expect"] == "loop"}
    given = json.dumps({case["id"]: _calls(case) for case in histories})
    done = subprocess.run([VENV / "bin" / "python", _OTHER, "loops"], input=given, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found = {name: set(ids) for name, ids in json.loads(done.stdout).items()}
    found = {"unstuck": {case["id"] for case in histories if fires(case)}, **found}
    print(f"\n{len(histories)} histories, {len(loops)} of them loops")
    print(f"{'detector':<26}{'loops found':>12}{'false alarms':>14}")
    for name, ids in found.items():
        shown = f"{name} {PACKAGES.get(name, __version__)}"
        print(f"{shown:<26}{len(ids & loops):>12}{len(ids - loops):>14}")


def _print_checkpoints() -> None:
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
        command = [VENV / "bin" / "python", _OTHER, "checkpoint", root, str(ROUNDS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | _IDENTITY)
        times[f"stepback {PACKAGES['stepback']}"] = [float(line) for line in done.stdout.split()]
    print(f"\ncheckpoint of {FOLDERS * 20:,} files, {FOLDERS} changed, median of {ROUNDS}")
    for name, measured in times.items():
        print(f"{name:<26}{statistics.median(measured):>9.0f} ms")


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env=os.environ | _IDENTITY)
