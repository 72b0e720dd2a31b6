"""Bad input to every command: one clear line, the right exit code, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.e2e.conftest import Unstuck

ESCAPE = b"\x1b"


def refused(done: Any, *said: str, code: int = 2) -> None:
    """One line on standard error that says all of ``said``, and nothing else."""
    assert done.code == code, done
    assert done.out == ""
    assert len(done.errors.splitlines()) == 1, done.errors
    assert done.errors.startswith("unstuck: ")
    for words in said:
        assert words in done.errors


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("frobnicate",), ("there is no command frobnicate", "unstuck --help")),
        (("init",), ("there is no command init", "needs no setup", "unstuck run")),
        (("run", "--frobnicate"), ("No such option", "--frobnicate", "unstuck run --help")),
        (("run", "pytest", "-q"), ("No such option", "-q", "A program and its options go after --")),
        (("run",), ("unstuck run plan.yaml", "unstuck run --agent claude", "unstuck run -- AGENT")),
        (("run", "--check", "pytest -q"), ("unstuck run plan.yaml", "unstuck run --agent claude")),
        (("run", "--check", "pytest -q", "fix it"), ("unstuck run --check 'pytest -q' --agent claude \"fix it\"",)),
        (("run", "fix", "it"), ('unstuck run --check CMD --agent claude "fix it"',)),
        (("run", "fix it " * 60), ("there is no plan file", "--agent claude")),
        (("run", "refactor"), ("there is no plan file `refactor`", '--agent claude "refactor"')),
        (("run", "--verify", "true", "--"), ("missing agent command after --",)),
        (("run", "--timeout", "soon", "--", "true"), ("--timeout", "soon")),
        (("run", "--max-parallel", "0", "--", "true"), ("--max-parallel",)),
        (("run", "--resume", "last", "--verify", "true"), ("--resume takes the plan from the run", "--check")),
        (("run", "--verify", "true", "plan.yaml"), ("--check goes with one command after --",)),
        (("completion",), ("Missing argument 'SHELL'", "bash, zsh, fish")),
        (("runs", "--project", "/nosuch/place"), ("/nosuch/place is not a directory",)),
        (("run", "--answers", "nosuch.yaml", "--", "true"), ("nosuch.yaml", "cannot be read")),
    ],
)
def test_a_wrong_command_line_is_one_line(unstuck: Unstuck, arguments: tuple[str, ...], said: tuple[str, ...]) -> None:
    """Unknown commands and options, and options that do not go together, are named, and nothing starts."""
    refused(unstuck.inside(*arguments), *said)
    assert unstuck.runs == []


@pytest.mark.parametrize(
    ("file", "environment", "said"),
    [
        ("frobnicate: 1\n", {}, ("unstuck.yaml", "frobnicate", "unknown key")),
        ("max_parallel: many\n", {}, ("unstuck.yaml", "max_parallel", "from 1 to 64")),
        ("max_parallel: [\n", {}, ("unstuck.yaml:2", "not valid YAML")),
        ("", {"UNSTUCK_FROBNICATE": "1"}, ("UNSTUCK_FROBNICATE", "unknown key")),
        ("", {"UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "-1"}, ("UNSTUCK_FAILURE_HANDLER__MAX_RETRIES", "from 0 to 100")),
    ],
)
def test_a_wrong_setting_is_named(
    unstuck: Unstuck, file: str, environment: dict[str, str], said: tuple[str, ...]
) -> None:
    """A wrong setting is one line with its file or variable, its key and what is allowed, and nothing starts."""
    (unstuck.root / "unstuck.yaml").write_text(file, encoding="utf-8")
    unstuck.environment.update(environment)
    refused(unstuck.inside("run", "--", "touch", "started"), *said)
    assert not (unstuck.root / "started").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"tasks: [\n", ("plan.yaml:2", "not YAML")),
        (
            b"agents: {a: {command: x}}\ntasks:\n- {id: one, prompt: p, frob: 1}\n",
            ("plan.yaml:3", "unknown key `frob`"),
        ),
        (b"agents: {a: {command: x}}\ntasks:\n- {id: one, prompt: p, needs: [two]}\n", ("plan.yaml:3", "`two`")),
        (b"agents: {a: {command: x}}\ntasks: []\n", ("plan.yaml:2", "no tasks")),
        (b"agents:\n  a: {command: x}\nprompt: \xff\n", ("plan.yaml:3", "not UTF-8")),
        (b"", ("plan.yaml", "empty")),
        (
            b"agents: {a: {command: x}}\ntasks:\n- {id: a, prompt: p, needs: [b]}\n- {id: b, prompt: p, needs: [a]}",
            ("plan.yaml:3", "a -> b -> a"),
        ),
    ],
)
def test_a_wrong_plan_is_refused_with_its_line(unstuck: Unstuck, text: bytes, said: tuple[str, ...]) -> None:
    """A plan that cannot be read or does not hold together is refused with file and line before anything starts."""
    (unstuck.root / "plan.yaml").write_bytes(text)
    refused(unstuck.inside("run", "--headless", "plan.yaml"), *said)
    assert unstuck.runs == []


def test_a_plan_that_is_not_there(unstuck: Unstuck) -> None:
    """A plan that is missing, or a directory, is named."""
    refused(unstuck("run", "nosuch.yaml"), "nosuch.yaml", "No such file")
    refused(unstuck.inside("run", ".git"), ".git", "is a directory")


def test_an_agent_that_cannot_be_started(unstuck: Unstuck) -> None:
    """A program that does not exist, or may not be run, is named before anything starts."""
    (unstuck.root / "agent").write_text("#!/bin/sh\n", encoding="utf-8")
    refused(unstuck("run", "--", "nosuchprogram"), "nosuchprogram", "was not found on PATH")
    refused(unstuck.inside("run", "--", "./nosuch"), "./nosuch", "does not exist")
    refused(unstuck.inside("run", "--", "./agent"), "./agent", "chmod +x")
    assert unstuck.runs == []


def test_a_file_that_is_no_program_is_an_agent_failure(unstuck: Unstuck) -> None:
    """A file that may be run but is no program fails like an agent that crashes: sent again, then a person is asked."""
    agent = unstuck.root / "agent"
    agent.write_bytes(b"\x00\x01\x02")
    agent.chmod(0o755)
    done = unstuck.inside("run", "--headless", "--verify", "false", "--", "./agent")
    assert done.code == 3
    assert done.errors == ""
    assert unstuck.only_gate()["type"] == "stuck"


# --- the check -------------------------------------------------------------------------------------------------------


def test_a_check_that_does_not_exist_is_a_question(unstuck: Unstuck) -> None:
    """A check that cannot run is never a pass: it asks, and once the person has made it exist `choose 1` re-checks."""
    agent = unstuck.script("agent.sh", "echo work >> made")
    done = unstuck.inside("run", "--headless", "--verify", "./check.sh", "--", "sh", agent)
    assert done.code == 3
    gate = unstuck.only_gate()
    assert gate["type"] == "question"
    assert gate["context"]["options"] == ["run the check again"]
    assert "(did you mean `choose 1`?)" in unstuck.inside("answer", gate["gate"], "Run the check again").errors
    known = ", ".join(choice.replace("_", "-") for choice in gate["choices"])
    assert f"no such answer: EUR (known: {known})" in unstuck.inside("answer", gate["gate"], "EUR").errors
    assert "./check.sh" in gate["context"]["question"]
    # Asking again before it exists asks again, and does not wear the agent out.
    assert unstuck.inside("answer", gate["gate"], "choose", "1").code == 0
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 3
    check = unstuck.root / "check.sh"
    check.write_text("#!/bin/sh\ngrep -q work made\n", encoding="utf-8")
    check.chmod(0o755)
    assert unstuck.inside("answer", unstuck.only_gate()["gate"], "choose", "1").code == 0
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 0
    assert (unstuck.root / "made").read_text() == "work\n"
    assert len(unstuck.prompts()) == 1


def test_a_check_without_any_test_is_a_question(unstuck: Unstuck) -> None:
    """A pytest that finds no test has proved nothing: a question, not a pass."""
    done = unstuck.inside("run", "--headless", "--verify", "pytest -q", "--", "true")
    assert done.code == 3
    assert "ran no test" in unstuck.only_gate()["context"]["question"]


# --- where it runs ---------------------------------------------------------------------------------------------------


def test_without_git_it_works_and_says_so(unstuck: Unstuck, tmp_path: Path) -> None:
    """Outside any repository one command works in the directory itself, and is told that there is no git."""
    plain = tmp_path / "plain"
    plain.mkdir()
    done = unstuck.inside("run", "--headless", "--verify", "test -f done", "--", "touch", "done", cwd=plain)
    assert done.code == 0
    assert done.errors == ""
    assert "no git repository here" in done.out
    assert (plain / ".unstuck" / ".gitignore").read_text() == "*\n"


def test_a_repository_without_a_commit(unstuck: Unstuck, tmp_path: Path) -> None:
    """Before the first commit one command works; a parallel plan is refused with what to do, and leaves nothing."""
    empty = tmp_path / "empty"
    empty.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=empty, check=True)
    tasks = [{"id": name, "prompt": "p", "verify": "test -f done"} for name in ("one", "two")]
    plan = {"agents": {"a": {"command": "touch done"}}, "tasks": tasks}
    (empty / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    refused(unstuck.inside("run", "--headless", "plan.yaml", cwd=empty), "no commit yet", "commit something first")
    assert not (empty / "done").exists()
    (empty / "plan.yaml").write_text(json.dumps(plan | {"max_parallel": 1}), encoding="utf-8")
    assert unstuck.inside("run", "--headless", "plan.yaml", cwd=empty).code == 0
    (empty / "done").unlink()
    assert unstuck.inside("run", "--headless", "--verify", "test -f done", "--", "touch", "done", cwd=empty).code == 0


def test_a_second_run_is_refused_at_once(unstuck: Unstuck, failing: str) -> None:
    """While a run is live a second one, and a resume, are refused naming its process; the first goes on to its end."""
    os.mkfifo(unstuck.seen / "pipe")
    agent = unstuck.script("agent.sh", 'read line < "$SEEN/pipe"; touch done')
    first = unstuck.start("run", "--headless", "--verify", failing, "--", "sh", agent)
    unstuck.until(first, b"attempt 1")
    refused(unstuck("run", "--headless", "--", "touch", "second"), f"process {first.pid}")
    refused(unstuck.inside("run", "--headless", "--resume", "last"), f"process {first.pid}")
    (unstuck.seen / "pipe").write_text("go\n", encoding="utf-8")
    assert first.wait(60) == 0
    assert not (unstuck.root / "second").exists()
    assert len(unstuck.runs) == 1


def test_a_record_that_cannot_be_kept(unstuck: Unstuck) -> None:
    """Nothing starts if the event log cannot be written, and the exit code is 6; existing files stay."""
    (unstuck.root / ".git" / "unstuck").write_text("mine\n", encoding="utf-8")
    refused(unstuck("run", "--headless", "--", "touch", "started"), ".git/unstuck", "cannot be stored here", code=6)
    (unstuck.root / ".git" / "unstuck").unlink()
    (unstuck.root / ".git" / "unstuck").mkdir()
    (unstuck.root / ".git" / "unstuck" / "runs").write_text("mine\n", encoding="utf-8")
    refused(
        unstuck.inside("run", "--headless", "--", "touch", "started"), ".git/unstuck/runs", "cannot be made", code=6
    )
    assert not (unstuck.root / "started").exists()


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["--headless", "--json"])
def test_a_reader_that_goes_away_loses_nothing(unstuck: Unstuck, failing: str, form: str) -> None:
    """A closed pipe behind us ends our output and not our work: no traceback, the task is done, the code is true."""
    os.mkfifo(unstuck.seen / "pipe")
    agent = unstuck.script("agent.sh", 'read line < "$SEEN/pipe"; touch done')
    process = unstuck.start("run", form, "--verify", failing, "--", "sh", agent)
    process.stdout.readline()
    process.stdout.close()
    (unstuck.seen / "pipe").write_text("go\n", encoding="utf-8")
    assert process.stderr.read() == b""
    assert process.wait(60) == 0
    assert unstuck.inside("show", "--json").rows[0]["exit_reason"] == "succeeded"


def test_output_that_cannot_be_written(unstuck: Unstuck) -> None:
    """A full disk behind standard output stops no run; a command that only prints says it in one line."""
    with open("/dev/full", "wb") as full:
        done = unstuck("run", "--headless", "--verify", "true", "--", "true", stdout=full)
        assert done.code == 0
        assert done.errors == ""
        done = unstuck("show", stdout=full)
    refused(done, "standard output cannot be written: No space left on device", code=1)


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_an_mcp_server_needs_both_streams(repo: Path, closed: str) -> None:
    """Without a stream to the agent the server ends with one line."""
    done = subprocess.run(["sh", "-c", f"unstuck mcp {closed}"], cwd=repo, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("unstuck: an agent speaks to this over standard input and output, and one of them")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&- 2>&-"])
def test_closed_streams_do_no_harm(unstuck: Unstuck, repo: Path, closed: str) -> None:
    """With standard input, output or error closed the work is done all the same, and no file takes their place."""
    agent = unstuck.script("agent.sh", "echo hello; echo hello >&2; cat; touch done")
    command = f'unstuck run --headless --verify "test -f done" -- sh {agent} {closed}'
    done = subprocess.run(
        ["sh", "-c", command], cwd=repo, env=os.environ | {"SEEN": str(unstuck.seen)}, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done
    assert b"Traceback" not in done.stderr
    (run,) = unstuck.runs
    (output,) = (run / "output").glob("task.1.log")
    assert output.read_bytes() == b"hello\nhello\n"
    assert unstuck.inside("verify").code == 0


def test_diagnose_with_closed_input(unstuck: Unstuck, repo: Path) -> None:
    """Without a file and with standard input closed, diagnose says what it needs."""
    done = subprocess.run(["sh", "-c", "unstuck diagnose <&-"], cwd=repo, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "unstuck: standard input is closed: name a file with the failure's output\n"


def test_a_terminal_without_unicode(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """In the C locale, and with ASCII output, every command works, and no two marks look the same."""
    (unstuck.root / "check.sh").write_text("echo 'Error: größer ☃'; exit 1\n", encoding="utf-8")
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    plain = no_climb | ascii_only | {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = unstuck("run", "--headless", "--task", "größer ☃", "--verify", failing, "--", "true", env=plain)
    assert done.code == 3
    assert done.errors == ""
    assert "gr??er ?" in done.out
    for line in (
        "task  > attempt 1",
        "task    X Error: gr??er ?",
        "task    -> Retry 1/1",
        "task    ? stuck",
        "task  ! I am stuck",
    ):
        assert line in done.out
    passed = unstuck("run", "--headless", "--check", "true", "--", "true", env=plain)
    assert "task    v true\n" in passed.out
    wrong = unstuck("run", "--headless", "--check", "true", "--", env=plain)
    assert wrong.errors.endswith("unstuck run --check CMD -- AGENT...\n")
    for command, environment in (
        (("show",), plain),
        (("show", "--json"), ascii_only),
        (("runs",), ascii_only),
        (("verify",), ascii_only),
        (("doctor",), ascii_only),
        (("help", "run"), ascii_only),
        (("help", "web"), ascii_only),
    ):
        done = unstuck(*command, env=environment)
        assert done.code == 0, command
        assert done.errors == "", command
        assert done.out.isascii()


# --- what agents and checks print ------------------------------------------------------------------------------------


def test_output_that_is_not_utf8(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """Bytes that are no text are kept raw in the output file and harm neither the run nor the next prompt."""
    (unstuck.root / "check.sh").write_text(
        "printf 'Error: \\377\\376 broken \\000 bytes\\n'; exit 1\n", encoding="utf-8"
    )
    agent = unstuck.script("agent.sh", "printf '\\377\\000\\200\\n'")
    done = unstuck.inside("run", "--headless", "--verify", "sh check.sh", "--", "sh", agent, env=no_climb)
    assert done.code == 3
    assert done.errors == ""
    assert "broken" in unstuck.prompts()[1]
    assert "\x00" not in unstuck.prompts()[1]
    assert (unstuck.runs[0] / "output" / "task.1.log").read_bytes() == b"\xff\x00\x80\n"


def test_a_line_of_ten_megabytes(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """One line of ten megabytes from agent and check is kept, diagnosed and told in a prompt of sensible size."""
    big = 'test -e "$SEEN/{0}" || {{ touch "$SEEN/{0}"; head -c 10000000 /dev/zero | tr "\\0" x; }}'
    check = f"{big.format('checked')}; echo; echo 'ValueError: too big'; exit 1\n"
    (unstuck.root / "check.sh").write_text(check, encoding="utf-8")
    agent = unstuck.script("agent.sh", big.format("worked"))
    done = unstuck.inside("run", "--headless", "--verify", "sh check.sh", "--", "sh", agent, env=no_climb)
    assert done.code == 3
    assert done.errors == ""
    assert (unstuck.runs[0] / "output" / "task.1.log").stat().st_size == 10_000_000
    assert "ValueError: too big" in unstuck.prompts()[1]
    assert len(unstuck.prompts()[1]) < 10_000
    assert (unstuck.runs[0] / "events.jsonl").stat().st_size < 200_000


HOSTILE = r"\033]0;owned\007\033[2J\033[31m[/markup] [bold]x[/] \033]52;c;YQ==\007 \233 2J"


def test_no_escape_reaches_the_terminal(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """Escape sequences in what agents, checks and people say never come out of any command; markup stays text."""
    check = f"printf 'E   AssertionError: {HOSTILE}\\napp.py:3: AssertionError\\n'; exit 1\n"
    (unstuck.root / "check.sh").write_text(check, encoding="utf-8")
    signal_line = 'UNSTUCK {"signal": "complete", "approach": "[/x] \\u001b[2J"}'
    agent = unstuck.script("agent.sh", f"printf '{HOSTILE}\\n'; cat <<'END'\n{signal_line}\nEND")
    words = ("--task", "\x1b[2Jdo [/it]", "--verify", "sh check.sh")
    done = unstuck("run", "--headless", *words, "--", "sh", agent, env=no_climb)
    assert done.code == 3
    assert done.errors == ""
    assert "[/markup] [bold]x[/]" in done.out
    assert "do [/it]" in unstuck.prompts()[0]
    shown = [done, *(unstuck.inside(*words) for words in (("show",), ("show", "--json"), ("runs",), ("verify",)))]
    gate = unstuck.only_gate()["gate"]
    words = ("answer", gate, "show-me", "look \x1b[2J here"), ("run", "--json", "--resume", "last")
    shown += [unstuck.inside(*each) for each in words]
    for said in shown:
        assert ESCAPE not in said.raw + said.raw_errors
        assert b"\x07" not in said.raw
        assert "\x9b" not in said.out
    assert not any("\x1b" in prompt for prompt in unstuck.prompts())


@pytest.mark.parametrize(
    "arguments",
    [
        ("fr\x1b]0;x\x07ob",),
        ("runs", "\x1b]0;x\x07"),
        ("run", "--\x1b[2J"),
        ("runs", "--project", "no\x1b[2Jsuch"),
        ("run", "no\x1b[2Jsuch.yaml"),
        ("run", "--", "no\x1b[2Jsuch"),
        ("show", "\x1b[2J"),
        ("answer", "\x1b[2J", "skip"),
        ("answer", "g1", "\x1b[2J"),
        ("diagnose", "no\x1b[2Jsuch"),
        ("run", "--timeout", "\x1b[2J", "--", "true"),
    ],
)
def test_no_escape_comes_back_from_the_command_line(unstuck: Unstuck, arguments: tuple[str, ...]) -> None:
    """Escape sequences in arguments are not repeated in the message that refuses them."""
    done = unstuck.inside(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert ESCAPE not in done.raw_errors
    assert b"\x07" not in done.raw_errors
    assert "Traceback" not in done.errors


def test_bytes_that_are_no_text(unstuck: Unstuck, tmp_path: Path) -> None:
    """A task of odd bytes is told as far as it is text; a command, a check or a directory of them is refused."""
    done = unstuck("run", "--headless", "--task", b"t\xffask", "--verify", "true", "--", "true")
    assert done.code == 0
    assert done.errors == ""
    refused(unstuck("run", "--headless", "--", "printf", b"\xff\xfe"), "must be UTF-8 text")
    refused(unstuck("run", "--headless", "--verify", b"test \xff", "--", "true"), "must be UTF-8 text")
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff"))
    place.mkdir()
    refused(unstuck("run", "--headless", "--", "true", cwd=place), "is not UTF-8 text", "rename it")
    assert list(place.iterdir()) == []


def test_a_prompt_that_begins_with_a_dash(unstuck: Unstuck, tmp_path: Path) -> None:
    """A task that begins with a dash reaches the agent as its prompt, as an argument and in the file."""
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nprintf "%s" "$1" > argument; cp "$UNSTUCK_PROMPT_FILE" file\n', encoding="utf-8")
    agent.chmod(0o755)
    done = unstuck.inside(
        "run", "--headless", "--task=--version of things", "--verify", "test -s file", "--", str(agent), "{prompt}"
    )
    assert done.code == 0
    assert done.errors == ""
    assert (unstuck.root / "file").read_text().startswith("--version of things")
    assert (unstuck.root / "argument").read_text().startswith(" --version of things")


def test_a_task_name_with_markup_is_refused(unstuck: Unstuck) -> None:
    """A task's id is a plain name: brackets and escapes in it are refused with their line, and never shown raw."""
    plan = 'agents: {a: {command: x}}\ntasks:\n- {id: "[/markup]\\e[2J", prompt: p}\n'
    (unstuck.root / "plan.yaml").write_text(plan, encoding="utf-8")
    done = unstuck.inside("run", "--headless", "plan.yaml")
    refused(done, "plan.yaml:3", "a task's id has")
    assert ESCAPE not in done.raw_errors


