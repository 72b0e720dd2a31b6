"""A run whose machine is lost, and that goes on from another one."""

from __future__ import annotations

import os
import signal

import pytest
from tests.shared_plan.conftest import Machine, Machines, git, integrated, require_clean, task, until

LEASE = ("--lease", "4s")


@pytest.mark.parametrize("remote", [True, False], ids=["branches", "bundles"])
def test_a_run_goes_on_from_another_machine_with_its_log_and_key(machines: Machines, remote: bool) -> None:
    """The machine is killed after the first result. The other one has a copy of the log, and the same key."""
    machines.remote = remote
    anna, laptop = _owners(machines)
    notes = machines.place / "notes"
    plan = machines.plan(
        anna, [task("one"), task("two", "one", prompt="note two\nsleep 6\nwrite two"), task("three", "two")]
    )
    machines.host("build1", NOTES=str(notes))
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(notes.exists, about=run.text)
    name = max(anna.runs.iterdir()).name
    copy = until(lambda: list(laptop.place.rglob(f"runs/{name}/events.jsonl")))[0]
    log = anna.runs / name / "events.jsonl"
    until(lambda: copy.read_bytes().count(b"result_integrated") == 1)
    run.kill()
    until(lambda: copy.read_bytes() == log.read_bytes())
    code, out, errors = laptop.work("run", "--fleet", "--headless", "--resume", name, *LEASE)
    assert (code, errors) == (0, ""), out
    records = laptop.records(name)
    assert sorted(integrated(records)) == ["one", "three", "two"]
    assert laptop.results(name) == {"one.txt": "one", "two.txt": "two", "three.txt": "three"}
    assert notes.read_text().split() == ["two"]  # its host worked on meanwhile
    assert git(laptop.clone, "log", "--format=%s", f"unstuck/{name}/_run").count("one: write one") <= 1
    machines.end()
    require_clean(machines)


def test_an_owner_that_comes_back_is_told_who_has_taken_over(machines: Machines) -> None:
    """A stopped process stands for a cut link. Only one of the two machines integrates anything."""
    anna, laptop = _owners(machines)
    plan = machines.plan(anna, [task("one", prompt="sleep 5\nwrite one"), task("two", "one")])
    machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(lambda: "attempt 1" in run.text(), about=run.text)
    name = max(anna.runs.iterdir()).name
    copy = until(lambda: list(laptop.place.rglob(f"runs/{name}/events.jsonl")))[0]
    until(lambda: b"attempt_started" in copy.read_bytes())
    refused = laptop.work("run", "--fleet", "--headless", "--resume", name, *LEASE)
    assert refused[0] == 2
    assert "works this run" in refused[2]
    os.kill(run.process.pid, signal.SIGSTOP)
    code, out, errors = laptop.work("run", "--fleet", "--headless", "--resume", name, *LEASE)
    assert (code, errors) == (0, ""), out
    os.kill(run.process.pid, signal.SIGCONT)
    assert run.end() == 6, run.text()
    assert "has taken over this run" in run.text()
    assert "one" not in integrated(anna.records(name))
    assert sorted(integrated(laptop.records(name))) == ["one", "two"]


def _owners(machines: Machines) -> tuple[Machine, Machine]:
    """Return two machines with the same person's key; the first one forwards its log, the second one copies it."""
    anna, laptop = machines.owner(), machines.machine("laptop")
    machines.join(anna, "anna-box", "host")
    machines.join(laptop, "anna", "person")
    anna.start("fleet", "join", "--foreground")
    until(lambda: "anna-box" in laptop.work("fleet", "hosts")[1])
    laptop.start("watch", "--fleet", "--web", "--headless")
    return anna, laptop


def test_a_task_that_was_sent_back_goes_on_where_its_checkpoints_are_not(machines: Machines) -> None:
    """The first machine has the checkpoints. The other one begins from the files on the fleet, and says so."""
    anna, laptop = _owners(machines)
    notes, fine = machines.place / "notes", machines.place / "fine"
    prompt = "note one\nsleep 3\ndraft one\nwrite one"
    check = f'grep -qx one one.txt && {{ test -n "$WHO" || test -e {fine}; }}'
    levels = {"failure_handler": {"max_retries": 0, "max_pivots": 4, "max_research": 0}}
    plan = machines.plan(anna, [task("one", prompt=prompt, check=check)], settings=levels)
    machines.host("build1", NOTES=str(notes), WHO="build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(lambda: notes.exists() and notes.read_text().count("one") == 2, about=run.text)
    name = max(anna.runs.iterdir()).name
    copy = until(lambda: list(laptop.place.rglob(f"runs/{name}/events.jsonl")))[0]
    log = anna.runs / name / "events.jsonl"
    run.kill()
    until(lambda: copy.read_bytes() == log.read_bytes())
    again = laptop.start("run", "--fleet", "--headless", "--resume", name, *LEASE)
    until(lambda: notes.read_text().count("one") == 3, about=again.text)
    fine.touch()
    assert again.end() == 0, again.text()
    assert integrated(laptop.records(name)) == ["one"]
    assert laptop.results(name) == {"one.draft": "half", "one.txt": "one"}
    machines.end()
    require_clean(machines)


def test_a_question_of_a_lost_machine_is_answered_on_another(machines: Machines) -> None:
    """The host keeps its question. It is asked once, and the answer given elsewhere reaches the agent."""
    anna, laptop = _owners(machines)
    levels = {"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}
    plan = machines.plan(anna, [task("one", prompt="fail it cannot be done")], settings=levels)
    machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    assert run.end() == 3, run.text()
    name = max(anna.runs.iterdir()).name
    copy = until(lambda: list(laptop.place.rglob(f"runs/{name}/events.jsonl")))[0]
    log = anna.runs / name / "events.jsonl"
    until(lambda: copy.read_bytes() == log.read_bytes())
    again = ("run", "--fleet", "--headless", "--resume", name, *LEASE)
    code, out, errors = laptop.work(*again)
    assert (code, errors) == (3, ""), out
    gates = [record["data"]["gate"] for record in laptop.records(name) if record["event"] == "gate_opened"]
    assert len(gates) == 1
    assert laptop.work("answer", gates[0], "show-me", "do it so:\nwrite one")[0] == 0
    code, out, errors = laptop.work(*again)
    assert (code, errors) == (0, ""), out
    assert laptop.results(name) == {"one.txt": "one"}
    assert len([record for record in laptop.records(name) if record["event"] == "gate_opened"]) == 1
    machines.end()
    require_clean(machines)
