"""One command on a repository that is not ours: worked, checked, climbed, asked, stopped and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck
from tests.waiting import has_ended


@pytest.fixture
def calculator(repo: Path) -> Path:
    """A small project with a wrong function and a real test of it."""
    (repo / "app.py").write_text("def add(a, b):\n    return a - b\n", encoding="utf-8")
    (repo / "test_app.py").write_text(
        "from app import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n", encoding="utf-8"
    )
    (repo / "conftest.py").write_text("", encoding="utf-8")
    for arguments in (("add", "-A"), ("commit", "-q", "-m", "Calculate")):
        subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True)
    return repo


# --- the check decides -----------------------------------------------------------------------------------------------


def test_wrong_then_right_ends_well(unstuck: Unstuck, calculator: Path) -> None:
    """An agent whose first try is wrong is told what failed, puts it right, and the command ends with 0."""
    agent = unstuck.script(
        "agent.sh",
        'if grep -q "assert 0 == 4" "$UNSTUCK_PROMPT_FILE"; then sed -i "s/a - b/a + b/" app.py; fi; echo all done',
    )
    command = ("run", "--headless", "--task", "Mend add()", "--verify", "pytest -q", "--", "sh", agent)
    done = unstuck(*command, installed=True)
    assert done.code == 0
    assert done.errors == ""
    first, second = unstuck.prompts()
    assert first.startswith("Mend add()")
    assert "did not pass" not in first
    assert second.startswith("Mend add()")
    assert "test_app.py:5" in second
    assert (calculator / "app.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_never_right_asks_and_never_says_done(unstuck: Unstuck, calculator: Path, no_climb: dict[str, str]) -> None:
    """While pytest fails the command never ends with 0, however sure the agent is: it asks, with a report."""
    agent = unstuck.script("agent.sh", """echo 'UNSTUCK {"signal": "complete"}'; echo "# $UNSTUCK_ATTEMPT" >> app.py""")
    at_once = no_climb | {"UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "0"}
    done = unstuck("run", "--headless", "--verify", "pytest -q", "--", "sh", agent, env=at_once)
    assert done.code == 3
    assert len(unstuck.prompts()) == 1
    gate = unstuck.only_gate()
    assert gate["type"] == "stuck"
    assert gate["choices"] == ["show-me", "skip", "abandon", "retry", "check"]
    (run,) = unstuck.runs
    (report,) = (run / "reports").glob("*.md")
    assert "assert 0 == 4" in report.read_text(encoding="utf-8")
    saved = subprocess.run(
        ["git", "show", f"refs/unstuck/checkpoints/{gate['context']['checkpoint']}:app.py"],
        cwd=calculator / ".git" / "unstuck" / "checkpoints" / "store.git",
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert saved.endswith("# task.1\n")
    assert (calculator / "app.py").read_text() == saved


def test_without_a_check_nothing_is_done(unstuck: Unstuck, calculator: Path) -> None:
    """Without a check the work stays unverified, the command ends with 1, and the check it could have is named."""
    done = unstuck("run", "--headless", "--", "sh", "-c", "echo hello > made")
    assert done.code == 1
    assert "unverified" in done.out
    assert "pytest -q" in done.out
    assert (calculator / "made").read_text() == "hello\n"


def test_a_flaky_check_counts_as_passed_and_is_told(unstuck: Unstuck, repo: Path) -> None:
    """A check that fails once and passes when it is run again is a pass, and the log says that it is flaky."""
    (repo / "check.sh").write_text(
        "test -f worked || exit 1\ntest -f once && exit 0\ntouch once\nexit 1\n", encoding="utf-8"
    )
    done = unstuck.inside("run", "--json", "--verify", "sh check.sh", "--", "touch", "worked")
    assert done.code == 0
    (flaked,) = done.data("check_flaked")
    assert flaked["command"] == "sh check.sh"
    assert flaked["exit_code"] == 1
    assert flaked["seen"] == 1
    assert len(done.data("attempt_started")) == 1


# --- the ladder ------------------------------------------------------------------------------------------------------


def test_the_whole_ladder_reaches_the_agent(unstuck: Unstuck, failing: str) -> None:
    """Three retries, three pivots with other approaches, two researches, then one question, each told to the agent."""
    agent = unstuck.script("agent.sh", 'echo "$UNSTUCK_ATTEMPT" >> tries')
    done = unstuck.inside("run", "--json", "--task", "Do it", "--verify", failing, "--", "sh", agent)
    assert done.code == 3
    told = unstuck.prompts()
    assert len(told) == 9
    assert all(text.startswith("Do it") and text.rstrip().endswith(failing) for text in told)
    assert all("Keep what works" in text and "assert 1 == 2 (app.py:3)" in text for text in told[1:4])
    assert "This is the same failure 3 times in a row." in told[3]
    approaches = [_line(text, "Approach: ") for text in told[4:7]]
    assert len(set(approaches)) == 3
    assert all("Take a different one, from the start" in text for text in told[4:7])
    assert approaches[0] in told[5]
    assert all("First understand the problem" in text for text in told[7:9])
    assert all(approach in told[8] for approach in approaches)
    # Each pivot began on the files as they were at the start.
    assert (unstuck.root / "tries").read_text() == "task.7\ntask.8\ntask.9\n"
    assert unstuck.only_gate()["context"]["attempts"] == {"retries": 3, "pivots": 3, "research": 2}


def _line(text: str, start: str) -> str:
    (line,) = [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]
    return line


def test_direct_mode_retries_and_asks(unstuck: Unstuck, failing: str) -> None:
    """In direct mode there is no pivot and no research: three retries, then the question."""
    agent = unstuck.script("agent.sh", "true")
    done = unstuck.inside("run", "--json", "--direct", "--verify", failing, "--", "sh", agent)
    assert done.code == 3
    assert [row["guidance"]["level"] for row in done.data("attempt_started")] == ["first", "retry", "retry", "retry"]
    assert len(unstuck.prompts()) == 4


def test_where_nobody_may_be_asked_the_run_halts(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """With --ask never the end of the ladder is a halt with its reason and exit code 4, and no question is left."""
    agent = unstuck.script("agent.sh", "true")
    done = unstuck.inside("run", "--headless", "--ask", "never", "--verify", failing, "--", "sh", agent, env=no_climb)
    assert done.code == 4
    assert "WORKFLOW FAILED - TASK_LIMIT_EXCEEDED\n" in done.out
    assert "AssertionError: assert 1 == 2" in done.out
    assert not [row for row in unstuck.inside("show", "--json").rows if "gate" in row]


def test_a_halted_run_goes_on_once_it_is_mended(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """A run that halted can be resumed after the cause is fixed: the failed task is tried again."""
    check = unstuck.script("check.sh", "test -e mended")
    halted = unstuck.inside(
        "run", "--headless", "--ask", "never", "--verify", f"sh {check}", "--", "true", env=no_climb
    )
    assert halted.code == 4
    (unstuck.root / "mended").write_text("")
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 0


# --- machine output --------------------------------------------------------------------------------------------------


def test_json_is_the_log_and_ends_with_the_result(unstuck: Unstuck, failing: str) -> None:
    """Each line is one envelope, numbered without a gap and equal to the log's but for what guards its bytes."""
    done = unstuck("run", "--json", "--verify", failing, "--", "touch", "done")
    *envelopes, last = done.rows
    (run,) = unstuck.runs
    assert [row["seq"] for row in envelopes] == list(range(1, len(envelopes) + 1))
    assert last["changes"]["command"].startswith("unstuck checkpoints diff ")
    assert {**last, "changes": {}} == {"run": run.name, "exit_reason": "succeeded", "exit_code": 0, "changes": {}}
    logged = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in logged:
        del row["safe"], row["crc"]
    assert envelopes == logged
    assert {row["run"] for row in envelopes} == {run.name}
    assert {"v", "seq", "time", "mono", "run", "actor", "task", "attempt", "cause", "event", "data"} == set(
        envelopes[0]
    )


