"""Answers from the page: the same choices and effects as the dialog's, whoever works the run, and one of them wins."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.screen.test_interventions import SCRIPT
from tests.waiting import become
from tests.web.conftest import Serving, Stage, words

from unstuck import Answer, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import read_records
from unstuck.runs.answers.question import question_of
from unstuck.supervision.gates.gate_types import CHOICES
from unstuck_web import runs


def answered(stage: Stage) -> list[tuple[str, str, str]]:
    """(choice, text, via) of every answer in the log, and that persons gave them."""
    records = [
        one
        for one in read_records(stage.place.runs / stage.run / "events.jsonl")
        if isinstance(one.event, e.GateAnswered)
    ]
    assert {one.actor for one in records} <= {"human"}
    return [
        (one.event.choice, one.event.text, one.event.via) for one in records if isinstance(one.event, e.GateAnswered)
    ]


FOUR = [
    (
        {"choice": "show_me", "text": "Sign the raw body.\nThen compare."},
        ("show_me", "Sign the raw body.\nThen compare.", "page"),
    ),
    ({"choice": "skip"}, ("skip", "", "page")),
    ({"choice": "abandon", "sure": "yes"}, ("abandon", "", "page")),
    ({"choice": "retry", "text": "use hmac"}, ("retry", "use hmac", "page")),
]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(("fields", "recorded"), FOUR)
async def test_the_four_answers(serving: Serving, beside: bool, fields: dict[str, str], recorded: Any) -> None:
    """Each is recorded as a person's, with the page as its way, whichever process serves the page."""
    async with serving(beside=beside) as stage:
        reader = await stage.reader()
        response = await reader.post(f"{stage.path}/question", id="g1", **fields)
        assert response.status_code == 200
        assert "by a person on the page" in words(response)
        assert answered(stage) == [recorded]
        assert stage.supervisor.state.gates["g1"].status != "open"


@pytest.mark.parametrize(("fields", "recorded"), FOUR)
async def test_the_four_answers_while_no_process_works_the_run(
    serving: Serving, fields: dict[str, str], recorded: Any
) -> None:
    """The answer goes into the log as that of `unstuck answer`, and the page offers to resume the run."""
    async with serving(beside=True) as stage:
        await stage.end()
        reader = await stage.reader()
        assert "Resume the run" in await reader.text(stage.path)
        response = await reader.post(f"{stage.path}/question", id="g1", **fields)
        assert "by a person on the page" in words(response)
        assert "Resume the run" in words(response)
        assert answered(stage) == [recorded]


KINDS = [kind for kind in CHOICES if kind not in ("disk",)]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_question_offers_what_the_dialog_offers(serving: Serving, kind: str) -> None:
    """The title, the problem, the facts and every choice with its effect; what is refused says why."""
    contexts: dict[str, dict[str, Any]] = {
        "question": {"question": "Which port?", "options": ["80", "8080"]},
        "permission": {"problem": "curl example.org", "rules": ["Bash(curl:*)"]},
        "timeout": {"elapsed_seconds": 60.0, "timeout_seconds": 60.0},
    }
    async with serving() as stage:
        run_wide = kind in ("budget", "remediation")
        gate = stage.story.asks("" if run_wide else "docs", kind, **contexts.get(kind, {"problem": "It goes wrong"}))
        await stage.story.core.journal.committed()
        reader = await stage.reader()
        page = words(await reader.get(f"{stage.path}/question?id={gate}"))
        state = stage.supervisor.state
        question = question_of(state, state.gates[gate])
        said = [question.title, question.problem, question.leaving]
        said += [text for fact in question.facts for text in fact]
        said += [option.label for option in question.options]
        said += [option.refused or option.touches for option in question.options]
        for text in said:
            assert " ".join(text.split()) in page


