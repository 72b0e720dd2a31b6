"""Workspaces of tasks: worktrees with their setup, shared files one task at a time, and no git."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.plans.conftest import Bench


def test_setup_runs_once_in_each_fresh_tree(bench: Bench) -> None:
    """Setup runs before the first attempt in every tree of its own, not again for a retry, and a pivot keeps it."""
    script = 'cat made-by-setup > "$OUT/$UNSTUCK_TASK.$n"; [ $n = 1 ] && echo y > y || echo x > $UNSTUCK_TASK.txt'
    plan = bench.plan(
        setup=f"echo set up >> made-by-setup; echo once >> {bench.outside}/setups",
        max_parallel=2,
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": name, "prompt": "x", "verify": f"test -f {name}.txt"} for name in ("a", "b")],
        settings={"failure_handler": {"max_retries": 0}},
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "setups").read_text() == "once\nonce\n"
    assert "set back" in bench.prompt("a.2")
    for name in ("a.1", "a.2", "b.1", "b.2"):
        assert (bench.outside / name).read_text() == "set up\n"


def test_a_setup_that_fails_in_one_tree_alone_starts_no_agent(bench: Bench) -> None:
    """The agent is never started if setup fails in one worktree alone; after three times I am asked."""
    plan = bench.plan(
        setup="case $PWD in *_baseline*) ;; *) echo 'no network here'; exit 3;; esac",
        agents={"worker": bench.agent("worker", "touch x.txt")},
        tasks=[{"id": "web", "prompt": "x", "isolation": "worktree", "verify": "test -f x.txt"}],
    )
    done = bench.run(plan)
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 0
    crashed = bench.events("agent_crashed")
    assert len(crashed) == 3
    assert "no network here" in crashed[0]["data"]["error_message"]
    assert next(iter(bench.gates().values())).type == "stuck"


def test_unverified_may_be_accepted(bench: Bench) -> None:
    """A plan without checks ends with 1, and with 0 where it says that this is enough; then its results come in."""
    parts = {
        "agents": {"worker": bench.agent("worker", "echo $UNSTUCK_TASK > $UNSTUCK_TASK.txt")},
        "tasks": [{"id": "a", "prompt": "x"}, {"id": "b", "prompt": "x"}, {"id": "c", "prompt": "x", "needs": ["a"]}],
        "max_parallel": 2,
    }
    assert bench.run(bench.plan(**parts)).code == 1
    assert bench.statuses() == {"a": "unverified", "b": "unverified", "c": None}
    assert "a.txt" not in bench.results()
    done = bench.run(bench.plan(unverified="accept", **parts))
    assert done.code == 0, done.out + done.err
    assert bench.statuses() == dict.fromkeys("abc", "unverified")
    assert {"a.txt", "b.txt", "c.txt"} <= bench.results()


def shared(bench: Bench, scripts, **more):
    """Two tasks that share the project's own tree."""
    agents = {name: bench.agent(name, script) for name, script in scripts.items()}
    tasks = [
        {"id": name, "agent": name, "prompt": name, "isolation": "shared", "verify": f"grep -q right {name}.txt"}
        for name in scripts
    ]
    return bench.plan(max_parallel=2, agents=agents, tasks=tasks, **more)


def test_two_tasks_are_never_at_once_in_one_tree(bench: Bench) -> None:
    """In a shared tree the second waits, also between the first one's attempts while its agent is at work."""
    busy = 'mkdir "$OUT/busy" || echo "$UNSTUCK_ATTEMPT met another" >> "$OUT/met"\n'
    work = busy + 'pwd > "$OUT/where"; [ $n = 1 ] || echo right > $UNSTUCK_TASK.txt; sleep 0.2; rmdir "$OUT/busy"'
    done = bench.run(shared(bench, {"one": work, "two": work}))
    assert done.code == 0, done.out + done.err
    assert not (bench.outside / "met").exists()
    assert (bench.outside / "where").read_text().strip() == str(bench.root)
    assert (bench.root / "one.txt").read_text() == (bench.root / "two.txt").read_text() == "right\n"


