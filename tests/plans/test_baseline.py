"""Was it so before? The untouched project is looked at in a tree that is thrown away, never where we work."""

from __future__ import annotations

from tests.plans.conftest import Bench

CHECK = "sh check.sh"
BROKEN = "pwd >> {seen}; echo 'ImportError: No module named config'; exit 1\n"


def broken(bench: Bench):
    """A project whose own check fails; it notes where it runs."""
    seen = bench.outside / "seen"
    bench.write({"check.sh": BROKEN.format(seen=seen)})
    return seen


def test_in_one_shared_tree_the_project_is_mended_before_a_task_is_blamed(bench: Bench) -> None:
    """Tasks one after another in my own tree: the shared check fails on the last commit, too, so no rung is climbed."""
    seen = broken(bench)
    agents = {
        "worker": bench.agent("worker", "echo x >> work.txt"),
        "mender": bench.agent("mender", "echo 'test -f work.txt' > check.sh"),
    }
    tasks = [{"id": name, "agent": "worker", "prompt": name} for name in ("a", "b")]
    plan = bench.plan(verify=CHECK, max_parallel=1, remediation="mender", agents=agents, tasks=tasks)
    bench.write({"notes.txt": "not committed\n"}, commit=False)
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    (base,) = bench.events("baseline_checked")
    assert base["data"]["result"] == "failed"
    assert not bench.events("directive_issued", "agent_failure")
    assert bench.events("infrastructure_restored")
    elsewhere = {line for line in seen.read_text().splitlines() if line != str(bench.root)}
    assert len(elsewhere) == 1
    assert "_baseline-" in elsewhere.pop()
    assert bench.git("worktree", "list").count("\n") == 1
    assert bench.git("for-each-ref", "refs/heads/unstuck") == ""
    assert (bench.root / "notes.txt").read_text() == "not committed\n"


def test_in_a_shared_tree_a_failure_of_ones_own_is_not_the_grounds(bench: Bench) -> None:
    """My uncommitted work breaks the check and the last commit does not: the task's ladder is climbed as ever."""
    bench.write({"check.sh": "test ! -f bad || { echo 'ValueError: bad'; exit 1; }\n"})
    bench.write({"bad": ""}, commit=False)
    plan = bench.plan(
        verify=CHECK,
        max_parallel=1,
        agents={"worker": bench.agent("worker", '[ "$n" = 1 ] || rm bad')},
        tasks=[{"id": "a", "prompt": "x"}],
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert bench.events("baseline_checked")[0]["data"]["result"] == "passed"
    assert not bench.events("infrastructure_blocked")
    assert bench.attempts("a") == 2


def test_one_command_is_told_whether_it_was_so_before(bench: Bench) -> None:
    """My one command's check ran before the work, and the question says what it said."""
    broken(bench)
    bench.write({"unstuck.yaml": "failure_handler: {max_retries: 0, max_pivots: 0, max_research: 0}\n"})
    agent = bench.agent("worker", "echo x > work.txt")["command"]
    done = bench.call("run", "--headless", "--verify", CHECK, "--", *agent)
    assert done.code == 3, done.out + done.err
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    assert gate.context["baseline"] == "failed before any work in the same way"
    assert "the check failed before any work in the same way" in done.out
    assert not bench.events("infrastructure_blocked")
    assert bench.git("worktree", "list").count("\n") == 1


def test_one_command_whose_check_cannot_run_here_alone_says_where_it_does(bench: Bench) -> None:
    """The agent has removed what the check needs: it runs on the last commit, and it is said where."""
    bench.write({"check.sh": "#!/bin/sh\nexit 0\n"})
    (bench.root / "check.sh").chmod(0o755)
    bench.git("commit", "-q", "-a", "-m", "may be run")
    agent = bench.agent("worker", "rm check.sh")["command"]
    done = bench.call("run", "--headless", "--verify", "./check.sh", "--", *agent)
    assert done.code == 3, done.out + done.err
    (checked,) = bench.events("check_finished")
    assert checked["data"]["trouble"] == "env_disagreement"
    said = checked["data"]["problem"]
    assert "it does run in the untouched base" in said
    for part in ("Command: ./check.sh", f"{bench.root} (this task's)", "_baseline-", "PATH="):
        assert part in said


def test_the_untouched_project_is_set_up_before_it_is_looked_at(bench: Bench) -> None:
    """A base that only works after setup is not called broken for the want of it."""
    need = "test -f made || { echo 'ImportError: not set up'; exit 1; }\n"
    bench.write({"check.sh": need + "test ! -f bad || { echo 'ValueError: bad'; exit 1; }\n"})
    tasks = [{"id": "a", "prompt": "x", "isolation": "worktree"}]
    agents = {"worker": bench.agent("worker", "[ $n = 1 ] && touch bad || rm -f bad")}
    done = bench.run(bench.plan(setup="touch made", verify=CHECK, agents=agents, tasks=tasks))
    assert done.code == 0, done.out + done.err
    assert bench.events("baseline_checked")[0]["data"]["result"] == "passed"
    assert bench.attempts("a") == 2


def test_a_check_that_runs_only_without_setup_names_both_directories(bench: Bench) -> None:
    """In trees of their own: where the check cannot run for want of setup, the question names where it could."""
    bench.write({".gitignore": "tool.sh\n"})
    bench.write({"tool.sh": "#!/bin/sh\nexit 0\n"}, commit=False)
    (bench.root / "tool.sh").chmod(0o755)
    tasks = [{"id": "a", "prompt": "x", "isolation": "worktree", "verify": "./tool.sh"}]
    done = bench.run(bench.plan(agents={"worker": bench.agent("worker", "touch x")}, tasks=tasks))
    assert done.code == 3, done.out + done.err
    said = bench.events("check_finished")[0]["data"]["problem"]
    assert "it does run in your own checkout: the task's worktree may need a `setup`" in said
    assert f"{bench.root} (your own checkout): passed" in said
    assert "(the untouched base): could_not_run" in said
