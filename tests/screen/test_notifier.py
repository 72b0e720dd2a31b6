"""Output beside the screen: the terminal's title, notifications by the configured way, and copies."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.screen.conftest import Showing
from tests.waiting import become
from textual import events

from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import RunRow, State
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.notifications.notifier import MUTED_S, MuteList, run_program, title_of, words_of
from unstuck_tui.terminal.escapes import clipboard, notification
from unstuck_web.access import Access

RECIPES = (Path(__file__).parents[2] / "docs" / "how-to" / "notifications.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("run", "asked", "said"),
    [
        (RunRow(state="running", project="shop"), 2, "unstuck: 2 need you · shop"),
        (RunRow(state="running", project="shop"), 1, "unstuck: 1 needs you · shop"),
        (RunRow(state="running", project="shop"), 0, "unstuck · shop"),
        (RunRow(state="blocked", project="shop"), 0, "unstuck: blocked · shop"),
        (RunRow(state="ended", exit_reason="succeeded", project="shop"), 0, "unstuck: every task succeeded · shop"),
        (RunRow(state="running", project="sh\x1b]0;x\x07op"), 0, "unstuck · shop"),
    ],
)
def test_the_title_says_what_needs_you(run: RunRow, asked: int, said: str) -> None:
    """Questions first, then what has become of the run, then its project."""
    assert title_of(State(run=run), asked) == said


def test_what_is_muted_is_said_and_for_how_long() -> None:
    """For an hour, then for good, then not any more; one task by its name, several by the first, everything as such."""
    now = 100.0
    muted = MuteList(lambda: now)
    assert muted.summary == ""
    muted.cycle(["web"])
    assert muted.summary == "muted: web 60m"
    assert muted("web") is True
    assert muted("cart") is False
    muted.cycle(["cart", "web"])
    assert muted.summary == "muted: cart +1 60m"
    muted.cycle(["cart", "web"])
    assert muted.summary == "muted: cart +1"
    now += MUTED_S * 10
    assert muted("web")
    muted.cycle(["cart", "web"])
    assert muted.summary == ""
    assert muted("web") is False
    muted.cycle_all()
    now += MUTED_S - 90
    assert muted.summary == "muted 2m"
    assert muted("cart") is True
    assert muted("") is True
    now += 90
    assert muted.summary == ""
    assert muted("cart") is False
    assert muted("") is False
    muted.cycle_all()
    muted.cycle_all()
    assert muted.summary == "muted"
    muted.cycle_all()
    assert muted.summary == ""


def test_the_text_is_one_argument() -> None:
    """Whatever an agent wrote is one word of the program: where {text} stands, or the last, and never an option."""
    text = "web needs you: $(reboot); x"
    assert words_of(("notify-send", "unstuck"), text) == ("notify-send", "unstuck", text)
    assert words_of(("say", "-m", "now: {text}"), text) == ("say", "-m", f"now: {text}")
    assert words_of(("say",), "--version") == ("say", "version")
    ntfy = ("ntfy", "publish", "--click", "{link}", "topic", "{text}")
    assert words_of(ntfy, "a {link}", "http://127.0.0.1:1/") == (*ntfy[:3], "http://127.0.0.1:1/", "topic", "a {link}")


async def test_a_program_is_given_the_text_without_a_shell(tmp_path: Path) -> None:
    """The program runs with the very text; one that is missing or fails is said in a line."""
    program, said = tmp_path / "tell", []
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/told"\nexit ${{2:-0}}\n', encoding="utf-8")
    program.chmod(0o755)
    await run_program((str(program), "web: $(touch x) `id`"), said.append)
    assert (tmp_path / "told").read_text(encoding="utf-8") == "web: $(touch x) `id`"
    assert said == []
    await run_program((str(program), "x", "3"), said.append)
    await run_program((str(tmp_path / "none"), "x"), said.append)
    assert "ended with 3" in said[0]
    assert "cannot be run: No such file or directory" in said[1]


async def test_whoever_looks_elsewhere_is_told_and_it_is_recorded(
    showing: Showing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal loses the focus, a task asks: one notification, one event, and what is muted stands above."""
    monkeypatch.delenv("TMUX", raising=False)
    async with showing(settings=ScreenSettings(notify="osc9", dialogs="list")) as stage:
        written: list[str] = []
        monkeypatch.setattr(stage.app, "write", written.append)
        stage.story.task("web")
        stage.story.task("cart")
        await stage.pass_time(1)
        await stage.app.on_event(events.AppBlur())
        stage.story.asks("web", kind="question", question="Which port?")
        await stage.settled()
        await stage.pass_time(2)
        assert written == [notification("osc9", "web needs you: Which port?")]
        await stage.press("mute.all")
        assert "muted" in stage.rows()[0]
        await stage.app.on_event(events.AppBlur())
        stage.story.asks("cart", kind="question", question="Which colour?")
        await stage.settled()
        await stage.pass_time(20)
        assert len(written) == 1
        await stage.story.core.journal.committed()
        sent = [record for record in read_records(stage.story.core.journal.path) if record.name == "notification_sent"]
        assert [(record.task, record.event.way) for record in sent] == [("web", "osc9")]  # type: ignore[union-attr]
        assert len(stage.story.core.head.pages) == 1


