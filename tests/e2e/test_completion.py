"""Completion as a shell asks for it: names of the project, its questions and their choices."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck


def completed(unstuck: Unstuck, line: str, shell: str = "bash") -> list[str]:
    """Return what `unstuck` answers to a shell with this line and the cursor at its end."""
    words = line.split(" ")
    env = {"_UNSTUCK_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        env = env | {"COMP_CWORD": words[-1]}
    done = unstuck.inside(env=env)
    assert done.errors == ""
    return [line for line in done.out.splitlines() if line]


@pytest.fixture
def parked(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> dict[str, Any]:
    """The open question of a run that waits."""
    assert unstuck.inside("run", "--headless", "--check", failing, "--", "true", env=no_climb).code == 3
    return unstuck.only_gate()


def test_open_questions_and_their_choices_are_completed(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """`answer` offers the ids of open questions, then the choices of the one that was named."""
    assert completed(unstuck, "unstuck answer ") == [f"plain,{parked['gate']}"]
    assert completed(unstuck, "unstuck answer zz") == []
    offered = completed(unstuck, f"unstuck answer {parked['gate']} ")
    assert offered == [f"plain,{choice}" for choice in parked["choices"]]
    assert completed(unstuck, f"unstuck answer {parked['gate']} sk") == ["plain,skip"]
    assert completed(unstuck, "unstuck answer nope ") == []
    unstuck.inside("answer", parked["gate"], "skip")
    assert completed(unstuck, "unstuck answer ") == []


def test_tasks_of_a_run_are_completed(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """`show --transcript` and `events --task` offer the tasks of the run that was named, else of the last one."""
    for line in (
        "show --transcript ",
        "show last --transcript ",
        "events --task ",
        f"events {unstuck.runs[-1].name} --task ",
    ):
        assert completed(unstuck, f"unstuck {line}") == [f"plain,{parked['task']}"]
    assert completed(unstuck, "unstuck show --transcript zz") == []
    assert completed(unstuck, "unstuck show nope --transcript ") == []


def test_what_an_id_means_is_beside_it(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """zsh and fish show what the question is about."""
    assert completed(unstuck, "unstuck answer ", "zsh") == ["plain", parked["gate"], "stuck task"]
    assert completed(unstuck, "unstuck answer ", "fish") == [f"plain,{parked['gate']}\tstuck task"]


def test_ids_of_checkpoints_and_memory_are_completed(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """Checkpoints come newest first; what is remembered is offered where it is promoted or forgotten."""
    ids = [unstuck.inside("checkpoints", "create", "-m", name, "--json").rows[0]["id"] for name in ("one",)]
    (unstuck.root / "new.txt").write_text("x", encoding="utf-8")
    ids.append(unstuck.inside("checkpoints", "create", "-m", "two", "--json").rows[0]["id"])
    for command in ("show", "diff", "restore", f"diff {ids[0]}"):
        assert completed(unstuck, f"unstuck checkpoints {command} ") == [f"plain,{id}" for id in reversed(ids)]
    agent = unstuck.script("agent.sh", 'grep -q "TOUCH IT" "$UNSTUCK_PROMPT_FILE" && touch done; true')
    assert unstuck.inside("run", "--headless", "--check", failing, "--", "sh", agent, env=no_climb).code == 3
    unstuck.inside("answer", unstuck.only_gate()["gate"], "show-me", "TOUCH IT")
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 0
    known = [row["memory"] for row in unstuck.inside("memory", "list", "--json").rows]
    assert known
    for command in ("promote", "forget"):
        assert {f"plain,{id}" for id in known} == set(completed(unstuck, f"unstuck memory {command} "))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("unstuck demo --scenario hangs", "plain,hangs-silently"),
        ("unstuck run --ask ne", "plain,never"),
        ("unstuck runs --color al", "plain,always"),
        ("unstuck config ed", "plain,edit"),
        ("unstuck schema socket-req", "plain,socket-request"),
        ("unstuck config show --max-par", "plain,--max-parallel"),
    ],
)
def test_values_and_commands_are_completed(unstuck: Unstuck, line: str, wanted: str) -> None:
    """Scenarios, the values of an option, and the commands of a group."""
    assert completed(unstuck, line) == [wanted]


def test_a_damaged_log_says_nothing_into_the_line(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """Nothing is offered if nothing can be read, and no message stands in the person's line."""
    log = unstuck.runs[-1] / "events.jsonl"
    log.write_bytes(b"{}" + log.read_bytes())
    assert completed(unstuck, "unstuck answer ") == []


