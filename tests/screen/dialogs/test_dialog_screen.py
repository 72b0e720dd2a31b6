"""The dialogs as they stand on the screen: small terminals, hostile text, other gates, lost races."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.screen.conftest import Showing
from tests.screen.dialogs.conftest import World
from textual import events
from textual.widgets import Input, TextArea

from unstuck import Answer, AnswerRefused, Task, admit
from unstuck.errors import RecordWriteFailed
from unstuck.eventlog import events as e
from unstuck.supervision.gates.service import open_gate
from unstuck_tui.dialogs.dialog import QUIET_S, Choices
from unstuck_tui.keys.actions import Area, actions_of, key_of

Opening = Callable[..., AbstractAsyncContextManager[Any]]
HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202e[/nope][@click=app.quit]x[/]\u200b\x00\t\r\n" + "y" * 10_000


async def asks(world: World, kind: Any, *, task: str = "web", **context: Any) -> str:
    """Open a gate of any kind, as the core would; its dialog is awake."""
    if task:
        world.supervisor.add(Task(id=task, prompt=admit("x")))
    gate = open_gate(world.supervisor.core, kind, task=task, key="k", context=context)
    await world.asked()
    await world.awake()
    return str(gate)


STUCK = {
    "problem": "AssertionError: Webhook signature never matches: expected 200 but got 401",
    "location": "shop/webhook.py:31",
    "attempts": {"retries": 3, "pivots": 1, "research": 2},
    "approaches": ["body as text", "raw body", "other encoding"],
    "analysis": "The same failure 6 times in a row (ASSERTION_ERROR). " + "Compare expected and actual. " * 20,
    "insights": ["site-packages/stripe/webhook.py:12", "git log"],
    "checkpoint": "chk-20261121-143801",
}


async def test_it_fits(opening: Opening) -> None:
    """In every size the title, the first choice and the last line are on the screen, inside a closed frame."""
    async with opening(size=(60, 16)) as world:
        gate = await asks(world, "stuck", **STUCK)
        for size in ((60, 16), (80, 24), (120, 40), (200, 60)):
            await world.pilot.resize_terminal(*size)
            await world.pilot.pause()
            assert world.place_of("╭")[1] == world.place_of("web is stuck")[1]
            assert world.place_of("╰")[1] > world.place_of("esc leaves it open")[1]
            shown = world.shown()
            assert "1 Show me how" in shown
            assert "esc leaves it open" in shown
        await world.choose("stuck.abandon", "stuck.abandon")
        assert await world.answered(gate) == Answer(choice="abandon")


async def test_no_notice_covers_the_choices(opening: Opening) -> None:
    """Notices from before are gone when a question opens; one that is said while it is open shows."""
    async with opening(size=(80, 24)) as world:
        world.app.notify("uncommitted changes are not seen", timeout=600)
        await asks(world, "stuck", **STUCK)
        assert not world.app._notifications
        world.app.notify("the answer did not arrive", timeout=600)
        await world.pilot.pause()
        assert len(world.app._notifications) == 1


async def test_every_choice_is_in_view_after_another_size(opening: Opening) -> None:
    """A scrollbar that a smaller size needed takes no room from a larger one, where its lines would wrap again."""
    async with opening(size=(80, 24)) as world:
        await asks(world, "stuck", **STUCK)
        for name in ("invoice", "voucher"):
            world.supervisor.add(Task(id=name, prompt=admit("x"), needs=("web",)))
        for width in (120, 98, 94, 120):
            for size in ((80, 24), (width, 40)):
                await world.pilot.resize_terminal(*size)
                await world.pilot.pause()
                choices = world.app.screen.query_one(Choices)
                assert not choices.show_vertical_scrollbar
                assert "c Check again" in world.shown()


async def test_long_reading_has_pages(opening: Opening) -> None:
    """A key turns the pages of a long analysis, and the choices stay in view."""
    async with opening(size=(80, 24)) as world:
        await asks(world, "stuck", **STUCK)
        assert "other encoding" not in world.shown()
        for _ in range(3):
            await world.choose("choices.read_down")
        assert "other encoding" in world.shown()
        assert "1 Show me how" in world.shown()


async def test_resized_while_writing(opening: Opening) -> None:
    """A terminal that changes its size takes nothing of what was written."""
    async with opening(size=(120, 40)) as world:
        gate = await asks(world, "stuck", **STUCK)
        await world.choose("stuck.show_me")
        await world.write("first\nsecond")
        await world.pilot.resize_terminal(80, 24)
        await world.pilot.pause()
        assert "first" in world.shown()
        await world.write(" line")
        await world.choose("dialog.send")
        assert (await world.answered(gate)).text == "first\nsecond line"


async def test_too_small_to_be_read(opening: Opening) -> None:
    """A dialog that cannot be read says which size it needs and takes no key; with room again one writes on."""
    sizes = ((1, 1), (59, 30), (100, 15))
    async with opening(size=(80, 24)) as world:
        gate = await asks(world, "stuck", **STUCK)
        for size in sizes:
            await world.pilot.resize_terminal(*size)
            await world.choose("stuck.abandon", "dialog.back")
            assert size == (1, 1) or "60x16" in world.shown()
            await world.pilot.resize_terminal(80, 24)
        await world.choose("stuck.show_me")
        await world.write("first")
        for size in sizes:
            await world.pilot.resize_terminal(*size)
            await world.write("lost")
            await world.pilot.resize_terminal(80, 24)
        await world.pilot.pause()
        await world.write(" line")
        await world.choose("dialog.send")
        assert await world.answered(gate) == Answer(choice="show_me", text=admit("first line"))


async def test_every_other_gate(opening: Opening) -> None:
    """One key answers it, whichever it is, and the record says that a person did."""
    areas: dict[str, Area] = {"disk": "integration"}
    kinds = ("remediation", "integration", "disk", "permission", "recovery")
    keys = [(kind, action.id) for kind in kinds for action in actions_of(areas.get(kind, kind))]  # type: ignore[arg-type]
    async with opening() as world:
        for number, (kind, action) in enumerate(keys):
            if action in ("recovery.done", "integration.retry__agent"):  # what takes words has tests of its own
                continue
            task = "" if kind == "remediation" else f"web-{number}"
            gate = await asks(world, kind, task=task, problem=f"conflict in {number}.py", rules=["make test *"])
            assert f"conflict in {number}.py" in world.shown()
            if action.endswith(".abandon"):
                await world.choose(action)
                assert "again" in world.shown()
                assert world.supervisor.state.gates[gate].status == "open"
            await world.choose(action)
            choice, _, scope = action.partition(".")[2].partition("__")
            answer = await world.answered(gate)
            assert (answer.choice, answer.scope) == (choice, scope or "once")
            assert world.supervisor.state.gates[gate].by == "human"


async def test_an_impossible_choice_says_why(opening: Opening) -> None:
    """Its key does nothing but say the reason; the others work."""
    async with opening() as world:
        await asks(world, "loop_detected")
        await world.choose("loop.continue__pattern")
        assert "no pattern is known for this loop" in world.shown()
        assert world.is_asking
        await world.choose("loop.skip")
        assert not world.is_asking


async def test_twice_is_once(opening: Opening) -> None:
    """A choice that is made twice before the dialog is gone closes only the dialog; two calls bring up only one."""
    async with opening() as world:
        gate = await asks(world, "stuck", **STUCK)
        await world.press(key_of("dialog.back"))
        below = world.app.screen
        world.app.questions.ask(gate)
        world.app.questions.ask(gate)
        await world.pilot.pause()
        await world.awake()
        dialog = world.dialog
        dialog.action_choose("skip")
        dialog.action_choose("abandon")
        assert (await world.answered(gate)).choice == "skip"
        await world.pilot.pause()
        assert world.app.screen is below


async def test_the_run_refuses(opening: Opening) -> None:
    """An answer that the run does not take is asked for again, with the reason and the text; a failure is said."""
    async with opening() as world:
        gate = await asks(world, "stuck", **STUCK)
        problems = [AnswerRefused("not like this"), RecordWriteFailed("the disk is full")]
        taken = world.app.view.answer

        async def refuse(gate: str, answer: Answer) -> object:
            if problems:
                raise problems.pop(0)
            return await taken(gate, answer)

        world.app.view.answer = refuse
        for _ in range(2):
            await world.choose("stuck.show_me")
            if world.dialog.query_one(TextArea).text == "":
                await world.write("like this")
            await world.choose("dialog.send")
            if problems:
                await world.awake()
                assert "not like this" in world.shown()
        assert world.notices == ["the disk is full"]
        await world.reopen()
        await world.choose("stuck.show_me", "dialog.send")
        assert (await world.answered(gate)).text == "like this"


async def test_what_is_below_the_fold_is_announced(opening: Opening) -> None:
    """A line says how many more facts there are and by which key; at the end it points back."""
    async with opening(size=(80, 24)) as world:
        await asks(world, "stuck", **STUCK)
        await world.pilot.pause()
        assert "more lines: page down" in world.shown()
        assert "other encoding" not in world.shown()
        await world.choose("choices.read_down", "choices.read_down")
        assert "other encoding" in world.shown()
        assert "▴ more above: page up" in world.shown()


async def test_what_fits_needs_no_announcement(opening: Opening) -> None:
    """At 80x24 the lines that nothing else needs are given to the facts, down to what was saved."""
    async with opening(size=(80, 24)) as world:
        facts = {**STUCK, "analysis": "The same failure 6 times in a row.", "files": ["shop/webhook.py"]}
        await asks(world, "stuck", **facts)
        await world.pilot.pause()
        for fact in ("Findings site-packages/stripe", "Changed shop/webhook.py", "Saved chk-20261121-143801"):
            assert fact in world.shown()
        assert "more" not in world.shown().partition("1 Show me how")[0]


async def test_words_for_a_task_that_has_ended_are_kept_in_a_file(opening: Opening) -> None:
    """Unsent words for a task that has ended are written to a file, and the person is told where."""
    async with opening() as world:
        await asks(world, "stuck", **STUCK)
        await world.choose("stuck.show_me")
        await world.write("use the endpoint secret")
        await world.choose("dialog.back", "dialog.back")
        core = world.supervisor.core
        core.append(e.TaskEnded(task_id="web", status="cancelled"), task="web")
        await core.journal.committed()
        await world.pilot.pause()
        (notice,) = world.notices
        assert notice == f"web: has ended. Your unsent text is in {core.folder / 'unsent.txt'}."
        assert (core.folder / "unsent.txt").read_text() == "--- web, show me\nuse the endpoint secret\n\n"
        world.app.frame()
        assert len(world.notices) == 1


async def test_words_in_an_open_field_are_kept_when_the_screen_goes(opening: Opening) -> None:
    """An unfinished sentence is found beside the event log when the terminal is lost."""
    async with opening() as world:
        await asks(world, "stuck", **STUCK)
        await world.choose("stuck.show_me")
        await world.write("use the end")
        file = world.supervisor.core.folder / "unsent.txt"
        assert world.app.questions.save_unsent() == f"Your unsent text is in {file}."
        assert "use the end" in file.read_text()
        assert world.app.questions.save_unsent() == ""


async def test_words_that_cannot_be_kept_are_said(opening: Opening) -> None:
    """The words themselves are shown if the file cannot be written."""
    async with opening() as world:
        (world.supervisor.core.folder / "unsent.txt").mkdir()
        await asks(world, "stuck", **STUCK)
        await world.choose("stuck.show_me")
        await world.write("use the end")
        assert world.app.questions.save_unsent().endswith("cannot be kept (Is a directory): use the end")


async def test_somebody_was_a_moment_faster(opening: Opening) -> None:
    """An answer that comes too late is said to be, and its text is there for the task's next question."""
    async with opening() as world:
        gate = await asks(world, "stuck", **STUCK)
        await world.choose("stuck.show_me")
        await world.write("like this")
        world.app.tracker.wake = lambda: None
        await world.supervisor.answer(gate, Answer(choice="retry"))
        await world.choose("dialog.send")
        assert not world.is_asking
        (notice,) = world.notices
        assert "web: answered meanwhile by a person at " in notice
        assert "Your text is kept" in notice
        assert world.supervisor.state.gates[gate].answer.choice == "retry"
        open_gate(world.supervisor.core, "timeout", task="web", key="k", context={})
        await world.supervisor.core.journal.committed()
        await world.reopen()
        await world.press(key_of("dialog.back"))
        open_gate(world.supervisor.core, "question", task="web", key="k", context={"question": "?"})
        await world.supervisor.core.journal.committed()
        world.app.questions.ask(world.supervisor.state.open_gates()[1].id)
        await world.pilot.pause()
        await world.awake()
        await world.choose("question.show_me")
        assert world.dialog.query_one(TextArea).text == "like this"


