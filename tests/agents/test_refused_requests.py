"""Requests that an agent repeats while its provider refuses them, as real agents logged it; and what is none of it."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agents.test_command_agent import Lab

from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.agents.command.refused_requests import refused_in, refused_in_log
from unstuck.agents.streams import STREAMS
from unstuck.contract import Report
from unstuck.diagnosis.agent_messages.outages import agent_outage
from unstuck.diagnosis.agent_messages.troubles import agent_trouble

RECORDED = Path(__file__).parents[1] / "data" / "refused"
SESSION = "e2486b39-57c8-42a8-b43d-b4dfe52a00c8"
BEGIN = f'{{"type":"system","subtype":"init","session_id":"{SESSION}"}}'
CALL = '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"%s","input":{}}]}}'
SAID = "{} repeats a request that its provider refuses: {}The {} is overloaded or not ready yet."


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """An agent in a directory of its own."""
    return Lab(tmp_path)


def recorded(name: str) -> str:
    """Log of a real agent."""
    return (RECORDED / name).read_text("utf-8")


@pytest.mark.parametrize(("agent", "log"), [("gemini", "gemini.log"), ("opencode", "opencode.log")])
def test_four_refusals_in_a_row_are_an_outage(agent: str, log: str) -> None:
    """In its own words; not after three, nor where it has worked since."""
    printed = recorded(log)
    said = refused_in(agent, printed)
    status = "503 " if agent == "gemini" else ""
    assert said == SAID.format(agent, status, "server")
    assert agent_outage(said, agent=agent, own=True) is not None
    assert agent_trouble(said, agent=agent, own=True) is None
    last = printed.rindex("Attempt 4" if agent == "gemini" else "timestamp=")
    assert refused_in(agent, printed[:last]) == ""
    assert refused_in(agent, f'{printed}\n{{"type":"message"}}\n') == ""
    assert refused_in(agent, f'{printed}\n{{"type":"message"}}\n{printed}') == said
    assert refused_in("claude", printed) == refused_in("", printed) == ""


def test_codex_that_waits_for_the_network_has_an_outage() -> None:
    """Without one it waits for ever; after three waits, or where it has worked since, it goes on by itself."""
    printed = recorded("codex.jsonl")
    lines = printed.splitlines(keepends=True)
    said = refused_in("codex", f"Reading additional input from stdin...\n{printed}")
    assert said == (
        "codex repeats a request that does not reach its provider: Connection failed: error sending request"
    )
    assert agent_outage(said, agent="codex", own=True) is not None
    assert refused_in("codex", "".join(lines[:3])) == ""
    assert refused_in("codex", f'{printed}{{"type":"item.completed"}}\n') == ""
    assert refused_in("codex", '{"type":"error","message":"Reconnecting... 5/5"}\n' * 5) == ""


def test_gemini_that_does_not_reach_its_provider_has_an_outage() -> None:
    """The class of the error is that of the agent's own code, which failed for want of a network."""
    error = "Attempt {} failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request\n"
    said = refused_in("gemini", "".join(error.format(number) for number in range(1, 5)))
    assert said == "gemini repeats a request that does not reach its provider: fetch failed sending request"
    assert agent_outage(said, agent="gemini", own=True) is not None


def test_requests_on_the_side_are_not_the_agents_work() -> None:
    """opencode asks a small model for a title, which may be refused while the work goes on."""
    assert refused_in("opencode", recorded("opencode.log").replace("small=false", "small=true")) == ""


@pytest.mark.parametrize(
    "printed",
    [
        "",
        "Attempt 9 failed",
        "Attempt 99999999999 failed with status 503. Retrying with backoff... x",
        "  Attempt 9 failed with status 503. Retrying with backoff... x",
        "{" * 4096,
        "timestamp=" * 400,
        "Attempt 4 failed with status 503. Retrying with backoff... " + "\x1b]0;x\x07[red]" * 200,
    ],
)
def test_hostile_lines_do_no_harm(printed: str) -> None:
    """Numbers without end, long lines and escapes: nothing, or one clean line."""
    for agent in ("gemini", "opencode"):
        said = refused_in(agent, printed)
        assert len(said) <= 400
        assert said.isprintable()


