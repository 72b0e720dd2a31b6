"""A check that exits with 0 while its runner says that tests failed, or that none ran, is never success."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.errors import AnswerRefused
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
HIDDEN = {
    "pipe": f"{PYTEST} | tail -3",
    "tee": f"{PYTEST} | tee log",
    "or true": f"{PYTEST} || true",
    "semicolon": f"{PYTEST}; echo done",
    "makefile": "make test",
}
NO_RETRIES = {"max_retries": 0, "max_pivots": 0, "max_research": 0}


@pytest.fixture
def failing(repo: Path) -> Path:
    """A project with one test that passes once ``fixed`` exists, and a Makefile that ignores pytest's exit code."""
    (repo / "test_it.py").write_text("import os\n\n\ndef test_fixed():\n    assert os.path.exists('fixed')\n")
    (repo / "Makefile").write_text(f"test:\n\t-{PYTEST}\n")
    return repo


def task(check: str, name: str = "web") -> Task:
    return Task(id=name, prompt=admit("Fix it."), verify=check)


async def does_nothing(guidance: Guidance) -> Report:
    return Report(exit_code=0, signal="complete")


async def fixes_when_told(guidance: Guidance) -> Report:
    if guidance.number > 1:
        (guidance.workdir / "fixed").touch()
    return Report(exit_code=0)


@pytest.mark.parametrize("how", HIDDEN)
async def test_a_hidden_exit_code_is_one_question(failing: Path, records: Any, how: str) -> None:
    """Behind a pipe, `|| true`, a semicolon or a Makefile's dash: one question says what was printed; not success."""
    async with Supervisor.open(failing, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(task(HIDDEN[how]), does_nothing))
        row = await record.asked()
        (checked,) = record.of(e.CheckFinished)
        assert checked.result == "contradicted"
        assert checked.exit_code == 0
        assert row.gate.type == "question"
        assert row.gate.key == "check"
        question = row.gate.context["question"]
        assert question.startswith("the check exited with 0 but printed 1 failed")
        assert question.endswith("does a pipe or `|| true` hide its exit code?")
        assert {"choose", "abandon"} <= set(row.gate.choices)
        await supervisor.answer(row.id, Answer(choice="abandon"))
        assert (await working).status == "abandoned"


async def test_treated_as_failed_it_is_retried_like_any_failure(failing: Path, records: Any) -> None:
    """I say it failed: the agent hears of the failing test, and the same check is not asked about again."""
    async with Supervisor.open(failing, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(task(HIDDEN["pipe"]), fixes_when_told))
        row = await record.asked()
        await supervisor.answer(row.id, Answer(choice="choose", number=1))
        assert (await working).status == "succeeded"
        assert [event.result for event in record.of(e.CheckFinished)] == ["contradicted", "failed", "passed"]
        assert len(record.of(e.GateOpened)) == 1
        retried = record.of(e.AttemptStarted)[1].guidance.text
        assert "assert os.path.exists" in retried or "test_fixed" in retried


async def test_believed_it_succeeds_and_says_so(failing: Path, records: Any) -> None:
    """I believe the exit code: the task is done, and the record says what was printed all the same."""
    async with Supervisor.open(failing, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(task(HIDDEN["or true"]), does_nothing))
        row = await record.asked()
        await supervisor.answer(row.id, Answer(choice="choose", number=2))
        assert (await working).status == "succeeded"
        believed = record.of(e.CheckFinished)[-1]
        assert believed.result == "passed"
        assert "printed 1 failed" in believed.problem


async def test_an_edited_check_takes_its_place(failing: Path, records: Any) -> None:
    """I put another command in its place: it decides from then on, also for the other tasks with the same check."""
    async with Supervisor.open(failing, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(task(HIDDEN["tee"]), fixes_when_told))
        row = await record.asked()
        supervisor.add(task(HIDDEN["tee"], "other"))
        suggested = row.gate.context["suggested"]
        assert suggested.startswith("bash -o pipefail -c ")
        with pytest.raises(AnswerRefused, match="option 3 needs a text"):
            await supervisor.answer(row.id, Answer(choice="choose", number=3))
        with pytest.raises(AnswerRefused, match="option 1 takes no text"):
            await supervisor.answer(row.id, Answer(choice="choose", number=1, text=admit("x")))
        await supervisor.answer(row.id, Answer(choice="choose", number=3, text=admit(PYTEST)))
        assert (await working).status == "succeeded"
        assert record.of(e.CheckFinished)[-1].command == PYTEST
        assert supervisor.core.head.tasks["other"].task.verify == PYTEST


async def test_the_same_check_is_asked_about_once(failing: Path, records: Any) -> None:
    """Two tasks meet it at the same time: my answer to one settles the other."""
    async with Supervisor.open(failing, Settings(max_parallel=2), person=True) as supervisor:
        record = records(supervisor)
        working = [
            asyncio.ensure_future(supervisor.supervise(task(HIDDEN["pipe"], name), does_nothing)) for name in "ab"
        ]
        await record.until(lambda: len(supervisor.core.head.open_gates()) == 2)
        await supervisor.answer(supervisor.core.head.open_gates()[0].id, Answer(choice="choose", number=2))
        assert [(await one).status for one in working] == ["succeeded", "succeeded"]
        assert len(record.of(e.GateAnswered)) == 1


async def test_where_nobody_may_be_asked_it_counts_as_failed(failing: Path, records: Any) -> None:
    """With `ask: never` it goes the way of every failing check, and is not success."""
    settings = Settings.model_validate({"ask": "never", "failure_handler": NO_RETRIES})
    async with Supervisor.open(failing, settings) as supervisor:
        record = records(supervisor)
        outcome = await supervisor.supervise(task(HIDDEN["pipe"]), does_nothing)
        assert outcome.status == "failed" or outcome.status == "cancelled"
        assert record.of(e.CheckFinished)[-1].result == "failed"
        assert not record.of(e.GateOpened)


async def test_a_run_that_ran_nothing_is_contradicted_too(repo: Path, records: Any) -> None:
    """Exit code 0 after no test at all is asked about, with words that fit."""
    (repo / "empty.py").write_text("import unittest\nunittest.main(exit=False)\n", encoding="utf-8")
    async with Supervisor.open(repo, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(task(f"{sys.executable} empty.py"), does_nothing))
        row = await record.asked()
        assert "ran no test" in row.gate.context["question"]
        await supervisor.answer(row.id, Answer(choice="skip"))
        assert (await working).status == "skipped"
