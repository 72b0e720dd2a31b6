"""The type and the category of a failure stand wherever a person meets it."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.conftest import Unstuck

from unstuck.eventlog.log.load_state import current_state
from unstuck.words.questions import question_facts
from unstuck_tui.render.tasks.detail import failure_lines
from unstuck_tui.render.tasks.table import Needs, columns_for, task_cells

KIND = "failed check, agent failure"
LIMITS = {"retry": 1, "pivot": 0, "research": 0}


def test_the_kind_of_a_failure_is_everywhere(unstuck: Unstuck) -> None:
    """A check that fails to the end: `show`, `signatures`, their JSON, the row, the detail and the question name it."""
    (unstuck.root / "unstuck.yaml").write_text("failure_handler: {max_retries: 1, max_pivots: 0, max_research: 0}\n")
    agent = unstuck.script("agent.sh", "date >> tried.txt")
    check = "echo 'AssertionError: expected 3, got 4'; exit 1"
    done = unstuck.inside("run", "--headless", "--check", check, "--", "sh", agent)
    assert done.code == 3, done.out + done.errors
    assert KIND in unstuck.inside("show").out
    assert KIND in unstuck.inside("signatures").out
    for command in ("show", "signatures"):
        found = [row for row in unstuck.inside(command, "--json").rows if "failure_type" in row]
        assert [(row["failure_type"], row["category"]) for row in found] == [("VERIFICATION_FAILED", "agent_failure")]
    (log,) = Path(unstuck.root).rglob("events.jsonl")
    state, _ = current_state(log.parent)
    (task,) = state.tasks.values()
    (gate,) = state.gates.values()
    cells = task_cells(state, task, columns_for(200, Needs(17, 13, failure=60)), now=0.0, limits=LIMITS)
    assert KIND in "".join(cell.text for cell in cells)
    detail = failure_lines(state, task, None, width=120)
    assert KIND in "\n".join("".join(cell.text for cell in line) for line in detail)
    assert dict(question_facts(state, gate))["Failure"] == KIND
