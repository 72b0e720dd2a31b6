"""Places of a prompt in an agent's command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from unstuck.agents.command.prompt_delivery import Placed, place, stated_task

FILE = Path("/run/prompts/web.1.txt")


def placed(command: Sequence[str], text: str = "A NEW", *, session: str | None = None, limit: int = 1_000) -> Placed:
    """``text`` in ``command``."""
    return place(command, text, FILE, session=session, limit=limit)


@pytest.mark.parametrize(
    ("command", "task", "rewritten"),
    [
        (["claude", "-p", "OLD"], "OLD", ["claude", "-p", "A NEW"]),
        (["claude", "--print", "OLD"], "OLD", ["claude", "--print", "A NEW"]),
        (["claude", "OLD", "-p"], "OLD", ["claude", "A NEW", "-p"]),
        (["claude", "-p", "OLD", "--model", "opus"], "OLD", ["claude", "-p", "A NEW", "--model", "opus"]),
        (
            ["claude", "-p", "OLD", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash Read"],
            "OLD",
            ["claude", "-p", "A NEW", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash Read"],
        ),
        (["claude", "--model", "opus", "-p", "OLD"], "OLD", ["claude", "--model", "opus", "-p", "A NEW"]),
        (["claude", "-p", "--verbose", "OLD"], "OLD", ["claude", "-p", "--verbose", "A NEW"]),
        (["claude", "-p", "--model", "opus", "OLD"], "OLD", ["claude", "-p", "--model", "opus", "A NEW"]),
        (["claude", "-p", "--", "-OLD"], "-OLD", ["claude", "-p", "--", "A NEW"]),
        (["/usr/bin/claude", "-p", "OLD"], "OLD", ["/usr/bin/claude", "-p", "A NEW"]),
        (["codex", "exec", "OLD"], "OLD", ["codex", "exec", "A NEW"]),
        (["codex", "exec", "--json", "-m", "o5", "OLD"], "OLD", ["codex", "exec", "--json", "-m", "o5", "A NEW"]),
        (["codex", "exec", "OLD", "--json"], "OLD", ["codex", "exec", "A NEW", "--json"]),
        (["codex", "-C", "dir", "exec", "OLD"], "OLD", ["codex", "-C", "dir", "exec", "A NEW"]),
        (["opencode", "run", "OLD"], "OLD", ["opencode", "run", "A NEW"]),
        (["opencode", "run", "fix", "the", "tests"], "fix the tests", ["opencode", "run", "A NEW"]),
        (["opencode", "run", "--format", "json", "OLD"], "OLD", ["opencode", "run", "--format", "json", "A NEW"]),
        (["gemini", "-p", "OLD", "-o", "json", "--yolo"], "OLD", ["gemini", "-p", "A NEW", "-o", "json", "--yolo"]),
        (["gemini", "--prompt=OLD", "--yolo"], "OLD", ["gemini", "--prompt=A NEW", "--yolo"]),
        (["gemini", "-p", "-OLD"], "-OLD", ["gemini", "-p", "A NEW"]),
        (["qwen", "--prompt", "OLD"], "OLD", ["qwen", "--prompt", "A NEW"]),
        (["aider", "--message", "OLD", "--yes-always"], "OLD", ["aider", "--message", "A NEW", "--yes-always"]),
        (["aider", "-m", "OLD"], "OLD", ["aider", "-m", "A NEW"]),
    ],
)
def test_a_known_agents_prompt_is_rewritten(command: list[str], task: str, rewritten: list[str]) -> None:
    """The user's prompt is the task, and the text of each attempt takes its place."""
    assert stated_task(command) == task
    assert list(placed(command).command) == rewritten


@pytest.mark.parametrize(
    "command",
    [
        ["claude"],
        ["claude", "-p"],
        ["claude", "-p", "--output-format", "json"],
        ["claude", "mcp", "list"],
        ["codex", "exec"],
        ["codex", "login", "status"],
        ["opencode", "serve", "--port", "80"],
        ["gemini", "--yolo"],
        ["gemini", "-p"],
        ["aider", "file.py"],
        ["./agent.sh", "-p", "OLD"],
        ["my-claude", "-p", "OLD"],
        ["python", "-c", "pass"],
        [],
    ],
)
def test_what_states_no_prompt_is_left_as_it_is(command: list[str]) -> None:
    """Unknown programs, other commands and prompts on standard input are never guessed at."""
    assert stated_task(command) is None
    assert placed(command) == Placed(command=tuple(command), file=FILE)


def test_placeholders() -> None:
    """Each of them, anywhere, in any program."""
    command = ["agent", "--task={prompt}", "{prompt_file}", "--resume", "{session}", "{other}"]
    assert placed(command, session="s-1").command == ("agent", "--task=A NEW", str(FILE), "--resume", "s-1", "{other}")
    assert placed(command).command[4] == ""
    assert stated_task(command) is None


def test_a_placeholder_inside_the_prompt_stays_what_it_is() -> None:
    """A task that speaks about placeholders is told as it was written, once."""
    text = "explain {prompt} and {prompt_file} and {session}"
    assert placed(["agent", "{prompt}", "{prompt}"], text, session="s").command == ("agent", text, text)
    assert placed(["claude", "-p", "OLD"], text).command == ("claude", "-p", text)


def test_a_session_placeholder_beside_a_known_agents_prompt() -> None:
    """Continuing a session does not hide the prompt."""
    command = ["claude", "--resume", "{session}", "-p", "OLD"]
    assert placed(command, session="s-1").command == ("claude", "--resume", "s-1", "-p", "A NEW")
    assert stated_task(command) == "OLD"


def test_a_prompt_of_the_users_own_that_has_a_placeholder_is_one() -> None:
    """`claude -p "Do this: {prompt}"` puts the text there and nowhere else."""
    assert placed(["claude", "-p", "Do: {prompt}", "x"]).command == ("claude", "-p", "Do: A NEW", "x")


def test_a_prompt_that_begins_with_a_dash_is_no_option() -> None:
    """An option parser must not see an option in it."""
    assert placed(["claude", "-p", "OLD"], "-rf").command == ("claude", "-p", " -rf")
    assert placed(["agent", "{prompt}"], "--help").command == ("agent", " --help")


def test_a_long_prompt_goes_by_file() -> None:
    """Past the limit in bytes the argument points to the file; at the limit it does not."""
    assert placed(["agent", "{prompt}"], "é" * 5, limit=10).command == ("agent", "é" * 5)
    told = placed(["agent", "{prompt}"], "é" * 6, limit=10).command[1]
    assert str(FILE) in told
    assert "é" not in told


def test_standard_input_leaves_the_arguments_alone() -> None:
    """An agent that reads its prompt from standard input keeps its own arguments."""
    done = place(["claude", "-p", "OLD"], "A NEW", FILE, session=None, limit=99, stdin=True)
    assert done == Placed(command=("claude", "-p", "OLD"), file=FILE, stdin=True)


@pytest.mark.parametrize("text", ["[/nope]", "$(id) `id` 'x\" \\ \n two", "%s {0} {}", "🦀"])
def test_hostile_text_is_one_argument(text: str) -> None:
    """No shell and no template stands between the text and the program."""
    assert placed(["agent", "{prompt}"], text).command == ("agent", text)