def test_the_reason_of_an_unexpected_error_of_opencode_is_in_its_log() -> None:
    """The stream speaks of an unexpected error only; without the log a person is asked, too."""
    printed = recorded("opencode_model.log")
    stream = STREAMS["opencode"]()
    for line in printed.splitlines():
        stream.read(line)
    assert stream.error == "Unexpected server error. Check server logs for details."
    told = stream.error_beside(printed)
    assert told == "Model not found: nope/nope. Did you mean: standardcompute?"
    trouble = agent_trouble(told, agent="opencode", own=True)
    assert trouble is not None
    assert (trouble.kind, trouble.cure) == (
        "model",
        "Choose another model with `--model`; `opencode models` lists them.",
    )
    assert stream.error_beside("") == ""
    alone = agent_trouble(stream.error, agent="opencode", own=True)
    assert alone is not None
    assert "`opencode run --print-logs`" in alone.cure
    assert agent_outage(stream.error, agent="opencode", own=True) is None


async def attempt(lab: Lab, script: str, *, session: str | None = None) -> Report:
    """One attempt of a program called qwen, in a home of its own; the stop at its end is unstuck's."""
    program = lab.work / "qwen"
    program.write_text(f"#!/bin/sh\nlog=$HOME/.qwen/debug/{SESSION}.txt\n{script}\n")
    program.chmod(0o755)
    command = (str(program), "-p", "{prompt}", "-o", "stream-json")
    environ = {**os.environ, "HOME": str(lab.work)}
    environ.pop("QWEN_HOME", None)
    environ.pop("QWEN_RUNTIME_DIR", None)
    agent = CommandAgent(
        CommandSpec(command=command), folder=lab.run, environ=environ, limit=2**20, prompt_limit=100_000
    )
    return await lab.attempt(agent, session=session)


def debug_log(lab: Lab) -> Path:
    """The log of the session in the agent's home."""
    folder = lab.work / ".qwen" / "debug"
    folder.mkdir(parents=True)
    return folder / f"{SESSION}.txt"


async def test_qwen_that_tells_its_log_alone_is_ended(lab: Lab) -> None:
    """The report has the refusal as the agent's own error, and its session."""
    debug_log(lab)
    report = await attempt(lab, f"echo '{BEGIN}'; cat {RECORDED}/qwen.txt >> $log; sleep 1000")
    assert (report.how, report.session, report.marked) == ("ended", SESSION, True)
    assert report.error == SAID.format("qwen", "503 ", "server")
    assert report.said == report.error
    assert report.program == "qwen"


async def test_what_an_earlier_attempt_logged_does_not_count(lab: Lab) -> None:
    """A resumed session writes to the same log: only what comes after the start ends the attempt."""
    log = debug_log(lab)
    log.write_text(recorded("qwen.txt"))
    reading = asyncio.create_task(refused_in_log("qwen", {"HOME": str(lab.work)}, lab.work, lambda: SESSION, int))
    report = await attempt(lab, f"echo '{BEGIN}'; sleep 2.5; exit 3", session=SESSION)
    assert (report.exit_code, report.marked) == (3, False)
    assert not reading.done()
    with log.open("a") as file:
        file.write(recorded("qwen.txt").replace("503", "429"))
    assert "429 The server" in await reading


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing"])
async def test_a_log_that_cannot_be_read_is_none(lab: Lab, kind: str) -> None:
    """A directory or a pipe in its place, or no log at all: the attempt takes its course."""
    log = debug_log(lab)
    if kind == "folder":
        log.mkdir()
    elif kind == "pipe":
        os.mkfifo(log)
    report = await attempt(lab, f"echo '{BEGIN}'; sleep 2.5; exit 3")
    assert (report.exit_code, report.marked) == (3, False)


async def test_a_running_call_is_not_ended(lab: Lab) -> None:
    """A request on the side that is refused while a command runs leaves the attempt alone."""
    debug_log(lab)
    call = CALL % "run_shell_command"
    report = await attempt(lab, f"echo '{BEGIN}'; echo '{call}'; cat {RECORDED}/qwen.txt >> $log; sleep 2.5; exit 3")
    assert (report.exit_code, report.marked) == (3, False)


