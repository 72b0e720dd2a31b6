"""The command agent with real processes: what it is told, how it ends, and that stop means stopped."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.waiting import has_ended

from unstuck.agents.command.agent_output import MOST_STEPS
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.agents.command.presets import require_program
from unstuck.contract import Directive, Guidance, Observation, Report, Task
from unstuck.errors import AgentNotFound
from unstuck.text import Clean

TELL = """
import json, os, sys
names = ("UNSTUCK_TASK", "UNSTUCK_ATTEMPT", "UNSTUCK_PROMPT_FILE")
told = {name: os.environ.get(name) for name in names}
told["file"] = open(told["UNSTUCK_PROMPT_FILE"], encoding="utf-8").read()
told["arguments"] = sys.argv[1:]
told["input"] = sys.stdin.read()
told["here"] = os.getcwd()
json.dump(told, open("told.json", "w"))
"""


class Watcher:
    """An observer that only knows when the process is there."""

    def __init__(self) -> None:
        self.pid, self.messages = 0, 0
        self.seen: list[Observation] = []
        self.there = asyncio.Event()

    def see(self, observation: Observation) -> None:
        """Count what the agent says."""
        self.messages += observation.kind == "message"
        self.seen.append(observation)

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        """A result is seen like the rest."""
        self.see(observation)
        return Directive(kind="go_on")

    async def delivered(self, directive: Directive) -> None:
        """Nothing to note."""

    async def spawned(self, pid: int, start: float) -> None:
        """The process is there."""
        self.pid = pid
        self.there.set()


class Lab:
    """One agent in a directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.work, self.run = folder / "work", folder / "run"
        self.work.mkdir()
        (self.run / "output").mkdir(parents=True)
        self.watcher = Watcher()

    def agent(self, *command: str, **changes: Any) -> CommandAgent:
        """An agent that runs ``command``."""
        limits = {"limit": changes.pop("limit", 2**20), "prompt_limit": 100_000}
        environ = {**os.environ, "UNSTUCK_TASK": "another's"}
        return CommandAgent(CommandSpec(command=command, **changes), folder=self.run, environ=environ, **limits)

    async def attempt(self, agent: CommandAgent, text: str = "Build it", *, session: str | None = None) -> Report:
        """One attempt with ``text``."""
        guidance = Guidance(
            attempt="web.1", number=1, level="first", text=Clean(text), workdir=self.work, session=session
        )
        return await agent.attempt(Task(id="web", prompt=Clean(text)), guidance, self.watcher)

    async def shell(self, script: str, **changes: Any) -> Report:
        """One attempt of a shell script."""
        return await self.attempt(self.agent("sh", "-c", script, **changes))

    def told(self) -> dict[str, Any]:
        """Return what the program was told."""
        told: dict[str, Any] = json.loads((self.work / "told.json").read_text(encoding="utf-8"))
        return told


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A place for one agent."""
    return Lab(tmp_path)


async def test_any_program_finds_its_task(lab: Lab) -> None:
    """In the file the environment names; standard input is at its end, so nothing waits for a person."""
    report = await lab.attempt(lab.agent(sys.executable, "-c", TELL, "an argument"), "Build {prompt} ü")
    assert report.how == "ended"
    assert report.exit_code == 0
    told = lab.told()
    assert told["UNSTUCK_TASK"] == "web"
    assert told["UNSTUCK_ATTEMPT"] == "web.1"
    assert told["file"] == "Build {prompt} ü"
    assert told["arguments"] == ["an argument"]
    assert told["input"] == ""
    assert told["here"] == str(lab.work)
    assert Path(told["UNSTUCK_PROMPT_FILE"]).stat().st_mode & 0o777 == 0o600


async def test_the_prompt_as_an_argument(lab: Lab) -> None:
    """A program with `{prompt}` gets exactly the text, whatever is in it."""
    text = "$(touch evil) [/b] \\ 'x' \n--two"
    await lab.attempt(lab.agent(sys.executable, "-c", TELL, "{prompt}", "{session}"), text, session="s-1")
    assert lab.told()["arguments"] == [text, "s-1"]
    assert not (lab.work / "evil").exists()


async def test_the_prompt_on_standard_input(lab: Lab) -> None:
    """Only where it is asked for."""
    await lab.attempt(lab.agent(sys.executable, "-c", TELL, prompt="stdin"), "x" * 200_000)
    assert lab.told()["input"] == "x" * 200_000


async def test_a_prompt_that_is_too_long_for_an_argument_goes_by_file(lab: Lab) -> None:
    """Linux refuses one argument of 128 KiB; the program is pointed to the file instead."""
    text = "é" * 100_000
    await lab.attempt(lab.agent(sys.executable, "-c", TELL, "{prompt}"), text)
    told = lab.told()
    assert told["file"] == text
    assert told["UNSTUCK_PROMPT_FILE"] in told["arguments"][0]


async def test_the_exit_code_is_the_agents_own(lab: Lab) -> None:
    """A bad exit code is an account, not a crash."""
    report = await lab.shell("echo trouble; exit 7")
    assert report.how == "ended"
    assert report.exit_code == 7
    assert report.error is None
    assert (lab.run / report.output).read_text() == "trouble\n"


async def test_an_agent_that_a_signal_ended_has_crashed(lab: Lab) -> None:
    """A kill from outside is the agent's failure, and the report says by which signal."""
    report = await lab.shell("kill -9 $$")
    assert report.how == "crashed"
    assert report.exit_code is None
    assert "signal 9" in (report.error or "")


