"""Another agent goes on with a task in place of a log-in question, of a long wait, and of the last question."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench

CHECK = "test -f done.txt || { echo 'AssertionError: not done'; exit 1; }"
LOGIN = "echo 'Invalid API key · Please run /login'; exit 1"
TOOL = 'echo "$1" >> "$OUT/calls"'
"""A tool call of an agent: noted outside, so that a second one is seen."""
FINISHES = 'echo migrated >> "$OUT/calls"; echo new > schema.sql; touch done.txt'


@pytest.fixture(autouse=True)
def signed_in() -> None:
    """The stand-in of codex is signed in."""
    (Path.home() / ".codex").mkdir(parents=True)
    (Path.home() / ".codex" / "auth.json").write_text("{}", encoding="utf-8")


def spent() -> str:
    """An agent that makes one tool call, and whose quota is then used up for three days."""
    resets = datetime.now(UTC) + timedelta(days=3)
    day = f"{resets:%b} {resets.day}, {resets:%I%p}".lower()
    limit = f"API Error: 429 usage limit reached, resets {day} (UTC)"
    return f"echo read >> \"$OUT/calls\"; echo half > half.txt; echo '{limit}'; exit 1"


def agents(bench: Bench, **scripts: str) -> dict[str, Any]:
    """Agents of a plan whose programs have the names of real ones."""
    found = {}
    (bench.outside / "bin").mkdir(exist_ok=True)
    for name, script in scripts.items():
        path = Path(bench.agent(name, script)["command"][0])
        named = bench.outside / "bin" / name
        path.rename(named)
        found[name] = {"command": [str(named)]}
    return found


def plan(bench: Bench, failover: list[str] | None, settings: dict[str, Any] | None = None, **scripts: str) -> Path:
    """One task for the agent ``claude``, with others to go on where it cannot."""
    task: dict[str, Any] = {"id": "web", "prompt": "Migrate it.", "agent": "claude", "check": CHECK}
    task |= {"failover": failover} if failover is not None else {}
    return bench.plan(agents=agents(bench, **scripts), tasks=[task], settings=settings or {})


def replaced(bench: Bench) -> list[dict[str, Any]]:
    return [event["data"] for event in bench.events("agent_replaced")]


def calls(bench: Bench) -> dict[str, int]:
    return dict(Counter((bench.outside / "calls").read_text("utf-8").split()))


def test_a_quota_that_resets_in_three_days_is_not_waited_for(bench: Bench) -> None:
    """The next agent goes on from the files as they are, in a new session with a brief; no call is made twice."""
    done = bench.run(plan(bench, ["codex"], claude=spent(), codex=FINISHES))
    assert done.code == 0, done.out + done.err
    assert calls(bench) == {"read": 1, "migrated": 1}
    assert not bench.events("transient_error_retry", "outage_wait", "gate_opened")
    (event,) = replaced(bench)
    assert (event["before"], event["agent"], event["reason"]) == ("claude", "codex", "outage")
    assert "usage limit reached" in event["why"]
    told = bench.prompt("web.2")
    assert told.startswith("Migrate it.\n\nAnother agent (claude) worked on this before you and cannot go on.")
    assert "Problem: API Error: 429 usage limit reached" in told
    assert "- added half.txt" in told
    assert f"Your work is done when this passes: {CHECK}" in told
    assert "⇄ codex goes on in place of claude: API Error: 429 usage limit reached" in done.out
    assert "claude" not in [row.task.agent for row in bench.state.tasks.values()]


def test_it_is_in_the_results_and_in_the_truth(bench: Bench) -> None:
    """`show`, its JSON rows, `recap` and `truth` name the agent of each attempt."""
    bench.run(plan(bench, ["codex"], claude=spent(), codex=FINISHES))
    assert "⇄ codex goes on in place of claude: API Error: 429" in bench.call("show").out
    (task,) = (row for row in map(json.loads, bench.call("show", "--json").out.splitlines()) if "task" in row)
    assert task["agent"] == "codex"
    assert [(one["before"], one["agent"], one["reason"]) for one in task["failovers"]] == [
        ("claude", "codex", "outage")
    ]
    assert [moment["agent"] for moment in task["timeline"]] == ["claude", "codex"]
    rows = [json.loads(line) for line in bench.call("truth", "--json").out.splitlines()]
    assert {row["agent"]: row["attempts"] for row in rows} == {"claude": 1, "codex": 1}
    assert {row["agent"]: row["check_passed"] for row in rows} == {"claude": 0, "codex": 1}
    assert "change of agents" in bench.call("recap").out


def test_the_log_in_question_is_not_asked(bench: Bench) -> None:
    """An agent that is not signed in is replaced, and the row of the task is that of the other agent."""
    done = bench.run(plan(bench, ["codex"], claude=LOGIN, codex=FINISHES))
    assert done.code == 0, done.out + done.err
    assert [one["reason"] for one in replaced(bench)] == ["agent"]
    assert not bench.events("gate_opened")


def test_it_comes_before_the_last_question_with_levels_of_its_own(bench: Bench) -> None:
    """The last level hands the task on: what failed is in the brief, and the new agent has retries again."""
    script = "echo one > one.txt; echo 'Approach: the first idea'"
    settings = {"failure_handler": {"max_retries": 1, "max_pivots": 0, "max_research": 0}}
    second = "[ $n -lt 4 ] || touch done.txt"
    done = bench.run(plan(bench, ["codex"], settings, claude=script, codex=second))
    assert done.code == 0, done.out + done.err
    assert [one["reason"] for one in replaced(bench)] == ["stuck"]
    assert bench.attempts("web") == 4
    assert [event["data"]["level"] for event in bench.events("directive_issued")] == ["retry", "retry"]
    told = bench.prompt("web.3")
    assert "Problem: AssertionError: not done" in told
    assert "Already tried without success:\n- the first idea" in told
    assert (bench.root / "one.txt").exists()


def test_the_files_can_be_those_of_the_last_passing_checkpoint(bench: Bench) -> None:
    """With `failover_files: passing` the other agent starts from there, and the files from before are saved."""
    script = "echo one > one.txt"
    settings = {
        "failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0},
        "failover_files": "passing",
    }
    done = bench.run(plan(bench, ["codex"], settings, claude=script, codex="test ! -e one.txt && touch done.txt"))
    assert done.code == 0, done.out + done.err
    told = bench.prompt("web.2")
    assert "- removed one.txt" in told
    assert "starts from the last passing checkpoint" in told
    assert "added one.txt" not in told


def test_a_check_that_waits_for_a_service_is_no_matter_of_the_agent(bench: Bench) -> None:
    """A service that refuses the check for an hour would refuse it with any agent: it is waited for, as before."""
    check = "echo 'HTTP 429 Too Many Requests. Retry-After: 3600'; exit 1"
    task = {"id": "web", "prompt": "Do.", "agent": "claude", "check": check, "failover": ["codex"]}
    process = bench.start("run", bench.plan(agents=agents(bench, claude="true", codex="true"), tasks=[task]))
    assert process.stdout is not None
    assert any("waits for the quota, 60m" in line or "waits for the quota, 1h" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    bench.end(process)
    assert replaced(bench) == []


def test_a_used_up_budget_of_the_task_is_still_a_question(bench: Bench) -> None:
    """Budgets count all agents: a task that has used its own up asks, and no other agent spends more."""
    usage = """echo 'UNSTUCK {"signal": "complete", "tokens": 600}'"""
    settings = {
        "failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0},
        "budget": {"task_tokens": 1000},
    }
    done = bench.run(plan(bench, ["codex", "writer"], settings, claude=usage, codex=usage, writer=FINISHES))
    assert done.code == 3, done.out + done.err
    assert [one["agent"] for one in replaced(bench)] == ["codex"]
    (gate,) = bench.gates().values()
    assert "budget of the task is used up" in str(gate.context)


def test_all_are_named_in_the_question_when_none_is_left(bench: Bench) -> None:
    """The question names the agents that tried and those left out; a third one is not installed."""
    done = bench.run(plan(bench, ["codex", "acp:gemini"], claude=LOGIN, codex=LOGIN))
    assert done.code == 3, done.out + done.err
    assert [one["agent"] for one in replaced(bench)] == ["codex"]
    (gate,) = bench.gates().values()
    assert gate.key == "agent"
    agents = gate.context["agents"]
    assert agents[0].startswith("claude: Invalid API key")
    assert agents[1].startswith("codex: Invalid API key")
    assert agents[2].startswith("acp:gemini: left out: ")
    shown = bench.call("show").out
    assert "Agents        claude: Invalid API key" in shown
    assert "agents: claude: Invalid API key" in done.out
    assert "acp:gemini: left out" in shown
    assert "failover: acp:gemini is left out: " in done.out


def test_the_last_question_names_them_too(bench: Bench) -> None:
    """The stuck question names two agents that have both used up their levels."""
    settings = {"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}
    done = bench.run(plan(bench, ["codex"], settings, claude="echo 1 > a.txt", codex="echo 2 > b.txt"))
    assert done.code == 3, done.out + done.err
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    assert [one.partition(":")[0] for one in gate.context["agents"]] == ["claude", "codex"]
    assert "agents: claude: AssertionError" in done.out


def test_where_nobody_may_be_asked_the_next_agent_is_tried_before_the_end(bench: Bench) -> None:
    """With `ask: never` the task does not end before the other agents have tried."""
    settings = {"ask": "never", "failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}}
    done = bench.run(plan(bench, ["codex"], settings, claude="true", codex=FINISHES))
    assert done.code == 0, done.out + done.err
    assert [one["reason"] for one in replaced(bench)] == ["stuck"]


def test_the_settings_name_agents_for_every_task(bench: Bench) -> None:
    """The setting holds for tasks that say nothing; an empty list of a task turns it off."""
    path = plan(bench, None, {"failover": ["claude", "codex"]}, claude=LOGIN, codex=FINISHES)
    assert bench.run(path).code == 0
    assert [one["agent"] for one in replaced(bench)] == ["codex"]
    off = bench.run(plan(bench, [], {"failover": ["codex"]}, claude=f"rm -f done.txt; {LOGIN}", codex=FINISHES))
    assert off.code == 3, off.out + off.err
    assert replaced(bench) == []


def test_without_the_key_nothing_changes(bench: Bench) -> None:
    """A task without the key asks as before, and its question says nothing of other agents."""
    assert bench.run(plan(bench, None, claude=LOGIN, codex=FINISHES)).code == 3
    (gate,) = bench.gates().values()
    assert "agents" not in gate.context
    (added,) = bench.events("task_added")
    assert "failover" not in added["data"] or added["data"]["failover"] == []


def test_a_known_agent_that_is_not_signed_in_is_left_out(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look refuses an agent without a sign-in; the one after it goes on."""
    script = "echo wrong > wrong.txt"
    scripts = agents(bench, claude=LOGIN, codex=script, writer=FINISHES)
    monkeypatch.setenv("PATH", f"{bench.outside / 'bin'}:{os.environ['PATH']}")
    task = {"id": "web", "prompt": "Do.", "agent": "claude", "check": CHECK, "failover": ["codex", "writer"]}
    (Path.home() / ".codex" / "auth.json").unlink()
    kept = {"claude": scripts["claude"], "writer": scripts["writer"]}
    done = bench.run(bench.plan(agents=kept, tasks=[task]))
    assert done.code == 0, done.out + done.err
    (event,) = replaced(bench)
    assert event["agent"] == "writer"
    assert [one.startswith("codex: codex does not seem to be signed in") for one in event["skipped"]] == [True]


