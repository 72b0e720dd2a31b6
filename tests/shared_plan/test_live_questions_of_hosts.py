"""Questions that an agent at work on a host leads to: about a loop, and for permission."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.acp.conftest import PROGRAM, rule
from tests.acp.conftest import run as runs
from tests.shared_plan.conftest import Machine, Machines, Started, require_clean, task, until


def test_a_loop_on_a_host_is_a_question_of_the_run(machines: Machines) -> None:
    """The agent repeats itself; a person sees the loop where the run is, and the agent goes on with the answer."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", prompt="circle")])
    machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless")
    gate = until(lambda: _gate(anna), about=run.text)
    assert gate["type"] == "loop_detected"
    assert gate["context"]["repeats"] >= 3
    assert "assert 1 == 2" in json.dumps(gate["context"])
    assert run.end() == 3, run.text()
    code, _, errors = anna.work("answer", gate["gate"], "show-me", "do it so:\nwrite one")
    assert code == 0, errors
    code, out, errors = anna.work("run", "--fleet", "--headless", "--resume", "last")
    assert (code, errors) == (0, ""), out
    assert len([one for one in anna.records() if one["event"] == "gate_opened"]) == 1
    machines.end()
    require_clean(machines)


@pytest.mark.parametrize("allows", [True, False])
def test_permission_for_an_agent_on_a_host(machines: Machines, allows: bool, tmp_path: Path) -> None:
    """A call waits for a person at the run's machine. A no and its reason reach the agent."""
    anna = machines.owner()
    _asking_host(machines, "build1", tmp_path)
    plan = machines.plan(anna, [task("one", prompt="Make it")])
    run = anna.start("run", str(plan), "--fleet", "--headless")
    gate = until(lambda: _gate(anna), about=run.text)
    assert gate["type"] == "permission"
    assert "echo one" in json.dumps(gate["context"])
    assert run.end() == 3, run.text()
    words = ("allow",) if allows else ("deny", "find another way")
    code, _, errors = anna.work("answer", gate["gate"], *words)
    assert code == 0, errors
    code, out, errors = anna.work("run", "--fleet", "--headless", "--resume", "last")
    assert (code, errors) == (0, ""), out
    assert anna.results() == {"one.txt": "one"}
    assert len([one for one in anna.records() if one["event"] == "gate_answered"]) == 1
    machines.end()
    require_clean(machines)


def test_a_permission_outlives_the_host_that_asked_for_it(machines: Machines, tmp_path: Path) -> None:
    """The host dies before its agent has the answer. Another one goes on with it, and nobody is asked again."""
    anna = machines.owner()
    first = _asking_host(machines, "build1", tmp_path)
    plan = machines.plan(anna, [task("one", prompt="Make it")])
    run = anna.start("run", str(plan), "--fleet", "--headless", "--lease", "3s")
    gate = until(lambda: _gate(anna), about=run.text)
    assert run.end() == 3, run.text()
    first.kill()
    code, _, errors = anna.work("answer", gate["gate"], "allow")
    assert code == 0, errors
    second = _asking_host(machines, "build2", tmp_path)
    code, out, errors = anna.work("run", "--fleet", "--headless", "--resume", "last", "--lease", "3s")
    assert (code, errors) == (0, ""), out + second.text()
    assert anna.results() == {"one.txt": "one"}
    assert [one["event"] for one in anna.records() if one["event"] in ("gate_opened", "gate_answered")] == [
        "gate_opened",
        "gate_answered",
    ]
    machines.end()
    require_clean(machines)


def test_an_answer_on_the_host_itself_counts_and_the_question_of_the_run_is_withdrawn(machines: Machines) -> None:
    """Someone answers where the small run is. The host goes on with that, and nobody is asked any more."""
    anna, go = machines.owner(), machines.place / "go"
    tasks = [task("one", prompt="fail it cannot be done alone"), task("two", prompt=f"await {go}\nwrite two")]
    once = {"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}
    plan = machines.plan(anna, tasks, settings=once)
    host = machines.host("build1", slots=2)
    run = anna.start("run", str(plan), "--fleet", "--headless")
    asked = until(lambda: _gate(anna), about=run.text)["context"]["fleet"][1]
    slots = (machines.all["build1"].place / "state" / "fleet-plans").glob("*/slot-*")
    given = ("answer", asked, "show-me", "do it so:\nwrite one", "--project")
    assert 0 in [machines.all["build1"].work(*given, str(slot))[0] for slot in slots]
    until(
        lambda: any(one["event"] == "gate_withdrawn" for one in anna.records()), about=lambda: run.text() + host.text()
    )
    go.touch()
    assert run.end() == 0, run.text()
    assert anna.results() == {"one.txt": "one", "two.txt": "two"}
    machines.end()
    require_clean(machines)


def _asking_host(machines: Machines, name: str, place: Path) -> Started:
    """Start a host whose agent asks before it makes its file."""
    folder = place / f"agent-of-{name}"
    folder.mkdir()
    script = folder / "script.json"
    asks = rule(runs("echo one > one.txt", ask=True, why="the task wants it"), told="Make it")
    other = rule(runs("echo one > one.txt"), told="another way")
    script.write_text(json.dumps({"rules": [other, asks], "loads": True}))
    machine = machines.machine(name, "host")
    assert machine.work("fleet", "trust", machines.key("anna"))[0] == 0
    agent = f"fix=acp:{sys.executable} -I -S {PROGRAM} {script} {folder}"
    return machine.start("fleet", "work", "--agent", agent, name="work")


def _gate(machine: Machine) -> dict[str, Any] | None:
    return next((one["data"] for one in machine.records() if one["event"] == "gate_opened"), None)
