"""Several new approaches at the same time, each in a worktree of its own: the first that passes is taken."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.plans.conftest import Bench
from tests.waiting import become

from unstuck.supervision.attempt.approaches import slot_variables

CHECK = "test -f done.txt || { echo 'AssertionError: not done'; exit 1; }"
WAYS = ("way one", "way two", "way three")
SETTINGS: dict[str, Any] = {
    "pivot": {"parallel": 3},
    "failure_handler": {
        "max_retries": 0,
        "max_pivots": 3,
        "max_research": 0,
        "patterns": [
            {"pattern": "AssertionError", "approach": way, "confidence": 0.9 - number / 10}
            for number, way in enumerate(WAYS)
        ],
    },
}
TOGETHER = (
    'me=first; for way in one two three; do grep -q "Approach: way $way" "$UNSTUCK_PROMPT_FILE" && me=$way; done\n'
    'echo "$me" >> "$OUT/began"; echo "$UNSTUCK_SLOT $UNSTUCK_PORT $UNSTUCK_PORTS" > "$OUT/slot-$me"\n'
    'pwd > "$OUT/pwd-$me"; echo $$ > "$OUT/pid-$me"; echo $me > mine.txt\n'
    "[ $me = first ] && exit 0\n"
    'while [ $(wc -l < "$OUT/began") -lt ${FOUR:-4} ]; do sleep 0.05; done\n'
)
"""Each approach goes on only once all three have begun, so one after another would never end."""


def plan(bench: Bench, script: str, *, isolation: str = "worktree", **settings: Any) -> Path:
    """One task with a worktree of its own, whose first attempt fails."""
    task = {"id": "web", "prompt": "Build it.", "check": CHECK, "isolation": isolation}
    agents = {"worker": bench.agent("worker", TOGETHER + script)}
    return bench.plan(agents=agents, tasks=[task], settings=SETTINGS | settings)


def ways(bench: Bench) -> dict[str, str]:
    return {event["data"]["approach"]: event["data"]["result"] for event in bench.events("approach_ended")}


def left(bench: Bench) -> list[str]:
    """The worktrees of approaches that are still there."""
    listed = bench.git("worktree", "list", "--porcelain")
    return [line for line in listed.splitlines() if line.startswith("worktree ") and "_way-" in line]


def alive(bench: Bench, *names: str) -> list[int]:
    """The agents that are still at work."""
    pids = [int((bench.outside / f"pid-{name}").read_text()) for name in names]
    return [pid for pid in pids if psutil.pid_exists(pid)]


def test_three_are_worked_at_once_and_the_first_that_passes_is_taken(bench: Bench) -> None:
    """The others are stopped, their worktrees are removed, and the result holds the files of the one that passed."""
    done = bench.run(plan(bench, "echo I am $me; [ $me = two ] && { touch done.txt; exit 0; }; sleep 600"))
    assert done.code == 0, done.out + done.err
    assert ways(bench) == {"way one": "stopped", "way two": "passed", "way three": "stopped"}
    assert bench.call("show", "--transcript", "web").out == "I am two\n"
    assert bench.result("mine.txt") == "two\n"
    assert len({(bench.outside / f"pwd-{name}").read_text() for name in ("first", "one", "two", "three")}) == 4
    assert left(bench) == []
    assert alive(bench, "one", "two", "three") == []
    (event,) = bench.events("directive_issued")
    assert event["data"]["approaches"] == list(WAYS)
    assert event["data"]["climb"]["pivots"] == 3
    (row,) = bench.state.tasks.values()
    assert (row.status, row.attempts) == ("succeeded", 2)
    assert "→ 3 new approaches at once:" in done.out
    assert all(f"    {way}\n" in done.out for way in WAYS)
    assert "✓ approach 2 passed: way two" in done.out
    assert "■ approach 1 stopped: way one" in done.out
    shown = bench.call("show").out
    assert "way two" in shown


def test_those_that_lost_are_remembered_against_that_failure(bench: Bench) -> None:
    """The memory lists them, shows them behind all others, and the next run takes one that nobody has tried first."""
    bench.run(plan(bench, "[ $me = two ] && { touch done.txt; exit 0; }; sleep 600"))
    rows = [json.loads(line) for line in bench.call("memory", "list", "--json").out.splitlines()]
    outcomes = {row["approach"]: row["outcome"] for row in rows}
    assert [outcomes[way] for way in WAYS] == ["stopped", "worked", "stopped"]
    assert len({row["signature"] for row in rows}) == 1
    known = [json.loads(line) for line in bench.call("memory", "approaches", "--json").out.splitlines()]
    assert {row["approach"] for row in known if row["stopped"]} == {"way one", "way three"}
    assert known[0]["approach"] == "way two"
    assert "another one was faster: taken after all others" in bench.call("memory", "approaches").out
    patterns = [*SETTINGS["failure_handler"]["patterns"]]
    patterns.append({"pattern": "AssertionError", "approach": "way four", "confidence": 0.1})
    handler = SETTINGS["failure_handler"] | {"patterns": patterns, "max_pivots": 2}
    bench.run(plan(bench, "true", pivot={"parallel": 2}, failure_handler=handler))
    (event,) = bench.events("directive_issued")[:1]
    assert event["data"]["approaches"][0] == "way two"
    assert not {"way one", "way three"} & set(event["data"]["approaches"])


def test_each_has_a_number_and_ports_of_its_own(bench: Bench) -> None:
    """`UNSTUCK_SLOT` and `UNSTUCK_PORTS` differ, for the agent and for its check."""
    check = f'[ -f done.txt ] && echo "$UNSTUCK_SLOT $UNSTUCK_PORT" > {bench.outside}/checked-$(cat mine.txt); {CHECK}'
    task = {"id": "web", "prompt": "Build it.", "check": check, "isolation": "worktree"}
    script = TOGETHER + "[ $me = three ] && touch done.txt || sleep 600"
    bench.run(bench.plan(agents={"worker": bench.agent("worker", script)}, tasks=[task], settings=SETTINGS))
    told = [(bench.outside / f"slot-{name}").read_text().split() for name in ("one", "two", "three")]
    assert [slot for slot, _, _ in told] == ["1", "2", "3"]
    ranges = [tuple(map(int, ports.split("-"))) for _, _, ports in told]
    assert [first for first, _ in ranges] == [int(port) for _, port, _ in told]
    assert all(one[1] < two[0] for one, two in pairwise(ranges))
    assert (bench.outside / "slot-first").read_text().split() == []


def test_no_two_approaches_of_a_run_have_a_port_in_common() -> None:
    """Also where several tasks work eight approaches each; all are below the ports that systems give out."""
    for run in ("20261124-020000-web-1a2b", "r"):
        told = [slot_variables(run, slot) for slot in range(1, 65)]
        ranges = [range(int((ends := one["UNSTUCK_PORTS"].split("-"))[0]), int(ends[1]) + 1) for one in told]
        ports = [port for one in ranges for port in one]
        assert len(set(ports)) == len(ports) == 64 * 20
        assert (min(ports) >= 20_000, max(ports) < 32_000) == (True, True)


def test_where_all_fail_each_is_remembered(bench: Bench) -> None:
    """None of them is tried again, and the question names all."""
    done = bench.run(plan(bench, "exit 0"))
    assert done.code == 3, done.out + done.err
    assert ways(bench) == dict.fromkeys(WAYS, "failed")
    (gate,) = bench.gates().values()
    assert set(WAYS) <= set(gate.context["approaches"])
    assert left(bench) == []
    assert (bench.tree("web") / "mine.txt").read_text() == "one\n"
    rows = [json.loads(line) for line in bench.call("memory", "list", "--json").out.splitlines()]
    assert {row["approach"] for row in rows if row["outcome"] == "failed"} >= set(WAYS)


def test_the_next_ones_start_from_the_beginning(bench: Bench) -> None:
    """After two that failed, the next two find none of their files, and none of the four is tried twice."""
    patterns = [
        {"pattern": "AssertionError", "approach": way, "confidence": 0.9 - number / 10}
        for number, way in enumerate((*WAYS, "way four"))
    ]
    handler = SETTINGS["failure_handler"] | {"max_pivots": 4, "patterns": patterns}
    script = (
        '[ -e mine.txt ] && [ $n != 1 ] && echo yes > "$OUT/dirty"; echo 1 > mine.txt\n'
        'grep "^Approach: " "$UNSTUCK_PROMPT_FILE" >> "$OUT/ways"; true'
    )
    task = {"id": "web", "prompt": "Build it.", "check": CHECK, "isolation": "worktree"}
    settings = {"pivot": {"parallel": 2}, "failure_handler": handler}
    agents = {"worker": bench.agent("worker", script)}
    done = bench.run(bench.plan(agents=agents, tasks=[task], settings=settings))
    assert done.code == 3, done.out + done.err
    assert sorted((bench.outside / "ways").read_text().splitlines()) == sorted(
        f"Approach: {way}" for way in (*WAYS, "way four")
    )
    assert not (bench.outside / "dirty").exists()
    assert bench.attempts("web") == 3


def test_budgets_count_all(bench: Bench) -> None:
    """The tokens of every approach are in the sum of the run."""
    usage = """echo 'UNSTUCK {"signal": "complete", "tokens": 100}'"""
    bench.run(plan(bench, f"{usage}"))
    assert bench.state.run.tokens == 300


@pytest.mark.parametrize("where", ["shared", "no git"])
def test_where_there_are_no_worktrees_one_is_worked(bench: Bench, where: str) -> None:
    """A task in the project's own directory works one approach after another, and the run says why."""
    if where == "no git":
        shutil.rmtree(bench.root / ".git")
    script = "[ $me = two ] && touch done.txt"
    (bench.outside).mkdir(exist_ok=True)
    path = plan(bench, script, isolation="shared")
    (bench.outside / "worker.sh").write_text((bench.outside / "worker.sh").read_text().replace("${FOUR:-4}", "0"))
    done = bench.run(path)
    assert done.code == 0, done.out + done.err
    assert ways(bench) == {}
    assert bench.attempts("web") == 3
    assert "one at a time: several need a worktree of the task and a check" in done.out


