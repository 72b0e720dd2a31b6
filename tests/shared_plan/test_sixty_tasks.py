"""A plan of many tasks with dependencies: the same results on one machine and on four, and the time that each took.

`UNSTUCK_PLAN_TASKS=60 UNSTUCK_PLAN_SLEEP=20 make nats ARGS="-k same_results -s"` prints times of a whole plan.
"""

from __future__ import annotations

import os
import random
import sys
import time
from typing import Any

import pytest
from tests.shared_plan.conftest import AGENT, Machines, integrated, require_clean, until

TASKS = int(os.environ.get("UNSTUCK_PLAN_TASKS", "8"))
SLEEP_S = float(os.environ.get("UNSTUCK_PLAN_SLEEP", "0.1"))
HOSTS = ("build1", "build2", "build3", "build4")


@pytest.mark.timeout(3600)
def test_many_machines_have_the_same_results_as_one(machines: Machines) -> None:
    """Each task holds the files of those that it needs, so a wrong order or a lost file shows in the last ones."""
    tasks = _tasks()
    alone = machines.owner("ben")
    local = machines.plan(alone, tasks, agents={"fix": {"command": [sys.executable, str(AGENT), "{prompt_file}"]}})
    began = time.monotonic()
    code, out, errors = alone.work("run", str(local), "--headless", "--max-parallel", "4", seconds=1800)
    assert (code, errors) == (0, ""), out
    print(f"\n{TASKS} tasks of {SLEEP_S:g} s on one machine, 4 at once: {time.monotonic() - began:.0f} s")
    results = alone.results()
    assert len(results) == TASKS
    for slots in (1, 2):
        owner = machines.owner(f"anna{slots}")
        plan = machines.plan(owner, tasks)
        hosts = [_host(machines, name, owner.name, slots) for name in HOSTS]
        until(lambda hosts=hosts: all("offers" in host.text() for host in hosts))
        began = time.monotonic()
        code, out, errors = owner.work("run", str(plan), "--fleet", "--headless", seconds=1800)
        assert (code, errors) == (0, ""), out
        load = os.getloadavg()[0]
        print(f"on four hosts with {slots} slots each: {time.monotonic() - began:.0f} s, load {load:.0f}")
        assert owner.results() == results
        assert len(integrated(owner.records())) == TASKS
        for host in hosts:
            host.stop()
    require_clean(machines)


def _host(machines: Machines, name: str, owner: str, slots: int) -> Any:
    return machines.host(name, trusts=owner, slots=slots)


def _tasks() -> list[dict[str, Any]]:
    """Return tasks of which each needs up to two that stand at least eight places before it."""
    chosen, tasks = random.Random(35), []
    for number in range(TASKS):
        earlier = (
            [f"t{one}" for one in range(max(0, number - 7))] if TASKS > 8 else [f"t{one}" for one in range(number)]
        )
        needs = sorted(chosen.sample(earlier, min(len(earlier), chosen.randint(0, 2))))
        name = f"t{number}"
        prompt = f"sleep {SLEEP_S:g}\ncollect {' '.join((name, *needs))}"
        tasks.append({"id": name, "prompt": prompt, "check": f"grep -q ^{name} {name}.txt", "needs": needs})
    return tasks
