"""Two results that touch the same lines: the person resolves it, skips one or gives it up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.plans.conftest import Bench


def two(bench: Bench, work="echo two > line.txt; echo x > two.txt", check="test -f two.txt"):
    """Two tasks that start side by side and write the same line; ``two`` ends after ``one`` has been integrated."""
    bench.write({"line.txt": "base\n"})
    bench.pipe("door")
    bench.pipe("in")
    agents = {
        "one": bench.agent("one", ': > "$OUT/door"; echo one > line.txt'),
        "two": bench.agent("two", f': < "$OUT/door"; : < "$OUT/in"; {work}'),
        "bell": bench.agent("bell", ': > "$OUT/in"; touch bell.txt'),
    }
    checks = {"one": "grep one line.txt", "two": check, "bell": "test -f bell.txt"}
    tasks = [
        {"id": name, "agent": name, "prompt": name, "verify": check, "needs": ["one"] if name == "bell" else []}
        for name, check in checks.items()
    ]
    return bench.plan(max_parallel=2, agents=agents, tasks=tasks)


def resolve(bench: Bench, text):
    """Resolve a conflict in the task's worktree as a person does, with plain git."""
    (gate,) = bench.gates().values()
    tree, branch = gate.context["tree"], gate.context["branch"]
    merged = subprocess.run(["git", "merge", "-q", branch], cwd=tree, capture_output=True, check=False)
    assert merged.returncode == 1
    assert Path(tree, "line.txt").read_text().startswith("<<<<<<<")
    if text:
        Path(tree, "line.txt").write_text(text)
    return Path(tree)


@pytest.mark.parametrize("committed", [True, False])
def test_a_conflict_is_asked_about_and_retried_when_resolved(bench: Bench, committed: bool) -> None:
    """The gate names the file, the tree and the branch; after I have merged there, retry brings the result in."""
    done = bench.run(two(bench))
    assert done.code == 3, done.out + done.err
    (gate,) = bench.gates().values()
    assert gate.type == "integration"
    assert gate.task == "two"
    assert gate.context["paths"] == ["line.txt"]
    assert bench.result("line.txt") == "one\n"
    resolve(bench, "one and two\n")
    if committed:
        bench.git("-C", gate.context["tree"], "commit", "-q", "-a", "-m", "resolved")
    assert bench.call("answer", gate.id, "retry").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.result("line.txt") == "one and two\n"
    assert "two.txt" in bench.results()
    assert bench.attempts("two") == 1
    assert (bench.root / "line.txt").read_text() == "base\n"


def test_what_was_resolved_is_checked_again(bench: Bench) -> None:
    """A resolution that breaks the task's check is not done: it goes back to the agent."""
    assert bench.run(two(bench)).code == 3
    (resolve(bench, "one and two\n") / "two.txt").unlink()
    bench.agent("two", "echo mended > two.txt")
    assert bench.call("answer", bench.gate(), "retry").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.attempts("two") == 2
    assert bench.result("two.txt") == "mended\n"


def test_a_broken_build_goes_back_to_what_passed_last(bench: Bench) -> None:
    """An attempt that breaks the build goes back to the last passing checkpoint, not to the beginning."""
    check = f"test -f two.txt && {sys.executable} -m py_compile two.py"
    assert bench.run(two(bench, "echo two > line.txt; echo x > two.txt; echo 'good = 1' > two.py", check)).code == 3
    (resolve(bench, "one and two\n") / "two.txt").unlink()
    spoil = "[ $n = 4 ] || echo 'def broken(:' > two.py"
    bench.agent("two", f'cp two.py "$OUT/saw.$n"; echo x > two.txt; echo x > more.$n; {spoil}')
    assert bench.call("answer", bench.gate(), "retry").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    saw = [(bench.outside / f"saw.{attempt}").read_text() for attempt in (2, 3, 4)]
    assert saw == ["good = 1\n"] * 3
    assert bench.result("two.py") == "good = 1\n"
    assert {"more.2", "more.3", "more.4"} & set(bench.results()) == {"more.4"}
    good = [event["data"]["id"] for event in bench.events("checkpoint_created") if event["data"]["purpose"] == "good"]
    assert {event["data"]["target"] for event in bench.events("restore_done")} <= set(good)


