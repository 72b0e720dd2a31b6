"""A file system that turns read-only, no descriptors and no space are named as what they are, and end with 6."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.e2e.conftest import LIMIT, Unstuck

from unstuck.clock import SystemClock
from unstuck.contract import Answer
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.storage.lock import ProjectLock
from unstuck.supervision.gates.service import answer_gate

PROGRAM = str(Path(sys.executable).with_name("unstuck"))


def _may_mount() -> bool:
    tried = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    try:
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


mounts = pytest.mark.skipif(not _may_mount(), reason="a mount of its own needs rights that this user does not have")


@mounts
@pytest.mark.parametrize("agent", ["exit 0", "echo x > new; exit 1"])
def test_git_turns_read_only_in_the_middle(unstuck: Unstuck, agent: str) -> None:
    """The run ends with 6 and names the cause; no agent is said to have crashed, and no Traceback is shown."""
    git = unstuck.root / ".git"
    turns = f"mount --bind '{git}' '{git}' && mount -o remount,ro,bind '{git}'; {agent}"
    run = f'exec "{PROGRAM}" run --headless --verify "test -e x" -- sh -c "{turns}"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", run], cwd=unstuck.root, capture_output=True, text=True, timeout=LIMIT
    )
    said = done.stdout + done.stderr
    assert done.returncode == 6, said
    assert "Read-only file system" in done.stderr
    assert "Neither an agent nor a check is the cause" in done.stderr
    assert "agent crashed" not in said
    assert "Traceback" not in said


@mounts
@pytest.mark.parametrize("agent", ["exit 0", "exit 1"])
@pytest.mark.parametrize(
    "fill",
    [
        "cat /dev/zero > '{0}/filler' 2> /dev/null",
        "mkdir '{0}/f'; while mktemp -q '{0}/f/XXXXXX'; do :; done > /dev/null",
    ],
    ids=["bytes", "files"],
)
def test_the_disk_fills_in_the_middle(unstuck: Unstuck, fill: str, agent: str) -> None:
    """A disk of the runs that an attempt leaves full is named, with exit code 6; no agent is said to have crashed."""
    home = unstuck.root / ".git" / "unstuck"
    home.mkdir(mode=0o700)
    fills = unstuck.script("fills.sh", f"{fill.format(home)}; {agent}")
    run = (
        f"mount -t tmpfs -o size=4m,nr_inodes=300 none '{home}' && chmod 700 '{home}' && "
        f'exec "{PROGRAM}" run --headless --verify "test -e x" -- sh {fills}'
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", run],
        cwd=unstuck.root,
        env=os.environ | {"UNSTUCK_DISK_WAIT": "0.1", "SEEN": str(unstuck.seen)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 6, said
    assert "No space left on device" in done.stderr
    assert "agent crashed" not in said
    assert "Traceback" not in said


@mounts
def test_no_byte_is_free_at_the_start(tmp_path: Path) -> None:
    """A full disk is refused with 6 also where not even the lock can be written."""
    place = tmp_path / "full"
    place.mkdir()
    run = (
        f'mount -t tmpfs -o size=2m none "{place}" && cd "{place}" && git init -q && '
        "git -c user.name=a -c user.email=b commit -q --allow-empty -m x && { cat /dev/zero > filler 2> /dev/null; "
        f'exec "{PROGRAM}" run --headless --verify true -- true; }}'
    )
    done = subprocess.run(["unshare", "--mount", "sh", "-c", run], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 6, done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("number", range(11, 17))
def test_no_descriptors_are_left(unstuck: Unstuck, number: int) -> None:
    """A limit that is too low is named with its cure; a limit that is just enough changes nothing."""

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))

    words = [PROGRAM, "run", "--headless", "--verify", "test -e x", "--", "sh", "-c", "exit 1"]
    done = subprocess.run(words, cwd=unstuck.root, capture_output=True, text=True, timeout=LIMIT, preexec_fn=lower)
    said = done.stdout + done.stderr
    assert "agent crashed" not in said
    assert "Traceback" not in said
    if done.returncode != 3:
        assert done.returncode == 6, said
        assert "ulimit -n" in done.stderr


STARVING = """
import asyncio
from unstuck.runs.run import signals_heard

