"""Kills, deleted files, stale locks and commands that race: the program still reports what is true."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Unstuck
from tests.waiting import has_ended

LIMIT = 90.0
ENDLESS = "sleep 600"


def _plan(unstuck: Unstuck, agent: str, tasks: list[dict[str, Any]], **keys: Any) -> str:
    plan = unstuck.seen.parent / "plan.yaml"
    planned = [{"prompt": f"Do {task['id']}.", **task} for task in tasks]
    plan.write_text(json.dumps({"agents": {"a": {"command": ["sh", agent]}}, "tasks": planned, **keys}))
    return str(plan)


def test_ctrl_c_does_not_wait_for_a_long_check(unstuck: Unstuck, tmp_path: Path) -> None:
    """Ctrl+C while the check runs ends it, and the run, at once; --resume runs the check and not the agent again."""
    agent = unstuck.script("agent.sh", "touch worked")
    gone_on = tmp_path / "gone-on"
    verify = (
        f"test -f worked || exit 1; test -f {gone_on} && exit 0; echo $$ > {tmp_path}/check.pid; touch begun; {ENDLESS}"
    )
    process = unstuck.start("run", "--headless", "--verify", verify, "--", "sh", agent)
    unstuck.until(process, b"agent ended")
    while not (unstuck.root / "begun").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130
    gone_on.touch()
    assert unstuck("run", "--resume", "last").code == 0
    assert len(unstuck.prompts()) == 1


def test_ctrl_c_reaches_an_agent_that_is_only_being_started(unstuck: Unstuck) -> None:
    """Ctrl+C the moment an attempt is announced does not leave its agent at work."""
    process = unstuck.start("run", "--headless", "--verify", "true", "--", *ENDLESS.split())
    unstuck.until(process, b"attempt 1")
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130


def test_a_deleted_run_folder_ends_the_run(unstuck: Unstuck) -> None:
    """A run whose folder an agent has deleted ends with 6: it does not go on as if anything were kept."""
    done = unstuck("run", "--headless", "--verify", "true", "--", "rm", "-rf", ".git/unstuck/runs")
    assert done.code == 6
    assert "deleted" in done.errors


def test_an_agent_cannot_answer_for_the_person(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """A question stays open when an agent of the very run calls ``unstuck answer``, and the agent is told why."""
    os.mkfifo(unstuck.seen / "gate")
    agent = unstuck.script(
        "agent.sh",
        """
        test "$UNSTUCK_TASK" = forger || exit 0
        read gate < "$SEEN/gate"
        export UNSTUCK_RUNTIME_DIR="$PLACE"
        setsid unstuck answer -C "$ROOT" "$gate" skip > "$SEEN/said" 2>&1
        """,
    )
    plan = _plan(unstuck, agent, [{"id": "stuck", "verify": "false"}, {"id": "forger", "verify": "true"}])
    known = {"ROOT": str(unstuck.root), "PLACE": os.environ["UNSTUCK_RUNTIME_DIR"]}
    process = unstuck.start("run", "--headless", "--json", plan, env={**known, **no_climb})
    opened = json.loads(unstuck.until(process, b'"gate_opened"').splitlines()[-1])
    (unstuck.seen / "gate").write_text(opened["data"]["gate"] + "\n", encoding="utf-8")
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 3
    assert "an agent may not answer" in (unstuck.seen / "said").read_text()
    assert unstuck.only_gate()["task"] == "stuck"
    assert b"gate_answered" not in said


def test_an_agent_that_kills_its_helper_cannot_answer(
    unstuck: Unstuck, no_climb: dict[str, str], tmp_path: Path
) -> None:
    """Not as an orphan in a session and with an environment of its own either, while the run lives.

    It may also be found and ended with its attempt before its answer is refused.
    """
    os.mkfifo(unstuck.seen / "gate")
    answer = tmp_path / "answer.sh"
    place, root, seen = os.environ["UNSTUCK_RUNTIME_DIR"], unstuck.root, unstuck.seen
    program = Path(sys.executable).with_name("unstuck")
    answer.write_text(
        f"echo $$ > '{seen}/new' && mv '{seen}/new' '{seen}/forging'\n"
        f"kill -9 $1\nexport UNSTUCK_RUNTIME_DIR='{place}'\n"
        f"'{program}' answer -C '{root}' $2 skip > '{seen}/said' 2>&1\n"
    )
    agent = unstuck.script(
        "agent.sh",
        f"""
        if test "$UNSTUCK_TASK" = waiting; then
            until test -e "$SEEN/forging"; do sleep 0.05; done
            until test -s "$SEEN/said" || ! kill -0 "$(cat "$SEEN/forging")"; do sleep 0.05; done
            exit 0
        fi
        test "$UNSTUCK_ATTEMPT" = forger.1 || exit 0
        read gate < "$SEEN/gate"
        setsid env -i PATH="$PATH" sh {answer} $PPID "$gate" &
        wait
        """,
    )
    tasks = [
        {"id": "stuck", "verify": "false"},
        {"id": "forger", "verify": "false"},
        {"id": "waiting", "verify": "true"},
    ]
    plan = _plan(unstuck, agent, tasks, max_parallel=3)
    known = {"ROOT": str(unstuck.root), "PLACE": place}
    process = unstuck.start("run", "--headless", "--json", plan, env={**known, **no_climb})
    opened = json.loads(unstuck.until(process, b'"gate_opened"').splitlines()[-1])
    (unstuck.seen / "gate").write_text(opened["data"]["gate"] + "\n", encoding="utf-8")
    said, _ = process.communicate(timeout=LIMIT)
    heard = (unstuck.seen / "said").read_text() if (unstuck.seen / "said").exists() else ""
    assert not heard or ("an agent may not answer" in heard and "helper was killed" in heard)
    assert b"gate_answered" not in said


def test_an_agent_that_killed_its_helper_cannot_answer_a_paused_run(
    unstuck: Unstuck, no_climb: dict[str, str], tmp_path: Path
) -> None:
    """Its orphan waits until nothing works on the run: the log knows of the helper. A person answers all the same."""
    answer = tmp_path / "answer.sh"
    program, seen = Path(sys.executable).with_name("unstuck"), unstuck.seen
    answer.write_text(
        f"echo $$ > '{seen}/new' && mv '{seen}/new' '{seen}/forging'\n"
        f"until test -s '{seen}/gate'; do sleep 0.05; done\n"
        f"'{program}' answer -C '{unstuck.root}' $(cat '{seen}/gate') skip > '{seen}/said' 2>&1\n"
    )
    agent = unstuck.script(
        "agent.sh",
        f"""
        test "$UNSTUCK_ATTEMPT" = stuck.1 || exit 0
        (setsid env -i PATH="$PATH" sh {answer} < /dev/null > /dev/null 2>&1 &)
        until test -e "$SEEN/forging"; do sleep 0.05; done
        kill -9 $PPID
        """,
    )
    plan = _plan(unstuck, agent, [{"id": "stuck", "verify": "false"}])
    assert unstuck.inside("run", "--headless", plan, env=no_climb).code == 3
    gate = unstuck.only_gate()["gate"]
    (seen / "gate").write_text(f"{gate}\n", encoding="utf-8")
    forging = int((seen / "forging").read_text())
    while not has_ended(forging):
        time.sleep(0.05)
    heard = (seen / "said").read_text()
    assert "an agent may not answer" in heard, heard
    assert "helper was killed" in heard, heard
    assert unstuck.inside("answer", gate, "skip").code == 0


def test_worktrees_are_made_as_they_are_needed(unstuck: Unstuck) -> None:
    """A plan of many tasks does not check out all their trees before the first may start."""
    agent = unstuck.script("agent.sh", 'ls -d "$PLACE"/worktrees/*/*/t* | wc -l > "$SEEN/trees.$UNSTUCK_TASK"')
    tasks = [{"id": f"t{number}", "verify": "true"} for number in range(10)]
    plan = _plan(unstuck, agent, tasks, max_parallel=2)
    assert unstuck.inside("run", "--headless", plan, env={"PLACE": os.environ["UNSTUCK_STATE_DIR"]}).code == 0
    assert 1 <= int((unstuck.seen / "trees.t0").read_text()) < len(tasks) // 2


def test_one_of_several_simultaneous_answers_wins(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """Of several shells that answer a parked run at once one wins, and the others read that the question is closed."""
    assert unstuck.inside("run", "--headless", "--verify", "false", "--", "true", env=no_climb).code == 3
    gate = unstuck.only_gate()["gate"]
    shells = [unstuck.start("answer", gate, choice) for choice in ("skip", "abandon", "retry")]
    ended = [(process.communicate(timeout=LIMIT), process.returncode) for process in shells]
    assert sorted(code for _, code in ended) == [0, 2, 2]
    assert all(b"is closed" in errors for (_, errors), code in ended if code)


def test_a_lock_of_a_killed_git_does_not_block_integration(unstuck: Unstuck) -> None:
    """A result is integrated although a git that was killed has left its locks on the task's branch and tree."""
    agent = unstuck.script(
        "agent.sh",
        """
        echo "$UNSTUCK_TASK" > "$UNSTUCK_TASK.txt"
        touch "$(git rev-parse --git-dir)/HEAD.lock" "$(git rev-parse --git-dir)/index.lock"
        touch "$(git rev-parse --git-common-dir)/$(git symbolic-ref HEAD).lock"
        """,
    )
    tasks = [{"id": name, "verify": f"test -f {name}.txt"} for name in ("one", "two")]
    assert unstuck.inside("run", "--headless", _plan(unstuck, agent, tasks)).code == 0
    listed = ["git", "ls-tree", "--name-only", f"unstuck/{unstuck.runs[0].name}/_run"]
    assert {"one.txt", "two.txt"} <= set(subprocess.check_output(listed, cwd=unstuck.root, text=True).split())


