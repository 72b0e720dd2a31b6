"""A reset in my own checkout keeps files that I saved meanwhile and files that other processes write to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import PATIENCE, Bench


def pivoting(bench: Bench, first: str, *, check: str = "grep -q right work.txt") -> Path:
    """A plan whose first attempt fails and whose second one, a new approach, notes the files that it finds."""
    look = 'ls > "$OUT/saw.$n"; cat kept.txt >> "$OUT/saw.$n" 2> /dev/null'
    script = f"{look}\nif [ $n = 1 ]; then {first}; else echo right > work.txt; fi"
    return bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": "web", "prompt": "x", "verify": check}],
        settings={"failure_handler": {"max_retries": 0}},
    )


def once_waiting(bench: Bench, pipe: str) -> str:
    """Shell that waits for the test, the first time only."""
    bench.pipe(pipe)
    waited = bench.outside / f"{pipe}.waited"
    return f"[ -e {waited} ] || {{ touch {waited}; read x < {bench.outside / pipe}; }}"


def restored(bench: Bench) -> dict[str, Any]:
    """The data of the one reset of the run."""
    (event,) = bench.events("restore_done")
    data: dict[str, Any] = event["data"]
    return data


def test_what_is_saved_while_the_check_runs_stays(bench: Bench) -> None:
    """A file that I write after the attempt is no work of the agent's: the new approach finds it as I left it."""
    bench.write({"kept.txt": "old\n"})
    check = f"[ ! -e agent.txt ] || {{ {once_waiting(bench, 'edited')}; }}; grep -q right work.txt"
    process = bench.start("run", "--headless", pivoting(bench, "echo agent > agent.txt", check=check))
    with (bench.outside / "edited").open("w"):
        bench.write({"notes.txt": "my notes\n", "kept.txt": "mended\n"}, commit=False)
    assert bench.end(process).code == 0
    saw = (bench.outside / "saw.2").read_text()
    assert "notes.txt" in saw
    assert "mended" in saw
    assert "agent.txt" not in saw
    assert "Changes that others made in this directory stay. They are in: kept.txt" in bench.prompt("web.2")


def test_what_the_check_formats_is_set_back_all_the_same(bench: Bench) -> None:
    """A check that rewrites the agent's files does not make them mine; they still go."""
    check = "[ ! -e agent.txt ] || echo formatted >> agent.txt; grep -q right work.txt"
    done = bench.run(pivoting(bench, "echo agent > agent.txt", check=check))
    assert done.code == 0, done.out + done.err
    assert "agent.txt" not in (bench.outside / "saw.2").read_text()


@pytest.fixture
def logging(bench: Bench) -> Iterator[int]:
    """A program of mine that writes to ``server.txt`` in the project: its open file."""
    descriptor = os.open(bench.root / "server.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, b"one\n")
    yield descriptor
    os.close(descriptor)


def test_a_file_that_another_process_writes_to_stays(bench: Bench, logging: int) -> None:
    """A server's log that grew during the attempt is neither cut nor replaced, and the reset says so."""
    plan = pivoting(bench, f"echo agent > agent.txt; {once_waiting(bench, 'logged')}")
    process = bench.start("run", "--headless", plan)
    with (bench.outside / "logged").open("w"):
        os.write(logging, b"two\n")
    done = bench.end(process)
    assert done.code == 0, done.out + done.err
    os.write(logging, b"three\n")
    assert (bench.root / "server.txt").read_text() == "one\ntwo\nthree\n"
    assert "agent.txt" not in (bench.outside / "saw.2").read_text()
    assert restored(bench)["kept"] == ["server.txt (another process writes to it)"]
    assert "left as they are: server.txt (another process writes to it)" in done.out
    assert "server.txt" in bench.prompt("web.2")


def test_output_of_unstuck_redirected_into_the_project_stays(bench: Bench) -> None:
    """``unstuck run … > run.txt`` in the project holds every line at the end, from the first one to the last."""
    with (bench.root / "run.txt").open("wb") as log:
        plan = pivoting(bench, "echo agent > agent.txt")
        process = bench._start("run", "--headless", plan, cwd=bench.root, stdin=-3, stdout=log, stderr=log)
        assert process.wait(PATIENCE) == 0
    said = (bench.root / "run.txt").read_text()
    assert "attempt 1" in said
    assert "files restored to" in said
    assert "every task succeeded" in said
    assert "\0" not in said
    assert "agent.txt" not in (bench.outside / "saw.2").read_text()


def test_what_others_change_during_an_attempt_is_saved_and_named(bench: Bench) -> None:
    """It cannot be told apart from the agent's work, so it goes; its name and the way back to it are on the screen."""
    plan = pivoting(bench, f"echo agent > agent.txt; {once_waiting(bench, 'written')}")
    process = bench.start("run", "--headless", plan)
    with (bench.outside / "written").open("w"):
        bench.write({"mine.txt": "precious\n"}, commit=False)
    done = bench.end(process)
    assert done.code == 0, done.out + done.err
    assert not (bench.root / "mine.txt").exists()
    assert "mine.txt" in json.dumps(restored(bench)["changes"])
    assert "mine.txt" in done.out
    back = next(line for line in done.out.splitlines() if "unstuck checkpoints restore" in line).split()[-1]
    assert bench.call("checkpoints", "restore", back, "--file", "mine.txt", "--yes").code == 0
    assert (bench.root / "mine.txt").read_text() == "precious\n"
