"""Memory and budget of a run are one, on however many hosts its tasks are worked."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from tests.shared_plan.conftest import Machine, Machines, require_clean, task, until

from unstuck.eventlog.memory.entry import read_entry
from unstuck.eventlog.memory.store import memory_file
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.session import connected

LEASE = ("--lease", "3s")
ONCE = {"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}
FAILS = "fail it cannot be done"


def test_a_rule_from_one_host_helps_on_another(machines: Machines) -> None:
    """A task that waits for its host while a person answers knows the answer once that host begins."""
    anna = machines.owner()
    tasks = [task(name, prompt=FAILS, check="grep -qx made made.txt", labels=[label]) for name, label in ("1a", "2b")]
    plan = machines.plan(anna, tasks, settings=ONCE)
    machines.host("build1", "--label", "a")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    gate = until(lambda: next(iter(_events(anna, "gate_opened")), None), about=run.text)["gate"]
    code, _, errors = anna.work("answer", gate, "show-me", "do it so:\nwrite made")
    assert code == 0, errors
    until(lambda: _events(anna, "task_ended"), about=run.text)
    (answer,) = until(lambda: [entry for entry in _memory(anna) if (entry.kind, entry.outcome) == ("answer", "worked")])
    assert anna.work("memory", "promote", answer.id)[0] == 0
    until(lambda: any('"rule"' in line for line in asyncio.run(_shared(machines))))
    second = machines.host("build2", "--label", "b")
    assert run.end() == 0, run.text() + second.text()
    assert len(_events(anna, "gate_opened")) == 1
    rules = [entry for entry in _memory(anna) if entry.kind == "rule"]
    assert [entry.note.splitlines()[0] for entry in rules] == ["do it so:"]
    machines.end()
    require_clean(machines)


def test_what_a_host_has_learnt_outlives_it(machines: Machines) -> None:
    """The approach that failed reaches the project while the task is worked, and the next host knows it."""
    anna = machines.owner()
    levels = {"failure_handler": {"max_retries": 0, "max_pivots": 9, "max_research": 0}}
    plan = machines.plan(anna, [task("one", prompt=f"sleep 1\n{FAILS}")], settings=levels)
    first = machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(lambda: [entry for entry in _memory(anna) if entry.outcome == "failed"], about=run.text)
    first.kill()
    learnt = _memory(anna)
    machines.host("build2", SLOW="60")
    home = machines.all["build2"].place / "state" / "fleet-plans"

    def known() -> list[Any]:
        return [read_entry(line) for file in home.rglob("memory.jsonl") for line in file.read_bytes().splitlines()]

    until(lambda: all(entry in known() for entry in learnt), about=run.text)
    assert _events(anna, "task_ended") == []
    run.stop()


def test_a_token_budget_ends_all_hosts_and_counts_each_token_once(machines: Machines) -> None:
    """Neither the owner's new process nor another host counts again what was counted."""
    anna = machines.owner()
    notes = machines.place / "notes"
    prompt = 'say UNSTUCK {{"step": "usage", "tokens": 600, "cost": 0.5}}\nnote {0}\nsleep 60\nwrite {0}'
    tasks = [task(name, prompt=prompt.format(name)) for name in ("one", "two")]
    plan = machines.plan(anna, tasks, budget={"tokens": 2000})
    first = machines.host("build1", slots=2, NOTES=str(notes))
    run = anna.start("run", str(plan), "--fleet", "--headless", "--ask", "never", *LEASE)
    until(lambda: _used(anna) == (1200, 1.0), about=run.text)
    run.kill()
    again = ("run", "--fleet", "--headless", "--ask", "never", "--resume", "last", *LEASE)
    run = anna.start(*again)
    until(lambda: len(_events(anna, "attempt_started")) == 4, about=run.text)
    first.kill()
    second = machines.host("build2", slots=2, NOTES=str(notes))
    assert run.end() == 5, run.text()
    assert _used(anna) == (2400, 2.0)
    until(lambda: second.text().count(": stopped") == 2, about=second.text)
    assert sorted(notes.read_text().split()) == ["one", "one", "two", "two"]
    second.stop()
    machines.host("build3", slots=2, NOTES=str(notes), SLOW="0")
    code, out, errors = anna.work(*again, "--budget", "tokens=10000")
    assert (code, errors) == (0, ""), out
    assert _used(anna) == (3600, 3.0)
    machines.end()
    require_clean(machines)


async def _shared(machines: Machines) -> list[str]:
    """Return the memory in the plan on the server."""
    async with connected(machines.fleet.server.owner_credentials()) as session:
        (message,) = await session.batch(s.PLANS, f"{s.PLANS_PREFIX}.plan.>", 1)
        return json.loads(message.payload).get("memory", [])


def _events(machine: Machine, name: str) -> list[dict[str, Any]]:
    return [record["data"] for record in machine.records() if record["event"] == name]


def _used(machine: Machine) -> tuple[int, float]:
    counted = _events(machine, "usage_counted")
    return sum(one.get("tokens") or 0 for one in counted), sum(one.get("cost") or 0 for one in counted)


def _memory(machine: Machine) -> list[Any]:
    file = memory_file(machine.runs.parent)
    lines = file.read_bytes().splitlines() if file.exists() else []
    assert all(json.loads(line) for line in lines)
    return [read_entry(line) for line in lines]


def test_a_pipe_in_the_place_of_the_memory_holds_no_host_up(machines: Machines) -> None:
    """The tasks are worked although nothing that was learnt can be read."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one"), task("two", "one")])
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(lambda: _events(anna, "run_started"), about=run.text)
    memory = memory_file(anna.runs.parent)
    memory.unlink(missing_ok=True)
    os.mkfifo(memory)
    machines.host("build1")
    assert run.end() == 0, run.text()
    assert anna.results() == {"one.txt": "one", "two.txt": "two"}