def test_bash_itself_completes(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """The script of `unstuck completion bash`, read by a bash that completes a line with it."""
    script = unstuck.inside("completion", "bash").out
    asks = (
        f'{script}\nCOMP_WORDS=(unstuck answer "")\nCOMP_CWORD=2\n_unstuck_completion unstuck\n'
        "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    done = subprocess.run(
        ["bash", "-c", asks], cwd=unstuck.root, env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{parked['gate']}\n"


def test_a_completion_that_fails_leaves_the_line_alone(unstuck: Unstuck) -> None:
    """Ctrl+C while bash asks, or a program that is gone: nothing is written beside what the person types."""
    script = unstuck.inside("completion", "bash").out
    asks = f"{script}\nCOMP_WORDS=(unstuck ru)\nCOMP_CWORD=1\n_unstuck_completion /nowhere/unstuck\n"
    done = subprocess.run(["bash", "-c", asks], env=os.environ, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_keys_of_settings_are_completed(unstuck: Unstuck) -> None:
    """`config show` offers every key that it can show."""
    assert completed(unstuck, "unstuck config show failure_handler.max_ret") == ["plain,failure_handler.max_retries"]
    keys = [row["key"] for row in unstuck.inside("config", "show", "--json").rows]
    assert completed(unstuck, "unstuck config show ", "fish") == [f"plain,{key}" for key in keys]


def test_interrupted_tasks_and_their_choices_are_completed(unstuck: Unstuck) -> None:
    """`--recover` offers the tasks that a killed run has left, each with every choice; otherwise nothing."""
    agent = unstuck.script("agent.sh", "echo started; sleep 1000")
    process = unstuck.start("run", "--headless", "--task", "T", "--check", "true", "--", "sh", agent)
    unstuck.until(process, b"attempt 1")
    process.kill()
    process.wait(60)
    line = "unstuck run --resume last --recover task=re"
    assert completed(unstuck, line, "zsh") == ["plain", "task=retry", "_"]
    assert "plain,task=skip" in completed(unstuck, "unstuck run --resume last --recover ta")
    # As bash divides it: it replaces only what follows the last piece.
    env = {"_UNSTUCK_COMPLETE": "bash_complete", "COMP_WORDS": "unstuck\nrun\n--resume\nlast\n--recover\ntask\n=\nre"}
    assert unstuck.inside(env=env | {"COMP_CWORD": "7"}).out == "plain,retry\n"
    env = env | {"COMP_WORDS": "unstuck\nrun\n--resume\nlast\n--recover\ntask\n="}
    assert unstuck.inside(env=env | {"COMP_CWORD": "6"}).out.splitlines()[0] == "plain,continue"
    assert unstuck.inside("run", "--headless", "--resume", "last", "--recover", "task=skip").code == 1
    assert completed(unstuck, "unstuck run --resume last --recover ta") == []


def test_a_plan_is_completed_by_the_shell(unstuck: Unstuck) -> None:
    """`run` leaves the names of files to the shell."""
    assert completed(unstuck, "unstuck run pla") == ["file,pla"]


def test_python_runs_the_command(unstuck: Unstuck) -> None:
    """`python -m unstuck` is `unstuck`, also where its program is not on PATH."""
    done = subprocess.run(
        [sys.executable, "-m", "unstuck", "config", "show", "nope"],
        cwd=unstuck.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("unstuck: there is no setting nope")
