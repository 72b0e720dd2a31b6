"""The project's own check is broken before anybody began: no task is to blame, the baseline is mended first."""

from __future__ import annotations

from tests.plans.conftest import Bench

CHECK = "sh check.sh"
# The base is broken; and a task's own part must be there.
BROKEN = {"check.sh": "echo 'ImportError: No module named config'; exit 1\n", "tool.txt": "broken\n"}
MENDED = 'echo "test -f a.txt -o -f b.txt -o -f fixed.txt" > check.sh; touch fixed.txt; echo mended > tool.txt'


def baseline(bench: Bench, script, *, remediation=True, settings=None, **more):
    """Two tasks side by side on a broken base, with an agent that is sent to mend it."""
    bench.write(BROKEN)
    agents = {name: bench.agent(name, f'cat tool.txt > "$OUT/{name}.$n"; echo x >> {name}.txt') for name in ("a", "b")}
    agents["mender"] = bench.agent("mender", script)
    return bench.plan(
        verify=CHECK,
        max_parallel=2,
        agents=agents,
        tasks=[{"id": name, "agent": name, "prompt": f"Do {name}."} for name in ("a", "b")],
        settings=settings or {},
        **({"remediation": "mender"} if remediation else {}),
        **more,
    )


def test_the_baseline_is_mended_and_the_tasks_go_on(bench: Bench) -> None:
    """Dispatch stops, the remediation agent mends the base, and the parked tasks go on on the mended one."""
    done = bench.run(baseline(bench, MENDED))
    assert done.code == 0, done.out + done.err
    assert "ImportError: No module named config" in bench.prompt("_remediation.1")
    assert CHECK in bench.prompt("_remediation.1")
    assert bench.statuses() == {"a": "succeeded", "b": "succeeded"}
    for name in ("a", "b"):
        assert (bench.outside / f"{name}.1").read_text() == "broken\n"
        assert (bench.outside / f"{name}.2").read_text() == "mended\n"
        assert bench.result(f"{name}.txt") == "x\nx\n"
    assert bench.result("tool.txt") == "mended\n"
    assert not bench.events("directive_issued")
    (restored,) = bench.events("infrastructure_restored")
    assert restored["data"]["attempts_used"] == 1
    names = [record["event"] for record in bench.events()]
    between = names[names.index("remediation_dispatched") : names.index("infrastructure_restored")]
    assert "attempt_started" not in between


def test_a_pivot_after_that_does_not_break_the_baseline_again(bench: Bench) -> None:
    """A task that pivots later goes back to the mended base, not to the broken one."""
    settings = {"failure_handler": {"max_retries": 0, "max_pivots": 1, "max_research": 0}}
    mended = "test ! -f a.txt || grep -q done a.txt || { echo AssertionError: not done; exit 1; }"
    plan = baseline(bench, f"echo '{mended}' > check.sh; echo mended > tool.txt", settings=settings)
    told = 'grep -q Approach "$UNSTUCK_PROMPT_FILE" && echo done > a.txt || echo x $n > a.txt'
    bench.agent("a", f'cat tool.txt > "$OUT/a.$n"; {told}')
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert "AssertionError: not done" in bench.prompt("a.3")
    assert "set back" in bench.prompt("a.3")
    assert (bench.outside / "a.3").read_text() == "mended\n"
    assert bench.result("tool.txt") == "mended\n"
    assert bench.result("a.txt") == "done\n"


def test_the_remediation_agent_is_sent_three_times_then_the_person_is_asked(bench: Bench) -> None:
    """Three attempts, then the remediation gate; mended by hand in the named tree, retry lets everything go on."""
    done = bench.run(baseline(bench, "echo tried $n >> tries.txt"))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("_remediation") == 3
    (gate,) = bench.gates().values()
    assert gate.type == "remediation"
    assert gate.context["attempts"] == 3
    tree = bench.tree("_remediation")
    assert gate.context["tree"] == str(tree)
    (tree / "check.sh").write_text("true\n")
    assert bench.call("answer", gate.id, "retry").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.attempts("_remediation") == 3
    assert bench.result("check.sh") == "true\n"
    assert bench.statuses() == {"a": "succeeded", "b": "succeeded"}


def test_a_retry_that_mended_nothing_asks_again(bench: Bench) -> None:
    """Retry looks again; where the check still fails the question is open again."""
    plan = baseline(bench, "true", remediation=False)
    done = bench.run(plan, "--answers", bench.answers({"gate": "remediation", "answer": "retry"}))
    assert done.code == 3, done.out + done.err
    assert len(bench.events("gate_opened")) == 2
    assert next(iter(bench.gates().values())).type == "remediation"


def test_abandoning_the_baseline_halts_the_run(bench: Bench) -> None:
    """Abandon at the remediation gate ends the run with 4; nothing is integrated."""
    plan = baseline(bench, "true", remediation=False)
    done = bench.run(plan, "--answers", bench.answers({"gate": "remediation", "answer": "abandon"}))
    assert done.code == 4, done.out + done.err
    assert bench.attempts("a") <= 1
    assert "a.txt" not in bench.results()


