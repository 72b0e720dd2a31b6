"""Open questions: they wait, other tasks continue, and dependents follow the rule that was shown."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.errors import GateClosed
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.supervision.run.coordinator import Coordinator

DAY = 24 * 3600
ASK_AT_ONCE = {"max_retries": 0, "max_pivots": 0, "max_research": 0}
ONE_AT_A_TIME = Settings.model_validate({"failure_handler": ASK_AT_ONCE, "max_parallel": 1})


class Works:
    """An agent for every task: ``fails`` never get it right, the others leave their file."""

    def __init__(self, *fails: str) -> None:
        self.fails, self.worked = fails, list[str]()

    def __call__(self, task: Task) -> Any:
        async def attempt(guidance: Guidance) -> Report:
            self.worked.append(task.id)
            if task.id not in self.fails:
                (guidance.workdir / task.id).touch()
            return Report(exit_code=0)

        from unstuck.supervision.attempt.runner import CallableAgent

        return CallableAgent(attempt)


def work(name: str, *needs: str) -> Task:
    return Task(
        id=name, prompt=admit(name), needs=needs, verify=f"test -f {name} || {{ echo 'AssertionError: none'; exit 1; }}"
    )


async def test_a_question_waits_a_day_and_the_rest_goes_on(
    repo: Path, clock: ManualClock, records: type[Records]
) -> None:
    """One task asks and takes no further step; an independent one starts and ends; after a day it still asks."""
    agents = Works("stuck")
    async with Supervisor.open(repo, ONE_AT_A_TIME, clock=clock, person=True) as supervisor:
        record = records(supervisor)
        for task in (work("stuck"), work("other")):
            supervisor.add(task)
        running = asyncio.ensure_future(Coordinator(supervisor, agents).run())
        await record.until(lambda: record.of(e.GateOpened) and record.of(e.TaskEnded))
        await clock.advance(DAY)
        (gate,) = supervisor.core.head.open_gates()
        assert gate.gate.task == "stuck"
        assert gate.gate.type == "stuck"
        assert supervisor.core.head.tasks["other"].status == "succeeded"
        assert agents.worked == ["stuck", "other"]
        await supervisor.answer(gate.id, Answer(choice="abandon"))
        assert (await running).exit_code == 1


@pytest.mark.parametrize(
    ("after_skip", "said", "then"),
    [
        ("block", "next, last stay blocked", "blocked"),
        ("run", "next, last go on without it", "succeeded"),
        ("skip", "next, last are skipped too", "skipped"),
    ],
)
async def test_dependents_follow_the_rule_that_was_shown(
    repo: Path, records: type[Records], after_skip: str, said: str, then: str
) -> None:
    """The question says beforehand what becomes of those that wait, and so it happens."""
    async with Supervisor.open(repo, ONE_AT_A_TIME, person=True) as supervisor:
        record = records(supervisor)
        for task in (work("first"), work("next", "first"), work("last", "next")):
            supervisor.add(task, after_skip=after_skip)
        running = asyncio.ensure_future(Coordinator(supervisor, Works("first")).run())
        await record.until(lambda: record.of(e.GateOpened))
        (gate,) = supervisor.core.head.open_gates()
        assert said in gate.gate.context["consequences"][1]
        assert gate.gate.context["touches"] == ["next"]
        await supervisor.answer(gate.id, Answer(choice="skip"))
        await running
        rows = supervisor.core.head.tasks
        assert rows["first"].status == "skipped"
        assert [rows[name].status or rows[name].state for name in ("next", "last")] == [then, then]


async def test_a_check_that_always_refuses_ends_with_my_reason(repo: Path, records: type[Records]) -> None:
    """After all that could be tried I am asked, may put it aside with a reason, and the run can end."""
    async with Supervisor.open(repo, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(work("web"), Works("web")(work("web"))))
        await record.until(lambda: record.of(e.GateOpened))
        assert len(record.of(e.AttemptStarted)) == 9
        (gate,) = supervisor.core.head.open_gates()
        await supervisor.answer(gate.id, Answer(choice="skip", text=admit("the licence comes on Monday")))
        assert (await working).status == "skipped"
        assert supervisor.core.head.tasks["web"].reason == "the licence comes on Monday"
        with pytest.raises(GateClosed):
            await supervisor.answer(gate.id, Answer(choice="retry"))


async def test_a_check_that_ends_well_without_a_test_is_no_proof(repo: Path, records: type[Records]) -> None:
    """The agent says it is complete, and the check ends with 0 having run nothing: I am asked, and it is not done."""
    (repo / "empty.py").write_text("import unittest\nunittest.main(exit=False)\n", encoding="utf-8")
    task = Task(id="web", prompt=admit("Do it"), verify=f"{sys.executable} empty.py")
    async with Supervisor.open(repo, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(task, claims))
        await record.until(lambda: record.of(e.GateOpened))
        (checked,) = record.of(e.CheckFinished)
        assert checked.exit_code == 0
        assert checked.result == "contradicted"
        (gate,) = supervisor.core.head.open_gates()
        assert "ran no test" in gate.gate.context["question"]
        await supervisor.answer(gate.id, Answer(choice="skip"))
        assert (await working).status == "skipped"


async def claims(guidance: Guidance) -> Report:
    return Report(exit_code=0, signal="complete")


async def test_tokens_are_counted_by_escalation_level(repo: Path, records: type[Records]) -> None:
    """The cost of each level, as the agent reports it, stands in the question."""
    settings = Settings.model_validate({"failure_handler": {**ASK_AT_ONCE, "max_retries": 2}})

    async def agent(guidance: Guidance) -> Report:
        return Report(exit_code=0, tokens=100 * guidance.number)

    async with Supervisor.open(repo, settings, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(work("web"), agent))
        await record.until(lambda: record.of(e.GateOpened))
        (gate,) = supervisor.core.head.open_gates()
        assert gate.gate.context["tokens"] == {"first": 100, "retry": 500}
        await supervisor.answer(gate.id, Answer(choice="skip"))
        await working
