"""Questions, budget, hold, stop and drain of a run, wherever its tasks are worked."""

from __future__ import annotations

import json
from typing import Any

from tests.shared_plan.conftest import Machine, Machines, Started, integrated, require_clean, task, until

ONCE = {"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}


def test_the_question_of_a_host_is_one_of_the_run(machines: Machines) -> None:
    """It is asked and answered where the run is; the host goes on with the answer, which nobody gives twice."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", prompt="fail it cannot be done"), task("two")], settings=ONCE)
    host = machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless")
    gate = until(lambda: _opened(anna), about=run.text)
    # Its host works the other task meanwhile, in its only slot.
    until(lambda: "two" in integrated(anna.records()), about=run.text)
    asked = until(lambda: [one for one in _small(machines, "build1") if _gates(one)])
    assert gate["type"] == _gates(asked[0])[0]["type"] == "stuck"
    assert "it cannot be done" in json.dumps(gate["context"])
    assert run.end() == 3
    words = ("answer", gate["gate"], "show-me", "this is how:\nwrite one")
    assert anna.work(*words)[0] == 0
    code, out, errors = anna.work("run", "--fleet", "--headless", "--resume", "last")
    assert (code, errors) == (0, ""), out
    (answered,) = [record for record in _small_with(machines, "one") if record["event"] == "gate_answered"]
    assert answered["data"]["via"].startswith("fleet")
    assert len([record for record in anna.records() if record["event"] == "gate_answered"]) == 1
    assert "claimed" in host.text()
    machines.end()
    require_clean(machines)


def test_a_stop_reaches_the_host_and_the_run_goes_on_from_its_files(machines: Machines) -> None:
    """The agent ends at once, its draft comes along, and a resumed run has it on another host."""
    anna = machines.owner()
    notes = machines.place / "notes"
    plan = machines.plan(anna, [task("one", prompt="draft one\nnote begun\nsleep 60\nwrite one")])
    host = machines.host("build1", NOTES=str(notes))
    run = anna.start("run", str(plan), "--fleet", "--headless")
    until(notes.exists, about=run.text)
    run.stop()
    assert run.process.returncode == 130, run.text()
    assert "resume with: unstuck run --fleet --resume 20" in run.text()
    code, _, errors = anna.work("run", "--headless", "--resume", "last")
    assert (code, "To have them go on: unstuck run --fleet --resume 20" in errors) == (2, True), errors
    until(lambda: "stopped" in host.text(), about=host.text)
    host.stop()
    machines.host("build2", NOTES=str(notes), SLOW="0")
    code, out, errors = anna.work("run", "--fleet", "--headless", "--resume", "last")
    assert (code, errors) == (0, ""), out
    assert anna.results() == {"one.draft": "half", "one.txt": "one"}
    machines.end()
    require_clean(machines)


def test_a_held_task_holds_its_agent_and_goes_on(machines: Machines) -> None:
    """The host stops its agent while the owner holds the task, and goes on after that."""
    anna = machines.owner()
    notes = machines.place / "notes"
    plan = machines.plan(anna, [task("one", prompt="note begun\nsleep 8\nwrite one")])
    host = machines.host("build1", NOTES=str(notes))
    run = anna.start("run", str(plan), "--fleet", "--headless", "--web")
    until(notes.exists, about=run.text)
    gate = _told(anna, run, {"do": "hold", "task": "one"})["gate"]
    until(lambda: _claim(machines, "one")["state"] == "held", about=host.text)
    assert anna.work("answer", gate, "continue")[0] == 0
    assert run.end() == 0, run.text()
    assert notes.read_text().split() == ["begun", "begun"]


def test_a_budget_ends_what_hosts_use(machines: Machines) -> None:
    """The end of the run's budget stops all hosts."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", prompt="sleep 60\nwrite one")], budget={"time": "6s"})
    host = machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", "--ask", "never")
    assert run.end() == 5, run.text()
    until(lambda: "stopped" in host.text() or "held" in host.text(), about=host.text)


def test_a_drained_host_takes_no_new_task(machines: Machines) -> None:
    """It finishes the one that it has; the next one goes to another host, and back once that is taken back."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", prompt="sleep 4\nwrite one"), task("two", "one"), task("three", "two")])
    first = machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless")
    until(lambda: "claimed" in first.text(), about=run.text)
    code, out, errors = anna.work("fleet", "drain", "build1")
    assert (code, errors) == (0, ""), out
    assert "takes no new task" in out
    until(lambda: "one" in integrated(anna.records()), about=run.text)
    second = machines.host("build2")
    assert run.end() == 0, run.text()
    assert "one: passed" in first.text()
    assert "two" not in first.text()
    assert "three: passed" in second.text()
    code, _, errors = machines.all["build2"].work("fleet", "drain", "build1")
    assert code == 2
    assert "person" in errors


def _opened(machine: Machine) -> dict[str, Any] | None:
    return next((one["data"] for one in machine.records() if one["event"] == "gate_opened"), None)


def _small(machines: Machines, name: str) -> list[list[dict[str, Any]]]:
    """Return the logs of the small runs of a host."""
    logs = [folder / "events.jsonl" for folder in machines.all[name].logs()]
    return [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]


def _small_with(machines: Machines, task: str) -> list[dict[str, Any]]:
    return [record for log in _small(machines, "build1") if any(one["task"] == task for one in log) for record in log]


def _gates(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record["data"] for record in log if record["event"] == "gate_opened"]


def _claim(machines: Machines, task: str) -> dict[str, Any]:
    import asyncio

    from unstuck.fleet.nats import subjects as s
    from unstuck.fleet.nats.session import connected

    async def read() -> dict[str, Any]:
        async with connected(machines.fleet.server.owner_credentials()) as session:
            (message,) = await session.batch(s.PLANS, f"{s.PLANS_PREFIX}.claim.*.*.{task}", 1)
            return {"state": "working", **json.loads(message.payload)}

    return asyncio.run(read())


def _told(machine: Machine, run: Started, message: dict[str, Any]) -> dict[str, Any]:
    import asyncio

    from unstuck.channel import request, socket_path
    from unstuck.settings.paths import runtime_dir
    from unstuck.workspace.project import located

    path = socket_path(runtime_dir(machine.environ), located(machine.clone).home)
    assert run.process.poll() is None
    return asyncio.run(request(path, message, timeout=30))
