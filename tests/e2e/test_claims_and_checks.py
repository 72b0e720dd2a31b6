"""`unstuck truth`: what agents claimed beside what their checks found, over real runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck

LIAR = "echo 'I have fixed it. All tests pass.'"
HONEST = "echo ok > fixed.txt; echo 'I have fixed it.'"
CAREFUL = "echo 'I could not fix it: two tests still fail.'"
CHECK = "grep -q ok fixed.txt"
GOLDEN = Path(__file__).parents[1] / "data" / "golden"
ONCE = {"UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "0"}


@pytest.fixture
def work(unstuck: Unstuck, no_climb: dict[str, str]) -> Unstuck:
    """A project in which each failed attempt ends its run."""
    unstuck.environment |= no_climb | ONCE
    return unstuck


def attempt(unstuck: Unstuck, script: str, *more: str, check: str = CHECK) -> str:
    """One run of one attempt; what it printed."""
    script = f'cat "$UNSTUCK_PROMPT_FILE" > /dev/null; {script}'
    return unstuck.inside("run", "--headless", "--verify", check, *more, "--", "sh", "-c", script).out


def test_nothing_has_been_claimed_yet(work: Unstuck) -> None:
    """An empty project gets a sentence that says what to do, and no rows."""
    done = work.inside("truth")
    assert done.code == 0
    assert done.out == "no attempts here yet: start one with `unstuck run --check CMD -- AGENT…`\n"
    assert work.inside("truth", "--json").rows == []


def test_claims_beside_checks(work: Unstuck) -> None:
    """Attempts, claims, passed checks, agreement, and the failure behind a false claim, by agent."""
    attempt(work, LIAR, check="echo 'AssertionError: total is 3'; exit 1")
    attempt(work, HONEST)
    work.root.joinpath("fixed.txt").unlink()
    attempt(work, CAREFUL)
    attempt(work, "true")
    (row,) = work.inside("truth", "--json").rows
    assert (row["agent"], row["model"], row["attempts"]) == ("sh", "", 4)
    assert (row["claimed_done"], row["claimed_not_done"], row["claim_unknown"]) == (2, 1, 1)
    assert (row["check_passed"], row["compared"], row["agreed"], row["agreement"]) == (1, 3, 2, 0.667)
    assert row["false_claims"] == 1
    first, *_ = work.inside("show", work.runs[1].name, "--json").rows[1]["timeline"]
    assert (first["claim"], first["check"]) == ("done", "passed")
    (failure,) = row["failures"]
    assert failure["count"] == 1
    assert "total is 3" in failure["headline"]
    told = work.inside("truth").out
    assert "2 of 3 (67%)" in told
    assert "total is 3" in told


def test_models_are_told_apart(work: Unstuck) -> None:
    """The same agent with two models has two rows, with the tokens that each has used."""
    program = work.seen.parent / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    for model, said in (("big", "All done."), ("small", "I was unable to fix it.")):
        words = {"id": model, "content": [{"type": "text", "text": said}], "usage": {"output_tokens": 7}}
        lines = [{"type": "system", "subtype": "init", "model": model}, {"type": "assistant", "message": words}]
        lines.append({"type": "result", "subtype": "success", "result": said})
        text = "\n".join(map(json.dumps, lines))
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        program.chmod(0o755)
        command = (str(program), "-p", "{prompt}", "--output-format", "stream-json", "--verbose")
        work.inside("run", "--headless", "--verify", "false", "--task", "Fix it", "--", *command)
    rows = {row["model"]: row for row in work.inside("truth", "--json").rows}
    assert (rows["big"]["claimed_done"], rows["big"]["false_claims"], rows["big"]["agreed"]) == (1, 1, 0)
    assert (rows["small"]["claimed_not_done"], rows["small"]["agreed"], rows["small"]["tokens"]) == (1, 1, 7)


def test_all_projects_of_the_user(work: Unstuck, tmp_path: Path) -> None:
    """`--all` adds up the runs of every project, and forgets none that is still there."""
    attempt(work, HONEST)
    other = tmp_path / "other"
    other.mkdir()
    work.inside("run", "--headless", "--verify", "true", "--", "sh", "-c", "echo Done.", cwd=other)
    assert [row["attempts"] for row in work.inside("truth", "--all", "--json").rows] == [2]
    assert [row["attempts"] for row in work.inside("truth", "--json").rows] == [1]
    shutil.rmtree(other)
    assert [row["attempts"] for row in work.inside("truth", "--all", "--json").rows] == [1]


def test_one_line_at_the_end_of_a_run(work: Unstuck) -> None:
    """A run says at its end how its claims compare with its checks; its JSON result has the same numbers."""
    line = "  claims: done in 1 of 1 attempt; the check failed after 1 of them; claim and check agree in 0 of 1"
    assert f"\n{line} (unstuck truth)\n" in attempt(work, LIAR)
    assert "claims:" not in attempt(work, "true", check="true")
    assert "claims: done in 1 of 1 attempt; claim and check agree in 1 of 1" in attempt(work, HONEST)
    rows = work.inside("run", "--json", "--verify", CHECK, "--", "sh", "-c", HONEST).rows
    assert rows[-1]["claims"] == {"attempts": 1, "claimed_done": 1, "compared": 1, "agreed": 1, "false_claims": 0}


def test_what_a_success_has_changed(work: Unstuck) -> None:
    """After success one line counts files and lines, and its command shows exactly these changes."""
    work.root.joinpath("old.txt").write_text("one\ntwo\n", encoding="utf-8")
    script = "printf 'one\\nthree\\nfour\\n' > old.txt; echo ok > fixed.txt"
    (line,) = [line for line in attempt(work, script).splitlines() if line.startswith("  changed:")]
    counts, _, command = line.removeprefix("  changed: ").partition(": unstuck ")
    assert counts == "2 files, +3 −1"
    shown = work.inside(*command.split())
    assert shown.code == 0
    signs = [row[0] for row in shown.out.splitlines() if row[:1] in "+-" and row[:3] not in ("+++", "---")]
    assert (signs.count("+"), signs.count("-")) == (3, 1)
    assert "changed:" not in attempt(work, LIAR, check="false")
    rows = work.inside("run", "--json", "--verify", "true", "--", "true").rows
    assert rows[-1]["changes"]["files"] == 0


def test_what_a_plan_in_worktrees_has_changed(work: Unstuck) -> None:
    """Tasks in worktrees of their own are compared in git: the command needs no checkpoint, and shows both results."""
    agent = {"command": ["sh", "-c", "echo ok > $UNSTUCK_TASK.txt; echo Done."]}
    tasks = [{"id": name, "agent": "a", "prompt": "Work", "isolation": "worktree"} for name in ("one", "two")]
    plan = {"agents": {"a": agent}, "tasks": [task | {"verify": f"cat {task['id']}.txt"} for task in tasks]}
    file = work.root / "plan.yaml"
    file.write_text(json.dumps(plan), encoding="utf-8")
    subprocess.run(["git", "add", "."], cwd=work.root, check=True)
    subprocess.run(["git", "commit", "-qm", "Plan"], cwd=work.root, check=True)
    done = work.inside("run", "--headless", "--max-parallel", "2", "plan.yaml")
    assert done.code == 0, done.out + done.errors
    (line,) = [line for line in done.out.splitlines() if line.startswith("  changed:")]
    assert line.startswith("  changed: 2 files, +2 −0: git diff ")
    command = line.partition(": git ")[2].split()
    shown = subprocess.run(["git", *command], cwd=work.root, check=True, capture_output=True, text=True).stdout
    assert "b/one.txt" in shown
    assert "b/two.txt" in shown


def test_an_old_log_has_unknown_claims(work: Unstuck) -> None:
    """Event logs of earlier versions count as attempts with an unknown claim."""
    folder = work.root / ".git" / "unstuck" / "runs" / "20260101-000000"
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN / "schema1.jsonl", folder / "events.jsonl")
    rows = work.inside("truth", "--json").rows
    assert sum(row["attempts"] for row in rows) > 0
    assert all(row["claim_unknown"] == row["attempts"] for row in rows)
    assert all(row["agreement"] is None for row in rows)


def test_a_damaged_log_counts_up_to_its_damage(work: Unstuck) -> None:
    """The damage is said on standard error; the whole runs count."""
    attempt(work, HONEST)
    attempt(work, LIAR)
    log = work.runs[-1] / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:3]) + b"nonsense\n" + b"".join(lines[4:]))
    done = work.inside("truth", "--json")
    assert [row["attempts"] for row in done.rows] == [1]
    assert "only the events before it are counted" in done.errors
