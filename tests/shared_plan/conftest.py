"""Machines that work one plan: each a home, a clone and processes of its own, around a real NATS server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.nats.conftest import Fleet
from tests.nats.test_faults import Links

from unstuck.eventlog.log.verify import check
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.keys import Role, read_credentials
from unstuck.fleet.nats.membership import Membership
from unstuck.fleet.nats.nats_server import server_program
from unstuck.fleet.nats.session import connected

START = (sys.executable, "-m", "unstuck")
GIT = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
}
AGENT = Path(__file__).with_name("scripted_agent.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests with a real server to `make nats`, as those beside the fleet's own."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "unit" not in item.keywords:
            item.add_marker(pytest.mark.nats)


def git(directory: Path, *words: str) -> str:
    """Run git in ``directory`` and return what it says."""
    environ = {**os.environ, **GIT, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(
        ["git", *words], cwd=directory, env=environ, capture_output=True, text=True, check=True
    ).stdout.strip()


class Started:
    """A command of ``unstuck`` that runs on a machine; its output is in files."""

    def __init__(self, machine: Machine, name: str, words: Iterable[str], environ: dict[str, str]) -> None:
        machine.number += 1
        self.out = machine.place / f"{machine.number}-{name}.out"
        self.errors = machine.place / f"{machine.number}-{name}.err"
        with self.out.open("wb") as out, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*START, *words],
                env=environ,
                cwd=machine.clone,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )

    def end(self, seconds: float = 90) -> int:
        """Wait for its end and return its exit code."""
        return self.process.wait(timeout=seconds)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it as a person does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill()

    def text(self) -> str:
        """Return all that it has said."""
        return self.out.read_text() + self.errors.read_text()


class Machine:
    """A machine with a home, a state directory and a clone of the repository."""

    def __init__(self, place: Path, name: str, origin: Path | None, source: Path) -> None:
        self.name, self.place, self.number = name, place / name, 0
        self.place.mkdir()
        (self.place / "run").mkdir(mode=0o700)
        self.clone = self.place / "clone"
        git(self.place, "clone", "--quiet", str(origin or source), str(self.clone))
        if origin is None:
            git(self.clone, "remote", "remove", "origin")
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("UNSTUCK_", "GIT_"))}
        self.environ = {
            **inherited,
            **GIT,
            "HOME": str(self.place),
            "UNSTUCK_STATE_DIR": str(self.place / "state"),
            "UNSTUCK_RUNTIME_DIR": str(self.place / "run"),
        }
        self.commands: list[Started] = []

    def start(self, *words: str, name: str = "", **more: str) -> Started:
        """Start a command of ``unstuck`` in the clone."""
        started = Started(self, name or words[0], words, self.environ | more)
        self.commands.append(started)
        return started

    def work(self, *words: str, seconds: float = 90, **more: str) -> tuple[int, str, str]:
        """Run a command of ``unstuck`` to its end; return its code, its output and its errors."""
        started = self.start(*words, **more)
        code = started.end(seconds)
        return code, started.out.read_text(), started.errors.read_text()

    @property
    def runs(self) -> Path:
        return self.clone / ".git" / "unstuck" / "runs"

    def records(self, run: str = "") -> list[dict[str, Any]]:
        """Return the records of the newest run, or of ``run``; none before it has begun."""
        folders = [self.runs / run] if run else sorted(self.runs.glob("*"))
        log = folders[-1] / "events.jsonl" if folders else None
        lines = log.read_text().split("\n")[:-1] if log is not None and log.exists() else []
        return [json.loads(line) for line in lines]

    def results(self, run: str = "") -> dict[str, str]:
        """Return the files of the results of the newest run, by name."""
        tip = f"unstuck/{run or max(self.runs.iterdir()).name}/_run"
        names = git(self.clone, "ls-tree", "-r", "--name-only", tip).split()
        return {name: git(self.clone, "show", f"{tip}:{name}") for name in names if name != "README.md"}

    def logs(self) -> list[Path]:
        """Return the folders of all event logs of this machine, those of small runs included."""
        return [path.parent for path in self.place.rglob("events.jsonl")]


class Machines:
    """The machines of one test, the server, and the repository that all of them share."""

    def __init__(self, place: Path, fleet: Fleet, served: Served) -> None:
        self.place, self.fleet, self.served = place, fleet, served
        self.remote = True
        self.all: dict[str, Machine] = {}
        self.source, self.origin = place / "source", place / "origin.git"
        self.source.mkdir()
        git(self.source, "init", "--quiet", "-b", "main")
        (self.source / "README.md").write_text("# Example\n")
        git(self.source, "add", "-A")
        git(self.source, "commit", "--quiet", "-m", "Start")
        git(place, "clone", "--quiet", "--bare", str(self.source), str(self.origin))

    def machine(self, name: str, *roles: Role) -> Machine:
        """Return a machine with its keys: those of ``roles`` are made on first use, named after it."""
        if name not in self.all:
            self.all[name] = Machine(self.place, name, self.origin if self.remote else None, self.source)
        machine = self.all[name]
        for role in roles:
            self.join(machine, name if role == "host" or "host" not in roles else f"{name}-p", role)
        return machine

    def join(self, machine: Machine, key: str, role: Role) -> None:
        """Join the fleet on ``machine`` with the key of this name, as `unstuck fleet join` does it."""
        credentials = read_credentials(self.fleet.server.add(key, role))
        kind = "host" if role == "host" else "person"
        credentials = replace(credentials, url=f"tls://127.0.0.1:{self.served.links.port}")
        credentials.write(Membership(machine.environ).folder / f"{kind}.json")

    def owner(self, name: str = "anna") -> Machine:
        """Return a machine with a person's key of its name."""
        machine = self.machine(name)
        self.join(machine, name, "person")
        return machine

    def key(self, name: str) -> str:
        """Return the public key of ``name``."""
        return self.fleet.server.members()[name].public

    def host(self, name: str, *words: str, trusts: str = "anna", slots: int = 1, **more: str) -> Started:
        """Start a host that trusts an owner and offers the scripted agent."""
        machine = self.machine(name, "host")
        if trusts:
            code, _, errors = machine.work("fleet", "trust", self.key(trusts))
            assert code == 0, errors
        return self.offer(machine, *words, slots=slots, **more)

    def offer(self, machine: Machine, *words: str, slots: int = 1, **more: str) -> Started:
        agent = f"fix={sys.executable} {AGENT} {{prompt_file}}"
        return machine.start("fleet", "work", "--slots", str(slots), "--agent", agent, *words, name="work", **more)

    def plan(self, machine: Machine, tasks: list[dict[str, Any]], **more: Any) -> Path:
        """Write a plan. Its agent has no command that works on the owner's machine."""
        path = machine.place / "plan.yaml"
        plan = {"agents": {"fix": {"command": ["only-on-hosts", "{prompt_file}"]}}, "tasks": tasks, **more}
        path.write_text(json.dumps(plan))
        return path

    def wipe(self) -> None:
        """Delete the bucket of shared plans, and the files; the server's tender makes new ones."""

        async def delete() -> None:
            async with connected(self.fleet.server.owner_credentials()) as session:
                for stream in (s.PLANS, s.FILES):
                    assert (await session.api(f"STREAM.DELETE.{stream}"))["success"]

        asyncio.run(delete())

    def end(self) -> None:
        for machine in self.all.values():
            for command in machine.commands:
                command.stop()


