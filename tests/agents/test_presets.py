"""Known agents: how each is started, when its stream is read, and how its session goes on."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from unstuck.agents.command.presets import (
    PRESETS,
    can_resume,
    preset_command,
    protocol_of,
    reports_tokens,
    resumed,
    stream_of,
)
from unstuck.agents.command.prompt_delivery import place
from unstuck.agents.streams import STREAMS
from unstuck.errors import UsageError

LOGS = "--print-logs --log-level ERROR"
CLAUDE = "--output-format stream-json --verbose --permission-mode acceptEdits"
SESSION = "01a1ffc2-3ba8-7760-aa50-3ea54e2a7163"


def told(command: tuple[str, ...], session: str | None, text: str = "Build it") -> str:
    """The command line of an attempt."""
    placed = place(resumed(command, session), text, Path("prompt.txt"), session=session, limit=1000)
    return shlex.join(placed.command)


@pytest.mark.parametrize(
    ("name", "first", "again"),
    [
        (
            "claude",
            f"claude -p 'Build it' {CLAUDE} --more",
            f"claude --resume S -p 'Build it' {CLAUDE} --more",
        ),
        (
            "codex",
            "codex exec --json --skip-git-repo-check --sandbox workspace-write --more 'Build it'",
            "codex exec --json --skip-git-repo-check --sandbox workspace-write --more resume S 'Build it'",
        ),
        (
            "gemini",
            "gemini -p 'Build it' -o stream-json --skip-trust --approval-mode auto_edit --more",
            "gemini --resume S -p 'Build it' -o stream-json --skip-trust --approval-mode auto_edit --more",
        ),
        (
            "qwen",
            "qwen -p 'Build it' -o stream-json --approval-mode auto-edit --more",
            "qwen --resume S -p 'Build it' -o stream-json --approval-mode auto-edit --more",
        ),
        (
            "opencode",
            f"opencode run --format json {LOGS} --more 'Build it'",
            f"opencode run --session S --format json {LOGS} --more 'Build it'",
        ),
        (
            "pi",
            "pi --mode json --more -p 'Build it'",
            "pi --session S --mode json --more -p 'Build it'",
        ),
        ("cline", "cline --json --more 'Build it'", "cline --json --more 'Build it'"),
    ],
)
def test_each_preset(name: str, first: str, again: str) -> None:
    """The whole command line, afresh and going on; its stream is read."""
    command = preset_command(name, ("--more",))
    assert told(command, None) == first
    assert told(command, SESSION) == again.replace(" S ", f" {SESSION} ")
    assert stream_of(command) == name
    assert can_resume(command) == (first != again)
    assert stream_of(preset_command(name)) == name
    assert set(PRESETS) == {*STREAMS, "aider"}


@pytest.mark.parametrize(
    ("line", "again"),
    [
        (
            "claude -p 'do it' --output-format=stream-json --verbose",
            "claude --resume S -p 'Build it' --output-format=stream-json --verbose",
        ),
        ("/opt/bin/codex exec --json 'do it'", "/opt/bin/codex exec --json resume S 'Build it'"),
        ("qwen --output-format stream-json -p 'do it'", "qwen --resume S --output-format stream-json -p 'Build it'"),
    ],
)
def test_a_command_of_ones_own_that_prints_a_stream(line: str, again: str) -> None:
    """Nothing but the prompt and the session is changed in it."""
    command = tuple(shlex.split(line))
    assert can_resume(command)
    assert told(command, SESSION).replace(SESSION, "S") == again


def test_codex_that_reads_its_prompt() -> None:
    """The dash stays the last word."""
    command = ("codex", "exec", "--json", "-")
    assert resumed(command, SESSION) == ("codex", "exec", "--json", "resume", SESSION, "-")


@pytest.mark.parametrize(
    "line",
    [
        "claude -p x",
        "claude -p x --output-format text",
        "codex exec x",
        "aider -m x",
        "sh -c 'claude --json'",
        "claude -p x --output-format",
    ],
)
def test_plain_text(line: str) -> None:
    """Without the option its output is text, and a retry begins a new session."""
    command = tuple(shlex.split(line))
    assert stream_of(command) == ""
    assert not can_resume(command)
    assert resumed(command, SESSION) == command


def test_a_session_that_is_named_already_is_left_alone() -> None:
    """A session that the caller names is used as it is."""
    command = tuple(shlex.split("claude --resume mine -p x --output-format stream-json"))
    assert not can_resume(command)
    assert resumed(command, SESSION) == command


def test_a_session_is_no_option() -> None:
    """An agent's name for its session cannot become an option of its own command."""
    command = preset_command("claude")
    for session in ("--dangerously-skip-permissions", "a b", "../x", ""):
        assert resumed(command, session) == command


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("claude", ("--dangerously-skip-permissions",)),
        ("claude", ("--permission-mode=plan",)),
        ("codex", ("--sandbox", "read-only")),
        ("gemini", ("--yolo",)),
        ("qwen", ("-y",)),
    ],
)
def test_what_it_may_do_is_the_callers_to_say(name: str, arguments: tuple[str, ...]) -> None:
    """The caller's own word stands alone: some agents refuse two."""
    command = preset_command(name, arguments)
    assert not set(PRESETS[name].allowed) & set(command) - set(arguments)
    assert set(arguments) <= set(command)


