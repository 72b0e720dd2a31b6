"""An agent that asks the person in its own terminal, and a watch whose window is closed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.test_watch_end_to_end import LINES, TASK, Begin, Hook, Watching, World, watching

from unstuck import Supervisor
from unstuck.agents.hooks.claude_hooks import asked_there
from unstuck.agents.hooks.hook_agents import KNOWN
from unstuck.channel import Peer
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import replay
from unstuck.runs.run import signals_heard
from unstuck.words.labels import group_of, word_of
from unstuck.words.narration import lines_of
from unstuck_tui.cli.watch import _until_left
from unstuck_tui.notifications.alarms import alarms_of
from unstuck_tui.render.attention import attentions

__all__ = ["watching"]

SESSION = next(line["session_id"] for line in LINES if line["hook_event_name"] == "UserPromptSubmit")
COMMAND = {"command": "echo oops >&2; exit 3", "description": "fail"}


def looked_at(world: World) -> tuple[str, str, list[str], list[str]]:
    """The row's word, its group in the header, what needs a look, and what is notified of."""
    state = world.supervisor.core.head
    row = state.tasks[TASK]
    items = attentions(state, state.open_gates(), (), now=0.0, ages={})
    alarms = alarms_of(state, state.open_gates())
    return word_of(state, row), group_of(state, row), [item.text for item in items], [alarm.text for alarm in alarms]


async def test_a_permission_dialog_is_said_and_ends_when_it_is_answered_there(watching: Watching) -> None:
    """The event, the line, the row, the list of what needs a look and the notification name the command; its result
    ends them."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.say("PreToolUse", tool_name="Bash", tool_input=COMMAND, tool_use_id="one")
        await world.say("PermissionRequest", session_id=SESSION, tool_name="Bash", tool_input=COMMAND)
        (asked,) = world.of(e.TerminalAsked)
        assert asked.text == "may it use echo oops >&2; exit 3?"
        words = "waits for you in its own terminal: may it use echo oops >&2; exit 3?"
        assert looked_at(world) == ("needs you", "needs you", [words], [words])
        line = next(line for one in world.records if one.event is asked for line in lines_of(one))
        assert line.endswith(f"! {words}")
        # A call that was made together with it is announced while the dialog is open.
        await world.say("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="two")
        await world.say("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="two")
        assert world.of(e.TerminalAnswered) == []
        await world.say("PostToolUseFailure", tool_name="Bash", tool_input=COMMAND, tool_use_id="one")
        assert len(world.of(e.TerminalAnswered)) == 1
        assert looked_at(world) == ("working", "working", [], [])


async def test_a_dialog_about_an_edit_names_the_file(watching: Watching) -> None:
    """The file as it is called in the project."""
    given = {"old_string": "1", "new_string": "2"}
    async with watching() as world:
        await world.say("UserPromptSubmit")
        edit = {"file_path": f"{world.repo}/shop/price.py", **given}
        await world.say("PermissionRequest", session_id=SESSION, tool_name="Edit", tool_input=edit)
        assert [event.text for event in world.of(e.TerminalAsked)] == ["may it change shop/price.py?"]


def test_a_dialog_without_a_directory_names_the_whole_path() -> None:
    """A file outside of every project stays recognisable as one."""
    edit = {"file_path": "/etc/hosts", "old_string": "1", "new_string": "2"}
    assert asked_there("PermissionRequest", {"tool_name": "Edit", "tool_input": edit}) == "may it change /etc/hosts?"


async def test_a_question_of_the_agent_is_said_too(watching: Watching) -> None:
    """Claude's own question to the person waits in its terminal until its result."""
    given = {"questions": [{"question": "Which database?", "options": [{"label": "SQLite"}]}]}
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.say("PreToolUse", tool_name="AskUserQuestion", tool_input=given, tool_use_id="q")
        assert [event.text for event in world.of(e.TerminalAsked)] == ["Which database?"]
        await world.say("PostToolUse", tool_name="AskUserQuestion", tool_input=given, tool_use_id="q")
        assert looked_at(world)[0] == "working"


async def test_the_persons_next_words_end_it(watching: Watching) -> None:
    """A person who refuses there and types something else is no longer waited for."""
    async with watching() as world:
        await world.say("UserPromptSubmit")
        await world.say("PermissionRequest", session_id=SESSION, tool_name="Bash", tool_input=COMMAND)
        await world.say("UserPromptSubmit", prompt="No, use make.")
        assert len(world.of(e.TerminalAnswered)) == 1