def test_a_known_agents_own_prompt_is_rewritten(unstuck: Unstuck, failing: str, tmp_path: Path) -> None:
    """`-- claude -p TEXT` needs no placeholder: the text is the task, and the next attempt's text takes its place."""
    agent = tmp_path / "claude"
    script = '#!/bin/sh\nprintf "%s" "$3" > "$SEEN/argument.$UNSTUCK_ATTEMPT"; test -n "$4" && exit 9\n'
    script += 'case "$3" in *"assert 1 == 2"*) touch done;; esac\n'
    agent.write_text(script, encoding="utf-8")
    agent.chmod(0o755)
    words = (str(agent), "--verbose", "-p", "fix the tests")
    done = unstuck.inside("run", "--headless", "--verify", failing, "--", *words)
    assert done.code == 0
    assert done.errors == ""
    first, second = ((unstuck.seen / f"argument.task.{number}").read_text(encoding="utf-8") for number in (1, 2))
    assert first.startswith("fix the tests\n")
    assert second.startswith("fix the tests\n")
    assert "Keep what works" in second


def test_it_works_where_the_user_stands(unstuck: Unstuck, repo: Path) -> None:
    """In a subdirectory agent and check run there, and the record is the repository's."""
    below = repo / "below"
    below.mkdir()
    done = unstuck.inside("run", "--headless", "--verify", "test -f done", "--", "touch", "done", cwd=below)
    assert done.code == 0
    assert done.errors == ""
    assert (below / "done").exists()
    assert len(unstuck.runs) == 1


