"""A server that is down for longer than every limit and lease, while hosts work."""

from __future__ import annotations

import time

import pytest
from tests.shared_plan.conftest import Machines, integrated, require_clean, task, until

DOWN_S = 65.0


@pytest.mark.timeout(400)
def test_hosts_work_on_while_the_server_is_down_for_a_minute(machines: Machines) -> None:
    """Their results wait, nobody works a task twice, and the run ends as if nothing had been."""
    anna = machines.owner()
    notes = machines.place / "notes"
    tasks = [task(name, prompt=f"note {name}\nsleep 5\nwrite {name}") for name in ("one", "two")]
    plan = machines.plan(anna, [*tasks, task("three", "one", "two", prompt="note three\nwrite three")])
    hosts = [machines.host(name, NOTES=str(notes)) for name in ("build1", "build2")]
    run = anna.start("run", str(plan), "--fleet", "--headless", "--lease", "10s")
    until(lambda: notes.exists() and len(notes.read_text().split()) == 2, about=run.text)
    end = time.monotonic() + DOWN_S
    while time.monotonic() < end:  # what tends the server starts it again and again
        machines.fleet.server._process.kill()
        time.sleep(0.02)
    assert all(host.process.poll() is None for host in hosts)
    assert run.end(180) == 0, run.text()
    assert all("the server is there again" in host.text() for host in hosts)
    assert sorted(notes.read_text().split()) == ["one", "three", "two"]
    assert sorted(integrated(anna.records())) == ["one", "three", "two"]
    machines.end()
    require_clean(machines)
