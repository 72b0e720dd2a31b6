"""Keys of a person's own: which are taken, and what is said about those that are not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.screen.conftest import Showing

from unstuck.errors import SettingsError
from unstuck_tui.dialogs.confirm import ConfirmDialog
from unstuck_tui.keys.actions import actions_of, key_of, keys_of, remap, spoken
from unstuck_tui.keys.keymap import KeysProblem, check_keys
from unstuck_tui.keys.preferences import preferences
from unstuck_tui.render.browse.columns import tab_cells
from unstuck_tui.render.scrubber import scrubber_cells
from unstuck_tui.render.tasks.detail import page_names
from unstuck_tui.runs.log.index import LogIndex
from unstuck_tui.widgets.task_table import TaskTable


@pytest.fixture(autouse=True)
def own_keys_end() -> Iterator[None]:
    """Keys remapped by one test hold for no other one."""
    yield
    remap({})


def test_keys_are_taken_as_people_write_them() -> None:
    """A sign, a named key, one with ctrl, and several with a comma between them."""
    taken = check_keys({"task.open": "i, f5", "app.palette": "ctrl+k", "table.filter": "+", "app.help": ","})
    assert taken == {"task.open": "i,f5", "app.palette": "ctrl+k", "table.filter": "plus", "app.help": "comma"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"task.opn": "o"}, "no such action; did you mean task.open?"),
        ({"zzz": "o"}, "no such action; the ids are in the help"),
        ({"task.open": "hyper+o"}, "no key is called 'hyper+o'; allowed are one character, enter"),
        ({"task.open": ""}, "no key is called ''"),
        ({"task.open": "s"}, "s is the key of table.sort (sort) already; give table.sort another one as well"),
        ({"task.open": "q"}, "q is the key of app.quit (quit) already"),
        ({"task.open": "i", "table.sort": "i"}, "i is the key of table.sort (sort) already"),
        ({"stuck.skip": "1"}, "1 is the key of stuck.show_me (Show me how) already"),
        ({"stuck.skip": "ctrl+c"}, "ctrl+c is the key of app.interrupt"),
        ({"app.interrupt": "W"}, "W is typed in texts, and this works there, too"),
        ({"question.skip": "2"}, "2 is the key of what a question offers itself already"),
        ({"stuck.skip": "0"}, "0 is the key of what a question offers itself already"),
        ({"detail.down": "o"}, "o is the key of view.pager (output) already"),
        ({"logs.follow": "G"}, "G is the key of detail.last (end) already"),
        ({"detail.down": "f"}, "f is the key of logs.follow (follow) already"),
    ],
)
def test_what_cannot_be_a_key_is_said(keys: dict[str, str], said: str) -> None:
    """An action or key that there is not, or a key that something else has where both would work, is named."""
    with pytest.raises(KeysProblem, match=r"^.") as problem:
        check_keys(keys)
    assert said in str(problem.value)


def test_two_actions_may_change_places() -> None:
    """A key is free once its own action has another one."""
    assert check_keys({"table.sort": "a", "gate.answer": "s"}) == {"table.sort": "a", "gate.answer": "s"}


def test_a_key_may_mean_something_else_where_it_cannot_be_met() -> None:
    """A key that answers a question may mean something else in the log."""
    assert check_keys({"logs.follow": "1", "stuck.skip": "f"})


def test_every_key_there_is_could_have_been_set() -> None:
    """No action's own keys are refused when somebody sets them as they are."""
    ids = actions_of(
        "app", "main", "table", "log", "logs", "detail", "attention", "replay", "stuck", "dialog", "standstill",
        "graph", "browse", "rows", "checkpoints", "question", "loop",
    )  # fmt: skip
    assert check_keys({action.id: action.keys for action in ids})


def test_a_wrong_key_names_its_file_and_line(tmp_path: Path) -> None:
    """Nothing starts with a wrong key: one line says where it stands and what is allowed."""
    file = tmp_path / "config.yaml"
    file.write_text("theme: light\nkeys:\n  table.sort: f5\n  task.open: nokey\n", encoding="utf-8")
    with pytest.raises(SettingsError) as problem:
        preferences({}, file)
    assert str(problem.value).startswith(f"{file}:4: keys.task.open: no key is called 'nokey'; allowed are")
    with pytest.raises(SettingsError, match=r"^UNSTUCK_KEYS: keys\.task\.open: no key is called 'nokey'"):
        preferences({"UNSTUCK_KEYS": "{task.open: nokey}"}, tmp_path / "none.yaml")


