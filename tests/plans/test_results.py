"""Results of a plan: they are integrated, reach my branch as I set it, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.plans.conftest import Bench


def tasks(*names, **more):
    return [
        {"id": name, "prompt": name, "isolation": "worktree", "verify": f"test -f {name}.txt"} | more for name in names
    ]


def writing(bench: Bench, *names, script="echo $UNSTUCK_TASK > $UNSTUCK_TASK.txt", **settings):
    """A plan of tasks that each write a file."""
    return bench.plan(
        max_parallel=len(names),
        agents={"worker": bench.agent("worker", script)},
        tasks=tasks(*names),
        settings=settings,
    )


def test_thirteen_tasks_that_commit_at_the_same_instant_all_arrive(bench: Bench) -> None:
    """Thirteen agents wait for each other, commit at once, and every commit is among the results."""
    for name in ("here", "door"):
        bench.pipe(name)
    names = [f"t{number}" for number in range(13)]
    script = (
        'echo x > $UNSTUCK_TASK.txt; git add -A; echo . > "$OUT/here"; : < "$OUT/door"\n'
        "git -c user.name=A -c user.email=a@b commit -q -m $UNSTUCK_TASK"
    )
    process = bench.start("run", writing(bench, *names, script=script), "--headless")
    seen = b""
    with (bench.outside / "here").open("rb", buffering=0) as here:
        while len(seen) < 2 * len(names):
            seen += here.read(2 * len(names) - len(seen))
    with (bench.outside / "door").open("wb"):
        pass
    done = bench.end(process)
    assert done.code == 0, done.out + done.err
    subjects = bench.git("log", "--format=%s", f"unstuck/{bench.folder.name}/_run").split("\n")
    assert set(names) <= set(subjects)
    assert {f"{name}.txt" for name in names} <= bench.results()
    assert bench.git("worktree", "list").count("\n") == 1


@pytest.mark.parametrize("how", ["fast-forward", "merge"])
def test_results_reach_my_branch(bench: Bench, how: str) -> None:
    """As I set it, what passed is on my branch and in my files when the run has ended, and the run says so."""
    plan = writing(bench, "a", "b", results=how)
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert (bench.root / "a.txt").read_text() == "a\n"
    assert bench.git("status", "--porcelain") == ""
    (delivered,) = bench.events("results_delivered")
    assert delivered["data"]["commit"] == bench.git("rev-parse", "main").strip()
    assert "the results are on main" in done.out
    assert bench.events()[-1]["event"] == "run_ended"
    before = len(bench.events())
    assert bench.resume().code == 0
    assert len(bench.events()) == before


def test_a_dirty_tree_waits_for_me(bench: Bench) -> None:
    """Uncommitted changes of mine: nothing moves, the question names them and says what each answer does."""
    plan = writing(bench, "a", results="merge")
    bench.write({"README.md": "mine, unfinished\n"}, commit=False)
    main = bench.git("rev-parse", "main")
    done = bench.run(plan)
    assert done.code == 3, done.out + done.err
    (gate,) = bench.gates().values()
    assert gate.type == "integration"
    assert gate.key == "delivery"
    assert gate.context["paths"] == ["README.md"]
    assert set(gate.context["answers"]) == set(gate.choices)
    assert "retry: they are brought to main again" in done.out
    assert bench.git("rev-parse", "main") == main
    assert (bench.root / "README.md").read_text() == "mine, unfinished\n"
    assert bench.resume().code == 3
    assert bench.call("answer", gate.id, "retry").code == 0
    assert bench.resume().code == 3
    assert len(bench.events("gate_opened")) == 2
    bench.git("commit", "-q", "-a", "-m", "finished")
    assert bench.call("answer", bench.gate(), "retry").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert (bench.root / "a.txt").read_text() == "a\n"
    assert (bench.root / "README.md").read_text() == "mine, unfinished\n"


def test_results_may_be_left_where_they_are(bench: Bench) -> None:
    """An answer may leave the results on the run's branch; the run has ended, and does not ask again."""
    plan = writing(bench, "a", results="merge")
    bench.write({"README.md": "mine\n"}, commit=False)
    done = bench.run(plan, "--answers", bench.answers({"gate": "integration", "answer": "abandon"}))
    assert done.code == 0, done.out + done.err
    assert "a.txt" in bench.results()
    assert not (bench.root / "a.txt").exists()
    assert f"git merge unstuck/{bench.folder.name}/_run" in done.out
    assert bench.resume().code == 0
    assert len(bench.events("gate_opened")) == 1


def test_where_nobody_may_be_asked_results_that_do_not_fit_halt(bench: Bench) -> None:
    """With ask: never the run ends with 4; to go on with it, once my tree is clean, brings them in."""
    plan = writing(bench, "a", results="merge")
    bench.write({"README.md": "mine\n"}, commit=False)
    done = bench.run(plan, "--ask", "never")
    assert done.code == 4, done.out + done.err
    assert "uncommitted changes" in done.out
    bench.git("checkout", "-q", "README.md")
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert (bench.root / "a.txt").exists()


