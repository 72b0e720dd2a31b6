"""Faults at random to all that works one plan; `UNSTUCK_PLAN_RUNS=100 make nats` does them to a hundred plans."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.nats.conftest import Fleet
from tests.shared_plan.conftest import Machine, Machines, Served, Started, integrated, require_clean, task

RUNS = int(os.environ.get("UNSTUCK_PLAN_RUNS", "1"))
FIRST = int(os.environ.get("UNSTUCK_PLAN_SEED", "1"))
HOSTS = ("build1", "build2", "build3", "build4")
LEASE, LONGEST_S, QUIET_S = ("--lease", "4s"), 240.0, (0.5, 4.0)
FAULTS = (
    "kill host", "kill owner", "kill server", "suspend host", "suspend owner", "cut links", "slow links", "no room",
    "wipe server",
)  # fmt: skip
ONCE = {"failure_handler": {"max_retries": 1, "max_pivots": 0, "max_research": 0}}
ANSWERS = "- {gate: stuck, answer: show_me, text: 'write six', always: true}\n"


class Faults:
    """One plan on four hosts, one of them slow, and the faults that are done to it."""

    def __init__(self, machines: Machines, seed: int) -> None:
        self.machines, self.random = machines, random.Random(seed)
        self.anna = machines.owner()
        self.notes = machines.place / "notes"
        self.done: list[str] = []
        tasks = [
            task("one", prompt="note one\nsleep 1\nwrite one"),
            task("two", prompt="note two\ndraft two\nsleep 2\nwrite two"),
            task("three", "one", prompt="note three\nsleep 1\nwrite three"),
            task("four", "one", "two", prompt="note four\nwrite four"),
            task("five", prompt="note five\nsleep 3\nwrite five"),
            task("six", "five", prompt="note six\nfail it cannot be done alone"),
        ]
        self.plan = machines.plan(self.anna, tasks, settings=ONCE)
        self.answers = machines.place / "answers.yaml"
        self.answers.write_text(ANSWERS)
        self.hosts = {name: self._host(name) for name in HOSTS}
        words = ("--fleet", "--headless", "--answers", str(self.answers), *LEASE)
        self.owner = self.anna.start("run", str(self.plan), *words)
        self.words = words

    def _host(self, name: str) -> Started:
        slow = {"SLOW": "3"} if name == "build4" else {}
        if name in self.machines.all:
            machine = self.machines.all[name]
            return self.machines.offer(machine, NOTES=str(self.notes), WHO=name, **slow)
        return self.machines.host(name, NOTES=str(self.notes), WHO=name, **slow)

    def work(self) -> int:
        """Do a fault after each quiet while, until the run has ended; return its exit code."""
        end = time.monotonic() + LONGEST_S
        left = self.random.randint(3, 6)
        while time.monotonic() < end:
            code = self._quiet(self.random.uniform(*QUIET_S) if left else 10.0)
            if code is not None and code not in (-9, 3, 130):
                return code
            if code is not None:
                self._resume()
            elif left:
                left -= 1
                self._do(self.random.choice(FAULTS))
        pytest.fail(f"it does not end: {self.done}\n{self.owner.text()}")

    def _quiet(self, seconds: float) -> int | None:
        """Wait; return the exit code of the owner's process where it has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.owner.process.poll() is None:
            time.sleep(0.05)
        return self.owner.process.poll()

    def _resume(self) -> None:
        folder = [path for path in self.anna.runs.glob("*") if (path / "events.jsonl").exists()]
        words = ["--resume", "last"] if folder and self.anna.records() else [str(self.plan)]
        self.owner = self.anna.start("run", *words, *self.words, name="resume")

    def _do(self, fault: str) -> None:
        self.done.append(fault)
        name = self.random.choice(HOSTS)
        if fault == "kill host":
            self.hosts[name].kill()
            self.hosts[name] = self._host(name)
        elif fault == "kill owner":
            self.owner.kill()
        elif fault == "kill server":
            server = self.machines.fleet.server
            with suppress(OSError, ValueError):
                os.kill(int((server.folder / "server.pid").read_text()), signal.SIGKILL)
        elif fault == "suspend host":
            self._suspend(self.hosts[name], self.random.uniform(1, 9))
        elif fault == "suspend owner":
            self._suspend(self.owner, self.random.uniform(1, 3))
        elif fault == "cut links":
            self.machines.served.cut()
        elif fault == "slow links":
            self.machines.served.slow(self.random.choice((0.3, 1.5, 7.0)))
            time.sleep(self.random.uniform(2, 8))
            self.machines.served.slow(0)
        elif fault == "no room":
            self._fill(self.machines.all[name])
        else:
            with suppress(Exception):  # it may be down for a moment
                self.machines.wipe()

    @staticmethod
    def _suspend(process: Started, seconds: float) -> None:
        """Stop a process for a while: to the others it is cut off, and it wakes up with all that it believed."""
        if process.process.poll() is None:
            os.kill(process.process.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(process.process.pid, signal.SIGCONT)

    def _fill(self, machine: Machine) -> None:
        """Refuse to write plans of small runs for a while, as a full disk does."""
        plans = machine.place / "state" / "fleet-plans" / "plans"
        with suppress(OSError):
            kept = plans.with_name("kept")
            if plans.is_dir():
                plans.rename(kept)
            plans.write_text("")
            time.sleep(1)
            plans.unlink()
            if kept.is_dir():
                kept.rename(plans)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + RUNS))
def test_whatever_fails_no_result_is_lost_or_integrated_twice(tmp_path: Path, seed: int) -> None:
    """All tasks succeed, each is integrated once, each question is answered once, and every log is clean."""
    fleet = Fleet(tmp_path)
    with Served(fleet) as served:
        machines = Machines(tmp_path, fleet, served)
        machines.remote = bool(seed % 3)
        try:
            faults = Faults(machines, seed)
            code = faults.work()
        finally:
            machines.end()
    about = f"{', '.join(faults.done)}\n{faults.owner.text()}"
    names = ("one", "two", "three", "four", "five", "six")
    assert code == 0, about
    assert Counter(integrated(faults.anna.records())) == Counter(names), about
    results = faults.anna.results()
    assert {name: results.get(f"{name}.txt") for name in names} == {name: name for name in names}, about
    _require_one_answer_each(machines, about)
    require_clean(machines)
    print(f"seed {seed}: {', '.join(faults.done)}")


def _require_one_answer_each(machines: Machines, about: str) -> None:
    """Assert that no log has two answers to one question."""
    for machine in machines.all.values():
        for folder in machine.logs():
            answered = Counter(_gates_answered(folder))
            assert not [gate for gate, count in answered.items() if count > 1], about


def _gates_answered(folder: Path) -> list[str]:
    import json

    lines = (folder / "events.jsonl").read_text().split("\n")[:-1]
    records: list[dict[str, Any]] = [json.loads(line) for line in lines if '"gate_answered"' in line]
    return [record["data"]["gate"] for record in records if record["event"] == "gate_answered"]