async def test_an_option_of_a_question_is_chosen(serving: Serving) -> None:
    """A button for each option, and its number in the log."""
    async with serving() as stage:
        gate = stage.story.asks("docs", "question", question="Which port?", options=["80", "8080"])
        await stage.story.core.journal.committed()
        reader = await stage.reader()
        await reader.post(f"{stage.path}/question", id=gate, choice="option_2")
        answer = stage.supervisor.state.gates[gate].answer
        assert answer is not None
        assert (answer.choice, answer.number, answer.text) == ("choose", 2.0, "8080")


async def test_more_time_is_a_duration(serving: Serving) -> None:
    """A text that is none is refused beside its field, with what was typed."""
    async with serving() as stage:
        gate = stage.story.asks("docs", "timeout", elapsed_seconds=60.0, timeout_seconds=60.0)
        await stage.story.core.journal.committed()
        reader = await stage.reader()
        response = await reader.post(f"{stage.path}/question", id=gate, choice="extend", text="soon <b>")
        assert response.status_code == 422
        assert "must be a duration such as" in words(response)
        assert 'value="soon &lt;b&gt;"' in response.text
        await reader.post(f"{stage.path}/question", id=gate, choice="extend", text="15m")
        answer = stage.supervisor.state.gates[gate].answer
        assert answer is not None
        assert answer.number == 900.0


async def test_an_answer_without_its_text_is_refused_and_nothing_is_lost(serving: Serving) -> None:
    """As in the dialog: the question stays open, with the reason."""
    async with serving() as stage:
        reader = await stage.reader()
        response = await reader.post(f"{stage.path}/question", id="g1", choice="show_me", text="  ")
        assert response.status_code == 422
        assert "Write what the agent is to do first." in words(response)
        assert (await reader.post(f"{stage.path}/question", id="g1", choice="fly")).status_code == 422
        assert answered(stage) == []


async def test_a_task_is_abandoned_only_with_a_second_press(serving: Serving) -> None:
    """One request that lacks the confirmation ends nothing."""
    async with serving() as stage:
        reader = await stage.reader()
        assert (await reader.post(f"{stage.path}/question", id="g1", choice="abandon")).status_code == 422
        assert answered(stage) == []


async def test_who_comes_second_learns_who_was_first(serving: Serving) -> None:
    """The answer of the terminal stands; the page says whose it is and keeps the text."""
    async with serving() as stage:
        reader = await stage.reader()
        await stage.supervisor.answer("g1", Answer(choice="retry"), via="screen")
        response = await reader.post(f"{stage.path}/question", id="g1", choice="show_me", text="Use <hmac>")
        assert response.status_code == 409
        assert "retry, by a person at the screen" in words(response)
        assert "Use <hmac>" in unescape(response.text)
        assert answered(stage) == [("retry", "", "screen")]