def test_an_unknown_preset() -> None:
    """Is refused with those that are known."""
    with pytest.raises(UsageError, match="claude, codex, gemini, qwen, opencode"):
        preset_command("cloud")


@pytest.mark.parametrize("text", ["review", "resume", "update", "--help", "-c"])
@pytest.mark.parametrize("name", list(PRESETS))
def test_a_prompt_is_never_a_command_or_an_option(name: str, text: str) -> None:
    """A task of one word that is also a command of the agent's own reaches it as words."""
    placed = place(preset_command(name), text, Path("prompt.txt"), session=None, limit=1000)
    is_value = name in ("gemini", "qwen", "aider") and not text.startswith("-")
    assert placed.command.count(text if is_value else f" {text}") == 1
    assert is_value or text not in placed.command


@pytest.mark.parametrize(
    ("command", "protocol"),
    [
        *((preset_command(name), name.removeprefix("codex-")) for name in ("codex-app-server", "claude-sdk")),
        *((preset_command(name), "") for name in PRESETS),
        (("/opt/codex", "app-server"), "app-server"),
        (("claude", "--input-format=stream-json", "--verbose"), "claude-sdk"),
        (("codex", "exec", "app server"), ""),
        (("my-app-server", "app-server"), ""),
        ((), ""),
    ],
)
def test_who_is_spoken_with(command: tuple[str, ...], protocol: str) -> None:
    """An agent's command says in which protocol it is spoken with; most are only listened to."""
    assert protocol_of(command) == protocol


def test_a_session_of_the_sdk_is_gone_on_with() -> None:
    """Its retry names the session, as that of the agent itself."""
    command = resumed(preset_command("claude-sdk"), SESSION)
    assert command[:3] == ("claude", "--resume", SESSION)
    assert "-p" not in command


def test_the_callers_own_settings_of_codex_come_last() -> None:
    """The caller's own sandbox option comes last, and Codex follows the last one."""
    command = preset_command("codex-app-server", ("-c", 'sandbox_mode="read-only"'))
    assert command[-1] == 'sandbox_mode="read-only"'
    assert command.index('sandbox_mode="workspace-write"') < len(command) - 1


@pytest.mark.parametrize(
    ("name", "tokens"), [("claude", True), ("codex", True), ("acp:gemini", True), ("aider", True), ("acp:cline", False)]
)
def test_who_tells_what_it_used(name: str, tokens: bool) -> None:
    """A budget can hold an agent that prints its tokens, or says them; Cline over ACP does neither."""
    assert reports_tokens(preset_command(name)) is tokens
