"""Commands that inspect runs, check their event log, answer questions and diagnose a failure."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck

COMMANDS = (
    "answer", "delete", "diagnose", "doctor", "events", "memory", "recap", "run", "runs", "show", "signatures", "truth",
    "fsck", "what-if",
)  # fmt: skip


@pytest.fixture
def parked(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> dict[str, Any]:
    """A run that waits at its stuck gate."""
    assert unstuck.inside("run", "--headless", "--verify", failing, "--", "true", env=no_climb).code == 3
    gate: dict[str, Any] = unstuck.only_gate()
    return gate


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(unstuck: Unstuck, command: str) -> None:
    """--help of each command says how it is used and what its options mean, and ends with 0."""
    done = unstuck.inside(command, "--help")
    assert done.code == 0
    assert done.errors == ""
    assert done.out.startswith(f"Usage: unstuck {command} ")
    assert command in unstuck.inside("--help").out


# --- runs and show ---------------------------------------------------------------------------------------------------


def test_runs_come_oldest_first_one_row_each(unstuck: Unstuck) -> None:
    """`runs --json` has one object per run, oldest first, with its end; people see the same."""
    assert unstuck.inside("runs", "--json").rows == []
    assert unstuck.inside("runs").out == "no runs here yet\n"
    for check in ("true", "false"):
        unstuck.inside("run", "--headless", "--ask", "never", "--direct", "--verify", check, "--", "true")
    rows = unstuck.inside("runs", "--json").rows
    assert [row["run"] for row in rows] == [path.name for path in unstuck.runs]
    assert [(row["state"], row["exit_code"], row["tasks"]) for row in rows] == [
        ("ended", 0, {"succeeded": 1}),
        ("ended", 4, {"failed": 1}),
    ]
    _, first, second = unstuck.inside("runs").out.splitlines()
    assert "succeeded" in first
    assert "halted" in second


def test_looking_changes_nothing(unstuck: Unstuck) -> None:
    """Commands that only look make no file, not even in a project that has no record yet."""
    before = sorted(unstuck.root.rglob("*"))
    looking = (
        ("runs",),
        ("doctor",),
        ("show",),
        ("verify",),
        ("events",),
        ("signatures",),
        ("memory", "list"),
        ("truth",),
        ("truth", "--all"),
        ("recap",),
        ("what-if", "--all"),
    )
    for command in looking:
        unstuck.inside(*command)
    assert sorted(unstuck.root.rglob("*")) == before


def test_show_tells_tasks_and_open_gates(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """`show --json` has the run, its task and the open gate with its question; people see how to answer it."""
    run, task, gate = unstuck("show", unstuck.runs[0].name, "--json").rows
    assert run["run"] == unstuck.runs[0].name
    assert run["state"] == "parked"
    assert run["exit_code"] == 3
    assert run["open_gates"] == 1
    assert task["task"] == "task"
    assert task["state"] == "waiting"
    assert task["location"] == "app.py:3"
    assert gate == parked
    shown = unstuck.inside("show").out
    assert "I am stuck on: AssertionError: assert 1 == 2" in shown
    assert "Try again with a different approach: [describe]" in shown
    assert f"unstuck answer {gate['gate']} show-me | skip | abandon | retry" in shown
    # The beginning of a run's name is enough.
    assert unstuck.inside("show", run["run"][:8]).code == 0


def test_show_tells_what_was_tried(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """Each attempt with its rung, its failure and its checkpoint, then the question and how it was answered."""
    assert unstuck.inside("answer", parked["gate"], "retry", "use a dict").code == 0
    first, second, asked = unstuck.inside("show", "--json").rows[1]["timeline"]
    assert [(row["rung"], row["turn"], row["check"]) for row in (first, second)] == [
        ("first", 0, "failed"),
        ("retry", 1, "failed"),
    ]
    assert first["headline"] == "AssertionError: assert 1 == 2"
    assert second["checkpoint"] == asked["checkpoint"]
    assert second["seconds"] >= 0
    assert asked["id"] == parked["gate"]
    assert asked["by"] == "human"
    assert asked["choice"] == "retry"
    assert asked["text"] == "use a dict"
    shown = unstuck.inside("show").out
    assert f"! stuck {parked['gate']}: retry use a dict, by a person" in shown
    assert "people: 1 question, answered in" in shown
    (run,) = unstuck.inside("runs", "--json").rows
    assert run["load"]["asked"] == 1
    assert run["load"]["answered"] == 1
    (day,) = unstuck.inside("runs", "--days", "--json").rows
    assert day["asked"] == 1
    assert day["answered"] == 1
    assert day["decided"]["timer"] == 0
    assert "1 question" in unstuck.inside("runs", "--days").out


def test_an_unknown_run_is_refused(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """A run that is not there is one clear line, for every command that takes one."""
    for command in (("show",), ("verify",), ("events",), ("signatures",), ("run", "--headless", "--resume")):
        done = unstuck.inside(*command, "nosuch")
        assert done.code == 2
        assert done.out == ""
        assert done.errors == "unstuck: there is no run nosuch; `unstuck runs` lists them\n"


# --- events and signatures -------------------------------------------------------------------------------------------


def test_events_are_those_of_the_log(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """`events --json` prints every record as the log has it; people see one line for each, and filters leave some."""
    log = [json.loads(line) for line in (unstuck.runs[0] / "events.jsonl").read_bytes().splitlines()]
    rows = unstuck.inside("events", "--json").rows
    assert [(row["seq"], row["event"], row["task"]) for row in rows] == [
        (row["seq"], row["event"], row["task"]) for row in log
    ]
    lines = unstuck("events", env={"TZ": "UTC"}).out.splitlines()
    assert len(lines) == len(log)
    assert lines[0].split()[:5] == ["1", f"{log[0]['time'][11:19]}Z", "policy", "-", "run_started"]
    asked = unstuck.inside("events", "--type", "gate_opened").out
    assert "! I am stuck and need help." in asked
    assert unstuck.inside("events", "--type", "gate_opened", "--since", "1h", "--json").rows == [
        row for row in rows if row["event"] == "gate_opened"
    ]
    assert unstuck.inside("events", "--since", "2999-01-01").out == ""
    without = unstuck.inside("events", "--decided-without-me", "--json").rows
    assert [(row["event"], row["data"]["level"]) for row in without] == [("directive_issued", "retry")]
    assert "people: 1 question, none answered" in (shown := unstuck.inside("show").out)
    assert "decided without a person: 1 by policy" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--type", "gate_openned"), "there is no event gate_openned (did you mean `gate_opened`?)"),
        (("--since", "soon"), "--since: 'soon' is no time such as 10m (ago), 14:30 or 2026-11-22T14:30"),
        (("--actor", "nobody"), "'nobody' is not one of"),
    ],
)
def test_filters_that_make_no_sense_are_refused(
    unstuck: Unstuck, parked: dict[str, Any], words: tuple[str, ...], said: str
) -> None:
    """A filter that could match nothing is one clear line instead of an empty answer."""
    done = unstuck.inside("events", *words)
    assert done.code == 2
    assert done.out == ""
    assert said in done.errors


def test_events_are_followed_to_the_end_of_the_run(unstuck: Unstuck, failing: str) -> None:
    """A person who follows a live run reads along, and the command ends with the run."""
    os.mkfifo(unstuck.seen / "pipe")
    agent = unstuck.script("agent.sh", 'read line < "$SEEN/pipe"; touch done')
    process = unstuck.start("run", "--headless", "--verify", failing, "--", "sh", agent)
    unstuck.until(process, b"attempt 1")
    follower = unstuck.start("events", "--follow", "--json")
    unstuck.until(follower, b"attempt_started")
    (unstuck.seen / "pipe").write_text("go\n", encoding="utf-8")
    out, errors = follower.communicate(timeout=60)
    assert process.wait(60) == 0
    assert follower.returncode == 0
    assert errors == b""
    assert json.loads(out.splitlines()[-1])["event"] == "run_ended"


def test_failures_are_told_once_with_what_got_past_them(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """A failure of two runs is one row: how often, how far it got, and the answer that ended it."""
    (row,) = unstuck.inside("signatures", "--json").rows
    assert row["count"] == 2
    assert row["tasks"] == ["task"]
    assert row["rung"] == "asked"
    assert row["worked"] == ""
    assert row["location"] == "app.py:3"
    assert row["headline"] == "AssertionError: assert 1 == 2"
    assert row["signature"] == parked["context"]["signature"]
    assert [one["event"] for one in unstuck.inside("events", "--signature", row["signature"][:8], "--json").rows] == [
        "task_baseline_checked",
        "check_finished", "directive_issued", "check_finished", "directive_issued", "gate_opened",
    ]  # fmt: skip
    (unstuck.root / "done").touch()
    assert unstuck.inside("answer", parked["gate"], "retry", "use a dict").code == 0
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 0
    (row,) = unstuck("signatures", "--json").rows
    assert row["worked"] == "your answer: use a dict"
    head, line = unstuck.inside("signatures").out.splitlines()
    assert head.split()[:2] == ["FAILURE", "TIMES"]
    assert line.startswith(f"{row['signature'][:8]}  2     ")


# --- verify ----------------------------------------------------------------------------------------------------------


def test_a_whole_record_is_trusted(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """`verify` ends with 0 on an untouched record and says how much it has read."""
    log = unstuck.runs[0] / "events.jsonl"
    (row,) = unstuck.inside("verify", "--json").rows
    assert row == {
        "run": unstuck.runs[0].name,
        "records": len(log.read_bytes().splitlines()),
        "bytes": log.stat().st_size,
        "torn": 0,
        "unknown": 0,
        "later": 0,
        "snapshot": "good",
        "memory": "good",
        "ok": True,
    }


def test_one_flipped_byte_is_found(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """Whichever byte of the log is changed, `verify` ends with 6 and names file, line and byte; nothing is resumed."""
    log = unstuck.runs[0] / "events.jsonl"
    whole = log.read_bytes()
    for offset in (0, len(whole) // 8, whole.index(b"\n"), len(whole) // 2, len(whole) - 1):
        raw = bytearray(whole)
        raw[offset] ^= 0x01
        log.write_bytes(raw)
        line, start = whole.count(b"\n", 0, offset) + 1, whole.rfind(b"\n", 0, offset) + 1
        done = unstuck.inside("verify")
        assert done.code == 6, offset
        assert done.out == "", offset
        assert done.errors.startswith(f"unstuck: {log}: line {line}, byte {start}: ")
        assert len(done.errors.splitlines()) == 1
    damaged = log.read_bytes()
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 6
    assert log.read_bytes() == damaged
    (row,) = unstuck.inside("runs", "--json").rows
    assert row["state"] == "damaged"


# --- answer ----------------------------------------------------------------------------------------------------------


def test_answers_that_do_not_fit_change_nothing(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """An unknown gate, a choice the gate has not, a missing text and an unknown word are refused with what to do."""
    gate = parked["gate"]
    log = unstuck.runs[0] / "events.jsonl"
    before = log.read_bytes()
    for words, said in (
        (("g9-zzzz", "skip"), "no question g9-zzzz: `unstuck show RUN` lists the open ones"),
        ((gate, "choose", "1"), f"choose is not an answer to {gate} (stuck); it takes: show-me, skip, abandon, retry"),
        ((gate, "show-me"), "show-me needs the text"),
        ((gate, "stop", "because"), "stop takes no text"),
        ((gate, "skp"), "no such answer: skp (did you mean `skip`?)"),
        ((gate, "extend", "soon"), "extend: "),
    ):
        done = unstuck.inside("answer", *words)
        assert done.code == 2, words
        assert done.out == "", words
        assert said in done.errors
        assert len(done.errors.splitlines()) == 1
    assert log.read_bytes() == before


def test_a_closed_gate_says_who_closed_it(unstuck: Unstuck, parked: dict[str, Any]) -> None:
    """The second answer to a gate is refused, and says who answered first."""
    assert unstuck.inside("answer", parked["gate"], "retry", "use a dict").code == 0
    done = unstuck.inside("answer", parked["gate"], "skip")
    assert done.code == 2
    assert f"{parked['gate']} is closed already: by a person, 20" in done.errors


def test_a_live_run_takes_an_answer_while_it_works(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """While one task works, the other one's question is answered through the socket, and the agent reads the answer."""
    os.mkfifo(unstuck.seen / "pipe")
    asking = unstuck.script("asking.sh", 'grep -q "use plan B" "$UNSTUCK_PROMPT_FILE" && touch done; exit 0')
    working = unstuck.script("working.sh", 'read line < "$SEEN/pipe"; echo "$line" > worked')
    plan = {
        "max_parallel": 2,
        "agents": {"asks": {"command": ["sh", asking]}, "works": {"command": ["sh", working]}},
        "tasks": [
            {"id": "one", "agent": "asks", "prompt": "Ask", "verify": failing},
            {"id": "two", "agent": "works", "prompt": "Work", "verify": "test -f worked"},
        ],
    }
    (unstuck.root / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    for arguments in (("add", "-A"), ("commit", "-q", "-m", "Plan")):
        subprocess.run(["git", *arguments], cwd=unstuck.root, check=True, capture_output=True)
    process = unstuck.start("run", "--json", "plan.yaml", env=no_climb)
    opened = json.loads(unstuck.until(process, b'"gate_opened"').splitlines()[-1])
    answered = unstuck("answer", opened["data"]["gate"], "retry", "use plan B")
    assert answered.code == 0
    assert answered.errors == ""
    assert "--resume" not in answered.out
    (unstuck.seen / "pipe").write_text("woken\n", encoding="utf-8")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == b""
    (given,) = [row for row in map(json.loads, out.splitlines()) if row.get("event") == "gate_answered"]
    assert given["actor"] == "human"
    assert given["data"]["text"] == "use plan B"
    assert "Approach: use plan B" in (unstuck.seen / "one.3").read_text(encoding="utf-8")


def test_a_live_run_refuses_what_does_not_fit(unstuck: Unstuck, failing: str) -> None:
    """A wrong answer to a live run comes back as the same clear line, and the run goes on."""
    os.mkfifo(unstuck.seen / "pipe")
    agent = unstuck.script("agent.sh", 'read line < "$SEEN/pipe"; touch done')
    process = unstuck.start("run", "--headless", "--verify", failing, "--", "sh", agent)
    unstuck.until(process, b"attempt 1")
    done = unstuck("answer", "g1-abcd", "skip")
    assert done.code == 2
    assert done.errors == "unstuck: no question g1-abcd: `unstuck show RUN` lists the open ones\n"
    (unstuck.seen / "pipe").write_text("go\n", encoding="utf-8")
    assert process.wait(60) == 0


# --- diagnose and doctor ---------------------------------------------------------------------------------------------

OUTPUT = 'Traceback (most recent call last):\n  File "app.py", line 7, in run\n    x\nTypeError: bad operand\n'


def test_diagnose_reads_a_file_or_standard_input(unstuck: Unstuck, tmp_path: Path) -> None:
    """The same output gives the same diagnosis from a file and from a pipe, for people and for programs."""
    file = tmp_path / "output.txt"
    file.write_text(OUTPUT, encoding="utf-8")
    said = unstuck.inside("diagnose", str(file))
    assert said.code == 0
    assert "TypeError: bad operand" in said.out
    assert "app.py:7" in said.out
    assert unstuck("diagnose", input=OUTPUT.encode()).out == said.out
    assert unstuck("diagnose", "-", input=OUTPUT.encode()).out == said.out
    (row,) = unstuck.inside("diagnose", str(file), "--json").rows
    assert row["failure"] is True
    assert row["signature"]["error_type"] == "TYPE_ERROR"
    assert row["signature"]["location"] == "app.py:7"


def test_an_exit_code_of_zero_is_no_failure(unstuck: Unstuck) -> None:
    """With --exit-code 0 there is no failure, whatever the output looks like."""
    done = unstuck("diagnose", "--exit-code", "0", input=OUTPUT.encode())
    assert (done.code, done.out) == (7, "no failure recognised\n")
    assert unstuck("diagnose", "--exit-code", "0", "--json", input=OUTPUT.encode()).rows == [{"failure": False}]


@pytest.mark.parametrize("output", ["", "hello\n", "12 passed in 0.3s\n"])
def test_output_without_a_failure_has_an_exit_code_of_its_own(unstuck: Unstuck, output: str) -> None:
    """A script can tell a failure (0) from output in which none is recognised (7) and from a wrong use (2)."""
    done = unstuck("diagnose", input=output.encode())
    assert (done.code, done.out, done.errors) == (7, "no failure recognised\n", "")


def test_diagnose_says_that_it_waits_for_you(unstuck: Unstuck) -> None:
    """At a terminal without a file it says that it reads, and how to end."""
    ours, theirs = pty.openpty()
    process = unstuck.start("diagnose", stdin=theirs)
    os.close(theirs)
    assert process.stderr is not None
    assert b"reading from standard input: paste the output and press ctrl+d" in process.stderr.readline()
    os.write(ours, b"hello\n\x04")
    assert process.wait(60) == 7
    os.close(ours)


def test_diagnose_without_its_file_says_so(unstuck: Unstuck, tmp_path: Path) -> None:
    """A file that is missing, or a directory, is one line and exit code 2."""
    for path in (tmp_path / "missing.txt", tmp_path):
        done = unstuck.inside("diagnose", str(path))
        assert done.code == 2
        assert done.out == ""
        assert done.errors.startswith(f"unstuck: {path}: ")
        assert len(done.errors.splitlines()) == 1


def test_doctor_says_where_everything_lies(unstuck: Unstuck) -> None:
    """`doctor` ends with 0 where all is well, and names the places that matter."""
    done = unstuck("doctor", "--json")
    assert done.code == 0
    rows = {row["what"]: row for row in done.rows}
    assert set(rows) >= {"unstuck", "python", "git", "project", "record", "worktrees", "settings", "socket", "agents"}
    assert rows["record"]["value"] == str(unstuck.root / ".git" / "unstuck")
    assert all(row["ok"] is True for row in done.rows)


def test_doctor_finds_what_is_in_the_way(unstuck: Unstuck) -> None:
    """A wrong setting and a record that cannot be written are marked, and the exit code is 1."""
    (unstuck.root / "unstuck.yaml").write_text("frobnicate: 1\n", encoding="utf-8")
    (unstuck.root / ".git" / "unstuck").write_text("", encoding="utf-8")
    done = unstuck.inside("doctor", "--json")
    assert done.code == 1
    assert {row["what"] for row in done.rows if not row["ok"]} == {"settings", "record"}
    assert "!!  settings" in unstuck.inside("doctor").out


# --- what an agent said and did -------------------------------------------------------------------------------------

SAID = """\
import json
def line(**data):
    print(json.dumps(data), flush=True)
def block(role, **content):
    line(type=role, session_id="s1", message={"id": "m", "content": [content]})
line(type="system", subtype="init", session_id="s1")
block("assistant", type="text", text="I look.\\x1b]0;title\\x07")
block("assistant", type="tool_use", id="t1", name="Bash", input={"command": "seq 9"})
block("user", type="tool_result", tool_use_id="t1", content="\\n".join(map(str, range(1, 10))))
block("assistant", type="tool_use", id="t2", name="Edit",
      input={"file_path": "a.py", "old_string": "x", "new_string": "y"})
block("user", type="tool_result", tool_use_id="t2", content="no such text", is_error=True)
line(type="result", subtype="success", session_id="s1", result="Done.", is_error=False)
"""

BEGIN, _, _ = SAID.partition('block("user"')
SAID_IN_TIME = f"""\
{BEGIN}
import os
print("printed", flush=True)
open(os.environ["MORE"]).read()
block("user", type="tool_result", tool_use_id="t1", content="1\\n2")
block("assistant", type="text", text="Done.")
line(type="result", subtype="success", session_id="s1", result="Done.", is_error=False)
print("at the end", flush=True)
"""


@pytest.fixture
def spoken(unstuck: Unstuck, tmp_path: Path, no_climb: dict[str, str]) -> Unstuck:
    """A project with a run whose agent spoke in the stream of Claude Code."""
    agent = tmp_path / "bin" / "claude"
    agent.parent.mkdir()
    agent.write_text(f"#!{sys.executable}\n{SAID}", encoding="utf-8")
    agent.chmod(0o755)
    done = unstuck.inside(
        "run", "--headless", "--check", "true", "--", str(agent), "-p", "x", "--output-format", "stream-json",
        env=no_climb,
    )  # fmt: skip
    assert done.code == 0, done.errors
    return unstuck


def test_what_the_agent_said_and_did(spoken: Unstuck) -> None:
    """`show --transcript` prints messages, commands with the first lines of their results, and changes as diffs."""
    done = spoken.inside("show", "--transcript", "task")
    assert done.out.splitlines() == [
        "● I look.",
        "$ seq 9",
        "✓ 1",
        "  2",
        "  3",
        "  4",
        "  … 5 more lines",
        "± Edit a.py  +1 -1",
        "  -x",
        "  +y",
        "✗ no such text",
    ]
    whole = spoken.inside("show", "--transcript", "task", "--full").out
    assert "more lines" not in whole
    assert "  9\n" in whole


def test_a_transcript_for_programs_and_as_it_was_printed(spoken: Unstuck) -> None:
    """--json has one object per message and call; --raw has the agent's own lines, without what acts on a terminal."""
    said, call, edit = spoken.inside("show", "--transcript", "task", "--json").rows
    assert said == {"kind": "said", "text": "I look."}
    assert (call["text"], call["step"], call["failed"], call["tool"]) == ("seq 9", 0, False, "bash")
    assert (edit["diff"], edit["failed"], edit["result"]) == ("-x\n+y", True, "no such text")
    raw = spoken.inside("show", "--transcript", "task", "--raw").out
    assert raw.startswith('{"type": "system"')
    assert "\x1b" not in raw


def test_a_transcript_that_is_not_there(spoken: Unstuck) -> None:
    """A task or attempt that there is not is said with what there is; so are flags that lack the task."""
    assert "did you mean `task`" in spoken.inside("show", "--transcript", "tsk").errors
    assert "it had 1" in spoken.inside("show", "--transcript", "task", "--attempt", "4").errors
    assert "go with --transcript" in spoken.inside("show", "--raw").errors
    next(spoken.runs[-1].glob("output/task.1.log")).unlink()
    assert "has left no output" in spoken.inside("show", "--transcript", "task").errors


@pytest.mark.parametrize(
    ("option", "before", "after"),
    [
        ((), ["● I look."], ["$ seq 9", "✓ 1", "  2", "● Done."]),
        (("--raw",), ["printed"], ["at the end"]),
    ],
)
def test_a_transcript_is_followed_to_the_end_of_its_attempt(
    unstuck: Unstuck, tmp_path: Path, option: tuple[str, ...], before: list[str], after: list[str]
) -> None:
    """`--follow` prints each message as it comes, a call with its result, and ends with the attempt."""
    os.mkfifo(tmp_path / "more")
    agent = tmp_path / "bin" / "claude"
    agent.parent.mkdir()
    agent.write_text(f"#!{sys.executable}\n{SAID_IN_TIME}", encoding="utf-8")
    agent.chmod(0o755)
    work = ("-p", "x", "--output-format", "stream-json")
    running = unstuck.start(
        "run", "--headless", "--check", "true", "--", str(agent), *work, env={"MORE": str(tmp_path / "more")}
    )
    with (tmp_path / "more").open("w"):  # the agent has called, and waits
        following = unstuck.start("show", "--transcript", "task", "--follow", *option)
        unstuck.until(following, before[0].encode())
    rest, _ = following.communicate(timeout=60)
    assert following.returncode == 0
    lines = rest.decode().splitlines()
    assert [line for line in lines if line in after] == after
    assert running.wait(60) == 0


def test_the_transcript_of_a_kept_session(unstuck: Unstuck) -> None:
    """`review --transcript FILE` prints a session of one's own agent in the same form."""
    kept = Path(__file__).parents[1] / "data" / "transcripts" / "claude_loop.jsonl"
    lines = unstuck.inside("review", "--transcript", str(kept)).out.splitlines()
    assert lines[0] == "> Make the tests of the cart pass."
    assert "$ python3 -m unittest -q test_cart" in lines
    assert "✗ exit 1" in lines
    assert unstuck.inside("review", "--transcript").code == 2


def test_an_agent_without_a_word_has_no_transcript(unstuck: Unstuck) -> None:
    """`show --transcript` says that the agent printed nothing, instead of nothing."""
    assert unstuck.inside("run", "--headless", "--check", "true", "--", "true").code == 0
    shown = unstuck.inside("show", "--transcript", "task")
    assert (shown.code, shown.out) == (0, "")
    assert shown.errors == "unstuck: the agent of task printed nothing in attempt 1\n"


def test_a_host_without_copies_is_not_called_sound(unstuck: Unstuck) -> None:
    """A name that was typed wrong is an error, and no log that was checked."""
    done = unstuck.inside("fsck", "--host", "buidl1")
    assert done.code == 2
    assert "there is no copy of a log of buidl1 here" in done.errors