async def test_a_signal_line_is_read(lab: Lab) -> None:
    """The agent's own words about itself are in its report, also the question with its options."""
    line = '{"signal": "needs_guidance", "question": "Which?", "options": ["a"], "approach": "x", "session": "s-2"}'
    report = await lab.shell(f"echo 'UNSTUCK {line}'")
    assert report.signal == "needs_guidance"
    assert report.question == "Which?"
    assert report.options == ("a",)
    assert report.approach == "x"
    assert report.session == "s-2"
    assert report.how == "ended"


async def test_an_approach_in_words_is_in_its_report(lab: Lab) -> None:
    """An agent that names its approach in a line of its own, without a signal, is understood."""
    assert (await lab.shell("echo 'Approach: the long way'; echo Done.")).approach == "the long way"


@pytest.mark.parametrize(
    ("output", "how"),
    [
        ("just words", "no_signal"),
        ("UNSTUCK {nonsense", "bad_signal"),
        ('UNSTUCK {"signal": "complete", "task": "shop"}', "bad_signal"),
        ('UNSTUCK {"signal": "complete", "task": "web"}', "ended"),
    ],
)
async def test_an_agent_that_has_to_signal(lab: Lab, output: str, how: str) -> None:
    """A missing signal is the agent's failure if one is required; a sample of the output stands in its place."""
    report = await lab.shell(f"printf '%s' '{output}'", signals=True)
    assert report.how == how
    assert (report.sample == output) == (how != "ended")
    assert (await lab.shell(f"printf '%s' '{output}'")).how == "ended"


async def test_output_that_is_no_text(lab: Lab) -> None:
    """Bytes are kept as they are and harm nothing; a signal among them is read."""
    script = r"""printf '\377\376\000\033]0;evil\007\n'; echo 'UNSTUCK {"signal": "complete"}'"""
    report = await lab.shell(script)
    assert report.signal == "complete"
    assert (lab.run / report.output).read_bytes().startswith(b"\xff\xfe\x00\x1b]0;evil\x07\n")


async def test_endless_output_is_cut_and_its_end_is_kept(lab: Lab) -> None:
    """The file stays small and the signal at the end is not lost."""
    script = "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; "
    report = await lab.shell(script + """echo 'UNSTUCK {"signal": "complete"}'""", limit=8_192)
    assert report.signal == "complete"
    assert (lab.run / report.output).stat().st_size < 20_000


