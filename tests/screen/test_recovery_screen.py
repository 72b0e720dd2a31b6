"""The recovery screen: what each task that was cut off has left, a choice for each by one key, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.settings.models import EvaluatorSettings
from unstuck.supervision.checkpointing import checkpoint
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.recovery.review import Standstill
from unstuck.text import admit
from unstuck_tui.dialogs.question_dialog import QuestionDialog
from unstuck_tui.render.recovery import facts_lines
from unstuck_tui.screens.recovery import RecoveryScreen

GOLDENS = Path(__file__).parents[1] / "data" / "screens"
Showing = Any
Stage = Any
Story = Any


class CutOff:
    """Three tasks that were at work when their run was killed, a question that is open, and one that is blocked."""

    def __init__(self, evaluator: str = "") -> None:
        self.evaluator = EvaluatorSettings(command=evaluator) if evaluator else None
        self.waiting: asyncio.Future[bool] | None = None

    async def __call__(self, story: Story) -> None:
        core = story.core
        story.task("webhook", verify="test -e done")
        story.task("cart", agent="backend-2", verify="test -e done")
        story.task("docs", agent="", agent_type="documentation")
        story.task("refunds", needs=("webhook",), verify="true")
        story.task("rates", verify="true")
        await story.clock.advance(40)
        for name in ("webhook", "docs", "cart"):  # the last one has written in the tree that they share
            await checkpoint(core, core.row(name), "baseline", purpose="baseline")
            story.start(name, "retry" if name == "cart" else "first")
        story.start("rates")
        await story.end("rates", 12)
        story.asks("rates", problem="expected 200 but got 401")
        (core.root / "cart.py").write_text("def total():\n    return 0\n")
        (core.root / "README.md").write_text("# Example\n\nHow to pay.\n")
        await story.clock.advance(190)
        for name in ("webhook", "cart", "docs"):
            attempt = core.row(name).attempt
            story.append(e.AttemptInterrupted(reason="the supervisor ended", used_s=190.0), name, attempt)
        core.recovery.interrupted = frozenset(
            row.attempt for row in core.head.tasks.values() if row.state == "interrupted"
        )
        story.supervisor.standstill = still = Standstill(core, died=True, evaluator=self.evaluator)
        self.waiting = asyncio.ensure_future(still.over())
        await still.known.wait()


async def awake(stage: Stage) -> RecoveryScreen:
    """The screen, once it takes keys."""
    screen = stage.app.screen
    assert isinstance(screen, RecoveryScreen)
    await stage.story.clock.advance(0.3)
    await stage.pilot.pause()
    assert screen.is_awake
    return screen


def decided(stage: Stage) -> dict[str, str]:
    """Return the answers by task."""
    gates = stage.story.core.head.gates.values()
    return {row.gate.task: row.answer.choice for row in gates if row.gate.type == "recovery" and row.answer}


async def test_the_recovery_screen_as_it_is_kept(showing: Showing) -> None:
    """The facts of each task, what is to become of it, and why something cannot be: character by character."""
    cut_off = CutOff()
    async with showing(size=(80, 24), before=cut_off) as stage:
        await awake(stage)
        await stage.pilot.press("j", "j", "d", "k", "4")
        for size in ((80, 24), (120, 40)):
            await stage.pilot.resize_terminal(*size)
            await stage.pilot.pause()
            kept = GOLDENS / f"recovery-{size[0]}x{size[1]}.txt"
            if not kept.exists():
                kept.write_text(stage.text + "\n", encoding="utf-8")
                pytest.fail(f"{kept} was not there; it has been written: look at it")
            assert stage.text + "\n" == kept.read_text(encoding="utf-8")
        assert decided(stage) == {}


async def test_where_nothing_was_cut_off_only_what_waits_is_told(showing: Showing) -> None:
    """A run that waits for an answer alone: how many questions there are, the key that resumes it, no empty table."""
    cut_off = CutOff()

    async def before(story: Story) -> None:
        story.task("rates", verify="true")
        story.start("rates")
        await story.end("rates", 12)
        story.asks("rates", problem=f"expected 200 but got {'4' * 80}")
        story.supervisor.standstill = still = Standstill(story.core, died=False, always=True)
        cut_off.waiting = asyncio.ensure_future(still.over())
        await still.known.wait()

    async with showing(size=(80, 24), before=before) as stage:
        await awake(stage)
        assert "is paused: 1 question waits for you" in stage.text
        assert "enter: resume the run" in stage.text
        assert "ATTEMPT" not in stage.text
        assert "continue all" not in stage.text
        (line,) = (row for row in stage.text.splitlines() if "still open: expected" in row)
        assert line.endswith("4…")


async def test_its_keys_are_told_there_and_taken_where_they_are_seen(showing: Showing) -> None:
    """? says what the keys of this screen do, and of no other; below its least size none can be chosen unseen.

    A question that would be answered after a minute waits for whoever has pressed one.
    """
    cut_off = CutOff()
    async with showing(before=cut_off) as stage:
        screen = await awake(stage)
        await stage.pilot.press("question_mark")
        await stage.pilot.pause()
        told = "\n".join(stage.rows())
        assert "Do all that is listed and resume the run." in told
        assert "The task starts again on the files as they are." in told
        assert "Show only tasks with these words" not in told
        await stage.pilot.press("escape")
        await stage.pilot.pause()
        assert stage.app.screen is screen
        (first, *_) = stage.story.core.head.open_gates()[1:]
        stage.story.append(e.TimerStarted(gate=first.id, seconds=60.0, choice="continue"), first.gate.task)
        assert stage.story.core.head.gates[first.id].gate.acts_at is not None
        await stage.pilot.press("j")
        assert stage.story.core.head.gates[first.id].gate.acts_at is None
        await stage.pilot.resize_terminal(50, 10)
        await stage.pilot.press("3", "enter")
        await stage.pilot.pause()
        assert decided(stage) == {}
        assert not cut_off.waiting.done()


async def test_all_that_is_known_can_be_read_on_a_low_screen(showing: Showing) -> None:
    """At 60 by 16 the screen says how to read on, the facts about each task can be paged through, from their begin."""
    async with showing(size=(60, 16), before=CutOff()) as stage:
        await awake(stage)
        await stage.settled()
        assert "page down: read on" in " ".join(stage.text.split())
        read, before = stage.text, ""
        while before != stage.text:
            before = stage.text
            await stage.pilot.press("pagedown")
            await stage.settled()
            read += stage.text
        assert "Attempt" not in stage.text
        facts = facts_lines(stage.app.screen.query_one("#left").selected, 57)
        assert [line for line in facts if line.strip() not in read] == []
        await stage.pilot.press("j")
        await stage.settled()
        assert "Attempt" in stage.text
        await stage.pilot.press("j")
        await stage.settled()
        assert "refunds  blocked" in stage.text


async def test_nothing_happens_before_enter_and_then_all_of_it(showing: Showing) -> None:
    """Keys choose and take back; a key that came too early chooses nothing; enter answers every question at once."""
    cut_off = CutOff()
    async with showing(before=cut_off) as stage:
        seq = stage.story.core.head.seq
        await stage.pilot.press("3", "enter")
        screen = await awake(stage)
        await stage.pilot.press("3", "a", "4", "j", "2")
        await stage.pilot.pause()
        assert stage.story.core.head.seq == seq
        assert stage.app.screen is screen
        assert not cut_off.waiting.done()
        await stage.pilot.press("enter")
        assert await cut_off.waiting is True
        assert decided(stage) == {"webhook": "retry", "cart": "skip", "docs": "continue"}
        await stage.settled()
        assert stage.app.screen is stage.main


async def test_a_check_is_run_on_demand_and_refuses_what_it_contradicts(showing: Showing) -> None:
    """`c` runs the check of the task under the cursor: one that fails cannot be taken for done, and says why."""
    cut_off = CutOff()
    async with showing(before=cut_off) as stage:
        await awake(stage)
        await stage.pilot.press("c")
        await asyncio.gather(*(worker.wait() for worker in stage.app.workers if worker.group == "checks"))
        await stage.pilot.press("d")
        await stage.pilot.pause()
        assert "its check fails now" in stage.text
        assert "› l Continue" in stage.text
        (stage.story.core.root / "done").touch()
        await stage.pilot.press("c")
        await asyncio.gather(*(worker.wait() for worker in stage.app.workers if worker.group == "checks"))
        await stage.pilot.press("d")
        await stage.pilot.pause()
        assert "› d It is done" in stage.text
        await stage.pilot.press("j", "j", "c")
        await stage.pilot.pause()
        assert "it has no check" in stage.text
        assert decided(stage) == {}


async def test_leaving_decides_nothing_and_ends_the_screen(showing: Showing) -> None:
    """Escape leaves: no question has been answered."""
    cut_off = CutOff()
    async with showing(before=cut_off) as stage:
        await awake(stage)
        await stage.pilot.press("3", "escape")
        await stage.pilot.pause()
        assert decided(stage) == {}
        assert stage.app._exit
        stage.story.supervisor.unwatched()
        assert await cut_off.waiting is False


async def test_answered_from_elsewhere_it_closes(showing: Showing) -> None:
    """Somebody answers all of it on another screen: this one goes to the run, whose stuck task asks now."""
    cut_off = CutOff()
    async with showing(before=cut_off) as stage:
        await awake(stage)
        for row in stage.story.core.head.open_gates():
            if row.gate.type == "recovery":
                await stage.story.supervisor.answer(row.id, Answer(choice="continue"))
        assert await cut_off.waiting is True
        while not isinstance(stage.app.screen, QuestionDialog):
            await stage.pilot.pause(0.1)
        assert stage.app.screen_stack[-2] is stage.main


async def test_a_proposal_is_shown_and_taken_only_by_a_key(showing: Showing, tmp_path: Path) -> None:
    """An evaluator's proposal stands beside the default; `e` takes it over, and still nothing is decided."""
    script = tmp_path / "evaluator.sh"
    script.write_text(
        """echo '{"proposals": [{"task": "cart", "choice": "retry", "reason": "half [@click=app.quit]written"}]}'\n"""
    )
    cut_off = CutOff(f"sh {script}")
    async with showing(before=cut_off) as stage:
        screen = await awake(stage)
        core = stage.story.core
        while not any(row.gate.context.get("proposal") for row in core.head.gates.values()):
            await core.signals.next(Subject.RECOVERY).wait()
        screen.look()
        await stage.pilot.press("j")
        await stage.pilot.pause()
        assert "continue (retry?)" in stage.text
        assert "half [@click=app.quit]written" in stage.text
        assert decided(stage) == {}
        await stage.pilot.press("e")
        await stage.pilot.pause()
        assert "(retry?)" not in stage.text
        assert "› 4 Restore and redo" in stage.text
        assert decided(stage) == {}


def test_the_words_of_a_task_cannot_act_on_the_screen() -> None:
    """A path with markup and escapes is admitted before it gets here; what stands in the line is text."""
    from unstuck.supervision.recovery.facts import FileChange

    assert str(FileChange(path=admit("[b]a\x1b[2J.py"), added=1, removed=0)) == "changed [b]a.py +1 -0"
