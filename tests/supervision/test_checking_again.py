"""Check again: a person answers a stuck task with its check alone, without an attempt of the agent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.supervision.conftest import Records

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.errors import AnswerRefused
from unstuck.eventlog import events as e
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.state import GateRow
from unstuck.runs.answers.answer_file import load_answers
from unstuck.settings.models import Settings

AT_ONCE = Settings.model_validate({"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}})
CHECK = "cat said; test ! -s said"


class Lazy:
    """An agent that changes nothing, and counts its attempts."""

    def __init__(self) -> None:
        self.attempts = 0

    async def __call__(self, guidance: Guidance) -> Report:
        self.attempts += 1
        return Report(exit_code=0)


def stuck(repo: Path) -> Task:
    (repo / "said").write_text("AssertionError: one\n", encoding="utf-8")
    return Task(id="web", prompt=admit("Do it"), verify=CHECK)


async def asked(record: Records, times: int) -> GateRow:
    """The open question, once it is the one of this number."""
    await record.until(lambda: len(record.of(e.GateOpened)) == times)
    return await record.asked()


async def test_a_check_that_passes_now_ends_the_task(repo: Path, records: type[Records]) -> None:
    """I mend it myself and have it checked: the task is done, and the agent had one attempt."""
    agent = Lazy()
    async with Supervisor.open(repo, AT_ONCE, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(stuck(repo), agent))
        gate = await asked(record, 1)
        (repo / "said").write_text("", encoding="utf-8")
        await supervisor.answer(gate.id, Answer(choice="check"))
        assert (await working).status == "succeeded"
        assert agent.attempts == 1
        assert [event.result for event in record.of(e.CheckFinished)] == ["failed", "passed"]
        log = supervisor.core.journal.path
    assert current_state(log.parent)[0].tasks["web"].status == "succeeded"


async def test_a_check_that_fails_again_asks_with_its_new_result(repo: Path, records: type[Records]) -> None:
    """No agent starts; the question comes back with the failure of now, and counts no attempt more."""
    agent = Lazy()
    async with Supervisor.open(repo, AT_ONCE, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(stuck(repo), agent))
        first = await asked(record, 1)
        assert "one" in first.gate.context["problem"]
        (repo / "said").write_text("TypeError: two\n", encoding="utf-8")
        await supervisor.answer(first.id, Answer(choice="check"))
        second = await asked(record, 2)
        assert second.gate.type == "stuck"
        assert "two" in second.gate.context["problem"]
        assert second.gate.context["attempts"] == first.gate.context["attempts"]
        assert agent.attempts == 1
        climbs = [event.climb for event in record.of(e.DirectiveIssued)]
        assert climbs[-1].failed_approaches == climbs[0].failed_approaches
        await supervisor.answer(second.id, Answer(choice="check"))
        third = await asked(record, 3)
        assert third.gate.context["analysis"] == second.gate.context["analysis"]
        await supervisor.answer(third.id, Answer(choice="skip"))
        assert (await working).status == "skipped"


async def test_the_next_answer_leads_on_as_ever(repo: Path, records: type[Records]) -> None:
    """After a check that failed again the agent can be told something, and is."""
    told: list[str] = []

    async def agent(guidance: Guidance) -> Report:
        told.append(guidance.text)
        if len(told) == 2:
            (repo / "said").write_text("", encoding="utf-8")
        return Report(exit_code=0)

    async with Supervisor.open(repo, AT_ONCE, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(stuck(repo), agent))
        gate = await asked(record, 1)
        await supervisor.answer(gate.id, Answer(choice="check"))
        gate = await asked(record, 2)
        await supervisor.answer(gate.id, Answer(choice="show_me", text=admit("empty the file")))
        assert (await working).status == "succeeded"
        assert "empty the file" in told[1]


async def test_without_a_check_there_is_none_to_run_again(repo: Path, records: type[Records]) -> None:
    """A task without a check that got stuck does not take this answer, and says why."""

    async def agent(guidance: Guidance) -> Any:
        raise KeyError("currency")

    async with Supervisor.open(repo, AT_ONCE, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(Task(id="web", prompt=admit("Do it")), agent))
        gate = await asked(record, 1)
        with pytest.raises(AnswerRefused):
            await supervisor.answer(gate.id, Answer(choice="check"))
        assert gate.gate.context["refused"]["check"] == "the task has no check"
        await supervisor.answer(gate.id, Answer(choice="skip"))
        await working


async def test_a_rule_that_always_checks_again_ends_at_a_person(
    repo: Path, tmp_path: Path, records: type[Records]
) -> None:
    """A file of answers may say it; one that only leads to the same question again stops in the end."""
    file = tmp_path / "answers.yaml"
    file.write_text("- {gate: stuck, answer: check, always: true}\n", encoding="utf-8")
    agent = Lazy()
    rules = load_answers(file).match
    async with Supervisor.open(repo, AT_ONCE, person=True, policy=lambda state: rules) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(stuck(repo), agent))
        await record.until(supervisor.core.head.open_gates)
        gate = await record.asked()
        given = [event for event in record.of(e.GateAnswered) if event.choice == "check"]
        assert len(given) == 20
        assert agent.attempts == 1
        (repo / "said").write_text("", encoding="utf-8")
        await supervisor.answer(gate.id, Answer(choice="check"))
        assert (await working).status == "succeeded"