async def test_a_program_that_cannot_start_is_one_clear_error(lab: Lab) -> None:
    """Missing and not executable, before and at the start."""
    with pytest.raises(AgentNotFound, match="no-such-program"):
        await lab.attempt(lab.agent("no-such-program"))
    (lab.work / "plain.sh").write_text("echo hi\n")
    for command, words in (
        (["no-such-program"], "was not found on PATH"),
        (["./missing.sh"], "does not exist"),
        (["./plain.sh"], "may not be run"),
    ):
        with pytest.raises(AgentNotFound, match=words):
            require_program(command, lab.work, os.environ)
    require_program(["sh"], lab.work, os.environ)


async def running(lab: Lab, agent: CommandAgent) -> asyncio.Task[Report]:
    """An attempt that has really begun: it has written to a fifo."""
    fifo, begun = lab.work / "begun", asyncio.Event()
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    asyncio.get_running_loop().add_reader(reader, begun.set)
    work = asyncio.ensure_future(lab.attempt(agent))
    waiting = asyncio.ensure_future(begun.wait())
    try:
        await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        asyncio.get_running_loop().remove_reader(reader)
        os.close(reader)
    assert not work.done()
    return work


WAITING = "sleep 1000 & echo $! > begun; wait"


async def test_stop_ends_everything_and_says_so(lab: Lab) -> None:
    """The program and its children are dead when stop returns, and the receipt lists them."""
    agent = lab.agent("sh", "-c", WAITING)
    work = await running(lab, agent)
    family = [lab.watcher.pid, *(child.pid for child in psutil.Process(lab.watcher.pid).children(recursive=True))]
    receipt = await agent.stop("web.1")
    report = await work
    assert len(family) >= 2
    assert all(has_ended(pid) for pid in family)
    assert lab.watcher.pid in [pid for pid, _, _ in receipt.ended]
    assert receipt.alive == ()
    assert report.receipt == receipt


async def test_cancelling_stops_first(lab: Lab) -> None:
    """A cancelled call leaves no process behind."""
    work = await running(lab, lab.agent("sh", "-c", WAITING))
    family = [lab.watcher.pid, *(child.pid for child in psutil.Process(lab.watcher.pid).children(recursive=True))]
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert work.cancelled()
    assert all(has_ended(pid) for pid in family)


async def test_a_frozen_agent_stands_still_and_goes_on(lab: Lab) -> None:
    """Freezing stops the whole group, thawing lets it end by itself."""
    os.mkfifo(lab.work / "go")
    agent = lab.agent("sh", "-c", "echo $$ > begun; read word < go; echo $word > got")
    work = await running(lab, agent)
    process = psutil.Process(lab.watcher.pid)
    agent.freeze("web.1")
    while process.status() != psutil.STATUS_STOPPED:
        await asyncio.sleep(0)
    agent.thaw("web.1")
    writer = os.open(lab.work / "go", os.O_RDWR)
    os.write(writer, b"hello\n")
    assert (await work).exit_code == 0
    os.close(writer)
    assert (lab.work / "got").read_text() == "hello\n"


async def test_an_attempt_that_is_over_can_be_stopped_frozen_and_thawed(lab: Lab) -> None:
    """A late order is nothing to fall over."""
    agent = lab.agent("true")
    await lab.attempt(agent)
    agent.freeze("web.1")
    agent.thaw("web.1")
    assert (await agent.stop("web.1")).ended == ()


