"""Logs of a host that lie where unstuck keeps them, without the runs that wrote them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from unstuck.eventlog.log.log_format import framed
from unstuck.eventlog.storage.project_list import listing_of, remember_home
from unstuck.fleet.copies import Copies
from unstuck.fleet.fleet_view import FleetView
from unstuck.fleet.hosts import LinkOpener
from unstuck.fleet.link import ProcessLink
from unstuck.settings.paths import state_dir

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "schema1.jsonl"


def lines_of(path: Path = GOLDEN) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def run_of(line: bytes) -> str:
    return line.split(b'"run":"')[1].split(b'"')[0].decode()


def relined(lines: list[bytes], old: bytes, new: bytes) -> list[bytes]:
    """The lines with ``new`` for ``old``, chained anew: another history that fits in itself."""
    crc, found = 0, []
    for seq, line in enumerate(lines, start=1):
        body = b"{" + line.split(b",", 2)[2].rsplit(b',"crc"', 1)[0].rsplit(b',"safe"', 1)[0] + b"}"
        framed_line, crc = framed(seq, body.replace(old, new), crc)
        found.append(framed_line)
    return found


ASKED = "20270115-080000"
"""The run of :func:`asking_lines`."""


def asking_lines(*more: tuple[str, dict[str, Any]], ahead: float = 0.0, boot: float = 0.0) -> list[bytes]:
    """The log of a run that has just asked about its task ``web``, and ``more`` events about that.

    The clocks of its host differ from those here by ``ahead`` and ``boot`` seconds.
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + ahead))
    work = {"id": "web", "prompt": "Build it.", "agent": "", "agent_type": "default", "needs": []}
    question = {"gate": "g1", "type": "stuck", "context": {}, "choices": ["skip"], "attempt_id": ""}
    told = [("run_started", {"project": "shop", "kind": "plan"}), ("task_added", {"work": work})]
    told += [("gate_opened", question), *more]
    crc, lines = 0, []
    for seq, (event, data) in enumerate(told, start=1):
        task = "" if event == "run_started" else "web"
        mono = time.monotonic() + boot
        head = {
            "time": stamp,
            "mono": mono,
            "run": ASKED,
            "actor": "policy",
            "task": task,
            "event": event,
            "data": data,
        }
        line, crc = framed(seq, json.dumps(head, separators=(",", ":")).encode(), crc)
        lines.append(line)
    return lines


class Host:
    """This machine as a host: a log of a project, and its name."""

    def __init__(self, home: Path, lines: list[bytes]) -> None:
        self.home, self.lines = home, lines
        self.run = run_of(lines[0])
        self.path = home / "runs" / self.run / "events.jsonl"
        self.path.parent.mkdir(parents=True)
        state = state_dir(os.environ)
        remember_home(home, state)
        self.log = f"{listing_of(home, state).name}-{self.run}"

    def write(self, first: int, last: int) -> None:
        """Append the lines from number ``first`` to ``last``."""
        with self.path.open("ab") as file:
            file.write(b"".join(self.lines[first - 1 : last]))


@pytest.fixture
def host(tmp_path: Path) -> Callable[..., Host]:
    def made(name: str = "project", lines: list[bytes] | None = None) -> Host:
        return Host(tmp_path / name / "unstuck", lines or lines_of())

    return made


class Machine:
    """A machine of its own as far as unstuck goes: home, state and sockets, and a project with a real repository."""

    def __init__(self, folder: Path, runtime: Path, repo: Path) -> None:
        self.repo, self.name = repo, folder.name
        runtime.mkdir(mode=0o700)
        self.environ = dict(os.environ) | {
            "HOME": str(folder),
            "UNSTUCK_STATE_DIR": str(folder / "state"),
            "UNSTUCK_RUNTIME_DIR": str(runtime),
            **{f"UNSTUCK_FAILURE_HANDLER__MAX_{rung}": "0" for rung in ("RETRIES", "PIVOTS", "RESEARCH")},
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def unstuck(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "unstuck", *arguments],
            cwd=self.repo,
            env=self.environ,
            capture_output=True,
            timeout=90,
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "unstuck", *arguments]
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=self.repo, env=self.environ, stdin=nowhere, stdout=nowhere, stderr=nowhere
        )
        self.processes.append(process)
        return process

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.unstuck(*arguments, "--json").stdout.splitlines()]

    @property
    def logs(self) -> list[Path]:
        return sorted((self.repo / ".git" / "unstuck" / "runs").glob("*/events.jsonl"))

    async def link(self, _: str = "") -> ProcessLink:
        return await ProcessLink.open([sys.executable, "-m", "unstuck", "serve", "--stdio"], self.environ)


FAILING = "echo 'E   AssertionError: assert 1 == 2'; exit 1"


@pytest.fixture
def machine(first_repo: Path, repo: Path, tmp_path: Path) -> Iterator[Callable[[str], Machine]]:
    """``machine(name)`` is a host; what still runs there is ended after the test."""
    made: list[Machine] = []
    runtime = Path(os.environ["UNSTUCK_RUNTIME_DIR"])

    def make(name: str) -> Machine:
        folder = tmp_path / name
        folder.mkdir()
        made.append(Machine(folder, runtime / name, Path(shutil.copytree(first_repo, folder / "shop"))))
        return made[-1]

    yield make
    for process in (process for one in made for process in one.processes):
        process.kill()
        process.wait(60)


class Viewer:
    """A screen's side without the screen: the view of some machines, and waiting for what it shows."""

    def __init__(self, open_link: LinkOpener, *hosts: str, environ: Mapping[str, str] | None = None) -> None:
        self.view = FleetView(hosts, open_link, Copies(environ or os.environ))
        self._changed = asyncio.Event()
        self.view.follow(lambda record: self._changed.set(), self._changed.set)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[FleetView]:
        task = asyncio.create_task(self.view.follow_hosts())
        try:
            yield self.view
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds, for what the view says has changed."""
        async with asyncio.timeout(30):
            while not condition():
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await self._changed.wait()
