"""Starting: what the program gets, when it begins, and what is said when it cannot."""

from __future__ import annotations

import asyncio
import os

import psutil
import pytest
from tests.processes.conftest import Lab

from unstuck.errors import AgentNotFound
from unstuck.processes import Launch, Process, clean_environment, is_alive


async def test_nothing_runs_before_its_identity_is_logged(lab: Lab) -> None:
    """The agent's first act comes after `spawned` has returned, with the start time the system itself gives."""
    log = lab.directory / "log"
    seen: list[tuple[int, float]] = []

    async def spawned(pid: int, start: float) -> None:
        assert abs(psutil.Process(pid).create_time() - start) < 0.02
        assert "sh" not in psutil.Process(pid).cmdline()
        await asyncio.to_thread(log.write_text, "durable")
        seen.append((pid, start))

    process = await lab.start(lab.launch("sh", "-c", "cat log"), spawned)
    assert (await process.wait()).code == 0
    assert lab.output.read_bytes() == b"durable"
    assert seen == [(process.pid, process.start_time)]


async def test_the_process_has_its_own_session_directory_and_environment(lab: Lab) -> None:
    """A program gets exactly the directory and environment it was given, and no terminal of ours."""
    process = await lab.start(lab.launch("sh", "-c", "pwd; echo $COLOUR; ps -o sid= -p $$", COLOUR="blue\udce9"))
    await process.wait()
    where, colour, session = lab.output.read_bytes().split(b"\n")[:3]
    assert where == os.fsencode(lab.directory)
    assert colour == b"blue\xe9"
    assert int(session) == process.pid


async def test_a_prompt_is_read_from_its_file(lab: Lab) -> None:
    """A prompt too long for an argument comes through standard input, whole."""
    prompt = lab.directory / "prompt"
    prompt.write_text("word " * 100_000)
    process = await lab.start(lab.launch("cat", stdin=prompt))
    assert (await process.wait()).code == 0
    assert lab.output.read_bytes() == prompt.read_bytes()


async def test_without_a_prompt_file_standard_input_is_at_its_end(lab: Lab) -> None:
    """A program that asks for input does not wait for a keyboard that nobody sits at."""
    process = await lab.start(lab.launch("cat"))
    assert (await process.wait()).code == 0


async def test_signals_that_the_shim_ignores_are_not_ignored_by_the_agent(lab: Lab) -> None:
    """A pipeline still ends by SIGPIPE: dispositions of the shim are not inherited."""
    process = await lab.shell("kill -PIPE $$; echo survived")
    assert (await process.wait()).signal == 13


@pytest.mark.parametrize(
    ("command", "directory", "reason"),
    [
        ("no-such-agent", ".", "no-such-agent: not found on PATH"),
        ("./missing", ".", "./missing: No such file or directory"),
        ("./plain", ".", "./plain: Permission denied"),
        ("./orphan", ".", "./orphan: could not be executed: No such file or directory"),
        ("sh", "gone", "sh: working directory .*gone: No such file or directory"),
    ],
)
async def test_what_cannot_be_started_is_one_clear_line(lab: Lab, command: str, directory: str, reason: str) -> None:
    """A wrong program or directory names itself and the reason, and leaves no process."""
    (lab.directory / "plain").write_text("#!/bin/sh\n")
    orphan = lab.directory / "orphan"
    orphan.write_text("#!/no/such/interpreter\n")
    orphan.chmod(0o700)
    before = set(lab.left())
    launch = Launch(command=(command,), cwd=lab.directory / directory, environment=dict(os.environ), output=lab.output)
    with pytest.raises(AgentNotFound, match=reason) as caught:
        await Process.start(launch)
    assert "\n" not in str(caught.value)
    assert not set(lab.left()) - before