OPENCODE_SESSION = "ses_df4318f5dffexEubgM3A37Max8"
CREATED = "timestamp=2026-11-24T04:26:50.000Z level=INFO run=22268db7 message=created id={} slug=a-b directory={} path="


async def heard_of(lab: Lab, text: str, *, session: str = "", heard: Callable[[], int] = int, times: int = 400) -> str:
    """The refusal that is heard of while opencode writes ``text`` to its log ``times`` times; empty for none."""
    file = lab.work / "data" / "opencode" / "log" / "opencode.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(recorded("opencode.log"))
    environ = {"XDG_DATA_HOME": str(lab.work / "data")}
    working = asyncio.create_task(refused_in_log("opencode", environ, lab.work, lambda: session, heard))
    for _ in range(times):
        await asyncio.wait((working,), timeout=0.1)
        if working.done():
            return working.result()
        with file.open("a") as log:
            log.write(text)
    await asyncio.wait((working,), timeout=0.3)
    working.cancel()
    return working.result() if working.done() and not working.cancelled() else ""


@pytest.mark.parametrize("quoted", ["{}", '"{}"'])
async def test_the_session_that_opencode_creates_in_the_directory_is_its_own(
    lab: Lab, quoted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names no session while its first request is refused; those of other windows are left alone."""
    monkeypatch.setattr("unstuck.agents.command.refused_requests._LOOK_S", 0.02)
    own = CREATED.format(OPENCODE_SESSION, quoted.format(lab.work)) + "\n"
    elsewhere = CREATED.format(OPENCODE_SESSION, "/home/dev/shop") + "\n"
    said = SAID.format("opencode", "", "server")
    assert await heard_of(lab, own + recorded("opencode.log")) == said
    assert await heard_of(lab, recorded("opencode.log"), session=OPENCODE_SESSION) == said
    assert await heard_of(lab, elsewhere + recorded("opencode.log"), times=2) == ""
    assert await heard_of(lab, recorded("opencode.log"), session="ses_other", times=2) == ""
    three = recorded("opencode.log").rpartition("timestamp=")[0]
    assert await heard_of(lab, own + three, times=1) == ""


async def test_opencode_that_works_between_its_refusals_is_left_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sign of its work begins the count of refusals again."""
    monkeypatch.setattr("unstuck.agents.command.refused_requests._LOOK_S", 0.02)
    counts = itertools.count()
    told = await heard_of(lab, recorded("opencode.log"), session=OPENCODE_SESSION, heard=lambda: next(counts), times=3)
    assert told == ""


async def test_a_log_that_is_begun_again_is_read_from_its_start(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """opencode clears its log away after some days, also while an agent works."""
    monkeypatch.setattr("unstuck.agents.command.refused_requests._LOOK_S", 0.02)
    file = lab.work / "data" / "opencode" / "log" / "opencode.log"
    file.parent.mkdir(parents=True)
    file.write_text(recorded("opencode.log") * 9)
    environ = {"XDG_DATA_HOME": str(lab.work / "data")}
    working = asyncio.create_task(refused_in_log("opencode", environ, lab.work, lambda: OPENCODE_SESSION, int))
    await asyncio.wait((working,), timeout=0.3)
    file.write_text("")
    for _ in range(400):
        await asyncio.wait((working,), timeout=0.1)
        if working.done():
            break
        with file.open("a") as log:
            log.write(recorded("opencode.log"))
    assert await working == SAID.format("opencode", "", "server")


@pytest.mark.parametrize("session", ["../debug/s", "a/b", "\0", "x" * 300, "..", "{}", "\ud800", "s\n", "*", "~"])
async def test_a_session_that_is_no_name_leads_to_no_file(
    lab: Lab, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent names its session: nothing else than a log in its own folder is read, and nothing breaks."""
    monkeypatch.setattr("unstuck.agents.command.refused_requests._LOOK_S", 0.01)
    reading = refused_in_log("qwen", {"HOME": str(lab.work)}, lab.work, lambda: session, int)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reading, 0.1)
