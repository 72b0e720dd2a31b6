"""Another program starts runs with ``unstuck.client``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unstuck import Client, Supervisor, Task, UnstuckError, UsageError

Inside = Callable[..., tuple[int, str, str]]
GREETS = ["sh", "-c", "echo hello > greeting.txt"]
CHECK = "grep -q hello greeting.txt"
WAITS = ["sh", "-c", "test -e go || sleep 600; echo hello > greeting.txt"]
CALLER = """
import os, signal, sys, unstuck
run = unstuck.Client(sys.argv[1]).start("Greet.", agent=["sh", "-c", "cat door; echo hello > greeting.txt"]).run
print(run, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_is_started(repo: Path) -> None:
    """``start`` begins a run in the background, which ends like any other; it says which run that is."""
    client = Client(str(repo))
    started = client.start("--version", agent=GREETS, check=CHECK)
    assert started.wait() == 0
    shown = client.show(started.run)
    assert (shown.run.exit_reason, shown.run.about) == ("succeeded", "--version")


async def test_a_client_in_a_running_loop(tmp_path: Path) -> None:
    """A notebook or a service makes a client of a directory without a repository like any other program."""
    assert Client(tmp_path).runs() == []


def test_a_started_task_survives_a_kill(repo: Path, inside: Inside) -> None:
    """When ``start`` returns, the task is in the event log: a run that is killed then is resumed and does it."""
    client = Client(repo)
    started = client.start("Greet.", agent=WAITS, check=CHECK)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    (task,) = client.show(started.run).tasks
    assert task.status is None
    (repo / "go").touch()
    code, _, problem = inside(repo, "run", "--headless", "--resume", started.run)
    assert code == 0, problem
    assert client.show(started.run).run.exit_reason == "succeeded"


def test_a_run_outlives_the_program_that_started_it(repo: Path) -> None:
    """A caller that is killed takes nothing with it."""
    os.mkfifo(repo / "door")
    caller = subprocess.run([sys.executable, "-c", CALLER, str(repo)], capture_output=True, text=True, check=False)
    assert caller.returncode == -signal.SIGKILL
    run = caller.stdout.strip()
    client = Client(repo)
    assert client.state().run == run
    following = client.follow()
    (repo / "door").write_text("")
    assert "task_ended" in [record.event for record in following]
    assert (repo / "greeting.txt").read_text() == "hello\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"agent": "no-such-agent"}, "no-such-agent"),
        ({"agent": []}, "agent must name an agent or be a command"),
        ({"agent": 3}, "Client.start: agent must be text or a list of text, not 3"),
        ({"agent": [3]}, "Client.start: agent must be text or a list of text, not list"),
        ({"agent": GREETS, "check": 3}, "Client.start: check must be text or None, not 3"),
        ({"agent": "a\0b"}, "agent and check must have no NUL character"),
        ({"agent": ["/no/such/program"]}, "/no/such/program"),
    ],
)
def test_a_run_that_cannot_start_says_why(repo: Path, given: dict[str, Any], said: str) -> None:
    """A wrong call, or an agent that is not there, is an error of ``start`` and no process that nobody looks at."""
    client = Client(repo)
    with pytest.raises(UnstuckError, match=said):
        client.start("Greet.", **given)
    assert not client.runs()


async def test_one_run_at_a_time(repo: Path) -> None:
    """With another run live, ``start`` says so, and that run works on."""

    async def agent(guidance: object) -> None:
        with pytest.raises(UsageError, match="another run is live in this project"):
            Client(repo).start("Greet.", agent=GREETS)

    async with Supervisor.open(repo) as supervisor:
        outcome = await supervisor.supervise(Task(id="a", prompt="Ask.", check="true"), agent)
    assert outcome.status == "succeeded"


@pytest.mark.parametrize("place", [3, None, b".", "a\0b"])
def test_a_client_needs_a_path(place: Any) -> None:
    """A value that is no path is refused at once."""
    with pytest.raises(UsageError, match=r"project must be (text or )?a path, not"):
        Client(place)
