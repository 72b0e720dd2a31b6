"""A host whose disk is really full: others work its tasks, and it works again once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.shared_plan.conftest import Machines, integrated, require_clean, task, until


def test_a_full_disk_keeps_a_host_from_its_tasks_and_nothing_else(machines: Machines) -> None:
    """It gives the task back and says why. Another host works it; with room it takes again what it gave back."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one"), task("two", "one", labels=["small"])])
    small = machines.machine("build1")
    with _small_disk(small.place / "state") as filler:
        first = machines.host("build1", "--label", "small")
        until(lambda: "offers" in first.text())
        _fill(filler)
        run = anna.start("run", str(plan), "--fleet", "--headless", "--lease", "4s")
        until(lambda: "released" in first.text(), about=first.text)
        assert "No space left" in first.text()
        second = machines.host("build2")
        until(lambda: "one" in integrated(anna.records()), about=lambda: run.text() + first.text())
        assert "passed" in second.text()
        until(lambda: first.text().count("released") == 2, about=first.text)
        filler.unlink()
        assert run.end() == 0, run.text()
        assert integrated(anna.records()) == ["one", "two"]
        machines.end()
        require_clean(machines)


def test_a_disk_that_fills_during_an_attempt_costs_that_attempt_only(machines: Machines) -> None:
    """The host says that it has no room and gives the task back; another host works it, and nothing is done twice."""
    anna = machines.owner()
    notes, go = machines.place / "notes", machines.place / "go"
    plan = machines.plan(anna, [task("one", prompt=f"note one\nawait {go}\nwrite one"), task("two", "one")])
    with _small_disk(machines.machine("build1").place / "state") as filler:
        first = machines.host("build1", NOTES=str(notes), WHO="build1")
        run = anna.start("run", str(plan), "--fleet", "--headless", "--lease", "4s")
        until(notes.exists, about=run.text)
        _fill(filler)
        go.touch()
        until(lambda: "released" in first.text(), about=lambda: run.text() + first.text())
        assert "No space left" in first.text()
        until(lambda: any("No space left" in reason for reason in _awaited(anna.records())), about=run.text)
        second = machines.host("build2", NOTES=str(notes), WHO="build2")
        assert run.end() == 0, run.text() + first.text() + second.text()
        assert integrated(anna.records()) == ["one", "two"]
        assert anna.results() == {"one.txt": "one", "two.txt": "two"}
        assert notes.read_text().split() == ["one", "build1", "one", "build2"]
        filler.unlink()
        machines.end()
        require_clean(machines)


def _awaited(records: list[dict[str, Any]]) -> list[str]:
    return [record["data"]["reason"] for record in records if record["event"] == "host_awaited"]


def _fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of a few megabytes at ``folder``; yield a file there that may fill it."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "small", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder / "filler"
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
