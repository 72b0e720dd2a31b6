"""`--json` of the commands that change something: what was done, as one object."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck


def test_an_answer_is_a_row(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """Without a live run the row names the run to resume."""
    assert unstuck.inside("run", "--headless", "--check", failing, "--", "true", env=no_climb).code == 3
    gate = unstuck.only_gate()["gate"]
    done = unstuck.inside("answer", gate, "show-me", "use UTC", "--json")
    run = unstuck.runs[-1].name
    assert done.rows == [{"gate": gate, "choice": "show-me", "applied": False, "resume": run}]


def test_an_answer_to_a_live_run_is_applied(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """A live run has applied the answer when the row is printed."""
    waits = unstuck.script("agent.sh", f"while ! test -e {unstuck.root}/go; do sleep 0.05; done")
    plan = unstuck.root / "plan.yaml"
    tasks = [{"id": "stuck", "agent": "fails", "prompt": "P", "check": failing}, {"id": "waits", "agent": "waits"}]
    tasks[1] |= {"prompt": "P", "check": "true"}
    agents = {"fails": {"command": ["true"]}, "waits": {"command": ["sh", waits]}}
    plan.write_text(json.dumps({"agents": agents, "tasks": tasks}), encoding="utf-8")
    process = unstuck.start("run", "--headless", str(plan), env=no_climb | {"PYTHONUNBUFFERED": "1"})
    unstuck.until(process, b"? stuck")
    gate = unstuck.only_gate()["gate"]
    done = unstuck.inside("answer", gate, "skip", "--json")
    assert done.rows == [{"gate": gate, "choice": "skip", "applied": True, "resume": ""}]
    (unstuck.root / "go").touch()
    assert process.wait(60) == 1


@pytest.mark.parametrize("group", ["hooks", "mcp"])
def test_an_installation_is_a_row(unstuck: Unstuck, group: str) -> None:
    """Install and remove say which file they changed, or that there was nothing to do; nobody is asked."""
    if group == "mcp":
        pytest.importorskip("mcp")
    words = ("claude", "--here", "--json", "--yes")
    asked = unstuck.inside(group, "install", *words[:-1])
    assert (asked.code, "add --yes" in asked.errors) == (2, True)
    (done,) = unstuck.inside(group, "install", *words).rows
    assert done["changed"] is True
    assert "unstuck" in Path(done["path"]).read_text(encoding="utf-8")
    (again,) = unstuck.inside(group, "install", *words).rows
    assert (again["path"], again["changed"]) == (done["path"], False)
    (gone,) = unstuck.inside(group, "remove", *words).rows
    assert (gone["path"], gone["changed"]) == (done["path"], True)
