"""The person steps in at the screen: holds agents at work, and decides about those that are marked. Real agents."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.screen.conftest import Showing, Stage
from tests.waiting import become
from textual.widgets import Input

from unstuck import Answer, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.eventlog import events as e
from unstuck.runs.answers.batch_question import decision_outcome
from unstuck_tui.dialogs.question_dialog import QuestionDialog
from unstuck_tui.widgets.task_table import TaskTable

SCRIPT = """
import os, pathlib, sys, time
task = os.environ["UNSTUCK_TASK"]
pathlib.Path(f"{task}.pid").write_text(f"{os.getpid()} ")
while not os.path.exists(f"{task}.go"): time.sleep(0.02)
"""


async def at_work(stage: Stage, name: str) -> tuple[asyncio.Future[Any], psutil.Process]:
    """A real agent at work on a task, and its process."""
    supervisor = stage.story.supervisor
    core = supervisor.core
    spec = CommandSpec(command=(sys.executable, "-c", SCRIPT))
    agent = CommandAgent(spec, folder=core.folder, environ=core.environ, limit=100_000, prompt_limit=10_000)
    task = Task(id=name, prompt=admit("Make it work"), verify="true", timeout_s=600.0)
    working = asyncio.ensure_future(supervisor.supervise(task, agent))
    await become(lambda: (file := place(stage) / f"{name}.pid").exists() and file.read_text().strip() != "")
    await stage.settled()
    return working, psutil.Process(int((place(stage) / f"{name}.pid").read_text()))


def place(stage: Stage) -> Path:
    """Directory in which agents work."""
    return Path(stage.story.core.root)


async def asked(stage: Stage) -> None:
    """A dialog has come up and takes keys."""
    await become(lambda: isinstance(stage.app.screen, QuestionDialog))
    clock = stage.story.clock
    quiet_s = stage.app.screen.quiet_s
    await clock.slept_until(clock.monotonic() + quiet_s)  # it may just have come, and not wait yet
    await clock.advance(quiet_s)
    await stage.pilot.pause()


async def test_an_agent_is_held_looked_at_and_let_go_on(showing: Showing) -> None:
    """h lets the agent stand still and asks what now; l lets it go on, and it ends as if nothing had been."""
    async with showing() as stage:
        working, process = await at_work(stage, "web")
        await stage.pilot.press("h")
        await asked(stage)
        assert "web is held" in stage.text
        assert process.status() == psutil.STATUS_STOPPED
        await stage.pilot.press("l")
        (place(stage) / "web.go").touch()
        assert (await working).status == "succeeded"


async def test_the_later_of_two_that_change_one_file_is_held(showing: Showing) -> None:
    """Both rows name the other and the file; L, on the row of the first, holds the later one and asks what now."""
    async with showing(size=(120, 40)) as stage:
        stage.story.task("api")
        working, process = await at_work(stage, "web")
        stage.story.core.append(e.FilesCollide(other="api", paths=(admit("src/prices.py"), admit("b"))), task="web")
        await stage.settled()
        rows = [row for row in stage.rows() if "⋈" in row and "src/prices.py and 1 more" in row]
        assert [row.split("⋈")[0].split()[1] for row in rows][:2] == ["api", "web"]
        assert "⋈ web: src/prices.py" in rows[0]
        assert "⋈ api: src/prices.py" in rows[1]
        assert "L hold later" in stage.rows()[-1]
        assert re.search(r"collides +api changes src/prices.py, b, too: L holds", stage.text)
        await stage.pilot.resize_terminal(80, 24)
        await stage.settled()
        assert "L hold later" in stage.rows()[-1]
        await stage.pilot.press("g", "L")
        await asked(stage)
        assert "web is held" in stage.text
        assert process.status() == psutil.STATUS_STOPPED
        await stage.pilot.press("l")
        (place(stage) / "web.go").touch()
        assert (await working).status == "succeeded"
        await stage.settled()
        assert "⋈ web:" not in stage.text
        assert "L hold later" not in stage.rows()[-1]


async def test_without_a_collision_nothing_is_held(showing: Showing) -> None:
    """L does nothing where no other task changes the same file."""
    async with showing() as stage:
        working, process = await at_work(stage, "web")
        await stage.pilot.press("L")
        await stage.settled()
        assert stage.story.core.head.open_gates() == ()
        assert process.status() != psutil.STATUS_STOPPED
        (place(stage) / "web.go").touch()
        assert (await working).status == "succeeded"


async def test_what_is_begun_for_many_is_done_for_all(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two marked tasks are being held, which takes its time, when I hold a third: none of the three begins."""
    go, held = asyncio.Event(), Supervisor.hold

    async def slow(supervisor: Supervisor, task: str) -> str:
        await go.wait()
        return await held(supervisor, task)

    monkeypatch.setattr(Supervisor, "hold", slow)
    async with showing() as stage:
        for name in ("one", "two", "three"):
            stage.story.task(name)
        await stage.settled()
        await stage.pilot.press("g", "space", "space", "h")
        stage.app.screen.query_one(TaskTable).unmark()
        await stage.pilot.press("h")
        go.set()
        await become(lambda: len(stage.story.core.head.open_gates()) == 3)