def test_a_pivot_erases_nothing_of_another_task(bench: Bench) -> None:
    """In a shared tree a pivot takes back what its own task wrote and nothing else, and tells the agent so."""
    busy = "echo 'HTTP 429 Too Many Requests'; exit 1"
    scripts = {
        # While `one` waits for its second turn the tree is free for `two`.
        "one": f"case $n in 1) {busy};; 2) echo wrong > one.txt;;\n"
        "*) cat two.txt one.txt > saw; echo right > one.txt;; esac",
        "two": "echo right > two.txt",
    }
    done = bench.run(shared(bench, scripts, settings={"failure_handler": {"max_retries": 0}}))
    assert done.code == 0, done.out + done.err
    assert (bench.root / "saw").read_text() == "right\n"
    assert "(files: 1).\n- removed one.txt\nChanges that others made in this directory stay." in bench.prompt("one.3")
    assert "Take a different one" in bench.prompt("one.3")


def test_without_git_a_pivot_keeps_the_files_and_says_so(bench: Bench) -> None:
    """Without git the next approach starts on the files as they are, and the agent is told."""
    shutil.rmtree(bench.root / ".git")
    script = 'cat work.txt > "$OUT/saw.$n"; echo wrong > work.txt; [ $n = 1 ] || echo right > work.txt'
    plan = bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": "web", "prompt": "x", "verify": "grep -q right work.txt"}],
        settings={"failure_handler": {"max_retries": 0}},
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "saw.2").read_text() == "wrong\n"
    assert "files are as you left them" in bench.prompt("web.2")
    assert (bench.root / "work.txt").read_text() == "right\n"


def test_a_plan_names_its_project(bench: Bench, tmp_path: Path) -> None:
    """A plan may lie elsewhere and name its project; from anywhere, the work is done there."""
    plan = bench.plan(
        project="../repo",
        agents={"worker": bench.agent("worker", "pwd > here.txt")},
        tasks=[{"id": "web", "prompt": "x", "verify": "test -f here.txt"}],
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    process = bench.start("run", plan, "--headless", "-C", elsewhere)
    done = bench.end(process)
    assert done.code == 0, done.out + done.err
    assert (bench.root / "here.txt").read_text().strip() == str(bench.root)
    assert not any(elsewhere.iterdir())


def test_one_after_another_in_my_own_tree(bench: Bench) -> None:
    """With max_parallel: 1 tasks follow each other in the project itself, in the plan's order."""
    work = 'echo $UNSTUCK_TASK >> "$OUT/order"; ls > "$OUT/$UNSTUCK_TASK"; touch $UNSTUCK_TASK.txt'
    plan = bench.plan(
        max_parallel=1,
        agents={"worker": bench.agent("worker", work)},
        tasks=[{"id": name, "prompt": "x", "verify": f"test -f {name}.txt"} for name in ("c", "a", "b")],
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "order").read_text().split() == ["c", "a", "b"]
    assert (bench.root / "b.txt").exists()
    assert "a.txt" in (bench.outside / "b").read_text()


def test_own_trees_one_at_a_time_start_from_what_is_done(bench: Bench) -> None:
    """Tasks with trees of their own that work one after another see what came in before them: no needless conflict."""
    bench.write({"line.txt": ""})
    plan = bench.plan(
        max_parallel=1,
        agents={"worker": bench.agent("worker", "echo $UNSTUCK_TASK >> line.txt")},
        tasks=[
            {"id": name, "prompt": "x", "isolation": "worktree", "verify": f"grep -q {name} line.txt"}
            for name in ("one", "two", "three")
        ],
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert sorted(bench.result("line.txt").split()) == ["one", "three", "two"]


def test_a_budget_ends_a_run_with_5_until_it_is_given_more(bench: Bench) -> None:
    """A plan's budget lets no further task begin, on resume neither, until --budget gives the run more."""
    said = """touch "$UNSTUCK_TASK"; echo 'UNSTUCK {"signal": "complete", "tokens": 600}'"""
    plan = bench.plan(
        budget={"time": "30m", "tokens": 500},
        max_parallel=1,
        agents={"worker": bench.agent("worker", said)},
        tasks=[{"id": name, "prompt": "x", "verify": f"test -f {name}"} for name in ("web", "api")],
    )
    done = bench.run(plan, "--json")
    assert done.code == 5, done.out + done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert rows[-1] == {"run": rows[0]["run"], "exit_reason": "budget", "exit_code": 5}
    assert [row["attempt"] for row in rows if row.get("event") == "attempt_started"] == ["web.1"]
    again = bench.resume("--json")
    assert again.code == 5, again.out + again.err
    assert '"attempt_started"' not in again.out
    more = bench.resume("--budget", "tokens=5000", "--json")
    assert more.code == 0, more.out + more.err