@pytest.mark.parametrize("begun", [True, False])
def test_an_unresolved_conflict_asks_again(bench: Bench, begun: bool) -> None:
    """Retry before it is resolved asks the same again: no half-merged file comes in, and nothing is lost."""
    assert bench.run(two(bench)).code == 3
    first = bench.gate()
    if begun:
        resolve(bench, "")
    assert bench.call("answer", first, "retry").code == 0
    assert bench.resume().code == 3
    assert bench.gate() != first
    assert bench.result("line.txt") == "one\n"
    assert bench.git("show", f"unstuck/{bench.folder.name}/two:line.txt") == "two\n"


@pytest.mark.parametrize(("choice", "status"), [("skip", "skipped"), ("abandon", "abandoned")])
def test_a_conflict_may_be_left_out(bench: Bench, choice: str, status: str) -> None:
    """Skip and abandon leave the run's branch as it was, and the work on the task's own."""
    done = bench.run(two(bench), "--answers", bench.answers({"gate": "integration", "answer": choice}))
    assert done.code == 1, done.out + done.err
    assert bench.statuses() == {"one": "succeeded", "two": status, "bell": "succeeded"}
    assert bench.result("line.txt") == "one\n"
    assert "two.txt" not in bench.results()
    assert bench.git("show", f"unstuck/{bench.folder.name}/two:line.txt") == "two\n"


def test_where_nobody_may_be_asked_a_conflict_halts(bench: Bench) -> None:
    """With ask: never a conflict ends the run with 4 and names the file."""
    done = bench.run(two(bench), "--ask", "never")
    assert done.code == 4, done.out + done.err
    (failed,) = bench.events("workflow_failed")
    assert failed["data"]["reason"] == "integration_conflict"
    assert "line.txt" in done.out


def test_what_needs_a_result_that_does_not_fit_waits(bench: Bench) -> None:
    """A result that does not come in leaves the run's branch as it was, and what needs it has not begun."""
    plan = two(bench)
    text = plan.read_text()
    more = "- {id: after, agent: bell, prompt: after, verify: 'true', needs: [two]}\n"
    plan.write_text(text + more)
    done = bench.run(plan)
    assert done.code == 3, done.out + done.err
    assert bench.attempts("after") == 0
    assert bench.state.tasks["after"].state == "blocked"
    assert "bell.txt" in bench.results()
    assert "two.txt" not in bench.results()
    (gate,) = bench.gates().values()
    assert set(gate.context["answers"]) == {"retry", "skip", "abandon"}
    assert "retry: you have merged it in the task's worktree" in done.out


def test_an_agent_resolves_it_with_what_i_say(bench: Bench) -> None:
    """`retry TEXT` gives the conflict to the agent: the merge has begun in its worktree, both sides are explained, and
    what it makes of them is checked and comes in."""
    assert bench.run(two(bench)).code == 3
    keeps = 'cp line.txt "$OUT/saw"; printf "one\\ntwo\\n" > line.txt'
    bench.agent("two", f"[ $n = 2 ] && exit 0; {keeps}")
    assert bench.call("answer", bench.gate(), "retry", "Keep both lines.").code == 0
    done = bench.resume()
    # The second attempt leaves the markers, so the result cannot come in yet.
    assert done.code == 3, done.out + done.err
    assert bench.result("line.txt") == "one\n"
    told = bench.prompt("two.2")
    assert "Keep both lines." in told
    assert f"The merge of unstuck/{bench.folder.name}/_run has begun in this worktree" in told
    assert "have conflict markers:\n- line.txt\n" in told
    assert "is your side:\n- two: two\n" in told
    assert "is the side of the other results:\n- one: one\n" in told
    assert bench.call("answer", bench.gate(), "retry", "Remove the markers.").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "saw").read_text().splitlines()[0].startswith("<<<<<<< ")
    assert bench.result("line.txt") == "one\ntwo\n"
    assert "two.txt" in bench.results()
    assert [event["data"]["result"] for event in bench.events("check_finished")].count("passed") >= 5


def test_a_merge_that_fails_its_check_stays_begun_for_the_next_attempt(bench: Bench) -> None:
    """A resolution that breaks the check goes back to the agent with the merge as it stands."""
    assert bench.run(two(bench, check="test -f two.txt && ! grep -q broken line.txt")).code == 3
    bench.agent("two", '[ $n = 2 ] && echo broken > line.txt && exit 0; cp line.txt "$OUT/saw"; echo both > line.txt')
    assert bench.call("answer", bench.gate(), "retry", "Keep both.").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "saw").read_text() == "broken\n"
    assert "has begun in this worktree" in bench.prompt("two.3")
    assert bench.result("line.txt") == "both\n"
