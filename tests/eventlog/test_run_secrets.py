"""A secret of the environment that an agent prints, names or asks about is nowhere in what a run leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

from tests.conftest import Start
from tests.manual_clock import ManualClock

from unstuck.agents.hooks.claude_hooks import observation
from unstuck.contract import Answer, Capabilities, Guidance, Report, Task
from unstuck.rows.json_rows import show_rows
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean, admit

SECRET = "correct-horse-battery-staple"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

AGENT = r"""
echo "commit %(commit)s token is $MY_TOKEN"; echo "$MY_TOKEN" > notes.txt; env >&2
printf 'half %%s' "$MY_TOKEN"; echo
touch "file-$MY_TOKEN"
echo "UNSTUCK {\"signal\": \"needs_guidance\", \"question\": \"Is $MY_TOKEN right?\", \"approach\": \"use $MY_TOKEN\","\
 "\"options\": [\"$MY_TOKEN\", \"no\"], \"session\": \"s-$MY_TOKEN\", \"alternatives\": [\"$MY_TOKEN\"]}"
exit 1
"""
CHECK = f'echo "FAILED test_x.py::test - AssertionError: $MY_TOKEN in commit {COMMIT}"; exit 1'
BRIEF = {f"UNSTUCK_FAILURE_HANDLER__MAX_{rung}": "1" for rung in ("RETRIES", "PIVOTS", "RESEARCH")}


def holding(place: Path, secret: str) -> list[str]:
    """The files below ``place`` that hold ``secret``, also in their names; the agent's own saved files aside."""
    found = []
    for path in place.rglob("*"):
        if "objects" in path.parts or path.name.startswith(("index", "sharedindex.")):
            continue
        if secret in path.name or (path.is_file() and secret.encode() in path.read_bytes()):
            found.append(str(path.relative_to(place)))
    return found


def test_it_is_in_no_file_and_on_no_line(repo: Path, tmp_path: Path, start: Start) -> None:
    """Log, output, prompts, reports, snapshot, memory, checkpoint notes, all that is printed: a commit id stays."""
    (tmp_path / "agent.sh").write_text(AGENT % {"commit": COMMIT})
    (tmp_path / "answers.yaml").write_text("- {gate: question, answer: choose, number: 1}\n")
    environ = os.environ | {"MY_TOKEN": SECRET} | BRIEF
    command = ("run", "--headless", "--answers", tmp_path / "answers.yaml", "--verify", CHECK)
    command += ("--", "sh", tmp_path / "agent.sh")
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = start(*command, cwd=repo, env=environ, **streams)
    said = "".join(running.communicate())
    assert running.returncode == 3
    for words in (["show"], ["show", "--json"], ["runs"], ["verify"]):
        # Without the variable, as another terminal has it: it has to be gone already.
        looking = start(*words, cwd=repo, **streams)
        said += looking.communicate()[0]
        assert looking.returncode == 0
    notes = subprocess.run(["git", "log", "--all", "--format=%B"], cwd=repo, capture_output=True, text=True, check=True)
    said += notes.stdout
    home = repo / ".git" / "unstuck"
    assert SECRET not in said
    assert COMMIT in said
    assert holding(home, SECRET) == []
    runs = home / "runs"
    assert holding(runs, COMMIT)
    assert "[redacted]" in next(runs.glob("*/output/*.1.log")).read_text()


async def test_it_is_in_no_hook_answer_and_no_gate(tmp_path: Path, clock: ManualClock) -> None:
    """Hook payloads with a secret in every field that an agent fills: it is recorded and answered without it."""
    environ = os.environ | {"MY_TOKEN": SECRET}
    async with Supervisor.open(tmp_path, clock=clock, person=True, environ=environ) as supervisor:
        session = supervisor.session(Task(id="t", prompt=Clean("Work.")), Capabilities(hold="step", tell=True))
        await session.begin()
        answers = []
        for number in range(12):
            for event in ("PreToolUse", "PostToolUseFailure"):
                payload = {
                    "session_id": "s1",
                    "hook_event_name": event,
                    "tool_name": f"Bash{SECRET}",
                    "tool_input": {"command": f"curl -H {SECRET}", "description": SECRET},
                    "tool_use_id": f"{SECRET}{number}",
                    "agent_id": SECRET,
                    "error": f"Exit code 1\nAssertionError: {SECRET}",
                }
                seen = observation(payload, float(number))
                if seen is not None:
                    directive = await session.step(seen, within=0.0)
                    answers.append(directive.text)
        # A loop is asked about once the files are safe, which takes git as long as it takes.
        async with asyncio.timeout(60):
            while not (asked := supervisor.core.head.open_gates()):
                await asyncio.sleep(0.01)
        await supervisor.answer(asked[0].id, Answer(choice="retry", text=Clean(f"use {SECRET}")))
        await supervisor.core.journal.committed()
        rows = json.dumps(list(show_rows(supervisor.run, supervisor.state, 0.0)), default=str)
        assert answers
        assert "loop_detected" in rows + supervisor.core.journal.path.read_text()
        assert SECRET not in "".join(answers) + rows
        # What follows happens without the agent: its words came in above.
    assert holding(tmp_path / ".unstuck", SECRET) == []


async def test_an_embedded_agent_cannot_bring_it_in(tmp_path: Path, clock: ManualClock) -> None:
    """A report of the caller's coroutine passes the same redaction."""

    async def attempt(guidance: Guidance) -> Report:
        return Report(
            error=Clean(f"AssertionError: {SECRET}"), approach=Clean(SECRET), session=SECRET, sample=Clean(SECRET),
            question=Clean(SECRET), options=(Clean(SECRET),), alternatives=(Clean(SECRET),), output=SECRET,
            how="crashed",
        )  # fmt: skip

    environ = os.environ | {"MY_TOKEN": SECRET}
    async with Supervisor.open(tmp_path, clock=clock, environ=environ) as supervisor:
        supervisor.add(Task(id="t", prompt=Clean("Work."), verify="false"))
        await Coordinator(supervisor, lambda task: CallableAgent(attempt)).run()
    assert holding(tmp_path / ".unstuck", SECRET) == []


async def test_two_supervisors_in_one_process_keep_each_others_secrets(tmp_path: Path, clock: ManualClock) -> None:
    """Each has an environment of its own: what the other's agent says stays hidden, also when that has ended."""
    secrets = {name: f"{name}-horse-battery-staple" for name in ("first", "second", "third")}

    async def work(supervisor: Supervisor, task: str) -> None:
        said = " ".join(secrets.values())
        report = Report(error=Clean(f"AssertionError: {said}"), approach=Clean(said), output=said, how="crashed")

        async def attempt(guidance: Guidance) -> Report:
            return report

        supervisor.add(Task(id=task, prompt=admit(f"Use {said}"), verify="env; false"))
        await Coordinator(supervisor, lambda _: CallableAgent(attempt)).run()

    async with AsyncExitStack() as stack:
        opened = {}
        for name, secret in secrets.items():
            (tmp_path / name).mkdir()
            environ = os.environ | {"MY_TOKEN": secret}
            one = Supervisor.open(tmp_path / name, clock=clock, environ=environ)
            if name == "third":
                async with one as ended:
                    opened[name] = ended
            else:
                opened[name] = await stack.enter_async_context(one)
        await asyncio.gather(work(opened["first"], "a"), work(opened["second"], "b"))
    for name in ("first", "second"):
        home = tmp_path / name / ".unstuck"
        assert holding(home, "[redacted]")
        assert [found for secret in secrets.values() for found in holding(home, secret)] == []