async def test_one_decision_for_all_that_are_marked(showing: Showing) -> None:
    """Marked with space and decided about with m: each gets more time, one that nobody works at says why not."""
    async with showing() as stage:
        working, _ = await at_work(stage, "first")
        stage.story.task("later")
        await stage.settled()
        await stage.story.clock.advance(200)
        await stage.pilot.press("g", "space", "space", "m")
        await asked(stage)
        assert "Decide about 2 tasks" in stage.text
        await stage.pilot.press("e", *"20m", "enter")
        core = stage.story.core
        later = core.clock.monotonic() + 1200
        await become(lambda: [round(row.deadline or 0) for row in core.head.attempts.values()] == [round(later)])
        await become(lambda: "extend: first" in stage.text)
        assert "later: no agent works at later" in stage.text
        (place(stage) / "first.go").touch()
        assert (await working).status == "succeeded"


async def test_a_mark_is_seen_without_colours_and_goes_with_the_decision(showing: Showing) -> None:
    """A marked task has a star beside its sign: it stays while nothing is decided, and goes with what is."""
    async with showing(story=True, pops=False) as stage:
        await stage.pilot.press("G", "space")
        await stage.settled()
        assert "○*docs" in stage.text
        await stage.pilot.press("m")
        await asked(stage)
        await stage.pilot.press("escape")
        await stage.settled()
        assert "○*docs" in stage.text
        await stage.pilot.press("m")
        await asked(stage)
        await stage.pilot.press("s")
        await become(lambda: not stage.app.screen.is_modal)
        await stage.settled()
        assert "*docs" not in stage.text


async def test_words_begun_for_one_task_are_not_offered_for_another(showing: Showing) -> None:
    """Unsent words for a task wait there and nowhere else, and are kept when the screen goes."""
    async with showing() as stage:
        for name in ("one", "two"):
            stage.story.task(name)
            stage.story.start(name)
        await stage.settled()

        async def written_for(moves: str, *typed: str) -> str:
            await stage.pilot.press(moves, "m")
            await asked(stage)
            await stage.pilot.press("r", *typed)
            words = stage.app.screen.query_one("#line", Input).value
            await stage.pilot.press("escape", "escape")
            return str(words)

        assert await written_for("g", *"raw") == "raw"
        assert await written_for("G") == ""
        assert await written_for("g") == "raw"
        file = stage.story.core.folder / "unsent.txt"
        assert str(file) in stage.app.questions.save_unsent()
        assert file.read_text() == "--- one, retry\nraw\n\n"