def task(id: str, *needs: str, **more: Any) -> dict[str, Any]:
    """Return a task that is done once its file holds its own name."""
    prompt = more.pop("prompt", f"write {id}")
    return {"id": id, "prompt": prompt, "check": f"grep -qx {id} {id}.txt", "needs": list(needs), **more}


def until(holds: Callable[[], Any], seconds: float = 60, about: Callable[[], str] = str) -> Any:
    """Wait until something holds and return it; fails with what is known after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            pytest.fail(f"it does not hold after {seconds:g} s: {about()}")
        time.sleep(0.05)
    return found


def require_clean(machines: Machines) -> None:
    """Check the event logs of every machine as `unstuck fsck` does. Raises RecordError for a damaged one."""
    for machine in machines.all.values():
        for folder in machine.logs():
            check(folder)


def integrated(records: list[dict[str, Any]]) -> list[str]:
    """Return the tasks whose result was integrated, once for each time."""
    found = [record["data"] for record in records if record["event"] == "result_integrated"]
    return [data["task_id"] for data in found if data["commit"] not in ("none", "unchanged")]


class Served:
    """The server and the links to it, in a thread beside a test that waits for processes."""

    def __init__(self, fleet: Fleet) -> None:
        self.links = Links(int(fleet.server.url.rpartition(":")[2]))
        self._fleet, self._begun, self._over = fleet, threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Served:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._begun.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._over.set)
        self._thread.join()

    async def _serve(self) -> None:
        async with self._fleet.server.running(server_program()), self.links.served():
            self._loop = asyncio.get_running_loop()
            self._begun.set()
            await self._over.wait()

    def _call(self, work: Callable[[], object]) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(work)

    def cut(self) -> None:
        """Cut every link to the server once."""
        self._call(self.links.cut)

    def slow(self, seconds: float) -> None:
        """Delay all that passes a link; more than a few seconds are as good as a cut."""
        self.links.pause = seconds


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    fleet = Fleet(tmp_path)
    with Served(fleet) as served:
        found = Machines(tmp_path, fleet, served)
        try:
            yield found
        finally:
            found.end()