def test_where_nobody_may_be_asked_the_message_is_the_published_one(bench: Bench) -> None:
    """With ask: never the run halts with 4 and the whole message, word for word."""
    done = bench.run(baseline(bench, "true"), "--ask", "never")
    assert done.code == 4, done.out + done.err
    (failed,) = bench.events("workflow_failed")
    assert failed["data"]["attempts"] == 3
    folder = bench.folder
    message = (
        "WORKFLOW FAILED - REMEDIATION LIMIT EXCEEDED\n\nInfrastructure could not be restored after 3 attempts.\n\n"
        "Last issue: ImportError: No module named config\n"
        f"State preserved: {folder / 'state.json'}\nEvent log: {folder / 'events.jsonl'}\n\n"
        "Human intervention required."
    )
    assert failed["data"]["details"] == message
    said = [line[11:] for line in done.out.splitlines()]
    start = said.index("WORKFLOW FAILED - REMEDIATION LIMIT EXCEEDED")
    shown = said[start : start + 6]
    for line, written in zip(shown, filter(None, message.splitlines()), strict=True):
        assert written.startswith(line.rstrip("…"))
    assert (folder / "state.json").exists()


def test_a_tasks_own_check_is_never_infrastructure(bench: Bench) -> None:
    """A check that is the task's own goal may fail beforehand: the ladder is climbed."""
    bench.write(BROKEN)
    agents = {name: bench.agent(name, f"[ $n = 1 ] || echo true > check.sh; echo {name} > {name}.txt") for name in "ab"}
    tasks = [{"id": name, "agent": name, "prompt": "x", "verify": CHECK} for name in "ab"]
    done = bench.run(bench.plan(verify=CHECK, max_parallel=2, agents=agents, tasks=tasks))
    assert done.code == 0, done.out + done.err
    assert not bench.events("infrastructure_blocked", "baseline_checked")
    assert bench.attempts("a") == 2


def test_a_failure_of_the_tasks_own_making_is_not_infrastructure(bench: Bench) -> None:
    """The task is to blame if the base fails differently, or not at all."""
    bench.write({"check.sh": "test ! -f bad || { echo 'ValueError: bad is there'; exit 1; }\n"})
    script = "[ $n = 1 ] && touch bad || rm -f bad; echo x > $UNSTUCK_TASK.txt"
    agents = {name: bench.agent(name, script) for name in "ab"}
    tasks = [{"id": name, "agent": name, "prompt": "x"} for name in "ab"]
    done = bench.run(bench.plan(verify=CHECK, max_parallel=2, agents=agents, tasks=tasks))
    assert done.code == 0, done.out + done.err
    # Looked at once, and once more where the other task has met it before this one was told: it holds each time.
    looked = [event["data"]["result"] for event in bench.events("baseline_checked")]
    assert looked in (["passed"], ["passed", "passed"])
    assert not bench.events("infrastructure_blocked")
    assert "ValueError: bad is there" in bench.prompt("a.2")


def test_a_repair_of_the_project_does_not_keep_what_a_new_approach_takes_back(bench: Bench) -> None:
    """The project is repaired between two attempts of a task: its new approach starts without the failed work, and
    with the repair.
    """
    bench.write({"check.sh": "test -e config || { echo 'ImportError: No module named config'; exit 1; }\n"})
    waits = "while [ ! -e $OUT/{0} ]; do sleep 0.05; done"
    mender = f"touch $OUT/mending; {waits.format('tried')}; echo made > config"
    first = f"echo junk > junk; {waits.format('mending')}; touch $OUT/tried"
    script = f"ls > $OUT/saw.$n; case $n in 1) {first};; 3) echo x > work;; esac"
    plan = bench.plan(
        verify="sh check.sh",
        remediation="mender",
        settings={"failure_handler": {"max_retries": 1}},
        agents={
            "mender": bench.agent("mender", mender),
            "worker": bench.agent("worker", script),
            "quick": bench.agent("quick", "true"),
        },
        tasks=[
            {"id": "slow", "prompt": "x", "agent": "worker", "verify": "test -e work && test ! -e junk",
             "isolation": "worktree"},
            {"id": "quick", "prompt": "x", "agent": "quick", "isolation": "worktree"},
        ],
    )  # fmt: skip
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert bench.events("infrastructure_restored")
    saw = {number: (bench.outside / f"saw.{number}").read_text().split() for number in (1, 2, 3)}
    assert "config" not in saw[1]
    assert {"config", "junk"} <= set(saw[2])
    assert "config" in saw[3]
    assert "junk" not in saw[3]


def test_a_check_that_runs_nowhere_is_mended_first(bench: Bench) -> None:
    """A check that can run neither here nor on the base is infrastructure: the remediation agent makes it run."""
    plan = baseline(bench, "echo 'test -f a.txt -o -f b.txt -o -f fixed.txt' > check.sh; touch fixed.txt")
    bench.write({"check.sh": "exit 127\n"})
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert bench.statuses() == {"a": "succeeded", "b": "succeeded"}
    blocked, *_ = bench.events("infrastructure_blocked")
    assert "the check does not exist or may not be run" in blocked["data"]["issue"]
    assert not bench.events("configuration_error")
    assert bench.attempts("_remediation") == 1
