"""The check of a task runs once before its work: a check that passes then cannot show that the task is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench

from unstuck.eventlog.state import State
from unstuck_tui.render.tasks.table import Needs, columns_for, task_cells

SAID = "passed before any work: it cannot show that the task is done"
NOTES = "echo x >> $OUT/checked; "


def plan(bench: Bench, check: str, script: str = "echo new > new.txt", tasks: int = 1, **task: Any) -> Path:
    """Tasks with one check, and an agent that writes a file."""
    names = ["web", *(f"more{number}" for number in range(1, tasks))]
    return bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[
            {"id": name, "agent": "worker", "prompt": "Do it.", "verify": check.replace("$OUT", str(bench.outside))}
            | task
            for name in names
        ],
    )


def shown(bench: Bench) -> dict[str, Any]:
    """The first task in the JSON of `show`."""
    rows = map(json.loads, bench.call("show", "--json").out.splitlines())
    return next(row for row in rows if row.get("task") == "web")


def line(state: State) -> str:
    """The row of the task on the screen."""
    row = state.tasks["web"]
    return "".join(cell.text for cell in task_cells(state, row, columns_for(200, Needs()), now=0, limits={}))


def test_a_check_that_passed_before_any_work_is_named(bench: Bench) -> None:
    """In the run's lines, in `show` and its JSON, and on the task's row; the task still succeeds."""
    done = bench.run(plan(bench, "test -f README.md"))
    assert done.code == 0, done.out + done.err
    assert f"! the check {SAID}" in done.out
    assert f"! its check {SAID}" in bench.call("show").out
    assert shown(bench)["passed_before_work"] is True
    assert shown(bench)["baseline_check"]["result"] == "passed"
    assert "! its check passed before any work" in line(bench.state)


def test_a_check_that_failed_before_the_work_says_so(bench: Bench) -> None:
    """`show` names how it failed; nothing warns."""
    done = bench.run(plan(bench, "cat new.txt"))
    assert done.code == 0, done.out + done.err
    assert "before any work" not in done.out + line(bench.state)
    assert "failed before any work: " in bench.call("show").out
    assert shown(bench)["passed_before_work"] is False
    assert "new.txt" in shown(bench)["baseline_check"]["headline"]


def test_tasks_that_start_with_the_same_files_share_one_result(bench: Bench) -> None:
    """Two tasks at once: the check runs once before, and then after each."""
    waits = "while [ $(ls $OUT | grep -c begun) -lt 2 ]; do sleep 0.05; done"
    script = f"touch $OUT/begun.$UNSTUCK_ATTEMPT; {waits}; echo new > new.txt"
    done = bench.run(plan(bench, NOTES + "cat new.txt", script, tasks=2, isolation="worktree"))
    assert done.code == 0, done.out + done.err
    assert len(bench.events("task_baseline_checked")) == 2
    assert (bench.outside / "checked").read_text().count("x") == 3


def test_it_is_not_run_where_my_settings_say_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `check_policy: {baseline: 0}` the check runs after the work alone."""
    monkeypatch.setenv("UNSTUCK_CHECK_POLICY__BASELINE", "0")
    done = bench.run(plan(bench, NOTES + "test -f README.md"))
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "checked").read_text() == "x\n"
    assert shown(bench)["passed_before_work"] is False
    assert shown(bench)["baseline_check"] is None


def test_a_slow_check_does_not_keep_the_agent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent starts if the check takes longer than my limit, and no word is said about before."""
    monkeypatch.setenv("UNSTUCK_CHECK_POLICY__BASELINE", "1")
    done = bench.run(plan(bench, "test -f new.txt || sleep 600; test -f README.md"))
    assert done.code == 0, done.out + done.err
    assert shown(bench)["baseline_check"]["result"] == "could_not_run"
    assert "before any work" not in done.out


def test_what_the_check_writes_is_not_the_agents_work(bench: Bench) -> None:
    """A report that the check leaves behind is no change of the task, and a new approach keeps it."""
    check = "echo seen >> report.txt; test -f new.txt"
    script = "[ $n = 1 ] || echo new > new.txt; git status --short > $OUT/status.$n"
    done = bench.run(plan(bench, check, script, isolation="worktree"))
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "status.1").read_text() == "?? report.txt\n"
    first = bench.events("task_baseline_checked")[0]["data"]["checkpoint"]
    assert bench.state.tasks["web"].baseline == first
    assert len([one for one in bench.events("checkpoint_created") if one["data"]["purpose"] == "baseline"]) == 2


def test_a_run_that_was_killed_before_its_first_attempt_goes_on(bench: Bench) -> None:
    """Killed while the check runs before the work: resumed it runs again, and the task is done once."""
    bench.pipe("door")
    check = "if [ ! -e $OUT/again ]; then touch $OUT/again; echo here > $OUT/door; cat $OUT/door; fi; test -f new.txt"
    process = bench.start("run", plan(bench, check), "--headless")
    assert (bench.outside / "door").read_text() == "here\n"
    process.kill()
    bench.end(process)
    assert bench.events("task_baseline_checked") == []
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 1
    assert [one["data"]["result"] for one in bench.events("task_baseline_checked")] == ["failed"]


def test_an_edited_check_has_no_result_from_before(bench: Bench) -> None:
    """A check that was edited has no result from before the work: that was another command."""
    path = plan(bench, "true; echo '1 failed in 0.1s'; true")
    path.write_text(path.read_text().replace("true; echo", "python -c pass; echo"))
    paused = bench.run(path)
    assert paused.code in (0, 3), paused.out + paused.err
    if paused.code == 3:
        assert bench.call("answer", bench.gate(), "choose", "3", "test -f README.md").code == 0
        assert bench.resume().code == 0
    assert shown(bench)["passed_before_work"] is False