def test_without_a_branch_checked_out_it_says_so_before_anything_starts(bench: Bench) -> None:
    """On a detached HEAD there is no branch to bring results to: refused in one line, and no run has begun."""
    bench.git("checkout", "-q", "--detach")
    done = bench.run(writing(bench, "a", results="merge"))
    assert done.code == 2
    assert "no branch is checked out" in done.err
    assert bench.attempts("a") == 0


def test_a_file_of_the_project_cannot_send_results_to_my_branch(bench: Bench) -> None:
    """An agent could write it: the setting is mine."""
    bench.write({"unstuck.yaml": "results: merge\n"})
    done = bench.run(writing(bench, "a"))
    assert done.code == 2
    assert "results: cannot be set by a file of the project" in done.err


@pytest.mark.parametrize("record", ["result_integrated", "task_ended", "results_delivered", "trees_cleaned"])
def test_killed_round_any_record_of_it_the_results_arrive_once(bench: Bench, record: str) -> None:
    """kill -9 as soon as a record of the end is safe: resumed, everything is in my branch, and once."""
    process = bench.start("run", writing(bench, "a", "b", results="merge"), "--headless", "--json")
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("event") == record:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert (bench.root / "a.txt").exists()
    assert (bench.root / "b.txt").exists()
    assert bench.git("status", "--porcelain") == ""
    assert bench.git("rev-list", "--no-merges", "--count", "main").strip() == "3"
    assert bench.git("worktree", "list").count("\n") == 1


def test_what_a_run_keeps_it_says_and_doctor_too(bench: Bench) -> None:
    """A task that was left out keeps its tree with its work: the run and doctor name it, the rest is gone."""
    plan = bench.plan(
        max_parallel=2,
        agents={"worker": bench.agent("worker", "echo $UNSTUCK_TASK > $UNSTUCK_TASK.txt")},
        tasks=[*tasks("good"), *tasks("bad", verify="false")],
        settings={"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}},
    )
    done = bench.run(plan, "--answers", bench.answers({"gate": "stuck", "answer": "abandon"}))
    assert done.code == 1, done.out + done.err
    kept = bench.tree("bad")
    assert f"kept {kept}: untracked files: bad.txt" in done.out.replace("\n", " ")
    assert (kept / "bad.txt").exists()
    assert bench.git("worktree", "list").count("\n") == 2
    (row,) = [row for row in map(json.loads, bench.call("doctor", "--json").out.splitlines()) if row["what"] == "kept"]
    assert row["value"] == f"{kept}: untracked files: bad.txt"
    (kept / "bad.txt").unlink()
    assert bench.run(writing(bench, "next")).code == 0
    assert bench.git("worktree", "list").count("\n") == 1


def test_a_setup_that_fails_everywhere_is_nobodys_fault(bench: Bench) -> None:
    """A setup that fails on the untouched project is one question with its words; once mended, all tasks go on."""
    bench.write({"setup.sh": "echo 'no network here'; exit 3\n"})
    plan = bench.plan(
        setup="sh setup.sh",
        max_parallel=2,
        agents={"worker": bench.agent("worker", "cat made > $UNSTUCK_TASK.txt")},
        tasks=tasks("a", "b"),
    )
    done = bench.run(plan)
    assert done.code == 3, done.out + done.err
    assert bench.attempts("a") == bench.attempts("b") == 0
    assert not bench.events("agent_crashed")
    (gate,) = bench.gates().values()
    assert gate.type == "remediation"
    assert gate.context["problem"] == "setup failed (exit 3): sh setup.sh: no network here"
    assert "no network here" in gate.context["evidence"]
    assert "setup failed (exit 3): sh setup.sh" in done.out
    tree = bench.tree("_remediation")
    (tree / "setup.sh").write_text("echo set up > made\n")
    assert bench.call("answer", gate.id, "retry").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.result("a.txt") == bench.result("b.txt") == "set up\n"


def test_a_setup_that_fails_is_mended_by_the_remediation_agent(bench: Bench) -> None:
    """The plan's remediation agent is sent to a setup that fails, and told its words; then the tasks start."""
    bench.write({"setup.sh": "echo 'no network here'; exit 3\n"})
    agents = {
        "worker": bench.agent("worker", "touch $UNSTUCK_TASK.txt"),
        "mender": bench.agent("mender", "echo true > setup.sh"),
    }
    work = [task | {"agent": "worker"} for task in tasks("a")]
    done = bench.run(bench.plan(setup="sh setup.sh", remediation="mender", agents=agents, tasks=work))
    assert done.code == 0, done.out + done.err
    assert "no network here" in bench.prompt("_remediation.1")
    assert bench.attempts("a") == 1