@pytest.mark.parametrize("moment", ["restore_done", "agent_spawned", "approach_ended", "result_integrated"])
def test_a_killed_run_has_one_next_step_and_leaves_no_worktree(bench: Bench, moment: str) -> None:
    """Kill -9 before, while and after three are at work: resumed, the task ends once, and nothing is left over."""
    waits = moment == "agent_spawned"
    script = '[ -e "$OUT/go" ] || sleep 600; [ $me = two ] && touch done.txt && exit 0; sleep 600'
    if not waits:
        (bench.outside / "go").touch()
    process = bench.start("run", plan(bench, script), "--headless")
    began = bench.outside / "began"

    def come() -> bool:
        if waits:
            return began.exists() and len(began.read_text().split()) == 4
        return bool((bench.root / ".git" / "unstuck").exists() and _logged(bench, moment)) or process.poll() is not None

    asyncio.run(become(come))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.communicate()
    before = [int(path.read_text()) for path in bench.outside.glob("pid-*")]
    first = int((bench.outside / "pid-first").read_text())
    began.write_text("first\none\nthree\n" if moment == "approach_ended" else "first\n")  # they are not begun again
    (bench.outside / "go").touch()
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert [pid for pid in before if psutil.pid_exists(pid)] == []
    assert left(bench) == []
    assert sorted(began.read_text().split()) in (["first"], sorted(["first", "one", "two", "three"]))
    assert bench.result("mine.txt") == "two\n"
    assert [event["data"]["status"] for event in bench.events("task_ended")] == ["succeeded"]
    started = [event["attempt"] for event in bench.events("attempt_started")]
    assert started == [f"web.{number}" for number in range(1, len(started) + 1)]
    assert len(started) <= 3
    if waits:
        ended = [pid for event in bench.events("stop_receipt") for pid, _, _ in event["data"]["ended"]]
        assert {pid for pid in before if pid != first} <= {*ended}


