"""The agent's last message and its model, from the recorded output of every agent and from real processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from unstuck.agents.appserver.stream import AppServerStream
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.agents.command.presets import model_in
from unstuck.agents.streams import STREAMS
from unstuck.contract import Directive, Guidance, Observation, Report, Task
from unstuck.text import Clean

DATA = Path(__file__).parents[1] / "data"


class Deaf:
    """An observer that notes nothing."""

    def see(self, observation: Observation) -> None: ...

    async def delivered(self, directive: Directive) -> None: ...

    async def spawned(self, pid: int, start: float) -> None: ...


async def attempt(folder: Path, *command: str) -> Report:
    """The report of one attempt of a real process."""
    (folder / "run" / "output").mkdir(parents=True)
    agent = CommandAgent(
        CommandSpec(command=command), folder=folder / "run", environ={"PATH": "/usr/bin:/bin"}, limit=2**20,
        prompt_limit=100_000,
    )  # fmt: skip
    guidance = Guidance(attempt="web.1", number=1, level="first", text=Clean("Build it"), workdir=folder)
    return await agent.attempt(Task(id="web", prompt=Clean("Build it")), guidance, Deaf())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("recording", "model"),
    [("claude", "claude-opus-4-8[1m]"), ("codex", ""), ("gemini", "gemini-2.5-pro"), ("opencode", ""),
     ("qwen", "fake-model")],
)  # fmt: skip
def test_a_stream_knows_the_last_message_and_the_model(recording: str, model: str) -> None:
    """Of the agent itself, not of its sub-agents; the model where the stream names it."""
    stream = STREAMS[recording]()
    for line in (DATA / "streams" / f"{recording}.jsonl").read_bytes().splitlines():
        stream.read(line)
    assert stream.last_message.strip().endswith("done.")
    assert stream.model == model


def test_a_sub_agents_words_are_not_the_agents_last() -> None:
    """A sub-agent reports to the agent, which then speaks itself."""
    stream = STREAMS["claude"]()
    stream.read(json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "All done."}]}}))
    words = {"content": [{"type": "text", "text": "I looked."}]}
    stream.read(json.dumps({"type": "assistant", "parent_tool_use_id": "t1", "message": words}))
    assert stream.last_message == "All done."


def test_the_app_server_names_its_model_with_the_thread() -> None:
    """The reply to `thread/start` names the model; the last message comes as an item."""
    stream = AppServerStream()
    stream.begin("t-1", "a-model")
    item = {"type": "agentMessage", "id": "i1", "text": "All done."}
    stream.take({"method": "item/completed", "params": {"threadId": "t-1", "item": item}})
    assert (stream.model, stream.last_message) == ("a-model", "All done.")


async def test_the_report_of_a_known_agent_has_both(tmp_path: Path) -> None:
    """A real process that prints a recorded stream reports its last message whole, and its model."""
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\ncat {DATA / 'streams' / 'claude.jsonl'}\n")
    program.chmod(0o755)
    report = await attempt(tmp_path, str(program), "-p", "{prompt}", "--output-format", "stream-json", "--verbose")
    assert report.last_message == "All done."
    assert report.model == "claude-opus-4-8[1m]"


async def test_a_programs_last_words_are_the_end_of_its_output(tmp_path: Path) -> None:
    """Any program: the end of what it printed stands for its last message, however much it printed."""
    script = "print('noise ' * 20000); print('I have fixed the parser.')"
    report = await attempt(tmp_path, sys.executable, "-c", script)
    assert report.last_message is not None
    assert report.last_message.endswith("I have fixed the parser.")
    assert len(report.last_message) <= 4_000


def test_the_model_of_a_command_without_a_stream() -> None:
    """As an option with its value, or as one word."""
    assert model_in(["codex", "exec", "--model", "gpt-5", "{prompt}"]) == "gpt-5"
    assert model_in(["aider", "--model=sonnet"]) == "sonnet"
    assert model_in(["opencode", "run", "-m"]) == ""
    assert model_in(["sh", "-c", "true"]) == ""
