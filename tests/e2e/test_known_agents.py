"""Known agents by name, with stand-ins that print what the real ones print: sessions, usage, limits, own errors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Inside = Callable[..., tuple[int, str, str]]
DATA = Path(__file__).parents[1] / "data"
INIT = '{"type":"system","subtype":"init","session_id":"s-%s"}'
USED = (
    '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":90}}}'
)
END = '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s-1"}'


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """``claude(script)`` puts a program of that name on the PATH; gives the file with the arguments it got."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    said = tmp_path / "arguments"

    def make(script: str) -> Path:
        program = folder / "claude"
        program.write_text(
            f"#!/bin/sh\nfor word; do printf '%s|' \"$word\"; done >> {said}; echo >> {said}\n{script}\n"
        )
        program.chmod(0o755)
        return said

    return make


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """``stand_in(name, script)`` puts a program of that name on the PATH; gives the file that counts its starts."""
    folder, starts = tmp_path / "programs", tmp_path / "starts"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, script: str) -> Path:
        program = folder / name
        program.write_text(f"#!/bin/sh\necho start >> {starts}\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return starts

    return make


def events(out: str, name: str) -> list[dict[str, Any]]:
    """The data of the printed records of this name."""
    records = [json.loads(line) for line in out.splitlines()]
    return [record["data"] for record in records if record.get("event") == name]


def test_a_session_that_cannot_be_continued_is_begun_anew(
    repo: Path, inside: Inside, claude: Callable[[str], Path]
) -> None:
    """The retry goes on with the session; where the agent has lost it, it is dispatched again without it."""
    said = claude(f"case $1 in --resume) echo 'No conversation found'; exit 1;; esac; echo '{INIT % 1}'; echo '{END}'")
    rungs = "failure_handler: {max_retries: 1, max_pivots: 0, max_research: 0}\n"
    (repo / "unstuck.yaml").write_text(rungs)
    run = ("run", "--json", "--headless", "--verify", "grep x none", "--agent", "claude", "Do it.")
    code, out, _ = inside(repo, *run)
    assert code == 3
    resumed = [line.startswith("--resume|s-1|") for line in said.read_text().splitlines() if "|-p|" in f"|{line}"]
    assert resumed[:3] == [False, True, False]
    how = [data["report"]["how"] for data in events(out, "attempt_ended")]
    assert how[:3] == ["ended", "crashed", "ended"]
    assert "No conversation found" in events(out, "agent_crashed")[0]["error_message"]


def test_what_an_agent_uses_counts_against_the_budget(
    repo: Path, inside: Inside, claude: Callable[[str], Path]
) -> None:
    """Tokens come from its stream: once they are used up nothing begins."""
    claude(f"echo '{INIT % 1}'; echo '{USED}'; echo '{END}'")
    limits = ("--budget", "tokens=150", "--ask", "never")
    run = ("run", "--json", "--headless", *limits, "--verify", "false", "--agent", "claude", "Do it.")
    code, out, _ = inside(repo, *run)
    assert code == 5
    assert [data["tokens"] for data in events(out, "usage_counted")] == [90, 90]
    assert len(events(out, "attempt_started")) == 2


def test_more_arguments_reach_the_program(repo: Path, inside: Inside, claude: Callable[[str], Path]) -> None:
    """Arguments after ``--`` are the agent's, whatever they look like."""
    said = claude(f"echo '{INIT % 1}'; echo '{END}'")
    run = ("run", "--headless", "--verify", "true", "--agent", "claude", "Do it.", "--", "--model", "--json", "a b")
    assert inside(repo, *run)[0] == 0
    assert said.read_text().endswith("|--permission-mode|acceptEdits|--model|--json|a b|\n")


def test_a_loop_inside_a_stream_is_seen(repo: Path, inside: Inside, claude: Callable[[str], Path]) -> None:
    """The very same failing call, told by the stream again and again, is on record as going round in circles."""
    call = '{"type":"tool_use","id":"t$n","name":"Bash","input":{"command":"make"}}'
    said = '{"type":"tool_result","tool_use_id":"t$n","is_error":true,"content":"Exit code 2\\\\nno rule"}'
    lines = [
        f'{{"type":"{kind}","message":{{"content":[{block}]}}}}'
        for kind, block in (("assistant", call), ("user", said))
    ]
    echoes = "; ".join(f"echo '{line}'".replace("$n", "'$n'") for line in lines)
    claude(f"echo '{INIT % 1}'; for n in 1 2 3 4; do {echoes}; done; echo '{END}'")
    run = (
        "run",
        "--json",
        "--headless",
        "--ask",
        "never",
        "--direct",
        "--verify",
        "false",
        "--agent",
        "claude",
        "Do it.",
    )
    _, out, _ = inside(repo, *run)
    steps = [(step["kind"], step["text"], step["exit_code"]) for step in events(out, "step_recorded")]
    assert steps[:2] == [("action", "make", None), ("failure", "no rule", 2)]
    assert events(out, "loop_warned")[0]["repeats"] == 3


def test_a_question_of_a_sub_agent_ends_a_run_without_a_person_with_three(
    repo: Path, inside: Inside, claude: Callable[[str], Path]
) -> None:
    """Two levels down somebody repeats itself: the run ends by itself with 3, and the queue says who asks."""
    step = '{"type":"%s","parent_tool_use_id":"reviewer-7","message":{"content":[%s]}}'
    call = '{"type":"tool_use","id":"t%s","name":"Bash","input":{"command":"make all"}}'
    fails = '{"type":"tool_result","tool_use_id":"t%s","is_error":true,"content":"Exit code 2 no rule for all"}'
    kinds = (("assistant", call), ("user", fails))
    lines = "; ".join(f"echo '{step % (kind, block % turn)}'" for turn in range(5) for kind, block in kinds)
    claude(f"echo '{INIT % 1}'; {lines}; exec sleep 60")
    run = ("run", "--json", "--headless", "--verify", "false", "--agent", "claude", "Do it.")
    code, out, _ = inside(repo, *run)
    assert code == 3
    assert json.loads(out.splitlines()[-1])["exit_reason"] == "needs_person"
    (gate,) = [row for row in map(json.loads, inside(repo, "show", "--json")[1].splitlines()) if "gate" in row]
    assert gate["type"] == "loop_detected"
    assert gate["path"] == ["task", "reviewer-7"]


OWN_ERRORS = {
    "claude, an old token": (
        "claude",
        [
            INIT % 1,
            {
                "type": "result",
                "subtype": "success",
                "is_error": True,
                "result": "OAuth token has expired. Please obtain a new token · Please run /login",
                "session_id": "s-1",
            },
        ],
        1,
        "OAuth token has expired. Please obtain a new token · Please run /login",
        "claude /login",
    ),
    "claude, no such model": (
        "claude",
        [
            {
                "type": "result",
                "subtype": "success",
                "is_error": True,
                "result": "There's an issue with the selected model (claude-x-9). It may not exist.",
            }
        ],
        1,
        "There's an issue with the selected model (claude-x-9). It may not exist.",
        "--model",
    ),
    "codex, 401": (
        "codex",
        [
            {"type": "thread.started", "thread_id": "t-1"},
            {"type": "turn.started"},
            {"type": "error", "message": "Reconnecting... 5/5"},
            {
                "type": "turn.failed",
                "error": {"message": "unexpected status 401 Unauthorized: Missing bearer authentication in header"},
            },
        ],
        1,
        "unexpected status 401 Unauthorized: Missing bearer authentication in header",
        "codex login",
    ),
    "gemini, a wrong key": (
        "gemini",
        [
            {"type": "init", "session_id": "g-1"},
            {
                "type": "result",
                "status": "error",
                "error": {"message": "API key not valid. Please pass a valid API key."},
            },
        ],
        1,
        "API key not valid. Please pass a valid API key.",
        "GEMINI_API_KEY",
    ),
    "opencode, no such model": (
        "opencode",
        [
            {
                "type": "error",
                "error": {"name": "ProviderModelNotFoundError", "data": {"message": "Model not found: a/b-9."}},
            }
        ],
        1,
        "Model not found: a/b-9.",
        "opencode models",
    ),
    "opencode, a model that only its log names": (
        "opencode",
        (DATA / "refused" / "opencode_model.log").read_text("utf-8").splitlines(),
        1,
        "Model not found: nope/nope. Did you mean: standardcompute?",
        "opencode models",
    ),
    "opencode, an error whose reason is nowhere": (
        "opencode",
        [
            {
                "type": "error",
                "error": {"data": {"message": "Unexpected server error. Check server logs for details."}},
            }
        ],
        1,
        "Unexpected server error. Check server logs for details.",
        "opencode run --print-logs",
    ),
    "qwen, before its first line": (
        "qwen",
        ["Missing API key for OpenAI-compatible auth. Set the OPENAI_API_KEY environment variable."],
        1,
        "Missing API key for OpenAI-compatible auth. Set the OPENAI_API_KEY environment variable.",
        "OPENAI_API_KEY",
    ),
    "qwen, no way to sign in": (
        "qwen",
        [
            {
                "type": "result",
                "subtype": "error_during_execution",
                "session_id": "q-1",
                "is_error": True,
                "error": {"message": "No auth type is selected. Please configure an auth type before running."},
            }
        ],
        1,
        "No auth type is selected. Please configure an auth type before running.",
        "/auth",
    ),
    "gemini, a wrong option before its help": (
        "gemini",
        [
            "Unknown argument: bogus",
            "Usage: gemini [options] [command]",
            "",
            "Options:",
            *(f"      --option-{number}  A line of help about this option  [string]" for number in range(120)),
        ],
        1,
        "Unknown argument: bogus",
        "--help",
    ),
    "codex, a wrong option": (
        "codex",
        ["error: unexpected argument '--skip-git-repo-chek' found", "", "Usage: codex exec [OPTIONS] [PROMPT]"],
        2,
        "error: unexpected argument '--skip-git-repo-chek' found",
        "--help",
    ),
}


@pytest.mark.parametrize("case", OWN_ERRORS)
def test_an_agents_own_error_is_asked_once(
    repo: Path, inside: Inside, stand_in: Callable[[str, str], Path], case: str
) -> None:
    """One attempt, and the question on the command line begins with the agent's own message and names its cure."""
    name, lines, code, message, cure = OWN_ERRORS[case]
    printed = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    starts = stand_in(name, f"cat <<'EOF'\n{printed}\nEOF\nexit {code}")
    check = "echo 'E       assert 1 == 2'; echo '1 failed in 0.01s'; exit 1"
    ended, out, err = inside(repo, "run", "--headless", "--verify", check, "--agent", name, "Do it.")
    assert ended == 3, out + err
    assert starts.read_text().count("start") == 1
    assert f"! {message}" in out
    assert cure in out
    assert "1. I have fixed it: go on" in out
    shown = inside(repo, "show")[1]
    question = shown[shown.index("? g1-") :]
    assert question.splitlines()[1].strip() == message
    assert "assert 1 == 2" not in question
    assert "! the agent " in shown


def test_a_tool_result_that_speaks_of_a_login_is_no_error_of_the_agent(
    repo: Path, inside: Inside, claude: Callable[[str], Path]
) -> None:
    """The output of an agent's command is not the agent's own message, even if the agent dies after it."""
    said = '{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Not logged in. Please run /login"}'
    line = f'{{"type":"user","message":{{"content":[{said}]}}}}'
    claude(f"echo '{INIT % 1}'; echo '{line}'; echo half > half.txt; exit 1")
    run = ("run", "--json", "--headless", "--ask", "never", "--verify", "false", "--agent", "claude", "Do it.")
    _, out, _ = inside(repo, *run)
    assert len(events(out, "attempt_started")) == 3
    assert not events(out, "configuration_error")


def test_without_a_terminal_it_is_said_once(repo: Path, inside: Inside, stand_in: Callable[[str, str], Path]) -> None:
    """A program that reads keys ends after one attempt with what to use instead."""
    starts = stand_in("acme", "python3 -c 'import termios; termios.tcgetattr(0)'")
    code, out, err = inside(repo, "run", "--headless", "--verify", "false", "--task", "Do it.", "--", "acme")
    assert code == 3, out + err
    assert starts.read_text().count("start") == 1
    assert "! termios.error: (25, 'Inappropriate ioctl for device')" in out
    assert "Agents run without a terminal." in out


def test_what_aider_has_used_is_counted(repo: Path, inside: Inside, stand_in: Callable[[str, str], Path]) -> None:
    """Its tokens and its cost are counted from its words, and a budget for tokens ends the run after an attempt."""
    used = "Tokens: 2.4k sent, 17 received. Cost: $0.0062 message, $0.0062 session."
    starts = stand_in("aider", f"echo Applied edit; echo; echo '{used}'; echo '{used}'")
    words = ("run", "--json", "--check", "false", "--ask", "never", "--agent", "aider")
    code, out, errors = inside(repo, *words, "--budget", "tokens=4000", "T")
    assert code == 5, errors
    assert [(one["tokens"], one["cost"]) for one in events(out, "usage_counted")] == [(2417, 0.0062)] * 2
    assert len(starts.read_text().splitlines()) == 1
    code, _, errors = inside(repo, *words, "--budget", "cost=5", "T")
    assert (code, "prices: {aider:" in errors) == (2, True)


def test_a_known_agent_that_is_missing(repo: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer without the agent's program hears what to do, before anything starts."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    code, _, errors = inside(repo, "run", "--check", "true", "--agent", "gemini", "T")
    assert (code, "gemini was not found on PATH: install it, and sign in" in errors) == (2, True)


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode", "qwen"])
def test_an_agent_that_only_repeats_its_request_has_an_outage(
    agent: str,
    repo: Path,
    inside: Inside,
    stand_in: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Recorded logs of agents that never end by themselves: three short waits, a long one, and the question."""
    (repo / "unstuck.yaml").write_text("outage_limit: 1s\n")
    (tmp_path / "home/.qwen/debug").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    logs = {"qwen": "qwen.txt", "codex": "codex.jsonl"}
    say = f"cat {DATA}/refused/{logs.get(agent, f'{agent}.log')}"
    if agent == "qwen":
        say = f"echo '{INIT % agent}'; {say} >> $HOME/.qwen/debug/s-{agent}.txt"
    starts = stand_in(agent, f"{say}; sleep 1000")
    code, out, errors = inside(repo, "run", "--json", "--headless", "--check", "false", "--agent", agent, "Do it.")
    assert code == 3, out + errors
    waits = events(out, "transient_error_retry")
    assert [data["delay_seconds"] for data in waits] == [1, 2, 4]
    assert {data["error_type"] for data in waits} == {"CONNECTION_ERROR" if agent == "codex" else "HTTP_ERROR"}
    assert [data["delay_seconds"] for data in events(out, "outage_wait")] == [1]
    assert events(out, "directive_issued") == []
    assert starts.read_text().count("start") == 5
    (asked,) = events(out, "gate_opened")
    how = "does not reach its provider" if agent == "codex" else "its provider refuses"
    assert f"{agent} repeats a request that {how}: " in json.dumps(asked)


CONTEXT = DATA / "context"
ENDED = {"claude": 1, "codex": 1, "gemini": 144, "qwen": 0, "pi": 0, "opencode": 1, "cline": 1}
"""The exit codes with which they ended, once their provider had refused a conversation that is too long."""


@pytest.mark.parametrize("agent", list(ENDED))
def test_a_full_context_is_three_new_sessions_and_then_a_question(
    agent: str, repo: Path, inside: Inside, stand_in: Callable[[str, str], Path]
) -> None:
    """In the recorded words of each agent: a new session with a handover, three without progress, then the person."""
    starts = stand_in(agent, f"cat {CONTEXT / agent}.log; exit {ENDED[agent]}")
    code, out, _ = inside(
        repo, "run", "--json", "--headless", "--check", "grep done a.txt", "--agent", agent, "Make it done."
    )
    assert code == 3
    begun = [data["guidance"] for data in events(out, "attempt_started")]
    assert [guidance["level"] for guidance in begun] == ["first", "continue", "continue", "continue"]
    assert all(guidance["session"] is None for guidance in begun)
    assert "ran out of context" in begun[1]["text"] or "continue" in begun[1]["text"].lower()
    (asked,) = events(out, "gate_opened")
    assert asked["type"] == "stuck"
    assert "context window was full again" in asked["context"]["analysis"]
    assert len([line for line in starts.read_text().splitlines() if line]) >= 4


@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_silent_after_its_context_was_full(
    agent: str, repo: Path, inside: Inside, stand_in: Callable[[str, str], Path]
) -> None:
    """An agent that says so and never ends is ended at the limit of its silence, and a new session goes on."""
    (repo / "unstuck.yaml").write_text("idle_timeout: 300ms\n")
    stand_in(
        agent,
        f"[ -e work ] && echo done > a.txt && exit; touch work; cat {CONTEXT / agent}.log; exec tail -f /dev/null",
    )
    code, out, _ = inside(
        repo, "run", "--json", "--headless", "--check", "grep done a.txt", "--agent", agent, "Make it done."
    )
    assert code == 0
    assert [data["clock"] for data in events(out, "agent_timeout")] == ["idle"]
    assert [data["guidance"]["level"] for data in events(out, "attempt_started")] == ["first", "continue"]
    assert "ran out of context" in events(out, "attempt_started")[1]["guidance"]["text"]