async def test_a_script_without_its_first_line_says_what_it_needs(lab: Lab) -> None:
    """A program without a shebang is refused with the reason, and so is an argument of a megabyte."""
    script = lab.directory / "script"
    script.write_text("echo hello\n", encoding="utf-8")
    script.chmod(0o755)
    with pytest.raises(AgentNotFound, match=r"Exec format error .*#!/bin/sh"):
        await lab.start(lab.launch(str(script)))
    with pytest.raises(AgentNotFound, match="Argument list too long"):
        await lab.start(lab.launch("sh", "-c", "true", "x" * 2**20))
    many = await lab.start(lab.launch("sh", "-c", "echo $#", *["x" * 1_000] * 1_000))
    assert (await many.wait()).code == 0
    assert lab.output.read_bytes() == b"999\n"


async def test_a_program_that_cannot_be_run_does_not_hide_the_next_on_path(lab: Lab) -> None:
    """A script whose interpreter was removed stands first on PATH: the one after it is run, as a shell's exec does."""
    for folder, first_line in (("stale", "#!/no/such/interpreter"), ("good", "#!/bin/sh")):
        script = lab.directory / folder / "agent"
        script.parent.mkdir()
        script.write_text(f"{first_line}\necho here\n")
        script.chmod(0o700)
    path = f"{lab.directory / 'stale'}{os.pathsep}{lab.directory / 'good'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    launch = Launch(command=("agent",), cwd=lab.directory, environment=environment, output=lab.output)
    process = await lab.start(launch)
    assert (await process.wait()).code == 0
    assert lab.output.read_bytes() == b"here\n"


async def test_an_output_file_that_cannot_be_opened_is_said(lab: Lab) -> None:
    """A missing directory for the output is named before anything runs."""
    launch = Launch(command=("sh",), cwd=lab.directory, environment={}, output=lab.directory / "no" / "where")
    with pytest.raises(AgentNotFound, match=r"cannot start sh: .*/no/where: No such file or directory"):
        await Process.start(launch)


async def test_a_log_that_fails_keeps_the_agent_from_running(lab: Lab) -> None:
    """The agent has done nothing and is gone if `spawned` raises."""
    spawned_as: list[tuple[int, float]] = []

    async def spawned(pid: int, start: float) -> None:
        spawned_as.append((pid, start))
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await lab.start(lab.launch("touch", "acted"), spawned)
    assert not is_alive(*spawned_as[0])
    assert not (lab.directory / "acted").exists()


async def test_cancelling_a_start_leaves_no_process(lab: Lab) -> None:
    """Somebody who gives up while an agent starts has nothing to clear away."""
    reached: asyncio.Future[tuple[int, float]] = asyncio.get_running_loop().create_future()

    async def spawned(pid: int, start: float) -> None:
        reached.set_result((pid, start))
        await asyncio.Event().wait()

    task = asyncio.create_task(lab.start(lab.launch("touch", "acted"), spawned))
    identity = await reached
    assert is_alive(*identity)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(*identity)
    assert not (lab.directory / "acted").exists()


async def test_a_large_environment_arrives_whole(lab: Lab) -> None:
    """An order larger than a pipe holds neither blocks nor is cut."""
    process = await lab.start(lab.launch("sh", "-c", "printf %s $BIG | wc -c", BIG="x" * 100_000))
    await process.wait()
    assert int(lab.output.read_text()) == 100_000


def test_a_clean_environment_points_at_nobody_elses_work() -> None:
    """Git's, pytest's and our own variables of this process are dropped; the user's and the given ones stay."""
    environ = {
        "PATH": "/bin",
        "GIT_DIR": "/elsewhere",
        "GIT_INDEX_FILE": "i",
        "GIT_CONFIG_KEY_0": "k",
        "GIT_AUTHOR_NAME": "Ana",
        "PYTEST_CURRENT_TEST": "t",
        "UNSTUCK_TASK": "outer",
        "UNSTUCK_HOME": "h",
    }
    assert clean_environment(environ, UNSTUCK_TASK="inner") == {
        "PATH": "/bin",
        "GIT_AUTHOR_NAME": "Ana",
        "UNSTUCK_TASK": "inner",
    }
