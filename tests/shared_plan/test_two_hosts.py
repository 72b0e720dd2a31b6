"""A plan whose tasks two hosts work, and whose results one run has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.shared_plan.conftest import Machines, git, integrated, require_clean, task


@pytest.mark.parametrize("remote", [True, False], ids=["branches", "bundles"])
def test_two_hosts_work_three_tasks_of_one_plan(machines: Machines, remote: bool) -> None:
    """The owner has no such agent. The last task sees what the others have made, wherever they were worked."""
    machines.remote = remote
    anna = machines.owner()
    plan = machines.plan(
        anna, [task("one"), task("two"), task("three", "one", "two", check="cat one.txt two.txt three.txt")]
    )
    for name in ("build1", "build2"):
        machines.host(name)
    code, out, errors = anna.work("run", str(plan), "--fleet", "--headless")
    assert (code, errors) == (0, ""), out
    assert sorted(integrated(anna.records())) == ["one", "three", "two"]
    assert anna.results() == {"one.txt": "one", "two.txt": "two", "three.txt": "three"}
    logs = [folder / "events.jsonl" for name in ("build1", "build2") for folder in machines.all[name].logs()]
    run = max(anna.runs.iterdir())
    for name in ("one", "two", "three"):  # the screen shows it as the output of the agent
        assert re.search(
            r"^build[12] passed; .*claim \d+$", (run / "output" / f"{name}.1.log").read_text(), re.MULTILINE
        )
    begun = [json.loads(log.read_text().splitlines()[0])["data"]["plan"]["file"] for log in logs]
    # Each log of a small run begins with its owner, its task and the token of its claim.
    found = [re.fullmatch(r"anna\.\d{8}-\d{6}-[0-9a-f]{8}\.(\w+)\.\1\.1\.\d+\.yaml", Path(file).name) for file in begun]
    assert sorted(one[1] for one in found if one) == ["one", "three", "two"]
    left = git(machines.origin, "branch", "--list", "unstuck/*").split()
    assert [branch.rpartition("/")[2] for branch in left] == (["_run"] if remote else [])
    machines.end()
    require_clean(machines)