class Window:
    """A screen in a window; a hang-up of the terminal is none of its own to end the run for."""

    def hears(self, name: str) -> bool:
        return name == "SIGHUP"

    @asynccontextmanager
    async def attached(self, supervisor: Supervisor) -> Any:
        yield


@pytest.fixture
def heeded() -> Iterator[None]:
    """The end of a terminal is heeded, also where the tests were started to outlive theirs."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("heeded")
async def test_a_watch_whose_window_is_closed_ends_and_frees_its_sessions(
    repo: Path, watching: Watching, start: Begin
) -> None:
    """The held call goes on, later ones are not watched, and the log says why."""
    async with watching() as world:
        window: Any = Window()
        with signals_heard(world.supervisor, window):
            leaving = asyncio.ensure_future(_until_left(world.supervisor, window))
            await world.say("UserPromptSubmit")
            await world.fail(3)
            hook = await world.held()
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.wait_for(leaving, 60)
        log = world.supervisor.core.journal.path
    assert await hook.output() is None
    assert replay(log).run.state in ("ended", "parked")
    interrupted = [one.event for one in world.records if isinstance(one.event, e.AttemptInterrupted)]
    assert [event.reason for event in interrupted] == ["the watch has ended: its window was closed"]
    before = log.read_bytes()
    recorded = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": COMMAND}
    assert await Hook(start, repo, recorded).output() is None
    assert log.read_bytes() == before


RECORDED = Path(__file__).parents[1] / "data" / "hooks" / "dialogs"
ASKED = {
    "codex": "may it use touch made-it && echo made?",
    "gemini": "may it use touch made-it && echo made?",
    "gemini_question": "Which database?",
    "qwen": "may it use touch made-it && echo made?",
    "qwen_question": "Which database?",
}
RESULTS = ("PostToolUse", "AfterTool")
REQUESTS = ("PermissionRequest", "Notification")


@pytest.mark.parametrize("name", list(ASKED))
async def test_dialogs_of_other_agents(name: str, watching: Watching) -> None:
    """Recorded from the real programs: what the agent asks there is said until the result of the call is in."""
    agent = name.partition("_")[0]
    lines = [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines()]
    result = next(at for at, line in enumerate(lines) if line["hook_event_name"] in RESULTS)
    assert any(line["hook_event_name"] in REQUESTS for line in lines[:result])
    async with watching() as world:
        hooks = world.supervisor.hooks
        assert hooks is not None
        for line in lines[:result]:
            assert "output" not in await hooks.handle(line, Peer(0, 0), agent)
        state = world.supervisor.core.head
        (row,) = state.tasks.values()
        assert [event.text for event in world.of(e.TerminalAsked)] == [ASKED[name]]
        assert word_of(state, row) == "needs you"
        (item,) = attentions(state, state.open_gates(), (), now=0.0, ages={})
        assert item.text == f"waits for you in its own terminal: {ASKED[name]}"
        assert world.of(e.TerminalAnswered) == []
        await hooks.handle(lines[result], Peer(0, 0), agent)
        assert len(world.of(e.TerminalAnswered)) == 1
        assert word_of(world.supervisor.core.head, world.supervisor.core.head.tasks[row.id]) == "working"
        for line in lines[result + 1 :]:
            await hooks.handle(line, Peer(0, 0), agent)
        assert len(world.of(e.TerminalAsked)) == 1


@pytest.mark.parametrize("agent", ["codex", "gemini", "qwen"])
async def test_a_refused_dialog_ends_with_what_comes_next(agent: str, watching: Watching) -> None:
    """No result follows a refusal: the person's next words, or the end of the turn, end it."""
    lines = [json.loads(line) for line in (RECORDED / f"{agent}.jsonl").read_text("utf-8").splitlines()]
    result = next(at for at, line in enumerate(lines) if line["hook_event_name"] in RESULTS)
    async with watching() as world:
        hooks = world.supervisor.hooks
        assert hooks is not None
        end = next(line for line in lines if line["hook_event_name"] in ("Stop", "AfterAgent"))
        for line in [*lines[:result], end]:
            await hooks.handle(line, Peer(0, 0), agent)
        assert len(world.of(e.TerminalAsked)) == len(world.of(e.TerminalAnswered)) == 1


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "qwen"])
def test_the_installed_hooks_hear_of_dialogs(agent: str) -> None:
    """Every agent whose hooks tell of its dialogs is asked for them."""
    assert set(KNOWN[agent].events) & set(REQUESTS)