def test_a_project_whose_name_is_hostile(unstuck: Unstuck, tmp_path: Path) -> None:
    """A directory may have any name: it is worked in, and its escapes are not printed."""
    place = tmp_path / "a\x1b[2J[b]"
    place.mkdir()
    done = unstuck.inside("run", "--headless", "--verify", "test -f done", "--", "touch", "done", cwd=place)
    assert done.code == 0
    assert done.errors == ""
    for said in (
        done,
        unstuck.inside("doctor", cwd=place),
        unstuck.inside("run", "x.yaml", cwd=place),
        unstuck.inside("show", "x", cwd=place),
    ):
        assert ESCAPE not in said.raw + said.raw_errors


def test_an_agent_that_kills_by_its_own_task_text_does_not_reach_us(unstuck: Unstuck) -> None:
    """`pkill -f` with words of the task ends the agent itself; the run lives on and says that we did not do it."""
    word = f"frobnicate-{uuid4().hex}"
    agent = ("sh", "-c", f"pkill -f {word}; sleep 60")
    done = unstuck("run", "--json", "--ask", "never", "--task", word, "--verify", f"test {word} = x", "--", *agent)
    assert done.code == 4, done.out + done.errors
    reports = [data["report"] for data in done.data("attempt_ended")]
    assert len(reports) == 3
    assert {report["how"] for report in reports} == {"crashed"}
    assert all("signal 15, not by unstuck: self-inflicted" in report["error"] for report in reports)


# --- patterns ---------------------------------------------------------------------------------------------------------


def test_a_pattern_of_the_project_never_holds_up_a_run(unstuck: Unstuck) -> None:
    """Patterns that take other engines years are passed over in no time, and the one after them is found."""
    (unstuck.root / "unstuck.yaml").write_text(
        "failure_handler: {skip_to_ask: ['(a|a){40}b', '(.*a){25}b', '((a?){20}){20}b', 'Assertion.*a$']}\n"
    )
    check = f"echo 'AssertionError: {'a' * 300}'; exit 1"
    done = unstuck("run", "--headless", "--task", "x", "--verify", check, "--", "true")
    assert done.code == 3, done
    assert unstuck.only_gate()["type"] == "stuck"