# --- answers ---------------------------------------------------------------------------------------------------------


def test_a_rule_answers_and_the_agent_is_told(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """A rule in a file answers the stuck gate as a policy, and its approach is what the agent reads next."""
    rules = unstuck.seen.parent / "answers.yaml"
    rules.write_text("- {gate: stuck, answer: retry, approach: touch the file called done}\n", encoding="utf-8")
    agent = unstuck.script("agent.sh", 'grep -q "the file called done" "$UNSTUCK_PROMPT_FILE" && touch done; exit 0')
    done = unstuck.inside(
        "run", "--json", "--answers", str(rules), "--verify", failing, "--", "sh", agent, env=no_climb
    )
    assert done.code == 0
    (answered,) = [row for row in done.rows if row.get("event") == "gate_answered"]
    assert answered["actor"] == "policy"
    assert answered["data"]["rule"] == 0
    assert "Approach: touch the file called done" in unstuck.prompts()[-1]


def test_an_answer_given_later_is_followed_on_resume(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """A run that parked with 3 takes an answer from another command, and goes on with it to its end."""
    agent = unstuck.script("agent.sh", 'grep -q "make the file done" "$UNSTUCK_PROMPT_FILE" && touch done; exit 0')
    assert unstuck.inside("run", "--headless", "--verify", failing, "--", "sh", agent, env=no_climb).code == 3
    before = len(unstuck.prompts())
    gate = unstuck.only_gate()["gate"]
    answered = unstuck("answer", gate, "show-me", "make the file", "done")
    assert answered.code == 0
    assert f"unstuck run --resume {unstuck.runs[0].name}" in answered.out
    done = unstuck("run", "--headless", "--resume", "last")
    assert done.code == 0
    assert "make the file done" in unstuck.prompts()[before]
    assert len(unstuck.prompts()) == before + 1


def test_a_parked_run_stays_parked_without_an_answer(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """Going on with a parked run that nobody has answered asks nothing new of the agent and parks again."""
    agent = unstuck.script("agent.sh", "true")
    assert unstuck.inside("run", "--headless", "--verify", failing, "--", "sh", agent, env=no_climb).code == 3
    gate, before = unstuck.only_gate()["gate"], len(unstuck.prompts())
    done = unstuck.inside("run", "--headless", "--resume", "last")
    assert done.code == 3
    assert unstuck.only_gate()["gate"] == gate
    assert len(unstuck.prompts()) == before


def test_an_ended_run_repeats_its_result(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """Resuming a run that has ended repeats its exit code and leaves every byte of its record as it was."""
    unstuck.inside("run", "--headless", "--verify", failing, "--", "true", env=no_climb)
    assert unstuck.inside("answer", unstuck.only_gate()["gate"], "abandon").code == 0
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 1
    (run,) = unstuck.runs
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    again = unstuck.inside("run", "--json", "--resume", run.name)
    assert again.code == 1
    assert again.rows == [{"run": run.name, "exit_reason": "incomplete", "exit_code": 1}]
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_skip_counts_until_the_ended_run_is_taken_up_again(
    unstuck: Unstuck, failing: str, no_climb: dict[str, str]
) -> None:
    """A skip ends the run with 1 and starts no attempt; only the resume after that offers the task again, afresh."""
    agent = unstuck.script("agent.sh", "true")
    unstuck.inside("run", "--headless", "--verify", failing, "--", "sh", agent, env=no_climb)
    assert unstuck.inside("answer", unstuck.only_gate()["gate"], "skip").code == 0
    before = len(unstuck.prompts())
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 1
    assert len(unstuck.prompts()) == before
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 3
    assert len(unstuck.prompts()) == before + 2


# --- stopping --------------------------------------------------------------------------------------------------------


HANGING = """
if [ -f finish ]; then touch done; exit 0; fi
sleep 600 & echo $! > "$SEEN/child"
echo $$ > "$SEEN/own.part"; mv "$SEEN/own.part" "$SEEN/own"
echo hanging > "$SEEN/pipe"
wait
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_means_stopped_and_it_can_go_on(
    unstuck: Unstuck, failing: str, number: signal.Signals, repo: Path
) -> None:
    """Ctrl+C and TERM end the agent with all it started, end with 130, and the run goes on when it is resumed."""
    os.mkfifo(unstuck.seen / "pipe")
    agent = unstuck.script("agent.sh", HANGING)
    process = unstuck.start("run", "--headless", "--verify", failing, "--", "sh", agent)
    (unstuck.seen / "pipe").read_text()
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == b""
    assert number.name.encode() in out
    for name in ("own", "child"):
        assert has_ended(int((unstuck.seen / name).read_text())), name
    (repo / "finish").touch()
    done = unstuck.inside("run", "--headless", "--resume", "last")
    assert done.code == 0
    assert len(unstuck.prompts()) == 2


def test_a_hanging_agent_is_stopped_and_dispatched_again(unstuck: Unstuck, failing: str) -> None:
    """At its time limit an agent is stopped and sent again; the third time a person is asked."""
    agent = unstuck.script("agent.sh", 'echo $$ >> "$SEEN/pids"; exec sleep 600')
    done = unstuck.inside("run", "--json", "--timeout", "1s", "--verify", failing, "--", "sh", agent)
    assert done.code == 3
    assert len(unstuck.prompts()) == 3
    first, second, third = unstuck.prompts()
    again = "This is a new start of the same task. The last attempt reached its time limit and changed no file."
    assert second == third == f"{first}\n\n{again}"
    assert all(has_ended(int(pid)) for pid in (unstuck.seen / "pids").read_text().split())
    assert len(done.data("agent_timeout")) == 3
    assert unstuck.only_gate()["type"] == "stuck"
    assert all(receipt["ended"] and not receipt["alive"] for receipt in done.data("stop_receipt"))


def test_under_nohup_a_lost_terminal_stops_nothing(unstuck: Unstuck, failing: str) -> None:
    """Started with hang-ups ignored, and the ends of children, a run goes on when its terminal goes away."""
    os.mkfifo(unstuck.seen / "pipe")
    agent = unstuck.script("agent.sh", 'read line < "$SEEN/pipe"; touch done')
    words = ("run", "--headless", "--verify", failing, "--", "sh", agent)
    process = unstuck.start(*words, ignored=[signal.SIGHUP, signal.SIGCHLD])
    unstuck.until(process, b"attempt 1")
    process.send_signal(signal.SIGHUP)
    (unstuck.seen / "pipe").write_text("go\n", encoding="utf-8")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert errors == b"", out


def test_a_full_disk_ends_it_and_it_can_go_on(unstuck: Unstuck, failing: str, repo: Path) -> None:
    """When the record cannot grow any more the run ends with 6 in one line, trusted so far, and goes on later."""
    agent = unstuck.script("agent.sh", "true")
    command = f'ulimit -f 12; exec unstuck run --headless --verify "{failing}" -- sh {agent}'
    environment = os.environ | {"SEEN": str(unstuck.seen), "UNSTUCK_DISK_WAIT": "0.2"}
    full = subprocess.run(["sh", "-c", command], cwd=repo, env=environment, capture_output=True, text=True, timeout=60)
    assert full.returncode == 6
    assert full.stderr.endswith("events.jsonl: could not be written: File too large\n")
    assert len(full.stderr.splitlines()) == 1
    assert unstuck.inside("verify").code == 0
    (repo / "done").touch()
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 0
