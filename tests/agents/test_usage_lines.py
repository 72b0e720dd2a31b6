"""Usage that aider prints in words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.agents.command.usage_lines import usage_in
from unstuck.contract import Guidance, Observation, Task
from unstuck.text import Clean

LINES = {
    "Tokens: 2.4k sent, 17 received. Cost: $0.0062 message, $0.0062 session.": (2417, 0.0062),
    "Tokens: 12k sent, 3.4k cache write, 10k cache hit, 133 received. Cost: $0.04 message, $0.10 session.": (
        2133,
        0.04,
    ),
    "> Tokens: 1,205 sent, 40 received.": (1245, None),
    "Tokens: 1.1M sent, 2k received. Cost: $3.10 message, $3.10 session.": (1_102_000, 3.10),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read(line: str) -> None:
    """Tokens without those from a cache, and the cost of the message; not the session's sum."""
    (found,) = usage_in(f"I am done.\n{line}\nApplied edit to a.py\n")
    assert (found.kind, found.tokens, found.cost) == ("usage", *LINES[line])


@pytest.mark.parametrize("line", [line for line in LINES if len(line) > 60])
def test_a_broken_line_is_read(line: str) -> None:
    """Broken at any blank, as a narrow terminal does."""
    for place in (at for at, letter in enumerate(line) if letter == " " and at > 8):
        (found,) = usage_in(f"{line[:place]}\n{line[place + 1 :]}\n")
        assert (found.tokens, found.cost) == LINES[line]


@pytest.mark.parametrize(
    "line",
    ["", "Tokens: none", "The test prints Tokens: 3 sent, 4 received.", "Tokens: ..k sent, 5 received.", "Tokens:"],
)
def test_other_lines_are_not(line: str) -> None:
    """A text that speaks of tokens is no report."""
    assert sum(one.tokens for one in usage_in(f"{line}\nmade 3 files\n")) in (0, 5)


async def test_what_a_program_prints_is_counted(tmp_path: Path) -> None:
    """A program without a stream, which only prints its usage between its other words, counts each message."""
    lines = list(LINES)[:2]
    script = "; ".join(f"echo 'Applied edit'; echo '{line}'" for line in lines)
    seen: list[Observation] = []

    class Observer:
        def see(self, observation: Observation) -> None:
            seen.append(observation)

        async def spawned(self, pid: int, start: float) -> None:
            pass

    (tmp_path / "output").mkdir()
    spec = CommandSpec(command=("sh", "-c", script))
    agent = CommandAgent(spec, folder=tmp_path, environ=os.environ, limit=2**20, prompt_limit=100_000)
    guidance = Guidance(attempt="web.1", number=1, level="first", text=Clean("Do it."), workdir=tmp_path)
    await agent.attempt(Task(id="web", prompt=Clean("Do it.")), guidance, cast(Any, Observer()))
    assert [(one.tokens, one.cost) for one in seen if one.kind == "usage"] == [LINES[line] for line in lines]
