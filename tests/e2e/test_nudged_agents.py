"""An agent that runs as a command is told within its attempt that it repeats itself, and only then does it say so."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Inside = Callable[..., tuple[int, str, str]]

AGENT = """
import json, os, pathlib, sys, time

def say(*lines, **line):
    os.write(1, "".join(json.dumps(one) + "\\n" for one in lines or (line,)).encode())

def until_warned():
    while not any("loop_warned" in log.read_text() for log in pathlib.Path(".git/unstuck/runs").glob("*/events.jsonl")):
        time.sleep(0.02)

def call(number):
    use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
    say(type="assistant", message={"content": [use]})

def result(number, *more):
    found = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": True, "content": "Exit code 2\\nno rule"}
    say({"type": "user", "message": {"content": [found]}}, *more)

END = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "s-1"}

words = sys.argv[1:]
with open(os.environ["HEARD"], "a") as file:
    print(json.dumps({"words": words, "attempt": os.environ["UNSTUCK_ATTEMPT"]}), file=file)
"""
LOOPS = """
say(type="system", subtype="init", session_id="s-1")
if "--resume" in words:
    TOLD
BESIDE
for number in range(3):
    call(number)
    result(number, *(LAST if number == 2 else ()))
AFTERWARDS
time.sleep(3600)
"""
CURED = """
    open("greeting.txt", "w").write("hello")
    say(type="assistant", message={"content": [{"type": "text", "text": "I take another way."}]})
    say(END)
    sys.exit(0)
"""


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """``agent(...)`` puts a program called claude on the PATH; gives the file with what it has heard.

    ``told`` is what it does when its session goes on, ``beside`` what it begins before the loop, ``afterwards`` what it
    does after it; ``last`` are the lines that come at once with the last result.
    """
    folder, heard = tmp_path / "programs", tmp_path / "heard"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HEARD", str(heard))

    def make(*, told: str = CURED, beside: str = "", last: str = "()", afterwards: str = "") -> Path:
        program = folder / "claude"
        script = LOOPS.replace("    TOLD", told).replace("BESIDE", beside).replace("LAST", last)
        script = script.replace("AFTERWARDS", afterwards)
        program.write_text(f"#!{sys.executable}\n{AGENT}{script}", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return heard

    return make


def events(out: str, name: str) -> list[dict[str, Any]]:
    """The data of the printed records of this name."""
    records = [json.loads(line) for line in out.splitlines()]
    return [record["data"] for record in records if record.get("event") == name]


def run(inside: Inside, repo: Path, *more: str) -> tuple[int, str]:
    """One run of the agent on a task whose check wants a greeting."""
    words = ("run", "--json", "--headless", "--ask", "never", "--direct", "--verify", "grep hello greeting.txt", *more)
    code, out, _ = inside(repo, *words, "--agent", "claude", "Greet.")
    return code, out


def test_it_is_told_within_the_attempt_and_takes_another_way(
    repo: Path, inside: Inside, agent: Callable[..., Path]
) -> None:
    """At the third round its turn ends, and the same session goes on with what it repeats; one attempt is enough."""
    heard = agent()
    code, out = run(inside, repo)
    assert code == 0
    first, second = [json.loads(line) for line in heard.read_text().splitlines() if "Greet" in line or "make" in line]
    assert second["attempt"] == first["attempt"]
    assert second["words"][:2] == ["--resume", "s-1"]
    prompt = second["words"][second["words"].index("-p") + 1]
    assert "3 times: make" in prompt
    assert "Go on with the task." in prompt
    assert len(events(out, "attempt_started")) == 1
    assert [data["repeats"] for data in events(out, "loop_warned")] == [3]
    assert len(events(out, "loop_told")) == 1
    (report,) = [data["report"] for data in events(out, "attempt_ended")]
    assert (report["exit_code"], report["session"], report["last_message"]) == (0, "s-1", "I take another way.")
    assert len(report["receipt"]["ended"]) == 2  # both processes, and nothing of them is left
    assert report["receipt"]["alive"] == []


def test_it_is_not_told_where_its_session_is_lost(repo: Path, inside: Inside, agent: Callable[..., Path]) -> None:
    """The program says nothing but an error about the nudge: the log warns, and does not say that it was told."""
    agent(told="    sys.exit('No conversation found')\n")
    code, out = run(inside, repo)
    assert code != 0
    assert events(out, "loop_warned")
    assert events(out, "loop_told") == []


def test_it_is_not_told_when_its_turn_is_over(repo: Path, inside: Inside, agent: Callable[..., Path]) -> None:
    """Its last round was its last word: nothing is begun again only to tell it so."""
    heard = agent(last="(END,)", afterwards="sys.exit(0)")
    _, out = run(inside, repo)
    assert events(out, "loop_warned")
    assert events(out, "loop_told") == []
    told = [json.loads(line)["words"] for line in heard.read_text().splitlines()]
    assert not any("repeat yourself" in word for words in told for word in words)


def test_a_call_that_runs_beside_the_loop_is_not_cut_off(
    repo: Path, inside: Inside, agent: Callable[..., Path], tmp_path: Path
) -> None:
    """It ends its turn only between two calls: a build that runs meanwhile comes to its end."""
    built = tmp_path / "built"
    agent(beside="call(9)", afterwards=f"until_warned(); open({str(built)!r}, 'w').close(); result(9)")
    code, out = run(inside, repo)
    assert code == 0
    assert built.exists()
    assert len(events(out, "loop_told")) == 1


def test_a_program_that_cannot_go_on_is_left_alone(repo: Path, inside: Inside, agent: Callable[..., Path]) -> None:
    """With a session of its own it cannot be told: it works on, and its process is not ended."""
    ends = """
until_warned()
open("greeting.txt", "w").write("hello")
say(END)
sys.exit(0)
"""
    heard = agent(afterwards=ends)
    words = ("run", "--json", "--headless", "--ask", "never", "--verify", "grep hello greeting.txt")
    code, out, _ = inside(repo, *words, "--agent", "claude", "Greet.", "--", "--continue")
    assert code == 0
    assert events(out, "loop_warned")
    assert events(out, "loop_told") == []
    assert len([line for line in heard.read_text().splitlines() if "Greet" in line]) == 1