async def work():
    def starve():
        loop.call_soon(starve)
        raise MemoryError
    loop = asyncio.get_running_loop()
    with signals_heard(None, None):
        loop.call_soon(starve)
        {work}

asyncio.run(work())
"""


@pytest.mark.parametrize(
    "work", ["await asyncio.sleep(600)", "await asyncio.wait([asyncio.shield(loop.create_future())])"]
)
def test_an_event_loop_without_memory_ends_the_run(work: str) -> None:
    """It says why, once, and never goes on calling what fails; also where its work cannot be ended any more."""
    deaf = f"try: {work}\n        except asyncio.CancelledError: {work}"
    for source in (work, deaf):
        command = [sys.executable, "-c", STARVING.format(work=source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        assert "Cannot allocate memory. Neither an agent nor a check is the cause" in done.stderr
        assert done.stderr.count("MemoryError") == 0
    assert done.returncode == 6


@pytest.fixture
def suspended(unstuck: Unstuck) -> Iterator[psutil.Process]:
    """A live run whose supervisor is suspended."""
    os.mkfifo(unstuck.seen / "never")
    process = unstuck.start("run", "--headless", "--verify", "true", "--", "sh", "-c", 'read x < "$SEEN/never"')
    unstuck.until(process, b"attempt 1")
    process.send_signal(signal.SIGSTOP)
    found = psutil.Process(process.pid)
    try:
        yield found
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT)


def test_doctor_sees_a_suspended_supervisor(unstuck: Unstuck, suspended: psutil.Process) -> None:
    """It is live and suspended, with the command that continues it, and not "no live run"."""
    done = unstuck.inside("doctor")
    assert f"its process {suspended.pid} is suspended" in done.out
    assert f"kill -CONT {suspended.pid}" in done.out
    assert "no live run" not in done.out


async def _answered(run: Path, gate: str) -> None:
    journal = await Journal.open(run, run=run.name, clock=SystemClock())
    answer_gate(journal, gate, Answer(choice="skip"), via="program")
    await journal.committed()
    await journal.close()


def test_a_loser_hears_the_winner_while_the_lock_is_held(
    unstuck: Unstuck, no_climb: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that never gets the lock reads who has answered, and not that some process is live."""
    assert unstuck.inside("run", "--headless", "--verify", "false", "--", "true", env=no_climb).code == 3
    gate, run = unstuck.only_gate()["gate"], unstuck.runs[-1]
    monkeypatch.setattr("unstuck.runs.answers.answer_offline._TRIES", 1)
    with ProjectLock(run.parents[1] / "lock"):
        assert "another run is live" in unstuck.inside("answer", gate, "skip").errors
        asyncio.run(_answered(run, gate))
        done = unstuck.inside("answer", gate, "abandon")
    assert done.code == 2
    assert f"{gate} is closed already: by a person" in done.errors


@pytest.mark.parametrize("number", [0, 1000])
def test_a_run_whose_plan_could_not_be_written(unstuck: Unstuck, number: int) -> None:
    """It ends with 6; once there is room, ``--resume`` says that it never started, and a new run starts."""

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, resource.RLIM_INFINITY))

    words = [PROGRAM, "run", "--headless", "--verify", "true", "--", "true"]
    environ = os.environ | {"UNSTUCK_DISK_WAIT": "0.1", "PYTHONDONTWRITEBYTECODE": "1"}
    begun = subprocess.run(
        words, cwd=unstuck.root, env=environ, capture_output=True, text=True, timeout=LIMIT, preexec_fn=lower
    )
    assert begun.returncode == 6, begun.stderr
    assert "File too large" in begun.stderr
    assert unstuck.runs or number == 0
    for run in unstuck.runs:
        done = unstuck.inside("run", "--resume", run.name, "--headless")
        assert done.code == 2
        assert f"run {run.name} never started: its event log holds no event" in done.errors
        assert "unstuck run" in done.errors
        assert unstuck.inside("verify", run.name).code == 0
    assert unstuck.inside("run", "--headless", "--verify", "true", "--", "true").code == 0