async def test_the_next_question_does_not_wait_for_an_answer_on_its_way(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that takes long, such as one that sets files back, leaves `answer` to the next question."""
    arrives = asyncio.Event()
    async with opening() as world:
        plain = world.app.view.answer

        async def slowly(gate: str, answer: Answer) -> object:
            await arrives.wait()
            return await plain(gate, answer)

        monkeypatch.setattr(world.app.view, "answer", slowly)
        first = await asks(world, "stuck", **STUCK)
        world.supervisor.add(Task(id="docs", prompt=admit("x")))
        second = open_gate(world.supervisor.core, "question", task="docs", key="k", context={"question": "?"})
        await world.supervisor.core.journal.committed()
        await world.choose("stuck.abandon", "stuck.abandon")
        await world.pilot.pause()
        await world.reopen()
        assert world.dialog.question.gate.id == second
        await world.press(key_of("dialog.back"))
        arrives.set()
        assert (await world.answered(first)).choice == "abandon"


async def test_hostile_text_is_only_text(opening: Opening) -> None:
    """Escapes, markup, links, invisible characters and 10 KB in every field: only printable cells are drawn."""
    names = "agent_id problem location analysis checkpoint question started_at error_signature tree branch check"
    context: dict[str, Any] = dict.fromkeys(names.split(), HOSTILE)
    context |= {name: [HOSTILE, HOSTILE] for name in ("insights", "approaches", "options", "paths")}
    async with opening(size=(80, 24)) as world:
        for kind in ("stuck", "timeout", "loop_detected", "question", "remediation", "integration"):
            gate = await asks(world, kind, task=f"web-{kind}", attempts={HOSTILE: 3}, **context)
            strips = world.app.screen._compositor.render_strips()
            assert all(segment.text.isprintable() for strip in strips for segment in strip)
            assert not any(segment.style and segment.style.meta.get("@click") for strip in strips for segment in strip)
            assert "[@click=app.quit]" in "".join(world.rows())
            await world.supervisor.answer(gate, Answer(choice="abandon"))
            await world.pilot.pause()
            assert not world.is_asking


async def test_a_pasted_text_is_only_text(opening: Opening) -> None:
    """Pasted text is sanitised before anybody is told."""
    async with opening() as world:
        gate = await asks(world, "stuck", **STUCK)
        await world.choose("stuck.retry")
        world.dialog.query_one(Input).value = "\x1b[31mred[/nope]\x07"
        await world.press("enter")
        assert await world.answered(gate) == Answer(choice="retry", text=admit("red[/nope]"))


async def test_pasted_lines_become_one(opening: Opening) -> None:
    """An approach of two lines that is pasted where one line is written reaches the agent whole."""
    async with opening() as world:
        gate = await asks(world, "stuck", **STUCK)
        await world.choose("stuck.retry")
        world.app.post_message(events.Paste("use the\nendpoint secret\n"))
        await world.pilot.pause()
        await world.press("enter")
        assert (await world.answered(gate)).text == "use the endpoint secret"


async def test_a_megabyte_is_pasted(opening: Opening) -> None:
    """Of what is too long for an answer the beginning is taken, and that is said; nothing hangs meanwhile."""
    async with opening() as world:
        gate = await asks(world, "stuck", **STUCK)
        await world.choose("stuck.show_me")
        for text in ("first ", "word " * 200_000):
            world.app.post_message(events.Paste(text))
            await world.pilot.pause()
        assert world.notices == ["Of the 1,000,000 pasted characters, 19,994 were inserted: there is room for 20,000."]
        await world.choose("dialog.send")
        assert (await world.answered(gate)).text == ("first " + "word " * 4_000)[:20_000].strip()


async def test_answered_elsewhere_under_another_dialog(opening: Opening) -> None:
    """Somebody answers while I am asked whether to leave: that question stays, and only then the other one goes."""
    async with opening() as world:
        await world.hangs()
        gate = await asks(world, "stuck", task="shop", **STUCK)
        await world.leaves()
        await world.supervisor.answer(gate, Answer(choice="skip"))
        await world.supervisor.core.journal.committed()
        world.app.frame()
        await world.pilot.pause()
        assert "Leave the screen?" in world.shown()
        await world.choose("quit.stay")
        world.app.frame()
        await world.pilot.pause()
        assert not world.app.screen.is_modal
        await world.leaves()


async def test_a_key_for_the_dialog_above_is_not_for_the_one_below(opening: Opening) -> None:
    """I stay, and the key comes twice: the question below, where it would end the task, takes none for a moment."""
    async with opening() as world:
        await world.hangs()
        gate = await asks(world, "stuck", task="shop", **STUCK)
        await world.leaves()
        await world.choose("quit.stay")
        await world.pilot.press(key_of("stuck.abandon"), key_of("stuck.abandon"))
        assert world.supervisor.core.head.gates[gate].status == "open"
        assert world.app.screen.is_modal
        assert "esc leaves it open" not in world.shown()
        await world.clock.advance(QUIET_S)
        await world.pilot.pause()
        assert "esc leaves it open" in world.shown()
        await world.pilot.press(key_of("stuck.abandon"), key_of("stuck.abandon"))
        assert not world.app.screen.is_modal
        await world.leaves()


async def test_a_key_that_comes_with_a_question_is_ignored_and_said(opening: Opening) -> None:
    """My key falls into the moment in which a question comes up: it answers nothing, and the question says so."""
    async with opening() as world:
        await world.hangs()
        world.supervisor.add(Task(id="shop", prompt=admit("x")))
        gate = str(open_gate(world.supervisor.core, "stuck", task="shop", key="k", context=STUCK))
        await world.asked()
        await world.pilot.press(key_of("stuck.skip"))
        assert world.supervisor.core.head.gates[gate].status == "open"
        await world.clock.advance(0.8)  # longer than for one that was asked for
        await world.pilot.press(key_of("stuck.skip"))
        assert world.supervisor.core.head.gates[gate].status == "open"
        await world.clock.advance(0.1)
        await world.pilot.pause()
        assert "A key was ignored" in world.shown()
        await world.pilot.press(key_of("stuck.skip"))
        await world.pilot.pause()
        assert world.supervisor.core.head.gates[gate].status != "open"
        await world.leaves()


async def test_without_an_editor_of_ones_own(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither VISUAL nor EDITOR is set: to edit by hand is refused with that, and the question stays open."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with showing(story=True) as stage:
        await stage.pass_time(1)
        await stage.press("dialog.editor")
        assert not stage.app.screen.is_modal
        assert "webhook: neither VISUAL nor EDITOR names an editor" in " ".join(stage.text.replace("▌", " ").split())
        assert stage.story.core.row("webhook").state == "waiting"
        await stage.press("app.clear", "task.edit")
        assert [notice.message for notice in stage.app._notifications] == [
            "webhook: neither VISUAL nor EDITOR names an editor"
        ]