def test_what_names_a_key_names_the_one_that_works(tmp_path: Path) -> None:
    """Help and hints say the person's own key."""
    file = tmp_path / "config.yaml"
    file.write_text('keys: {task.open: "i", app.help: "H"}\n', encoding="utf-8")
    preferences({}, file)
    assert key_of("task.open") == "i"
    assert spoken("app.help") == "H"
    assert ("i", "Show the selected task's attempts, failure and output.") in keys_of(actions_of("table"))


def test_every_line_that_names_a_key_names_the_one_that_works(tmp_path: Path) -> None:
    """The pages of a task, the tabs, the line of a replay and the question whether I am sure say my own keys."""
    file = tmp_path / "config.yaml"
    mine = {
        "page.ladder": "f6",
        "browse.memory": "M",
        "replay.failure": "F",
        "replay.faster": "f9",
        "confirm.yes": "J,f7",
        "dialog.back": "f4",
    }
    file.write_text(f"keys: {json.dumps(mine)}\n", encoding="utf-8")
    preferences({}, file)
    assert page_names("page", ("timeline", "ladder"), "timeline", 80) == "[1 timeline]  f6 ladder"
    assert "M memory" in "".join(cell.text for cell in tab_cells(("signatures", "memory"), "signatures", "", 80))
    cells, _, _ = scrubber_cells(LogIndex(tmp_path), 0, time="", speed=1, plays=False, width=90)
    assert "F next failure  g next question  space play  f9/- speed" in "".join(cell.text for cell in cells)


async def test_two_screens_of_one_process_have_keys_of_their_own() -> None:
    """A person's keys hold for that person's screen, and for screens that it starts, alone."""
    both_set = asyncio.Barrier(2)

    async def opening(keys: dict[str, str]) -> list[str]:
        remap(keys)
        await both_set.wait()
        return [key_of("task.open"), await asyncio.create_task(asyncio.to_thread(spoken, "task.open"))]

    assert await asyncio.gather(opening({"task.open": "o"}), opening({"task.open": "f5"})) == [["o", "o"], ["f5", "f5"]]
    assert key_of("task.open") == "enter"


async def test_a_question_says_and_takes_my_own_keys(showing: Showing, tmp_path: Path) -> None:
    """Each choice shows its first key, however long that is called, and all of them choose it; so does a yes."""
    file = tmp_path / "config.yaml"
    file.write_text('keys: {stuck.skip: "f7,Z", confirm.yes: "J,f7", dialog.back: f4}\n', encoding="utf-8")
    async with showing(story=True, settings=preferences({}, file)) as stage:
        await stage.pass_time(1)
        assert "f7  Skip this part for now" in stage.text
        await stage.pilot.press("Z")
        await stage.settled()
        assert not stage.app.screen.is_modal
        sure = ConfirmDialog("Sure?", ["It goes."], "Do it", clock=stage.story.clock)
        await stage.app.push_screen(sure)
        await stage.pass_time(1)
        assert "J  Do it" in stage.text
        assert "f4 cancels" in stage.text


async def test_a_key_of_ones_own_works_and_the_old_one_does_not(showing: Showing, tmp_path: Path) -> None:
    """The footer shows the new key, it opens the task, and the one before does nothing any more."""
    file = tmp_path / "config.yaml"
    file.write_text('keys: {task.open: "i"}\ntheme: ansi\ndialogs: list\n', encoding="utf-8")
    async with showing(story=True, settings=preferences({}, file)) as stage:
        assert not stage.app.screen.is_modal  # the question waits in the list
        assert "i open" in stage.text
        await stage.pilot.press("enter")
        await stage.settled()
        assert isinstance(stage.app.focused, TaskTable)
        await stage.pilot.press("i")
        await stage.settled()
        assert not isinstance(stage.app.focused, TaskTable)