async def test_escape_drops_the_marks_and_says_so(showing: Showing) -> None:
    """At the table esc forgets the filter, then the marks, with a word; without marks it is not offered."""
    async with showing(story=True, pops=False) as stage:
        assert "back" not in stage.rows()[-1]
        await stage.pilot.press("g", "space", "space", "slash", *"s", "enter")
        await stage.settled()
        await stage.pilot.press("escape")
        await stage.settled()
        assert stage.text.count("*") == 2
        assert "back" in stage.rows()[-1]
        await stage.pilot.press("escape")
        await stage.settled()
        assert "2 marks dropped." in stage.text
        assert "*models" not in stage.text
        assert "back" not in stage.rows()[-1]


async def test_what_cannot_be_decided_says_why(showing: Showing) -> None:
    """A task that has not begun gets no time and no rung, which the choices say; held, it can be let go or given up."""
    async with showing() as stage:
        stage.story.task("later")
        await stage.settled()
        await stage.pilot.press("m")
        await asked(stage)
        await stage.pilot.press("e")
        assert "Not possible: no agent works at it: it has not begun" in stage.text
        await stage.pilot.press("p")
        assert "Not possible: it has not begun" in stage.text
        await stage.pilot.press("escape", "h")
        await asked(stage)
        assert "You held it before it started. What next?" in stage.text
        assert "Skip this part for now" in stage.text
        assert "In your own words" not in stage.text
        await stage.pilot.press("s")
        await become(lambda: stage.story.core.row("later").status == "skipped")


def said(stage: Stage) -> str:
    """Return the messages said in passing."""
    return "\n".join(one.message for one in stage.app._notifications)


async def test_a_task_that_has_ended_takes_no_decision(showing: Showing) -> None:
    """One line says so, instead of a dialog in which each choice does, and another one how it is worked again."""
    async with showing(story=True, pops=False) as stage:
        await stage.pilot.press("g", "m")
        await become(lambda: "models: not possible: it has ended" in stage.text)
        assert not stage.app.screen.is_modal
        assert "worked again by a new run only" in said(stage)
        stage.story.append(e.TaskEnded(task_id="docs", status="skipped"), "docs")
        await stage.settled()
        await stage.pilot.press("G", "m")
        await become(lambda: "docs: not possible: it has ended" in said(stage))
        assert f"unstuck run --resume {stage.story.core.folder.name}" in said(stage)


async def test_why_none_of_several_can_be_told_names_whose_reason_it_is(showing: Showing) -> None:
    """One has ended and one has not begun: neither gets more time, and each for its own reason."""
    async with showing(story=True, pops=False) as stage:
        await stage.pilot.press("g", "space", "G", "space", "m")
        await asked(stage)
        assert "Not possible: models: it has ended; docs: no agent works at it: it has not" in stage.text
        assert "Not possible: models: it has ended; docs: it has not begun." in stage.text


@pytest.mark.parametrize("why", ["it has ended", "web: it has ended"])
def test_what_is_refused_names_its_task_once(why: str) -> None:
    """The task's name stands before a refusal, and not twice, whoever says why."""
    assert decision_outcome(Answer(choice="skip"), [], [("web", why)]) == "skip: nothing was done\nweb: it has ended"


async def test_a_rung_is_chosen_for_an_agent_at_work(showing: Showing) -> None:
    """The ladder's page says what can be done from there; m and a rung: the agent is ended for it."""
    async with showing() as stage:
        working, process = await at_work(stage, "web")
        await stage.pilot.press("2")
        await stage.settled()
        assert "h holds it · m changes" in stage.text
        await stage.pilot.press("escape", "m")
        await asked(stage)
        await stage.pilot.press("p")
        await become(lambda: stage.story.core.row("web").status == "succeeded")
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        await become(lambda: "pivot: web" in stage.text)
        assert (await working).attempts == 1  # its check passes: there is nothing left to pivot for