@pytest.mark.parametrize(
    "recipe",
    [
        ("ntfy", "publish", "--click", "{link}", "my-secret-topic", "{text}"),
        ("apprise", "--body", "{text} {link}", "tgram://bottoken/ChatID"),
    ],
)
async def test_the_recipes_carry_the_text_and_the_link(
    showing: Showing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: tuple[str, ...]
) -> None:
    """As the documentation shows them: the program gets the text and the address of the question on the page."""
    assert "[" + ", ".join(f'"{word}"' if "{" in word or ":" in word else word for word in recipe) + "]" in RECIPES
    program, told = tmp_path / recipe[0], tmp_path / "told"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}.new\nmv {told}.new {told}\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with showing(settings=ScreenSettings(notify="command", notify_command=recipe, dialogs="list")) as stage:
        place = stage.app.view.place
        assert place is not None
        Access(place.home, lambda: 0.0).serve(8080, "http://127.0.0.1:8080")
        stage.story.task("web")
        await stage.pass_time(1)
        await stage.app.on_event(events.AppBlur())
        gate = stage.story.asks("web", kind="question", question="Which port?")
        await stage.settled()
        await stage.pass_time(2)
        await become(told.exists)
    said = told.read_text(encoding="utf-8")
    assert "web needs you: Which port?" in said
    assert f"http://127.0.0.1:8080/runs/{stage.story.supervisor.run}/question?id={gate}" in said


async def test_what_is_copied_stands_in_a_file_as_well(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure, a question and a record are copied by key, and the screen says in which file they are."""
    monkeypatch.delenv("TMUX", raising=False)
    async with showing(story=True) as stage:
        written: list[str] = []
        monkeypatch.setattr(stage.app, "write", written.append)
        file = stage.story.core.folder / "copied.txt"
        await stage.pass_time(1)
        await stage.press("dialog.copy")
        asked = file.read_text(encoding="utf-8")
        place = "tests/test_webhook.py:42 · same result 3 times"
        assert f"webhook is stuck\nexpected 200 but got 401  {place}\nTried: 2 retries" in asked
        await stage.set_aside()
        await stage.press("view.copy")
        failed = "tests/test_webhook.py:42\nAssertionError: expected 200 but got 401"
        assert file.read_text(encoding="utf-8") == f"{failed}\n"
        assert written[-1] == clipboard(failed)
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
        assert "Copied: tests/test_webhook.py:42" in stage.text
        await stage.press("view.log")
        await stage.press("logs.copy")
        assert '"event": "' in file.read_text(encoding="utf-8")


async def test_the_end_of_a_run_can_be_recorded_as_told(showing: Showing) -> None:
    """A notification that the run is over stands in its record after its end, and changes nothing of it."""
    async with showing(settings=ScreenSettings(notify="bell")) as stage:
        await stage.app.on_event(events.AppBlur())
        stage.story.append(e.RunEnded(exit_reason="succeeded", exit_code=0))
        await stage.settled()
        await stage.pass_time(2)
        await stage.story.core.journal.committed()
        state = stage.story.core.head
        assert state.run.state == "ended"
        assert len(state.pages) == 1