async def test_an_answer_that_the_log_cannot_take_is_not_called_given(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log was damaged while the page was open: the page says so, and keeps the text."""
    monkeypatch.setattr(runs, "_CLOSED_S", 0.0)
    async with serving(beside=True) as stage:
        await stage.end()
        reader = await stage.reader()
        log = stage.place.runs / stage.run / "events.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        asked = next(number for number, line in enumerate(lines) if b'"g1"' in line)
        log.write_bytes(b"".join([*lines[:asked], b"x" * (len(lines[asked]) - 1) + b"\n", *lines[asked + 1 :], b"y\n"]))
        response = await reader.post(f"{stage.path}/question", id="g1", choice="retry", text="use hmac")
        assert response.status_code == 409
        assert "Your answer was not taken" in words(response)
        assert "not a record" in words(response)
        assert "use hmac" in words(response)
        assert "is answered" not in words(response)


async def test_the_page_of_an_answered_question_says_by_whom(serving: Serving) -> None:
    """Such as one that a notification led to, too late."""
    async with serving(beside=True) as stage:
        reader = await stage.reader()
        await stage.supervisor.answer("g1", Answer(choice="skip"), via="command")
        assert "skip, by a person with `unstuck answer`" in await reader.text(f"{stage.path}/question?id=g1")


async def test_the_timer_stops_for_a_person(serving: Serving) -> None:
    """The countdown is shown with its answer, and a button stops it."""
    async with serving() as stage:
        stage.story.append(e.TimerStarted(gate="g1", seconds=600.0, choice="skip"), "webhook")
        await stage.story.core.journal.committed()
        reader = await stage.reader()
        page = await reader.get(stage.path)
        assert 'data-left="600.0"' in page.text
        assert "Stop the timer" in words(page)
        await reader.post(f"{stage.path}/keep", id="g1")
        assert stage.supervisor.state.gates["g1"].gate.acts_at is None


@pytest.mark.parametrize("beside", [False, True])
async def test_the_later_of_two_that_change_one_file_is_held(serving: Serving, beside: bool) -> None:
    """Both rows have the button; it suspends the agent of the later one, which asks what now. Its token is needed."""
    async with serving(beside=beside, quiet=True) as stage, colliding(stage) as (later, other, process):
        reader = await stage.reader()
        page = await reader.get(stage.path)
        assert page.text.count(f"Hold {later}, the later one") == 2
        assert (await reader.http.post(f"{stage.path}/hold", data={"id": later})).status_code == 403
        assert (await reader.post(f"{stage.path}/hold", id=other)).status_code == 409
        assert (await reader.post(f"{stage.path}/hold", id="nobody")).status_code == 404
        assert process.status() != psutil.STATUS_STOPPED
        response = await reader.post(f"{stage.path}/hold", id=later)
        assert response.status_code == 200, words(response)
        assert f"{later} is held" in words(response)
        assert process.status() == psutil.STATUS_STOPPED
        assert "the later one" not in words(response)


async def test_a_page_to_read_holds_nothing(serving: Serving) -> None:
    """With --read-only there is no button, and a form that is sent all the same is refused."""
    async with serving(read_only=True, quiet=True) as stage, colliding(stage) as (later, other, process):
        reader = await stage.reader()
        page = await reader.get(stage.path)
        assert f"{other}: a.py" in words(page)
        assert "/hold" not in page.text
        await reader.get("/sessions")
        response = await reader.post(f"{stage.path}/hold", id=later)
        assert "--read-only" in words(response)
        assert process.status() != psutil.STATUS_STOPPED


@asynccontextmanager
async def colliding(stage: Stage) -> AsyncIterator[tuple[str, str, psutil.Process]]:
    """A real agent at work on a task that changed a file after another one; both tasks, and its process."""
    core = stage.supervisor.core
    stage.story.task("early")
    spec = CommandSpec(command=(sys.executable, "-c", SCRIPT))
    agent = CommandAgent(spec, folder=core.folder, environ=core.environ, limit=100_000, prompt_limit=10_000)
    task = Task(id="late", prompt=admit("Make it work"), verify="true", timeout_s=600.0)
    working = asyncio.ensure_future(stage.supervisor.supervise(task, agent))
    pid = Path(core.root) / "late.pid"
    await become(lambda: pid.exists() and pid.read_text().strip() != "")
    stage.story.append(e.FilesCollide(other="early", paths=(admit("a.py"),)), "late")
    await core.journal.committed()
    yield "late", "early", psutil.Process(int(pid.read_text()))
    for gate in stage.supervisor.state.open_gates():
        await stage.supervisor.answer(gate.id, Answer(choice="continue"))
    (Path(core.root) / "late.go").touch()
    assert (await working).status == "succeeded"


async def test_a_run_that_is_not_there_is_no_page(serving: Serving) -> None:
    """Nor is a path out of the runs."""
    async with serving() as stage:
        reader = await stage.reader()
        for path in (
            "/runs/20200101-000000",
            "/runs/..%2f..",
            "/runs/%00",
            f"{stage.path}/task?id=nobody",
            f"{stage.path}/question?id=g9",
        ):
            assert (path, (await reader.get(path)).status_code) == (path, 404)
