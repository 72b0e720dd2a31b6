"""A host whose disk is really full: others work its tasks, and it works again once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.shared_plan.conftest import Machines, integrated, require_clean, task, until


def test_a_full_disk_keeps_a_host_from_its_tasks_and_nothing_else(machines: Machines) -> None:
    """It says that it has no room and gives the task back. Another host works it; with room it takes the next one."""
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
        filler.unlink()
        first.stop()
        machines.offer(small, "--label", "small")
        assert run.end() == 0, run.text()
        assert integrated(anna.records()) == ["one", "two"]
        machines.end()
        require_clean(machines)


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