def test_a_worktree_that_cannot_be_made_is_a_question(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """A task that gets no work tree is asked about like any failure; it does not take the run down with it."""
    agent = unstuck.script(
        "agent.sh", "git for-each-ref --format='delete %(refname)' 'refs/heads/unstuck/*/_run' | git update-ref --stdin"
    )
    tasks = [{"id": name, "verify": f"test -f {name}", "isolation": "worktree"} for name in ("first", "second")]
    done = unstuck.inside("run", "--headless", "--json", _plan(unstuck, agent, tasks, max_parallel=1), env=no_climb)
    assert done.code == 3
    assert {row["task"] for row in unstuck.inside("show", "--json").rows if "gate" in row} == {"first", "second"}
    assert "is gone" in json.dumps(done.data("agent_crashed"))


def test_a_plain_directory_needs_no_git(unstuck: Unstuck, tmp_path: Path) -> None:
    """Without git on PATH a plain directory is worked in; a repository is refused before anything starts."""
    programs, plain = tmp_path / "programs", tmp_path / "plain"
    for folder in (programs, plain):
        folder.mkdir()
    for name in ("unstuck", "sh", "touch"):
        (programs / name).symlink_to(shutil.which(name) or name)
    run = ("run", "--headless", "--verify", "test -f done", "--", "touch", "done")
    assert unstuck(*run, cwd=plain, env={"PATH": str(programs)}).code == 0
    refused = unstuck(*run, env={"PATH": str(programs)})
    assert refused.code == 2
    assert "git was not found" in refused.errors
