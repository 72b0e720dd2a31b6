"""Footer, palette and help offer what does something now; any other key says in a line why it does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.screen.conftest import Showing, Stage
from tests.screen.test_replay import replaying

from unstuck.eventlog import events as e
from unstuck_tui.keys.actions import action_of, key_of
from unstuck_tui.keys.palette import ActionCommands
from unstuck_tui.widgets.key_hints import KeyHints

CHANGING = {"gate.answer", "gate.next", "task.hold", "task.decide", "task.shell", "task.edit"}
"""Actions on a run that is worked, all but the one about two tasks with a file in common."""


async def offered(stage: Stage) -> set[str]:
    """Return the actions of ``CHANGING`` that are offered, by footer, palette and help alike."""
    listed = [str(hit.display) async for hit in ActionCommands(stage.main).discover()]
    footer = {hint.tooltip for hint in stage.main.query_one(KeyHints)._hints}
    await stage.press("app.help")
    told = " ".join(stage.text.replace("│", " ").split())
    await stage.pilot.press("escape")
    await stage.settled()
    found = set()
    for id in CHANGING:
        action = action_of(id)
        named = f"{action.label.capitalize()}  ({key_of(id)})" in listed
        assert named == (action.help in told), id
        assert named == (action.help in footer) or not action.footer, id
        found |= {id} if named else set()
    return found


async def said(stage: Stage, id: str) -> str:
    """Press the key of this action; return the one message that it brings."""
    stage.app.clear_notifications()
    await stage.press(id)
    assert not stage.app.screen.is_modal
    (notice,) = stage.app._notifications
    return notice.message


async def test_a_run_that_is_over_offers_nothing_that_changes_it(showing: Showing) -> None:
    """Nothing asks and nothing is at work: to answer, hold, decide and edit are offered nowhere, and say why not."""
    async with showing(size=(200, 60), story=True, pops=False) as stage:
        assert await offered(stage) == CHANGING
        stage.story.append(e.GateWithdrawn(gate="g1", reason="the run ends"), "webhook")
        stage.story.append(e.TaskEnded(task_id="webhook", status="abandoned"), "webhook")
        stage.story.append(e.RunEnded(exit_reason="incomplete", exit_code=1))
        stage.main.select("webhook")
        await stage.settled()
        assert await offered(stage) == set()
        assert "answer" not in stage.text
        for id in ("gate.answer", "gate.next"):
            assert await said(stage, id) == "Nothing needs an answer."
        over = f"The run is over. `unstuck run --resume {stage.story.core.folder.name}` works what is left."
        for id in ("task.hold", "task.hold_later", "task.shell", "task.edit"):
            assert await said(stage, id) == over
        decided = await said(stage, "task.decide")
        assert decided.startswith("webhook: not possible: it has ended\n")
        assert "worked again by a new run only" in decided
        await stage.press("table.last")  # its agent was at work when the run ended
        assert await said(stage, "task.decide") == over


@pytest.mark.parametrize(
    ("task", "possible"),
    [
        ("models", set()),
        ("docs", {"task.hold", "task.decide"}),
        ("search", {"task.hold", "task.decide", "task.shell", "task.edit"}),
    ],
)
async def test_what_is_offered_follows_the_cursor(showing: Showing, task: str, possible: set[str]) -> None:
    """A task that has ended is neither held nor edited, one that has not begun is held only; one at work takes all."""
    async with showing(size=(200, 60), story=True, pops=False) as stage:
        stage.main.select(task)
        await stage.settled()
        assert await offered(stage) == possible | {"gate.answer", "gate.next"}
        for id in ("task.hold", "task.shell"):
            if id not in possible:
                assert (await said(stage, id)).startswith(f"{task}: ")


async def test_the_footer_follows_what_is_asked(showing: Showing) -> None:
    """The key that answers comes with the question and goes with it; the frame names it for questions only."""
    async with showing(size=(120, 40), pops=False) as stage:
        stage.story.task("web")
        stage.story.start("web")
        await stage.settled()
        for asks in (False, True, False):
            if asks:
                stage.story.asks("web", "question", question="Which port?")
            elif stage.story.core.head.gates:
                stage.story.append(e.GateWithdrawn(gate="g1", reason="over"), "web")
            await stage.settled()
            assert stage.text.count("a answer") == 2 * asks
            assert ("n next" in stage.rows()[-1]) == asks


async def test_a_replay_says_that_nothing_can_be_changed(past_log: Path) -> None:
    """The keys that would change a run say in a replay why they do nothing, and its help leaves them out."""
    async with replaying(past_log, (120, 60)) as player:
        for id in ("gate.answer", "task.hold", "task.decide", "task.shell"):
            player.app.clear_notifications()
            await player.pilot.press(key_of(id))
            await player.pilot.pause()
            (notice,) = player.app._notifications
            assert notice.message == "This is a replay: nothing can be changed in it."
        await player.pilot.press(key_of("app.help"))
        await player.pilot.pause()
        assert "Answer the question" not in player.text
        assert "Show each attempt of the task" in player.text