def _logged(bench: Bench, name: str) -> bool:
    return any(name in log.read_text("utf-8") for log in (bench.root / ".git" / "unstuck").glob("runs/*/events.jsonl"))


def test_setup_runs_in_each_and_commits_of_an_agent_are_taken(bench: Bench) -> None:
    """The plan's setup comes first in each worktree; what an agent has committed is in the result, too."""
    bench.write({".gitignore": "env/\n"})
    script = (
        "test -f env/ready || exit 9\n"
        "[ $me = three ] || sleep 600\n"
        "git add -A && git -c user.name=a -c user.email=a@b commit -q -m work && touch done.txt"
    )
    task = {"id": "web", "prompt": "Build it.", "check": CHECK, "isolation": "worktree"}
    agents = {"worker": bench.agent("worker", TOGETHER + script)}
    setup = f"mkdir -p env && touch env/ready && echo set >> {bench.outside}/setups"
    done = bench.run(bench.plan(agents=agents, tasks=[task], setup=setup, settings=SETTINGS))
    assert done.code == 0, done.out + done.err
    assert bench.results() >= {"done.txt", "mine.txt"}
    assert bench.result("mine.txt") == "three\n"
    assert len((bench.outside / "setups").read_text().split()) == 5  # and once more for what is taken


def test_an_outage_of_all_is_waited_for_and_nothing_counts_as_failed(bench: Bench) -> None:
    """Agents that are refused say nothing about their approaches: the same ones are worked again after the wait."""
    refused = "API Error: 529 Overloaded. This is a server-side issue, usually temporary, retry after 0.01 s"
    script = (
        f'[ -e "$OUT/again-$me" ] || {{ touch "$OUT/again-$me"; echo "{refused}"; exit 1; }}\n'
        "[ $me = two ] && touch done.txt"
    )
    path = Path(bench.agent("worker", TOGETHER + script)["command"][0])
    named = bench.outside / "claude"
    path.rename(named)
    task = {"id": "web", "prompt": "Build it.", "check": CHECK, "isolation": "worktree"}
    done = bench.run(bench.plan(agents={"worker": {"command": [str(named)]}}, tasks=[task], settings=SETTINGS))
    assert done.code == 0, done.out + done.err
    ends = [(event["data"]["approach"], event["data"]["result"]) for event in bench.events("approach_ended")]
    assert dict(ends[:3]) == dict.fromkeys(WAYS, "stopped")
    assert ("way two", "passed") in ends[3:]
    assert bench.events("transient_error_retry")


def test_a_stop_ends_all_of_them(bench: Bench) -> None:
    """A time limit stops every approach, and no worktree is left."""
    script = "sleep 600"
    task = {"id": "web", "prompt": "B.", "check": CHECK, "isolation": "worktree", "timeout": "2s"}
    agents = {"worker": bench.agent("worker", TOGETHER + script)}
    settings = SETTINGS | {"ask": "never", "task_failure_limit": 1}
    done = bench.run(bench.plan(agents=agents, tasks=[task], settings=settings))
    assert done.code == 4, done.out + done.err
    assert left(bench) == []
    assert alive(bench, "one", "two", "three") == []
