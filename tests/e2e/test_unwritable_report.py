"""A stuck task whose report cannot be written."""

from __future__ import annotations

from tests.e2e.conftest import Unstuck


def test_a_report_that_cannot_be_written_is_no_end(unstuck: Unstuck) -> None:
    """The question of a stuck task is asked all the same."""
    runs = '"$(git rev-parse --path-format=absolute --git-common-dir)"/unstuck/runs'
    agent = unstuck.script("agent.sh", f'for run in {runs}/*; do touch "$run/reports"; done')
    (unstuck.root / "unstuck.yaml").write_text("failure_handler: {skip_to_ask: [AssertionError]}\n")
    check = "echo 'AssertionError: 1 == 2'; exit 1"
    done = unstuck("run", "--headless", "--task", "x", "--verify", check, "--", "sh", agent)
    assert done.code == 3, done
    assert (unstuck.runs[0] / "reports").is_file()
    assert unstuck.only_gate()["type"] == "stuck"
    assert unstuck.inside("show", "last").code == 0
