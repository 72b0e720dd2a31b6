"""A run and a watch in one project: both live, each with its own log, questions and sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck
from tests.waiting import PATIENCE

from unstuck.agents import forwarder
from unstuck.eventlog.log.records import read_records

FORWARDER = (sys.executable, forwarder.__file__)
HOOK = {"session_id": "5f5c2f1e-aaaa", "hook_event_name": "UserPromptSubmit", "prompt": "Make the tea"}
AGENT = """\
import json, os, pathlib, subprocess, sys
payload = {"session_id": "own-1", "hook_event_name": "UserPromptSubmit", "prompt": "of the run", "cwd": os.getcwd()}
subprocess.run([sys.executable, sys.argv[1], "claude"], input=json.dumps(payload), text=True, check=True)
pathlib.Path("hooked").write_text("")
"""


@contextmanager
def live(unstuck: Unstuck, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor of its own process, once its first event has been printed."""
    process = unstuck.start(arguments[0], "--json", *arguments[1:], stderr=subprocess.DEVNULL)
    unstuck.until(process, b'"run_started"')
    yield process
    process.terminate()
    process.communicate(timeout=PATIENCE)


def until(unstuck: Unstuck, process: subprocess.Popen[bytes], event: str) -> dict[str, Any]:
    """The next event of this name."""
    line = unstuck.until(process, f'"{event}"'.encode()).splitlines()[-1]
    found: dict[str, Any] = json.loads(line)
    return found


def hook(unstuck: Unstuck, **payload: Any) -> str:
    """A hook call of a session in its own terminal."""
    said = json.dumps({**HOOK, "cwd": str(unstuck.root), **payload})
    done = subprocess.run([*FORWARDER, "claude"], input=said, text=True, capture_output=True, cwd=unstuck.root)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def events(unstuck: Unstuck, kind: str) -> list[str]:
    """The names of the events in the only log of this kind of run."""
    logs = (list(read_records(run / "events.jsonl")) for run in unstuck.runs)
    (found,) = [log for log in logs if (log[0].event.kind == "watch") == (kind == "watch")]  # type: ignore[attr-defined]
    return [record.name for record in found]


def test_a_run_beside_a_watch(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """A run works and asks while a watch is live; a session is the watch's, and each question gets its answer."""
    with live(unstuck, "watch", "--headless") as watching:
        done = unstuck.inside("run", "--headless", "--verify", failing, "--", "true", env=no_climb)
        assert done.code == 3, done.errors
        hook(unstuck)
        until(unstuck, watching, "attempt_started")
        ids = [row["run"] for row in unstuck.inside("runs", "--json").rows]
        assert len(set(ids)) == 2
        gate = next(row["gate"] for row in unstuck.inside("show", ids[1], "--json").rows if "gate" in row)
        assert unstuck.inside("answer", gate, "abandon").code == 0
        assert unstuck.inside("run", "--headless", "--resume", ids[1]).code == 1
        assert watching.poll() is None
    assert "task_added" in events(unstuck, "watch")
    assert "attempt_started" in events(unstuck, "run")


def test_a_watch_beside_a_run(unstuck: Unstuck, tmp_path: Path) -> None:
    """--sessions watches sessions while a run is live; without it the watch is a screen on that run, as ever."""
    go = tmp_path / "go"
    os.mkfifo(go)
    with live(unstuck, "run", "--headless", "--check", "true", "--", "cat", str(go)) as running:
        until(unstuck, running, "agent_spawned")
        refused = unstuck.inside("watch", "--check", "true")
        assert refused.code == 2
        assert "add --sessions to watch sessions beside it" in refused.errors
        with live(unstuck, "watch", "--headless", "--sessions") as watching:
            hook(unstuck)
            until(unstuck, watching, "attempt_started")
            second = unstuck.inside("watch", "--headless", "--sessions", "--check", "true")
            assert f"process {watching.pid}" in second.errors, "there is one watch in a project"
            assert "live" in unstuck.inside("doctor").out
        go.write_text("")
        assert until(unstuck, running, "run_ended")["data"]["exit_code"] == 0
    assert "task_added" in events(unstuck, "watch")


def test_agents_of_the_run_are_no_sessions_of_the_watch(unstuck: Unstuck, tmp_path: Path) -> None:
    """An agent with hooks that a run has started calls the run: the watch beside it sees no session."""
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    with live(unstuck, "watch", "--headless") as watching:
        done = unstuck.inside(
            "run", "--headless", "--check", "test -e hooked", "--", sys.executable, str(script), forwarder.__file__
        )
        assert done.code == 0, done.errors
        hook(unstuck)
        assert until(unstuck, watching, "task_added")["task"] == "claude-make-the-tea"
    assert events(unstuck, "watch").count("task_added") == 1


def test_an_agent_of_the_run_may_not_answer_for_the_person(unstuck: Unstuck, tmp_path: Path) -> None:
    """A question of the watch needs a person, and an agent of the run beside it is none."""
    said = tmp_path / "said"
    with live(unstuck, "watch", "--headless", "--check", "false") as watching:
        hook(unstuck)
        for number in range(9):
            call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": f"t{number}"}
            hook(unstuck, hook_event_name="PostToolUseFailure", error="Exit code 2\nmake: *** Error", **call)
        gate = until(unstuck, watching, "gate_opened")["data"]["gate"]
        here = f"UNSTUCK_RUNTIME_DIR={os.environ['UNSTUCK_RUNTIME_DIR']}"
        answer = f"{here} {Path(sys.executable).with_name('unstuck')} answer {gate} skip > {said} 2>&1 || true"
        unstuck.inside("run", "--headless", "--check", "true", "--", "sh", "-c", answer)
        assert "an agent may not answer" in said.read_text()


@pytest.mark.parametrize("kind", ["run", "watch"])
def test_a_checkpoint_is_not_restored_under_an_agent(kind: str, unstuck: Unstuck, tmp_path: Path) -> None:
    """Whichever of the two has an agent at work in the tree, a restore waits for it."""
    saved = unstuck.inside("checkpoints", "create", "--json").rows[0]["id"]
    go = tmp_path / "go"
    os.mkfifo(go)
    with (
        live(unstuck, "watch", "--headless") as watching,
        live(unstuck, "run", "--headless", "--check", "true", "--", "cat", str(go)) as running,
    ):
        until(unstuck, running, "agent_spawned")
        if kind == "watch":
            go.write_text("")
            until(unstuck, running, "run_ended")
            running.wait(PATIENCE)
            hook(unstuck)
            until(unstuck, watching, "attempt_started")
        refused = unstuck.inside("checkpoints", "restore", saved, "--yes")
        assert refused.code != 0
        assert "stop it, or wait for it, first" in refused.errors
        if kind == "run":
            go.write_text("")
            until(unstuck, running, "run_ended")