@pytest.mark.parametrize(
    ("failover", "says"),
    [
        (["codx"], "unknown agent `codx`"),
        ("codex", "`failover` must be a list"),
        ([{"a": 1}], "unknown agent"),
    ],
)
def test_validate_refuses_what_is_no_agent(bench: Bench, failover: Any, says: str) -> None:
    """A wrong name is refused with its line before anything starts."""
    done = bench.call("run", plan(bench, failover, claude="true", codex="true"), "--headless")
    assert done.code == 2
    assert "plan.yaml:" in done.err
    assert says in done.err


def test_a_wrong_name_in_the_settings_is_refused(bench: Bench) -> None:
    """The settings are looked at with the plan's own agents."""
    done = bench.run(plan(bench, None, {"failover": ["codx"]}, claude="true", codex="true"))
    assert done.code == 2
    assert "failover: unknown agent `codx`" in done.err


@pytest.mark.parametrize("moment", ["agent_replaced", "checkpoint_created", "directive_prepared", "agent_spawned"])
def test_a_run_that_is_killed_meanwhile_has_one_next_step(
    bench: Bench, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill -9 at the change of agents and after it: the other agent finishes once, and no call is made twice."""
    codex = '[ "$LIFE" = second ] || sleep 600; ' + FINISHES
    monkeypatch.setenv("LIFE", "first")
    process = bench.start("run", plan(bench, ["codex"], claude=spent(), codex=codex), "--headless")
    while True:
        with_them = [one["event"] for one in bench.events()] if _begun(bench) else []
        after = with_them[with_them.index("agent_replaced") :] if "agent_replaced" in with_them else []
        if moment in after:
            break
        assert process.poll() is None, bench.end(process)
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.communicate()
    monkeypatch.setenv("LIFE", "second")
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert calls(bench) == {"read": 1, "migrated": 1}
    assert len(replaced(bench)) == 1
    assert [row.task.agent for row in bench.state.tasks.values()] == ["codex"]


def _begun(bench: Bench) -> bool:
    return (bench.root / ".git" / "unstuck" / "runs").exists() and any(
        (run / "events.jsonl").exists() for run in (bench.root / ".git" / "unstuck" / "runs").iterdir()
    )


def test_every_prefix_of_the_log_ends_in_the_same_way(bench: Bench) -> None:
    """A run whose log ends after any record goes on to the same end, with one change of agents."""
    done = bench.run(plan(bench, ["codex"], claude=spent(), codex=FINISHES))
    assert done.code == 0
    log = bench.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"event":"attempt_ended"' in line)
    for count in range(first, len(lines)):
        for left in bench.folder.glob("state.json*"):
            left.unlink()
        for name in ("done.txt", "schema.sql"):
            (bench.root / name).unlink(missing_ok=True)
        log.write_bytes(b"".join(lines[:count]))
        told = [one["event"] for one in bench.events()]
        began = told.count("attempt_started")
        if began == 2:
            (bench.root / "done.txt").touch()
        again = bench.resume()
        assert again.code == 0, f"after {count}: {again.out}{again.err}"
        assert len(replaced(bench)) == 1, f"after {count}"
        assert [row.task.agent for row in bench.state.tasks.values()] == ["codex"]
