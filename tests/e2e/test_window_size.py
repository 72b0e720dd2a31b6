"""``window_size``: the number of identical failures that make a loop, for an agent of a run, a demo and a watch."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck

ERROR = "E   KeyError: 'total'"
# More rounds than any loop needs: the question comes before the last.
SCRIPT = f"""
for i in $(seq 40); do
    echo 'UNSTUCK {{"step": "action", "id": "'$i'", "tool": "bash", "text": "pytest -q"}}'
    echo 'UNSTUCK {{"step": "failure", "id": "'$i'", "tool": "bash", "text": "{ERROR}", "exit_code": 1}}'
    sleep 0.05
done
"""
SIZES = [2, 3, 6]


def loop(rows: list[dict[str, Any]]) -> list[int]:
    """The rounds that were told to the agent, the rounds of the question, and the size that stands in it."""
    data = {row["event"]: row["data"] for row in rows if row.get("event") in ("loop_warned", "gate_opened")}
    context = data["gate_opened"]["context"]
    assert data["gate_opened"]["type"] == "loop_detected"
    told = [data["loop_warned"]["repeats"]] if "loop_warned" in data else []
    return [*told, context["repeats"], context["window_size"]]


@pytest.mark.parametrize("size", SIZES)
def test_in_a_run(unstuck: Unstuck, size: int) -> None:
    """The setting in my own file: so many rounds are told to the agent, and the next one is asked about."""
    path = unstuck.seen.parent / "config" / "unstuck" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"window_size: {size}\n", encoding="utf-8")
    agent = unstuck.script("agent.sh", SCRIPT)
    own = {"XDG_CONFIG_HOME": str(path.parent.parent)}
    done = unstuck.inside("run", "--headless", "--json", "--verify", "test -f b", "--", "sh", agent, env=own)
    assert done.code == 3, done.errors
    assert loop(done.rows) == [size, size + 1, size]


@pytest.mark.parametrize("size", SIZES)
def test_in_a_demo(unstuck: Unstuck, tmp_path: Path, size: int) -> None:
    """A rehearsal is worked with my own setting, too."""
    options = ["--headless", "--json", "--speed", "20", "--keep", str(tmp_path / "demo")]
    env = {"UNSTUCK_WINDOW_SIZE": str(size)}
    done = unstuck.inside("demo", "--scenario", "tool-call-loop", *options, env=env)
    assert done.code == 3, done.errors
    assert loop(done.rows) == [size, size + 1, size]


@pytest.mark.parametrize("size", SIZES)
def test_in_a_watch(unstuck: Unstuck, size: int) -> None:
    """A session in another terminal, whose calls can be held: the failure with this number holds the next call."""
    env = {"PYTHONUNBUFFERED": "1", "UNSTUCK_WINDOW_SIZE": str(size)}
    watching = unstuck.start("watch", "--headless", "--json", env=env)
    assert watching.stdout is not None
    unstuck.until(watching, b"run_started")
    program = shutil.which("unstuck-hook")
    assert program

    def hook(event: str, **fields: Any) -> str:
        payload = {"session_id": "s", "cwd": str(unstuck.root), "hook_event_name": event, **fields}
        given = json.dumps(payload)
        return subprocess.run(
            [program, "claude"], input=given, text=True, capture_output=True, timeout=60, check=True
        ).stdout

    hook("UserPromptSubmit", prompt="Make the tests pass.")
    for number in range(size):
        assert unstuck.inside("show", "--json").out.count('"gate"') == 0
        call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_use_id": f"t{number}"}
        assert hook("PreToolUse", **call) == ""
        hook("PostToolUseFailure", **call, error=f"Exit code 1\n{ERROR}")
    opened = unstuck.until(watching, b"gate_opened").splitlines()[-1]
    assert loop([json.loads(opened)]) == [size, size]
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 130
