"""An agent whose context is full: a new session goes on from its work, at most three times without progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench

CODEX = (
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
)
CODEX_LINES = "\n".join(
    json.dumps(line)
    for line in (
        {"type": "thread.started", "thread_id": "0199"},
        {"type": "turn.started"},
        {"type": "error", "message": CODEX},
        {"type": "turn.failed", "error": {"message": CODEX}},
    )
)
WORDS = {
    "claude": ("claude", (), "Prompt is too long"),
    "codex": ("codex", ("exec", "--json", "{prompt}"), CODEX_LINES),
    "gemini": ("gemini", (), "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."),
    "qwen": ("qwen", (), "Session token limit exceeded: 130000 tokens > 128000 limit. Please start a new session."),
    "opencode": ("opencode", (), "Error: Your input exceeds the context window of this model."),
}
CHECK = "test -f done.txt || { echo 'E       assert 401 == 200'; echo '1 failed in 0.01s'; exit 1; }"


def plan(bench: Bench, script: str, agent: str, *, check: str = CHECK, **settings: Any) -> Path:
    """One task for a program with this agent's name."""
    program, arguments, _ = WORDS[agent]
    path = Path(bench.agent(program, script)["command"][0])
    named = bench.outside / "bin" / program
    named.parent.mkdir(exist_ok=True)
    path.rename(named)
    task = {"id": "web", "prompt": "Build it.", "verify": check}
    return bench.plan(agents={"worker": {"command": [str(named), *arguments]}}, tasks=[task], settings=settings)


def full(agent: str, work: str = "echo $n > work.txt") -> str:
    """Script of an agent that works, and then says in its own words that its context is full."""
    return f"{work}\ncat <<'EOF'\n{WORDS[agent][2]}\nEOF\nexit 1"


@pytest.mark.parametrize("agent", WORDS)
def test_three_new_sessions_without_progress_and_then_the_question(bench: Bench, agent: str) -> None:
    """The work stays in the files; no escalation level is used before or after."""
    done = bench.run(plan(bench, full(agent), agent))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 4
    levels = [event["data"]["level"] for event in bench.events("directive_issued")]
    assert levels == ["continue", "continue", "continue", "human"]
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    climb = bench.state.tasks["web"].climb
    assert (climb.retries, climb.pivots, climb.research, climb.continuations) == (0, 0, 0, 3)


def test_a_new_session_hears_what_was_done_and_tried(bench: Bench) -> None:
    """Its prompt has the task, the changed files, what is left and the last words; a fitting end is a success."""
    done = bench.run(plan(bench, f"[ $n = 2 ] && touch done.txt && exit 0\n{full('codex')}", "codex"))
    assert done.code == 0, done.out + done.err
    prompt = bench.prompt("web.2")
    assert prompt.startswith("Build it.")
    assert "The last session ran out of context." in prompt
    assert "work.txt" in prompt
    assert "What the task asks for beyond that is left to do." in prompt
    assert "ran out of room" in prompt


def test_progress_gives_three_more_sessions(bench: Bench) -> None:
    """A big task whose check fails less each time goes on beyond three sessions."""
    check = 'n=$(cat work.txt 2>/dev/null || echo 0); [ $n -ge 7 ] || { echo "$((7 - n)) failed in 0.01s"; exit 1; }'
    script = f"echo $n > work.txt\n[ $n -lt 7 ] || exit 0\n{full('claude', ':')}"
    done = bench.run(plan(bench, script, "claude", check=check))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 7
    assert {event["data"]["level"] for event in bench.events("directive_issued")} == {"continue"}
    # The check counts all the same, so the row shows how far it came.
    assert [event["data"]["extent"]["errors"] for event in bench.events("check_finished")][:3] == [6, 5, 4]


def test_where_nobody_may_be_asked_the_task_fails(bench: Bench) -> None:
    """`ask: never` ends the task after the third new session, with that reason."""
    done = bench.run(plan(bench, full("claude"), "claude", ask="never"))
    assert done.code == 4, done.out + done.err
    assert bench.attempts("web") == 4
    assert "context" in bench.state.tasks["web"].reason


def test_a_check_that_speaks_of_a_full_context_uses_the_levels(bench: Bench) -> None:
    """The agent did not fail, so its session is not blamed."""
    check = (
        "test -f done.txt || { echo 'E       AssertionError: Prompt is too long'; echo '1 failed in 0.01s'; exit 1; }"
    )
    done = bench.run(plan(bench, "echo $n > work.txt; [ $n = 1 ] || touch done.txt", "claude", check=check))
    assert done.code == 0, done.out + done.err
    assert [event["data"]["level"] for event in bench.events("directive_issued")] == ["retry"]


def test_a_build_that_no_longer_loads_is_no_progress(bench: Bench) -> None:
    """One error of collection after six failed tests is further away, so the sessions are not counted from zero."""
    broken = "ERROR collecting test_a.py\nE   SyntaxError: invalid syntax\n1 error in 0.01s"
    check = f"[ $(cat work.txt 2>/dev/null || echo 1) != 1 ] && printf '{broken}\n' || echo '6 failed in 0.01s'; exit 1"
    done = bench.run(plan(bench, full("claude"), "claude", check=check))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 4


TURNS = {
    "claude": "Reached maximum number of turns (30)",
    "gemini": "Reached max session turns for this session. Increase the number of turns by specifying maxSessionTurns.",
}


@pytest.mark.parametrize("agent", TURNS)
def test_an_agent_without_turns_goes_on_with_its_work(bench: Bench, agent: str) -> None:
    """Its files are kept, no escalation level is used, and it is asked about after three turns without progress."""
    script = f"echo $n >> work.txt; echo '{TURNS[agent]}'; exit 1"
    done = bench.run(plan(bench, script, agent))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 4
    assert (bench.root / "work.txt").read_text().split() == ["1", "2", "3", "4"]
    directives = [event["data"] for event in bench.events("directive_issued")]
    assert [(one["level"], one["line"]) for one in directives] == [("retry", 5)] * 3 + [("human", 5)]
    climb = bench.state.tasks["web"].climb
    assert (climb.retries, climb.pivots, climb.research, climb.continuations) == (0, 0, 0, 3)
    assert "→ Retry, the agent reached its own limit: Go on where you were." in done.out
    assert "Go on where you were." in bench.prompt("web.2")


def test_a_limit_of_turns_in_an_agents_work_is_none_of_its_own(bench: Bench) -> None:
    """A game that speaks of turns fails like any other."""
    script = "echo $n > work.txt; echo 'Reached max turns (3)'; echo 'The game ends. I am not done.'; exit 1"
    done = bench.run(plan(bench, f"[ $n = 1 ] || {{ touch done.txt; exit 0; }}\n{script}", "claude"))
    assert done.code == 0, done.out + done.err
    assert [event["data"]["line"] for event in bench.events("directive_issued")] == [10]
