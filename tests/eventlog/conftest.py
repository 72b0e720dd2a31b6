"""A disk under the log that fails when it is told to, a run to look at, and the command line program to look with."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unstuck.clock import SystemClock
from unstuck.contract import Task
from unstuck.eventlog import events as e
from unstuck.eventlog.log import writer
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.storage import durable_files
from unstuck.runs.plans.one_command import one_command
from unstuck.runs.plans.plan import one_task_plan
from unstuck.text import Clean

RUN = "20270115-080000"
Said = Callable[..., tuple[int, str, str]]


class Disk:
    """``os`` as the log sees it, with a disk that can be told to fail."""

    def __init__(self) -> None:
        self.most = 1 << 30
        self.room = 1 << 30
        self.broken_after = 1 << 30
        self.full = errno.ENOSPC
        self.refuses = ""
        self.sync_error = 0
        self.truncate_error = 0
        self.syncs = self.cuts = 0
        self._cut = threading.Condition()
        self.syncing = threading.Semaphore(0)
        self.may_sync = threading.Event()
        self.may_sync.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: os.PathLike[str] | str, flags: int, *more: int) -> int:
        if self.refuses and str(path).endswith(self.refuses) and flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return os.open(path, flags, *more)

    def write(self, fd: int, data: bytes) -> int:
        for left, error in ((self.room, self.full), (self.broken_after, errno.EIO)):
            if left == 0:
                raise OSError(error, os.strerror(error))
        written = os.write(fd, data[: min(self.most, self.room, self.broken_after)])
        self.room -= written
        self.broken_after -= written
        return written

    def fdatasync(self, fd: int) -> None:
        self.syncs += 1
        self.syncing.release()
        self.may_sync.wait()
        if self.sync_error:
            raise OSError(self.sync_error, os.strerror(self.sync_error))
        os.fdatasync(fd)

    def ftruncate(self, fd: int, size: int) -> None:
        if self.truncate_error:
            raise OSError(self.truncate_error, os.strerror(self.truncate_error))
        os.ftruncate(fd, size)
        with self._cut:
            self.cuts += 1
            self._cut.notify_all()

    def wait_for_cut(self, known: int) -> None:
        """Return once something was cut off more often than ``known`` times."""
        with self._cut:
            self._cut.wait_for(lambda: self.cuts > known)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk under every log of this test."""
    disk = Disk()
    for module in (durable_files, writer):
        monkeypatch.setattr(module, "os", disk)
    return disk


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run with three tasks, in a project without git, which is the working directory."""
    folder = tmp_path / ".unstuck" / "runs" / RUN
    plan = one_task_plan(one_command(("true",), task="Do a."))

    async def write() -> None:
        journal = await Journal.open(folder, run=RUN, clock=SystemClock())
        journal.append(e.RunStarted(project="p", plan=plan.as_dict()))
        for name in ("a", "b", "c"):
            work = Task(id=name, prompt=Clean(f"Do {name}."), agent="true")
            journal.append(e.TaskAdded(work=work), task=name)
        await journal.close()

    asyncio.run(write())
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Return exit code and output of the command line program, run in this very process to save its start."""
    from unstuck_tui.cli import main

    def run(*command: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["unstuck", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    return run
