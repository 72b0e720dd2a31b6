"""Reconstruction of an interrupted run from its state and from what is alive. Pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unstuck.contract import Gate, Guidance, Task
from unstuck.eventlog.state import AttemptRow, GateRow, RunRow, State, TaskRow
from unstuck.supervision.recovery.facts import (
    CheckFacts,
    Observed,
    ProcessFacts,
    RecoveryState,
    TaskRecovery,
    reconstruct,
)
from unstuck.text import Clean

AT_WORK = (ProcessFacts(pid=4711, since="2026-11-21T14:00:00Z"),)


def state(**fields: Any) -> State:
    """One task of which an attempt was at work when the run was killed, 30 seconds after it began."""
    row = TaskRow(task=Task(id="web", prompt=Clean("Work."), verify="make test"), state="running", attempt="web.2")
    row = replace(row, **{"attempts": 2, "baseline": "chk-1", **fields})
    told = Guidance(attempt="web.2", number=2, level="retry", text=Clean("Work."), workdir=Path())
    attempt = AttemptRow(id="web.2", task="web", guidance=told, started=100.0, state="live", pid=4711, spawned=1.0)
    return State(
        seq=9, mono=130.0, run=RunRow(id="r1", state="running"), tasks={"web": row}, attempts={"web.2": attempt}
    )


def facts(given: State | None = None, *, git: bool = True, **seen: Any) -> TaskRecovery:
    """Return the facts about the task, given these observations."""
    found = reconstruct(given or state(), {"web": Observed(**seen)}, git=git).of("web")
    assert found is not None
    return found


def test_an_attempt_that_was_at_work_can_go_on_in_five_ways() -> None:
    """Without a process left: go on, go back, be done, be skipped or abandoned; how long it ran is known."""
    found = facts()
    assert found.possible == ("continue", "retry", "done", "skip", "abandon")
    assert found.refused == {}
    assert found.usual == "continue"
    assert found.number == 2
    assert found.ran == 30.0
    assert found.check == CheckFacts(command=Clean("make test"), result="not_run")


@pytest.mark.parametrize(
    ("choice", "given", "seen", "why"),
    [
        ("retry", state(baseline="none"), {}, "no checkpoint to restore"),
        ("retry", state(baseline=""), {}, "no checkpoint to restore"),
        ("retry", None, {"git": False}, "without git"),
        ("done", state(task=Task(id="web", prompt=Clean("Work."))), {}, "no check"),
        ("done", None, {"check": CheckFacts(result="failed", said=Clean("assert 0 == 3"))}, "fails now: assert 0 == 3"),
        ("done", None, {"check": CheckFacts(result="could_not_run")}, "cannot run now"),
        ("continue", None, {"processes": AT_WORK}, "still running"),
        ("retry", None, {"processes": AT_WORK}, "still running"),
        ("done", None, {"processes": AT_WORK}, "still running"),
    ],
)
def test_what_cannot_be_chosen_says_why(choice: str, given: State | None, seen: dict[str, Any], why: str) -> None:
    """Every choice that is not possible has its reason, and the others stay."""
    found = facts(given, **seen)
    assert why in found.refused[choice]
    assert choice not in found.possible
    assert {"skip", "abandon"} <= set(found.possible)


def test_a_check_that_passes_now_refuses_nothing() -> None:
    """A task whose check a person saw pass may be taken for done; our own run of it decides."""
    assert "done" in facts(check=CheckFacts(result="passed")).possible


def test_one_that_has_outlived_its_supervisor_is_let_work_on_or_stopped() -> None:
    """With a process at work its own two choices come first. What loses nothing is to let an agent work on, and to stop
    what is left of one that is gone.
    """
    found = facts(processes=AT_WORK)
    assert found.possible == ("skip", "abandon", "adopt", "stop")
    assert found.usual == "stop"
    agent = ProcessFacts(pid=4712, since="2026-11-21T14:00:00Z", agent=True)
    assert facts(processes=(*AT_WORK, agent)).usual == "adopt"


def test_a_proposal_is_read_from_the_question_and_from_nothing_else() -> None:
    """An evaluator's proposal stands with the question; words that no proposal has are none."""

    def with_proposal(proposal: Any) -> RecoveryState:
        given = state()
        gate = Gate(
            id="g1", type="recovery", task="web", key="k", context={"proposal": proposal}, choices=("continue",)
        )
        given.gates["g1"] = GateRow(gate=gate, opened="2026-11-21T14:00:00Z")
        return reconstruct(given, {}, git=True)

    (found,) = with_proposal({"choice": "retry", "reason": "half [bold]written\x1b[2J"}).tasks
    assert found.proposal is not None
    assert found.gate == "g1"
    assert found.proposal.choice == "retry"
    assert found.proposal.reason == "half [bold]written"
    for nonsense in ({"choice": "explode"}, "retry", None, ["retry"]):
        assert with_proposal(nonsense).tasks[0].proposal is None


def test_what_nothing_has_to_be_decided_about_is_said_too() -> None:
    """Other open questions are still open, other tasks go on where they were, and what has ended is not listed."""
    given = state()
    blocked = Task(id="docs", prompt=Clean("Write."), needs=("web",))
    given.tasks["docs"] = TaskRow(task=blocked, state="blocked")
    given.tasks["api"] = TaskRow(task=Task(id="api", prompt=Clean("Work.")), state="judging")
    given.tasks["old"] = TaskRow(task=Task(id="old", prompt=Clean("Work.")), state="ended", status="succeeded")
    gate = Gate(id="g7", type="stuck", task="cart", key="k", context={"problem": "401"}, choices=("skip",))
    given.gates["g7"] = GateRow(gate=gate, opened="2026-11-21T14:00:00Z")
    found = reconstruct(given, {}, git=True)
    assert [(one.task, one.next) for one in found.onward] == [
        ("docs", "waits for another task"),
        ("api", "is checked again"),
    ]
    assert [(one.gate, one.type, one.problem) for one in found.gates] == [("g7", "stuck", "401")]
    assert found.died
    assert not reconstruct(replace_run(given, "parked"), {}, git=True).died


def replace_run(given: State, now: Any) -> State:
    given.run = replace(given.run, state=now)
    return given


def test_all_of_it_is_one_json_object_and_back() -> None:
    """A recovery is one JSON object, and reads back as the same."""
    found = reconstruct(state(), {"web": Observed(processes=AT_WORK)}, git=True)
    assert RecoveryState.model_validate_json(found.model_dump_json()) == found
