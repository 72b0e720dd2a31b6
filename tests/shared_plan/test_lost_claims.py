"""Hosts that die, are cut off or cannot work: others go on, and nothing is done twice."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.shared_plan.conftest import Machines, integrated, require_clean, task, until

LEASE = ("--lease", "3s")


def test_another_host_goes_on_where_a_killed_one_stood(machines: Machines) -> None:
    """Its lease runs out; the files that it has pushed come along, and so does its place in the queue."""
    anna = machines.owner()
    # The first attempt leaves a draft and fails; the second one sleeps.
    plan = machines.plan(anna, [task("one", prompt="draft one\nfail half of it is done")])
    first = machines.host("build1", SLOW="1")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(lambda: "claimed" in first.text())
    until(lambda: _pushed(machines, "one.draft"), about=run.text)
    first.kill()
    notes = machines.place / "notes"
    second = machines.host("build2", NOTES=str(notes))
    until(lambda: "claimed" in second.text(), about=run.text)
    small = until(lambda: list((machines.all["build2"].place / "state" / "worktrees").glob("*/*/one/one.draft")))
    assert small[0].read_text() == "half\n"
    run.stop()
    machines.end()
    require_clean(machines)


def test_a_late_result_of_a_host_that_was_cut_off_is_void(machines: Machines) -> None:
    """A stopped process stands for a cut link: it wakes up, finishes, and the server refuses what it says."""
    anna = machines.owner()
    notes = machines.place / "notes"
    plan = machines.plan(anna, [task("one", prompt="note one\nsleep 2\nwrite one")])
    first = machines.host("build1", NOTES=str(notes), WHO="build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(notes.exists)
    os.kill(first.process.pid, signal.SIGSTOP)
    second = machines.host("build2", NOTES=str(notes), WHO="build2")
    assert run.end() == 0, run.text()
    os.kill(first.process.pid, signal.SIGCONT)
    until(lambda: "another host has claimed it" in first.text() or "stopped" in first.text(), about=first.text)
    assert "passed" in second.text()
    assert "passed" not in first.text()
    assert notes.read_text().split() == ["one", "build1", "one", "build2"]
    assert integrated(anna.records()) == ["one"]
    machines.end()
    require_clean(machines)


def test_a_host_without_room_gives_the_task_back(machines: Machines) -> None:
    """A host that cannot work a task says why, and another one works it."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one")])
    broken = machines.machine("build1", "host")
    folder = broken.place / "state" / "fleet-plans"
    folder.mkdir(parents=True)
    (folder / "plans").write_text("")  # a file in the place of a folder refuses what a full disk would
    first = machines.host("build1")
    run = anna.start("run", str(plan), "--fleet", "--headless")
    until(lambda: "released" in first.text(), about=first.text)
    machines.host("build2")
    assert run.end() == 0, run.text()
    assert integrated(anna.records()) == ["one"]


def test_a_host_that_may_not_push_gives_the_task_back_before_its_agent_works(machines: Machines) -> None:
    """It may read the repository only. Nothing that its agent makes could come back, so another host works the task."""
    anna, notes = machines.owner(), machines.place / "notes"
    plan = machines.plan(anna, [task("one", prompt="note one\nwrite one")])
    reader = machines.machine("build1", "host")
    elsewhere = f'[url "{machines.place}/nowhere"]\n\tpushInsteadOf = {machines.origin}\n'
    (reader.place / ".gitconfig").write_text(elsewhere)
    first = machines.host("build1", NOTES=str(notes), WHO="build1")
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(lambda: "released" in first.text(), about=first.text)
    assert "nowhere" in first.text()
    second = machines.host("build2", NOTES=str(notes), WHO="build2")
    assert run.end() == 0, run.text() + second.text()
    assert notes.read_text().split() == ["one", "build2"]
    machines.end()
    require_clean(machines)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_nobody_is_asked_for_a_host_whose_task_another_one_has(machines: Machines, sign: signal.Signals) -> None:
    """It was killed or cut off while it asked. Once it is back its own question is withdrawn, and the other's stays."""
    anna = machines.owner()
    tasks = [task("one", prompt="fail it cannot be done alone"), task("two", prompt="sleep 60\nwrite two")]
    once = {"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}
    plan = machines.plan(anna, tasks, settings=once)
    first = machines.host("build1", slots=2)
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    asked = "gate_opened"
    until(lambda: asked in _events(machines, "build1"), about=run.text)
    os.kill(first.process.pid, sign)
    machines.host("build2", slots=2)
    until(lambda: asked in _events(machines, "build2"), about=run.text)
    if sign == signal.SIGKILL:
        first.process.wait()
        machines.offer(machines.all["build1"])
    else:
        os.kill(first.process.pid, signal.SIGCONT)
    until(lambda: {"gate_answered", "run_ended"} <= set(_events(machines, "build1")), about=first.text)
    assert "gate_answered" not in _events(machines, "build2")
    run.stop()
    machines.end()
    require_clean(machines)


def _events(machines: Machines, host: str) -> list[str]:
    """Return the events of the small runs of a host at the task ``one``."""
    logs = [(folder / "events.jsonl").read_text().split("\n")[:-1] for folder in machines.all[host].logs()]
    records = [[json.loads(line) for line in log] for log in logs]
    return [one["event"] for log in records if any(one["task"] == "one" for one in log) for one in log]


def test_a_wiped_server_loses_nothing(machines: Machines) -> None:
    """Owner and host write again what stood there, and the task is not worked twice."""
    anna = machines.owner()
    notes = machines.place / "notes"
    plan = machines.plan(anna, [task("one", prompt="note one\nsleep 6\nwrite one")])
    machines.host("build1", NOTES=str(notes))
    run = anna.start("run", str(plan), "--fleet", "--headless", *LEASE)
    until(notes.exists)
    machines.wipe()
    assert run.end() == 0, run.text()
    assert notes.read_text().split() == ["one"]
    assert integrated(anna.records()) == ["one"]


def _pushed(machines: Machines, name: str) -> bool:
    from tests.shared_plan.conftest import git

    branches = git(machines.origin, "for-each-ref", "--format=%(refname)", "refs/heads/unstuck/").split()
    return any(name in git(machines.origin, "ls-tree", "--name-only", branch).split() for branch in branches)
