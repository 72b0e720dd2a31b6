"""A busy run is killed; what becomes of each of its tasks is chosen by keys at a real terminal, or by a command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.conftest import Inside
from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of

PATIENCE = 60
# The first attempt writes, says that it is there, and hangs; those after it do the work.
AGENT = """
test "$UNSTUCK_ATTEMPT" = "$UNSTUCK_TASK.1" || { touch done; exit; }
echo half > part.txt
case $UNSTUCK_TASK in
asks) exit ;;
isdone) touch done ;;
goeson)
    git checkout -q -b side && echo side > side.txt && git add side.txt && git commit -q -m Side
    git checkout -q - && echo own > own.txt && git add own.txt && git commit -q -m Own
    git merge -q --no-commit --no-ff side ;;
esac
echo "$UNSTUCK_TASK" > "$STARTED"
exec sleep 600
"""
AT_WORK = ("goeson", "goesback", "isdone", "skipped", "abandoned")
CHOICES = {
    "goeson": "continue",
    "goesback": "retry",
    "isdone": "done",
    "skipped": "skip",
    "abandoned": "abandon",
}


@pytest.fixture
def killed(desk: Desk) -> str:
    """Agents at work, a question open, a work tree in the middle of a merge: and the supervisor is gone."""
    started = desk.pipe("started")
    desk.environment |= {"STARTED": str(started), "GIT_CONFIG_GLOBAL": os.devnull}
    agent = desk.agent(AGENT)
    subprocess.run(["git", "add", "check.sh"], cwd=desk.root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Check"], cwd=desk.root, check=True)
    plan = {
        "max_parallel": 6,
        "agents": {"coder": {"command": ["sh", agent]}},
        "tasks": [{"id": name, "prompt": f"Do {name}.", "verify": "sh check.sh"} for name in (*AT_WORK, "asks")],
    }
    file = desk.seen.parent / "plan.yaml"
    file.write_text(json.dumps(plan), encoding="utf-8")
    reader = os.open(started, os.O_RDWR)
    with desk.begin("run", "--json", "--headless", str(file)) as running:
        assert running.stdout is not None
        said = b""
        while said.count(b"\n") < len(AT_WORK):
            said += os.read(reader, 4096)
        assert any('"gate_opened"' in line for line in running.stdout)
        running.send_signal(signal.SIGKILL)
        running.wait(PATIENCE)
    os.close(reader)
    return str(desk.folder().name)


def facts_of(desk: Desk, *options: str) -> dict[str, Any]:
    """Return the facts of the listing for programs."""
    found: dict[str, Any] = json.loads(desk.unstuck("show", "--recovery", "--json", *options).stdout)
    return found


def assert_as_chosen(desk: Desk) -> None:
    """Each task has come to what was chosen for it, and the question is as open as it was."""
    rows = desk.rows()
    tasks = {row["task"]: (row["status"], row["attempts"]) for row in rows if "task" in row and "gate" not in row}
    assert tasks == {
        "goeson": ("succeeded", 2),
        "goesback": ("succeeded", 2),
        "isdone": ("succeeded", 1),
        "skipped": ("skipped", 1),
        "abandoned": ("abandoned", 1),
        "asks": (None, 1),
    }
    assert [row["type"] for row in rows if "gate" in row] == ["stuck"]
    second = desk.prompts("goeson")[1]
    assert "was cut off from outside" in second
    assert "- added part.txt" in second
    again = desk.prompts("goesback")[1]
    assert "Your earlier edits were set back, so that the attempt begins again" in again
    branch = f"unstuck/{desk.folder().name}/_run"
    command = ["git", "ls-tree", "--name-only", branch]
    files = subprocess.run(command, cwd=desk.root, capture_output=True, text=True, check=True).stdout.split()
    assert {"done", "side.txt", "own.txt", "part.txt"} <= set(files)
    assert not (desk.root / "part.txt").exists(), "the project's own tree was never touched"


def test_every_choice_by_keys(desk: Desk, killed: str, tmp_path: Path, inside: Inside) -> None:
    """At 80 by 24: the facts are listed, one key chooses for each task, and nothing happens before enter.

    ``unstuck`` without a word more finds it; an evaluator's proposals are shown and taken only by a key. Left, all
    stays open: one is answered from anywhere, and the others are chosen about when they are asked about again.
    """
    script = tmp_path / "evaluator.sh"
    proposals = [{"task": "goesback", "choice": "retry", "reason": "half [/written]"}]
    script.write_text(f"echo '{json.dumps({'proposals': proposals})}'\n", encoding="utf-8")
    desk.environment["UNSTUCK_EVALUATOR"] = f"sh {script}"
    desk.environment["UNSTUCK_DIALOGS"] = "list"  # a question that comes up would cover the end
    terminal = desk.terminal()
    began = (f"Run {killed} was interrupted: 5 tasks were at work", "abandoned", "enter: resume the run")
    shown = terminal.until(*began, "e: as proposed", "continue (retry?)")
    assert "still open" in shown
    assert shown.count(" continue") >= 5
    assert "in the middle of a merge" in shown
    terminal.press(key_of("standstill.propose"), key_of("standstill.down"))
    shown = terminal.until("restore, redo", "half [/written]")
    assert "(retry?)" not in shown
    terminal.press("q")
    assert terminal.ended() == 3
    assert terminal.is_clean()
    assert "paused: needs your answer" in terminal.after
    gates = {row["task"]: row["gate"] for row in desk.rows() if row.get("type") == "recovery"}
    assert set(gates) == set(AT_WORK)
    assert inside(desk.root, "answer", gates["goeson"], "continue")[0] == 0
    terminal = desk.terminal("run", "--resume", "last")
    terminal.until("4 tasks were interrupted", "enter: resume the run")
    terminal.press(key_of("standstill.check"))
    terminal.until("goesback", "fails")
    terminal.press(key_of("recovery.retry"))
    terminal.until("restore, redo")
    terminal.press(key_of("standstill.down"), key_of("standstill.check"))
    terminal.until("passes")
    terminal.press(key_of("recovery.done"))
    terminal.until("done, if it passes")
    terminal.press(key_of("standstill.down"), key_of("recovery.skip"))
    terminal.until("skip for now")
    terminal.press(key_of("standstill.down"), key_of("recovery.abandon"))
    terminal.until("› 3 Abandon")
    assert all(len(desk.prompts(task)) == 1 for task in AT_WORK), "no agent has begun"
    terminal.press("enter")
    terminal.until("3 of 6 done", "1 skipped", "1 abandoned")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 3
    assert terminal.is_clean()
    assert_as_chosen(desk)


def test_every_choice_by_command(desk: Desk, killed: str) -> None:
    """The same facts as a listing and as JSON, and the same choices as options; what cannot be is refused first."""
    listed = desk.unstuck("show", "--recovery").stdout
    assert f"Run {killed} was interrupted: 5 tasks were at work" in listed
    facts = facts_of(desk, "--check")
    tasks = {task["task"]: task for task in facts["tasks"]}
    assert set(tasks) == set(AT_WORK)
    assert tasks["goeson"]["under_way"] == "a merge"
    assert [change["path"] for change in tasks["skipped"]["back"]["changes"]] == ["part.txt"]
    assert tasks["isdone"]["check"]["result"] == "passed"
    assert tasks["skipped"]["check"]["result"] == "failed"
    refused = {choice["choice"]: choice["refused"] for choice in tasks["skipped"]["choices"]}
    assert "its check fails now" in refused["done"]
    assert [(gate["type"], gate["task"]) for gate in facts["gates"]] == [("stuck", "asks")]
    wrong = desk.unstuck("run", "--headless", "--resume", "last", "--recover", "asks=retry")
    assert wrong.returncode == 2
    assert "no task asks was interrupted" in wrong.stderr
    options = [word for task, choice in CHOICES.items() for word in ("--recover", f"{task}={choice}")]
    done = desk.unstuck("run", "--headless", "--resume", "last", *options)
    assert done.returncode == 3, done.stdout + done.stderr
    assert_as_chosen(desk)


ORPHAN = """
test "$UNSTUCK_ATTEMPT" = task.1 || { touch done; exit; }
setsid sh -c 'echo $$ > "$STARTED"; exec sleep 600' &
exec sleep 601
"""


def test_what_a_killed_agent_has_left_running_is_stopped_first(desk: Desk) -> None:
    """A kill takes the supervisor, its helper and the agent, and leaves what the agent had started: it is named, to
    stop it is what enter does without another key, and only then does the attempt start again."""
    desk.environment["STARTED"] = str(started := desk.pipe("started"))
    command = ("run", "--json", "--headless", "--verify", "sh check.sh", "--", "sh", desk.agent(ORPHAN))
    with desk.begin(*command) as running:
        orphan = psutil.Process(int(started.read_text()))
        assert running.stdout is not None
        spawned = next(record for line in running.stdout if (record := json.loads(line))["event"] == "agent_spawned")
        agent = psutil.Process(spawned["data"]["pid"])
        victims = (running.pid, agent.ppid(), agent.pid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for victim in victims:
                os.kill(victim, number)
        running.wait(PATIENCE)
    try:
        (task,) = facts_of(desk)["tasks"]
        assert [(one["pid"], one["agent"]) for one in task["processes"]] == [(orphan.pid, False)]
        terminal = desk.terminal(size=(120, 40))
        terminal.until(
            "was interrupted", str(orphan.pid), "sleep 600", "› b Stop it and start again", "enter: resume the run"
        )
        assert orphan.is_running()
        terminal.press("enter")
        terminal.until("every task succeeded")
        terminal.press(key_of("app.quit"))
        assert terminal.ended() == 0
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        assert len(desk.prompts()) == 2
        records = map(json.loads, (desk.folder() / "events.jsonl").read_text("utf-8").splitlines())
        receipts = [record["data"] for record in records if record["event"] == "stop_receipt"]
        assert orphan.pid in [pid for receipt in receipts for pid, _, _ in receipt["ended"]]
    finally:
        if orphan.is_running():
            orphan.kill()