async def test_an_agent_that_tells_of_steps_without_end_fills_no_disk(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only so many steps of one attempt are taken note of; the attempt itself goes on to its end."""
    most = 1_000
    assert most < MOST_STEPS
    monkeypatch.setattr("unstuck.agents.command.agent_output.MOST_STEPS", most)
    line = 'UNSTUCK {"step": "message", "text": "x"}'
    agent = lab.agent("sh", "-c", f"yes '{line}' | head -n {most + 500}; echo done > got")
    report = await lab.attempt(agent)
    assert report.exit_code == 0
    assert (lab.work / "got").read_text() == "done\n"
    assert 0 < lab.watcher.messages <= most


STREAM = Path(__file__).parents[1] / "data" / "streams" / "claude.jsonl"
RESUMED = STREAM.with_name("codex_resumed.jsonl")
SESSION = "01a2022c-ee0f-7d90-9a77-72722b0da9b4"


def stand_in(lab: Lab, script: str) -> str:
    """A program that calls itself claude."""
    program = lab.work / "claude"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


async def test_a_stream_is_heard_while_it_comes(lab: Lab) -> None:
    """Recorded lines of Claude Code, noise and 3 MB in one line among them: steps, usage, session; its last line counts
    though nothing ends it, and its approach is taken from what it said."""
    script = f"""
echo 'warning: not JSON'; head -n 5 {STREAM}; head -c 3000000 /dev/zero | tr '\\0' x; echo
echo '{{"type":"assistant","message":{{"content":[{{"type":"text","text":"Approach: by hand"}}]}}}}'
tail -n +6 {STREAM} | head -c -1; exit 5"""
    agent = lab.agent(stand_in(lab, script), "-p", "{prompt}", "--output-format", "stream-json")
    assert agent.can.resume
    report = await lab.attempt(agent)
    assert report.how == "ended"
    assert report.exit_code == 5
    assert report.error is None
    assert report.session == "d5ef5697-10eb-415e-bc5d-825f7e6ce7c7"
    assert report.approach == "by hand"
    assert [one.kind for one in lab.watcher.seen if one.kind in ("action", "success", "failure")] == [
        *("action", "success", "action", "failure"),
    ]
    assert all(one.id.startswith("web.1:") for one in lab.watcher.seen if one.kind == "action")
    assert sum(one.tokens for one in lab.watcher.seen) == 330


async def test_a_session_is_gone_on_with(lab: Lab) -> None:
    """The program is told to resume the session that the guidance names."""
    agent = lab.agent(stand_in(lab, 'echo "$@" > arguments'), "-p", "{prompt}", "--output-format", "stream-json")
    await lab.attempt(agent, session="s-1")
    assert (lab.work / "arguments").read_text() == "--resume s-1 -p Build it --output-format stream-json\n"


async def test_what_a_session_used_before_is_not_counted_again(lab: Lab) -> None:
    """Codex sums up the whole session: another process's share of it is left out, and in the next attempt ours."""
    program = lab.work / "codex"
    program.write_text(f"#!/bin/sh\ncat {RESUMED}\n")
    program.chmod(0o755)
    limits = {"limit": 2**20, "prompt_limit": 100_000}
    spec = CommandSpec(command=(str(program), "exec", "--json", "{prompt}"))
    before = {SESSION: (220, 20)}
    agent = CommandAgent(spec, folder=lab.run, environ=os.environ, used=lambda name: before.get(name, (0, 0)), **limits)
    counted = []
    for _ in range(2):
        lab.watcher.seen.clear()
        report = await lab.attempt(agent, session=SESSION)
        counted.append(sum(one.tokens for one in lab.watcher.seen))
    assert counted == [440 - 220, 0]
    assert report.session == SESSION


async def test_a_stream_that_breaks_off(lab: Lab) -> None:
    """An agent that ends half-way with a bad exit code has crashed, with its last words; one that says why it failed
    has failed for that reason, whatever its exit code."""
    command = ("-p", "{prompt}", "--output-format", "stream-json")
    report = await lab.attempt(
        lab.agent(stand_in(lab, f"head -n 4 {STREAM}; echo 'Killed by me' >&2; exit 3"), *command)
    )
    assert report.how == "crashed"
    assert "Killed by me" in (report.error or "")
    line = '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 overloaded"}'
    report = await lab.attempt(lab.agent(stand_in(lab, f"echo '{line}'"), *command))
    assert report.how == "ended"
    assert report.exit_code == 0
    assert report.error == "API Error: 529 overloaded"


async def test_a_flood_of_objects_is_bounded(lab: Lab) -> None:
    """An endless stream is heard only so far as there is time, and its last line always."""
    line = '{"type":"system","subtype":"x","session_id":"s-9"}'
    end = '{"type":"result","subtype":"success","result":"done"}'
    script = f"yes '{line}' | head -n 100000; echo '{end}'; exit 1"
    report = await lab.attempt(lab.agent(stand_in(lab, script), "-p", "x", "--output-format", "stream-json"))
    assert report.how == "ended"
    assert report.session == "s-9"
    assert len(lab.watcher.seen) < MOST_STEPS + 10_000
