"""Restores that a run makes alone, restores that it asks about, and its last passing checkpoints."""

from __future__ import annotations

import pytest
from tests.plans.conftest import Bench

MANY = 25


def littering(bench: Bench):
    """A task whose first attempt leaves far more files than the project has, and whose second one looks at them."""
    script = (
        f'ls | wc -l > "$OUT/saw.$n"; [ $n = 1 ] || echo right > work.txt\n'
        f"[ $n != 1 ] || for i in $(seq {MANY}); do echo x > litter.$i; done"
    )
    return bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": "web", "prompt": "x", "verify": "grep -q right work.txt"}],
        settings={"failure_handler": {"max_retries": 0}},
    )


@pytest.mark.parametrize("said", ["allow", "deny"])
def test_much_is_set_back_only_with_a_yes(bench: Bench, said: str) -> None:
    """A pivot that would remove most of the worktree asks first; my answer decides, and the agent is told it."""
    plan = littering(bench)
    done = bench.run(plan)
    assert done.code == 3, done.out + done.err
    (gate,) = bench.gates().values()
    assert gate.type == "permission"
    assert gate.choices == ("allow", "deny")
    assert f" {MANY} of " in gate.context["problem"]
    assert "litter.1" in gate.context["paths"]
    assert bench.call("answer", gate.id, said).code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    left = int((bench.outside / "saw.2").read_text()) - int((bench.outside / "saw.1").read_text())
    assert left == (0 if said == "allow" else MANY)
    told = {"allow": f"(files: {MANY})", "deny": "restoring them was not allowed"}[said]
    assert told in bench.prompt("web.2")
    assert bench.attempts("web") == 2


def test_where_nobody_may_be_asked_much_stays(bench: Bench) -> None:
    """With `ask: never` the files stay as they are, and the agent is told so."""
    done = bench.run(littering(bench), "--ask", "never")
    assert done.code == 0, done.out + done.err
    assert "restoring them was not allowed" in bench.prompt("web.2")


def test_what_passed_is_remembered_as_good(bench: Bench) -> None:
    """A check that passed leaves a checkpoint of exactly those files, which the commands can show."""
    plan = bench.plan(
        agents={"worker": bench.agent("worker", "echo right > work.txt")},
        tasks=[{"id": "web", "prompt": "x", "verify": "grep -q right work.txt"}],
    )
    assert bench.run(plan).code == 0
    (good,) = [event for event in bench.events("checkpoint_created") if event["data"]["purpose"] == "good"]
    (finished,) = bench.events("check_finished")
    assert good["seq"] < finished["seq"]
    shown = bench.call("checkpoints", "show", good["data"]["id"])
    assert "added      work.txt (6 B)" in shown.out


def test_what_a_person_wrote_meanwhile_stays(bench: Bench) -> None:
    """My edits in the worktree while a task waits for me stay: a later pivot takes back the agent's work only."""
    bench.write({"both.txt": "old\n"})
    script = (
        'ls > "$OUT/saw.$n"; cat both.txt >> "$OUT/saw.$n"; echo "agent $n" > mine.txt; echo agent >> both.txt\n'
        "[ $n != 4 ] || echo right > work.txt"
    )
    plan = bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": "web", "prompt": "x", "verify": "grep -q right work.txt"}],
        settings={"failure_handler": {"max_retries": 0, "max_pivots": 1, "max_research": 0}},
    )
    assert bench.run(plan).code == 3
    bench.write({"notes.txt": "mine\n", "both.txt": "mended by hand\n"}, commit=False)
    assert bench.call("answer", bench.gate(), "retry", "look at my notes").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert "mine.txt" in (bench.outside / "saw.3").read_text()
    saw = (bench.outside / "saw.4").read_text()
    assert "notes.txt" in saw
    assert "mine.txt" not in saw
    assert saw.endswith("mended by hand\nagent\n")
    assert "Changes that others made in this directory stay." in bench.prompt("web.4")
