"""The approach of an attempt, and what the history of approaches and of the change says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.agents.command.signal_line import first_sentence, read_signal
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings

CHECK = "cat said; exit 1"
Turn = Callable[[Path, int], Report]


async def stuck(repo: Path, turn: Turn, **limits: int) -> list[Any]:
    """The events of a task whose agent does ``turn`` in each attempt, until its question is answered with skip."""
    numbers = iter(range(100))

    async def agent(guidance: Guidance) -> Report:
        return turn(guidance.workdir, next(numbers))

    settings = Settings.model_validate({"failure_handler": limits})
    events: list[Any] = []
    async with Supervisor.open(repo, settings, person=True) as supervisor:
        working = asyncio.ensure_future(
            supervisor.supervise(Task(id="web", prompt=admit("mend it"), verify=CHECK), agent)
        )
        async for record in supervisor.events():
            events.append(record.event)
            if isinstance(record.event, e.GateOpened):
                await supervisor.answer(record.event.gate, Answer(choice="skip"))
                break
        await working
    return events


def of(events: list[Any], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def says(folder: Path, text: str) -> None:
    (folder / "said").write_text(f"{text}\n", encoding="utf-8")


async def test_one_idea_in_other_words_with_other_messages(repo: Path) -> None:
    """The seeds' three approaches are a circular fix, whatever the check says each time; the question names it."""
    ideas = ["Using async await for fetch", "Using async/await with try-catch", "Using async await pattern"]
    messages = ["KeyError: 'a'", "ValueError: bad date", "TypeError: not callable"]

    def turn(folder: Path, number: int) -> Report:
        says(folder, messages[number])
        return Report(exit_code=0, approach=admit(ideas[number]))

    events = await stuck(repo, turn)
    (asked,) = of(events, e.GateOpened)
    assert asked.type == "stuck"
    assert asked.context["failure_type"] == "CIRCULAR_FIX"
    assert [check.circular for check in of(events, e.CheckFinished)] == [False, False, True]
    assert of(events, e.CheckFinished)[-1].diagnosis["failure_type"] == "CIRCULAR_FIX"


async def test_sentences_of_progress_reports_are_no_circle(repo: Path) -> None:
    """An agent's last sentence is its approach where it names none; alike ones about new failures are work."""
    messages = ["KeyError: 'a'", "ValueError: bad date", "TypeError: not callable", "IndexError: 3"]

    def turn(folder: Path, number: int) -> Report:
        says(folder, messages[number % 4] + str(number))
        return Report(exit_code=0, summary=admit(f"I fixed the next failure of cart.py, number {number}"))

    events = await stuck(repo, turn, max_attempts=5)
    assert not any(check.circular for check in of(events, e.CheckFinished))
    assert of(events, e.CheckFinished)[1].approach == "I fixed the next failure of cart.py, number 1"


async def test_the_change_is_the_approach_where_nothing_is_said(repo: Path) -> None:
    """Without signal, line and message it is the changed files with what they define."""

    def turn(folder: Path, number: int) -> Report:
        says(folder, "wrong total")
        (folder / "cart.py").write_text("def total_of(rows):\n    return 0\n", encoding="utf-8")
        return Report(exit_code=0)

    events = await stuck(repo, turn, max_attempts=1)
    assert of(events, e.CheckFinished)[0].approach == "change cart.py, said: total_of"


async def test_a_growing_change_is_given_up_earlier(repo: Path) -> None:
    """The third failure takes a new approach and says why if the change doubles while the failure stays."""

    def turn(folder: Path, number: int) -> Report:
        says(folder, "AssertionError: total is 3")
        (folder / "cart.py").write_text("x = 1\n" * 30 * 3**number, encoding="utf-8")
        return Report(exit_code=0)

    events = await stuck(repo, turn, max_attempts=3)
    directives = of(events, e.DirectiveIssued)
    assert [directive.level for directive in directives[:3]] == ["retry", "retry", "pivot"]
    assert directives[2].reason == "the change grows (31, 91, 271 lines) and the failure stays"
    assert of(events, e.CheckFinished)[2].diagnosis["cause"] == "pattern_mismatch"


async def test_a_change_that_stays_small_keeps_its_retries(repo: Path) -> None:
    """A few lines more at each attempt are no growing complexity."""

    def turn(folder: Path, number: int) -> Report:
        says(folder, "AssertionError: total is 3")
        (folder / "cart.py").write_text("x = 1\n" * (30 + number), encoding="utf-8")
        return Report(exit_code=0)

    events = await stuck(repo, turn, max_attempts=3)
    assert [directive.level for directive in of(events, e.DirectiveIssued)[:3]] == ["retry"] * 3


async def test_a_cause_that_the_agent_states(repo: Path) -> None:
    """An agent that calls the logic complex goes straight to research, which reads what the task changed."""

    def turn(folder: Path, number: int) -> Report:
        says(folder, "wrong total")
        (folder / "cart.py").write_text("def total(rows):\n    return sum(rows)\n", encoding="utf-8")
        return Report(exit_code=0, cause="complex_logic")

    events = await stuck(repo, turn, max_attempts=1)
    assert of(events, e.DirectiveIssued)[0].level == "research"
    assert any("def total(rows)" in insight for insight in of(events, e.ResearchDone)[0].insights)


def test_the_cause_in_a_signal() -> None:
    """Only causes that no text of a failure shows can be stated."""
    assert read_signal('UNSTUCK {"signal": "complete", "cause": "pattern_mismatch"}', "web").cause == "pattern_mismatch"
    assert read_signal('UNSTUCK {"signal": "complete", "cause": "syntax_error"}', "web").cause == ""


def test_the_first_sentence() -> None:
    """It ends at its full stop or its line; a name of a file has no full stop in it."""
    assert (
        first_sentence("## I rewrote cart.py with decimals. Then I ran the tests.") == "I rewrote cart.py with decimals"
    )
    assert first_sentence("Rounding is done last\n\n- more") == "Rounding is done last"
    assert first_sentence("Done.") is None
    assert first_sentence("") is None
