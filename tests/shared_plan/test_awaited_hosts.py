"""Tasks that no host works: what a person sees of them, and what the agent is told once one does."""

from __future__ import annotations

import json
from typing import Any

from tests.shared_plan.conftest import Machine, Machines, task, until


def test_a_task_that_no_host_can_take_is_queued_and_says_why(machines: Machines) -> None:
    """The agent is offered without the label; then the label is, and the same task is worked."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", labels=["gpu"], prompt="sleep 2\nwrite one")])
    run = anna.start("run", str(plan), "--fleet", "--headless")
    wanted = "waits for a host: unstuck fleet work"
    until(lambda: wanted in _waits(anna), about=run.text)
    assert _task(anna)["state"] == "ready"
    machines.host("build1")
    wanted = "waits for the label gpu on a host that offers the agent fix"
    until(lambda: wanted in _waits(anna), about=run.text)
    assert _task(anna)["state"] == "ready"
    shown = anna.work("show", "last")[1]
    assert "ready" in shown
    assert f"… {wanted}" in shown
    assert wanted in run.text()
    machines.host("build2", "--label", "gpu")
    until(lambda: _task(anna)["state"] == "running", about=run.text)
    assert _task(anna)["waits"] is None
    assert "build2 works it" in run.text()
    assert run.end() == 0, run.text()


def test_a_task_waits_for_a_free_slot_and_for_another_host(machines: Machines) -> None:
    """One host has one slot; the second task is queued meanwhile, and so is the first once the host is killed."""
    anna = machines.owner()
    plan = machines.plan(anna, [task(name, prompt=f"sleep 4\nwrite {name}") for name in ("one", "two")])
    first = machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", "--lease", "3s")
    states = until(lambda: sorted(_states(anna)) == ["ready", "running"] and _states(anna), about=run.text)
    (waiting,) = [name for name, state in zip(("one", "two"), states, strict=True) if state == "ready"]
    assert _waits(anna, waiting) == "waits for a host with a free slot"
    first.kill()
    until(lambda: _states(anna) == ["ready", "ready"], about=run.text)
    (worked,) = {"one", "two"} - {waiting}
    assert _waits(anna, worked) == "waits for another host: build1 is silent"
    machines.host("build2", slots=2)
    assert run.end() == 0, run.text()


def test_the_agent_on_a_host_is_told_of_its_check_once(machines: Machines) -> None:
    """Also in a later attempt, in which the host adds what has failed."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", prompt="draft one", check="test -e one.draft && grep -q x one.draft")])
    machines.host("build1")
    levels = ("--ask", "never")
    run = anna.start("run", str(plan), "--fleet", "--headless", *levels)
    texts = until(lambda: len(_prompts(machines)) > 1 and _prompts(machines), about=run.text)
    assert [text.count("Your work is done when this passes: ") for text in texts[:2]] == [1, 1]
    assert "draft one" in texts[0]
    run.stop()


def _prompts(machines: Machines) -> list[str]:
    """Return the texts of the attempts of small runs."""
    logs = [folder / "events.jsonl" for folder in machines.all["build1"].logs()]
    records = [json.loads(line) for log in logs for line in log.read_text().split("\n")[:-1]]
    return [one["data"]["guidance"]["text"] for one in records if one["event"] == "attempt_started"]


def _rows(machine: Machine) -> list[dict[str, Any]]:
    if not machine.records():
        return []
    code, out, errors = machine.work("show", "last", "--json")
    assert code == 0, errors
    return [row for row in map(json.loads, out.splitlines()) if "task" in row and "gate" not in row]


def _task(machine: Machine, name: str = "one") -> dict[str, Any]:
    return next((row for row in _rows(machine) if row["task"] == name), {})


def _states(machine: Machine) -> list[str]:
    return [row["state"] for row in _rows(machine)]


def _waits(machine: Machine, name: str = "one") -> str:
    return (_task(machine, name).get("waits") or {}).get("reason", "")
