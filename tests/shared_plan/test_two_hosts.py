"""A plan whose tasks two hosts work, and whose results one run has."""

from __future__ import annotations

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
    assert sum(len(machines.all[name].logs()) for name in ("build1", "build2")) == 3
    left = git(machines.origin, "branch", "--list", "unstuck/*").split()
    assert [branch.rpartition("/")[2] for branch in left] == (["_run"] if remote else [])
    machines.end()
    require_clean(machines)
