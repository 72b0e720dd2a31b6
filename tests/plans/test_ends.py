"""Every way for a run to end, as its caller hears it, and questions and results that come from far down at once."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench

from unstuck import Observation, Supervisor, Task, admit
from unstuck.contract import Capabilities
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.log.records import replay
from unstuck.rows.json_rows import show_rows

USES_UP = """echo 'UNSTUCK {"step": "usage", "tokens": 500}'"""
WAYS: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "succeeded": (0, "true", ("--verify", "true")),
    "incomplete": (1, "true", ()),
    "needs_person": (3, "true", ("--verify", "false")),
    "halted": (4, "true", ("--verify", "false", "--ask", "never")),
    "budget": (5, USES_UP, ("--verify", "true", "--ask", "never", "--budget", "tokens=100")),
}


@pytest.fixture(autouse=True)
def no_climb(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RETRIES", "PIVOTS", "RESEARCH"):
        monkeypatch.setenv(f"UNSTUCK_FAILURE_HANDLER__MAX_{name}", "0")


def told_as(bench: Any, reason: str, code: int, last: str) -> None:
    """The last line, the record and the list of runs say the same."""
    told = json.loads(last)
    assert {"run": bench.folder.name, "exit_reason": reason, "exit_code": code}.items() <= told.items()
    assert told.keys() <= {"run", "exit_reason", "exit_code", "changes", "claims"}
    (row,) = map(json.loads, bench.call("runs", "--json").out.splitlines())
    assert row["exit_reason"] == reason
    assert row["exit_code"] == code


@pytest.mark.parametrize("reason", WAYS)
def test_each_end_has_its_code_and_its_word(bench: Bench, reason: str) -> None:
    """Whatever ends a run, its exit code and its JSON say so as documented, and only a run that is done ends with 0."""
    code, script, options = WAYS[reason]
    bench.agent("worker", script)
    done = bench.call("run", "--json", *options, "--", "sh", str(bench.outside / "worker.sh"))
    assert done.code == code
    assert done.err == ""
    told_as(bench, reason, code, done.out.splitlines()[-1])


def test_a_run_that_is_stopped_says_so(bench: Bench) -> None:
    """A signal ends it with 130 and the word for it."""
    bench.pipe("begun")
    bench.agent("worker", "echo begun > $OUT/begun; sleep 600")
    process = bench.start("run", "--json", "--verify", "true", "--", "sh", str(bench.outside / "worker.sh"))
    assert (bench.outside / "begun").read_text(encoding="utf-8") == "begun\n"
    process.send_signal(signal.SIGTERM)
    done = bench.end(process)
    assert done.code == 130
    told_as(bench, "interrupted", 130, done.out.splitlines()[-1])


def test_two_that_end_in_the_same_instant_are_both_there_after_a_replay(bench: Bench) -> None:
    """Two agents wait for each other and end at once: the log alone, and the snapshot, know both results."""
    for name in ("here", "there"):
        bench.pipe(name)
    bench.agent("web", "echo x > $OUT/here; read line < $OUT/there; echo web > web.txt")
    bench.agent("api", "read line < $OUT/here; echo x > $OUT/there; echo api > api.txt")
    agents = {name: {"command": [str(bench.outside / f"{name}.sh")]} for name in ("web", "api")}
    tasks = [{"id": name, "agent": name, "prompt": "Do it.", "verify": f"cat {name}.txt"} for name in agents]
    assert bench.run(bench.plan(max_parallel=2, agents=agents, tasks=tasks)).code == 0
    from_log, (from_snapshot, damage) = replay(bench.folder / "events.jsonl"), current_state(bench.folder)
    assert damage is None
    for state in (from_log, from_snapshot):
        assert {name: row.status for name, row in state.tasks.items()} == {"web": "succeeded", "api": "succeeded"}
    assert bench.result("web.txt") == "web\n"
    assert bench.result("api.txt") == "api\n"
    assert from_log == from_snapshot


async def test_a_question_of_a_sub_agent_stands_in_the_queue_with_its_path(repo: Path) -> None:
    """Two levels down somebody repeats itself: the question says in which task, and which sub-agent it is."""
    async with Supervisor.open(repo) as supervisor:
        held = Capabilities(hold="step", tell=True, stop=True)
        session = supervisor.session(Task(id="web", prompt=admit("Make it work")), held)
        await session.begin()
        for _ in range(4):
            for kind, text in (("action", "cat shop.py"), ("success", "total = None")):
                step: Any = Observation(kind=kind, text=admit(text), agent_id="reviewer-7")  # type: ignore[arg-type]
                session.see(step)
        while not supervisor.core.head.open_gates():
            await supervisor.core.journal.committed()
            await asyncio.sleep(0)
        (gate,) = [row for row in show_rows("r", supervisor.core.head, 0.0) if "gate" in row]
        assert gate["type"] == "loop_detected"
        assert gate["path"] == ["web", "reviewer-7"]


def test_a_question_far_down_ends_a_headless_run_with_three(bench: Bench) -> None:
    """The task that asks needs one that needs another: the run parks by itself, and says who asks."""
    said = {"signal": "needs_guidance", "question": "Which port?", "options": ["80", "8080"]}
    bench.agent("asks", f"echo 'UNSTUCK {json.dumps(said)}'")
    bench.agent("works", "true")
    agents = {name: {"command": [str(bench.outside / f"{name}.sh")]} for name in ("asks", "works")}
    tasks = [
        {"id": "one", "agent": "works", "prompt": "Do it.", "verify": "true"},
        {"id": "two", "agent": "works", "prompt": "Do it.", "verify": "true", "needs": ["one"]},
        {"id": "three", "agent": "asks", "prompt": "Do it.", "verify": "test -f port", "needs": ["two"]},
    ]
    assert bench.run(bench.plan(agents=agents, tasks=tasks)).code == 3
    (gate,) = [row for row in map(json.loads, bench.call("show", "--json").out.splitlines()) if "gate" in row]
    assert gate["type"] == "question"
    assert gate["path"] == ["three"]
    assert gate["context"]["question"] == "Which port?"
