"""What people wish of a run's end and of its questions, with real agents and the real command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from unstuck.record.journal import replay

PATIENCE = 60
NO_CLIMB = {f"UNSTUCK_FAILURE_HANDLER__MAX_{rung}": "0" for rung in ("RETRIES", "PIVOTS", "RESEARCH")}
ABANDON = "- gate: stuck\n  answer: abandon\n"


def last_row(said: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(said.splitlines()[-1])
    return row


@pytest.mark.parametrize(
    ("reason", "code", "options"),
    [
        ("succeeded", 0, ("--verify", "true")),
        ("incomplete", 1, ("--verify", "false", "--answers", "rules.yaml")),
        ("incomplete", 1, ()),
        ("needs_person", 3, ("--verify", "false")),
        ("halted", 4, ("--verify", "false", "--ask", "never")),
        ("budget", 5, ("--verify", "true", "--ask", "never", "--budget", "tokens=0")),
    ],
    ids=["done", "abandoned", "unverified", "stuck", "halted", "budget"],
)
def test_every_way_to_end_has_its_code_and_only_done_is_zero(
    repo: Path, inside: Any, monkeypatch: pytest.MonkeyPatch, reason: str, code: int, options: tuple[str, ...]
) -> None:
    """The exit code and the reason in JSON are those of the table; the agent itself always says that all went well."""
    for name, value in NO_CLIMB.items():
        monkeypatch.setenv(name, value)
    (repo / "rules.yaml").write_text(ABANDON, encoding="utf-8")
    monkeypatch.chdir(repo)
    command = ("run", "--headless", "--json", "--task", "Work.", *options, "--", "sh", "-c", "echo All tests pass.")
    ended, said, _ = inside(repo, *command)
    assert (ended, last_row(said)["exit_reason"], last_row(said)["exit_code"]) == (code, reason, code)
    again, said, _ = inside(repo, "run", "--headless", "--json", "--resume", "last")
    assert again == last_row(said)["exit_code"]


def test_an_interrupted_run_ends_with_130(repo: Path) -> None:
    """TERM: the reason is `interrupted`, and the run can be gone on with."""
    command = ["unstuck", "run", "--headless", "--json", "--task", "Work.", "--verify", "true", "--", "sleep", "600"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, text=True, env=os.environ) as running:
        assert running.stdout is not None
        assert any('"agent_spawned"' in line for line in running.stdout)
        running.send_signal(signal.SIGTERM)
        said, _ = running.communicate(timeout=PATIENCE)
    assert (running.returncode, last_row(said)["exit_reason"]) == (130, "interrupted")


def test_a_question_from_two_levels_below_reaches_the_queue(repo: Path, inside: Any) -> None:
    """A helper of a helper of the agent asks: it is queued with its task and agent, and headless it ends with 3."""
    asked = 'UNSTUCK {"signal": "needs_guidance", "question": "Which port?", "options": ["80", "8080"]}'
    (repo / "helper.sh").write_text(f"echo '{asked}'\n", encoding="utf-8")
    (repo / "agent.sh").write_text("sh -c 'sh helper.sh; true'; true\n", encoding="utf-8")
    command = ("run", "--headless", "--json", "--task", "Work.", "--verify", "false", "--", "sh", "agent.sh")
    code, said, _ = inside(repo, *command)
    assert (code, last_row(said)["exit_reason"]) == (3, "needs_person")
    _, rows, _ = inside(repo, "show", "--json")
    (gate,) = [row for row in map(json.loads, rows.splitlines()) if "gate" in row]
    assert (gate["type"], gate["task"], gate["context"]["question"]) == ("question", "task", "Which port?")
    assert (gate["context"]["agent_id"], gate["context"]["options"]) == ("sh", ["80", "8080"])


def test_two_agents_that_end_in_one_instant_both_have_their_results(repo: Path, inside: Any, tmp_path: Path) -> None:
    """Each waits for the other and ends with it: both results are in the state after replay, and on the branch."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    lines = (
        f'touch "{meeting}/$UNSTUCK_TASK"',
        f'while [ "$(ls "{meeting}" | wc -l)" -lt 2 ]; do :; done',
        'echo "$UNSTUCK_TASK" > "$UNSTUCK_TASK.txt"',
    )
    (tmp_path / "agent.sh").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tasks = [{"id": name, "prompt": "Work.", "verify": f"grep {name} {name}.txt"} for name in ("web", "api")]
    agents = {"a": {"command": ["sh", str(tmp_path / "agent.sh")]}}
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps({"max_parallel": 2, "agents": agents, "tasks": tasks}), encoding="utf-8")
    code, _, _ = inside(repo, "run", "--headless", str(plan))
    assert code == 0
    (folder,) = (repo / ".git" / "unstuck" / "runs").iterdir()
    state = replay(folder / "events.jsonl")
    assert {row.id: (row.status, row.attempts) for row in state.tasks.values()} == {
        "web": ("succeeded", 1),
        "api": ("succeeded", 1),
    }
    listed = ["git", "ls-tree", "--name-only", f"unstuck/{folder.name}/_run"]
    files = subprocess.run(listed, cwd=repo, capture_output=True, text=True, check=True).stdout.split()
    assert {"web.txt", "api.txt"} <= set(files)
