"""A check that contradicts its exit code, in a run without a screen: the pause, the answers, the warning beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans.conftest import Bench

# A runner's closing line without the time that a real runner needs to start.
FAILS = "test -f fixed && echo '1 passed in 0.01s' || { echo '1 failed in 0.01s'; exit 1; }"


def plan(bench: Bench, check: str, script: str = "touch fixed.$n; [ $n -lt 2 ] || touch fixed") -> Path:
    """One task whose agent repairs the project in its second attempt."""
    return bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": "web", "agent": "worker", "prompt": "Fix it.", "verify": check}],
    )


def hidden(check: str = FAILS) -> str:
    return f"{{ {check}; }} | tail -3"


def test_headless_it_pauses_and_an_answer_goes_on(bench: Bench) -> None:
    """Without a screen the run pauses with exit code 3; treated as failed it goes on to a real success."""
    paused = bench.run(plan(bench, hidden()))
    assert paused.code == 3, paused.out + paused.err
    assert "the check exited with 0 but printed 1 failed" in paused.out
    assert "suggested: bash -o pipefail" in paused.out
    answered = bench.call("answer", bench.gate(), "choose", "1")
    assert answered.code == 0, answered.err
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 2


def test_the_check_is_edited_from_the_command_line(bench: Bench) -> None:
    """`choose 3` takes the new command; without one it says what is missing."""
    bench.run(plan(bench, hidden()))
    missing = bench.call("answer", bench.gate(), "choose", "3")
    assert missing.code == 2
    assert "option 3 needs a text" in missing.err
    assert bench.call("answer", bench.gate(), "choose", "3", FAILS).code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    results = [event["data"]["result"] for event in bench.events("check_finished")]
    assert results == ["contradicted", "failed", "passed"]
    assert bench.events("check_finished")[-1]["data"]["command"] == FAILS


def test_a_rule_may_answer_it(bench: Bench) -> None:
    """A rule with `key: check` answers this question and no other."""
    rule = {"gate": "question", "key": "check", "answer": "choose", "number": 1}
    done = bench.run(plan(bench, hidden()), "--answers", bench.answers(rule))
    assert done.code == 0, done.out + done.err
    (gate,) = bench.state.gates.values()
    assert gate.by == "policy"


def test_a_rule_for_another_key_does_not(bench: Bench) -> None:
    """A rule for another question leaves this one open."""
    rule = {"gate": "question", "key": "blocked", "answer": "choose", "number": 2}
    assert bench.run(plan(bench, hidden()), "--answers", bench.answers(rule)).code == 3


@pytest.mark.parametrize(
    ("check", "warning"),
    [
        (hidden(), "the check's exit code is that of the last command of the pipe"),
        (f"{{ {FAILS}; }} || true", "turns every failure of the check into success"),
    ],
)
def test_it_is_said_before_the_first_attempt(bench: Bench, check: str, warning: str) -> None:
    """The command is looked at before any agent works: the first lines of the run warn of it."""
    said = bench.run(plan(bench, check)).out
    assert warning in said
    assert said.index(warning) < said.index("attempt 1")


def test_a_program_that_is_nowhere_costs_no_attempt(bench: Bench) -> None:
    """A check whose program does not exist is refused before anything starts."""
    refused = bench.run(plan(bench, "no-such-runner -q"))
    assert refused.code == 2
    assert "the check's program no-such-runner was not found" in refused.err
    assert not list((bench.root / ".git" / "unstuck" / "runs").glob("*"))


def test_a_setup_may_still_install_it(bench: Bench) -> None:
    """A run starts if the plan has a setup, because the program may come with it."""
    path = bench.plan(
        setup="true",
        agents={"worker": bench.agent("worker", "true")},
        tasks=[{"id": "web", "agent": "worker", "prompt": "Fix it.", "verify": "no-such-runner -q"}],
    )
    assert bench.run(path).code == 3
