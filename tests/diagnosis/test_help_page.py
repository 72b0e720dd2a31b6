"""A help page in place of work: it is told from other output, and says which option the agent does not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstuck.diagnosis.agent_messages.help_page import help_instead
from unstuck.diagnosis.agent_messages.troubles import agent_trouble

DATA = Path(__file__).resolve().parents[1] / "data"
PAGES = DATA / "help_pages"
FIRST = {
    "opencode-run": "opencode run [message..]",
    "codex-exec": "Usage: codex exec [OPTIONS] [PROMPT]",
    "claude": "Usage: claude [options] [command] [prompt]",
    "gemini": "Usage: gemini [options] [command]",
    "qwen": "Usage: qwen [options] [command]",
    "cline": "Usage: cline [options] [command] [prompt]",
}


def page(name: str) -> str:
    return (PAGES / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", list(FIRST))
def test_the_option_that_a_page_does_not_list_is_named(name: str) -> None:
    """The pages of real agents: the line with the agent's name, and only what is not in the page."""
    agent = name.partition("-")[0]
    said = help_instead(page(name), [agent, "run", "--help", "--bogus-option=3", "{prompt}", "--", "--after"])
    assert said == f"{FIRST[name]}: it printed only its help, which does not list `--bogus-option`"
    trouble = agent_trouble(said, agent=agent, own=True)
    assert trouble is not None
    assert (trouble.kind, trouble.message) == ("option", said)


def test_a_page_that_lists_every_option_is_one_too() -> None:
    """Then a value is wrong, and the line says only that the page is all that came."""
    said = help_instead(page("opencode-run"), ["opencode", "run", "--format", "xml", "{prompt}"])
    assert said == "opencode run [message..]: it printed only its help"


@pytest.mark.parametrize(
    ("printed", "command"),
    [
        (page("ruff-check"), ["claude", "-p", "{prompt}"]),
        (page("opencode-run"), ["./worker.sh", "--bogus-option"]),
        (page("opencode-run") + "\nerror: disk full\n", ["opencode", "run"]),
        ("I have written the help:\n" + page("opencode-run"), ["codex", "exec"]),
        ('{"type":"text"}\n' * 7 + page("opencode-run"), ["opencode", "run"]),
        (page("opencode-run")[:400], ["opencode", "run"]),
        ("", ["opencode", "run"]),
    ],
)
def test_other_output_is_none(printed: str, command: list[str]) -> None:
    """Another program's page, an unknown agent, a message beside the page, and a part of a page."""
    assert help_instead(printed, command) == ""


def test_no_output_of_a_tool_is_one() -> None:
    """Recorded outputs of checks, as if an agent had printed them."""
    for name in ("tools", "failures", "tool_versions", "clean"):
        for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines():
            assert help_instead(json.loads(line).get("output") or "", ["codex", "exec"]) == ""
