"""An agent that fails itself: its own words are shown beside the check's, and what only a person can cure is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench, Ended

# A check whose assertion is what used to hide the agent's own failure.
HELP = Path(__file__).resolve().parents[1] / "data" / "help_pages" / "opencode-run.txt"
CHECK = "test -f done.txt || { echo 'E       assert 401 == 200'; echo '1 failed in 0.01s'; exit 1; }"
LOGIN = "Invalid API key · Please run /login"


def plan(bench: Bench, script: str, *more: str, program: str = "worker", check: str = CHECK, **settings: Any) -> Path:
    """One task for an agent with this program and ``more`` arguments; its script may need what only a person gives."""
    worker = bench.agent(program, script)
    path = Path(worker["command"][0])
    (bench.outside / "bin").mkdir(exist_ok=True)
    named = bench.outside / "bin" / program
    path.rename(named)
    task = {"id": "web", "prompt": "Build it.", "verify": check}
    return bench.plan(agents={"worker": {"command": [str(named), *more]}}, tasks=[task], settings=settings)


def answered(bench: Bench, *answer: str) -> Ended:
    """The open question answered from the command line."""
    return bench.call("answer", bench.gate(), *answer)


TROUBLES = {
    "claude is not signed in": ("claude", LOGIN, "agent_login", "claude /login"),
    "claude has no credit": ("claude", "Credit balance is too low", "agent_credit", "/login"),
    "codex has no credit": (
        "codex",
        "ERROR: 429 insufficient_quota: You exceeded your current quota, please check your plan and billing details.",
        "agent_credit",
        "credit",
    ),
    "codex has no key": ("codex", "Missing environment variable: `OPENAI_API_KEY`.", "agent_key", "codex login"),
    "codex has an old token": (
        "codex",
        "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header",
        "agent_login",
        "codex login",
    ),
    "codex has no sandbox": (
        "codex",
        "bubblewrap is unavailable: no system bwrap was found",
        "agent_sandbox",
        "bubblewrap",
    ),
    "codex does not know an option": ("codex", "error: unexpected argument '--jsonn' found", "agent_option", "--help"),
    "gemini is not signed in": (
        "gemini",
        "Please set an Auth method in your settings.json or specify GEMINI_API_KEY",
        "agent_login",
        "/auth",
    ),
    "opencode does not know the model": (
        "opencode",
        "Error: Model not found: a/b-99.",
        "agent_model",
        "opencode models",
    ),
    "an unknown agent names its cure": (
        "acme",
        "error: not logged in. Run `acme login` first",
        "agent_login",
        "acme login",
    ),
    "an unknown agent needs a terminal": (
        "acme",
        "acme: stdin is not a terminal",
        "agent_terminal",
        "without a terminal",
    ),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_only_a_person_can_cure_is_asked_after_one_attempt(bench: Bench, trouble: str) -> None:
    """The first line is the agent's own message, the advice its own cure; the check's assertion is nowhere in it."""
    program, message, error_type, cure = TROUBLES[trouble]
    script = f"cat <<'EOF' >&2\n{message}\nEOF\nexit 1"
    done = bench.run(plan(bench, script, program=program))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 1
    (gate,) = bench.gates().values()
    assert (gate.type, gate.key) == ("question", "agent")
    assert gate.context["error_type"] == error_type
    first, advice = gate.context["question"].splitlines()
    assert first == message
    assert cure in advice
    assert gate.context["options"] == ["I have fixed it: go on"]
    assert f"! {message}" in done.out
    assert cure in done.out
    assert "1. I have fixed it: go on" in done.out
    assert "assert 401" not in gate.context["question"]


def test_a_help_page_in_place_of_work_is_asked_about_after_one_attempt(bench: Bench) -> None:
    """opencode prints only its help for an option that it does not know: the question names the option."""
    page = HELP.read_text("utf-8")
    script = f"cat <<'EOF' >&2\n{page}\nEOF\nexit 1"
    done = bench.run(plan(bench, script, "run", "--bogus-option", "{prompt}", program="opencode"))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 1
    (gate,) = bench.gates().values()
    assert (gate.key, gate.context["error_type"]) == ("agent", "agent_option")
    first = gate.context["question"].splitlines()[0]
    assert first == "opencode run [message..]: it printed only its help, which does not list `--bogus-option`"


def test_fixed_it_goes_on_with_the_same_attempt_and_no_level(bench: Bench) -> None:
    """The attempt is repeated with the same words; the escalation starts as if it had never been."""
    key = bench.outside / "key"
    script = f"[ -f {key} ] || {{ echo '{LOGIN}'; exit 1; }}\n[ $n -lt 3 ] || touch done.txt"
    path = plan(bench, script, program="claude", failure_handler={"max_retries": 1, "max_pivots": 0, "max_research": 0})
    assert bench.run(path).code == 3
    key.touch()
    assert answered(bench, "choose", "1").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.prompt("web.2") == bench.prompt("web.1")
    # The only retry that the settings allow was still there.
    assert [
        (event["data"]["level"], event["data"]["climb"]["retries"]) for event in bench.events("directive_issued")
    ] == [("retry", 1)]


def test_what_is_not_fixed_is_asked_again(bench: Bench) -> None:
    """An answer too early costs one attempt, not a climb."""
    path = plan(bench, f"echo '{LOGIN}'; exit 1", program="claude")
    bench.run(path)
    answered(bench, "choose", "1")
    assert bench.resume().code == 3
    assert bench.attempts("web") == 2
    assert len(bench.gates()) == 1


def test_a_rule_answers_it(bench: Bench) -> None:
    """An answer rule with `key: agent` goes on."""
    script = f"[ $n = 2 ] && touch done.txt && exit 0; echo '{LOGIN}'; exit 1"
    rule = {"gate": "question", "key": "agent", "answer": "choose", "number": 1}
    done = bench.run(plan(bench, script, program="claude"), "--answers", bench.answers(rule))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 2


def test_where_nobody_may_be_asked_the_task_fails_with_that_reason(bench: Bench) -> None:
    """`ask: never` ends the task as failed after one attempt, with the agent's own message."""
    done = bench.run(plan(bench, f"echo '{LOGIN}'; exit 1", program="claude", ask="never"))
    assert done.code == 4, done.out + done.err
    assert bench.attempts("web") == 1
    assert bench.statuses() == {"web": "failed"}
    assert LOGIN in bench.state.tasks["web"].reason
    assert bench.events("workflow_failed")[0]["data"]["reason"] == "agent_login"
    assert LOGIN in done.out


@pytest.mark.parametrize(
    "printed",
    [
        "E       AssertionError: expected 401, got 200",
        "FAILED test_login.py::test_key - AssertionError: Invalid API key\\n1 failed in 0.02s",
        "  ✕ answers 401 Unauthorized when not logged in\\nTests:       1 failed, 3 passed, 4 total",
        "E       assert 'Please log in' in response.text",
    ],
)
def test_a_failing_test_of_a_login_is_no_failure_of_the_agent(bench: Bench, printed: str) -> None:
    """An agent's output of the tests it ran is about the work, also where the check says the same."""
    quoted = printed.replace("'", "'\\''")
    check = f"test -f done.txt || {{ printf '{quoted}\\n'; exit 1; }}"
    script = f"echo $n > work.txt; printf '{quoted}\\n'; [ $n -lt 2 ] || touch done.txt; exit 1"
    done = bench.run(plan(bench, script, program="claude", check=check))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 2


def test_a_check_that_speaks_of_a_login_never_triggers(bench: Bench) -> None:
    """Only the agent's own output is looked at."""
    check = f"test -f done.txt || {{ echo '{LOGIN}'; exit 1; }}"
    done = bench.run(plan(bench, "[ $n -lt 2 ] || touch done.txt", program="claude", check=check))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 2


def test_an_outage_is_waited_for_and_not_asked(bench: Bench) -> None:
    """A rate limit stays a passing trouble, whatever else its line says."""
    script = (
        "[ $n = 2 ] && touch done.txt && exit 0; echo 'API Error: 429 Too Many Requests: check your API key'; exit 1"
    )
    done = bench.run(plan(bench, script, program="claude"))
    assert done.code == 0, done.out + done.err
    assert len(bench.events("transient_error_retry")) == 1


def test_its_last_words_are_everywhere(bench: Bench) -> None:
    """Beside what the check says: in the line, the next prompt, `show`, the question, the report and the log."""
    words = "cannot open the workspace index"
    script = f"echo $n > work.txt; echo starting; echo '{words}'; exit 7"
    once = {"max_retries": 1, "max_pivots": 0, "max_research": 0}
    done = bench.run(plan(bench, script, failure_handler=once))
    assert done.code == 3, done.out + done.err
    assert "agent ended (exit code 7, " in done.out
    assert f"): {words}" in done.out
    assert "✗ " in done.out  # and what the check said
    prompt = bench.prompt("web.2")
    assert "The last attempt ended with exit code 7. Its last words were:" in prompt
    assert f"| {words}" in prompt
    assert "assert 401 == 200" in prompt
    assert "last words" not in bench.prompt("web.1")
    shown = bench.call("show").out
    assert "! the agent ended with exit code 7" in shown
    assert f"| {words}" in shown
    assert "assert 401 == 200" in shown
    (row,) = [
        row for row in map(json.loads, bench.call("show", "--json").out.splitlines()) if "task" in row and "said" in row
    ]
    assert (row["ending"], row["said"]) == ("ended with exit code 7", f"starting\n{words}")
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    assert gate.context["problem"] == "assert 401 == 200"
    assert gate.context["ending"] == "the agent ended with exit code 7"
    assert words in gate.context["said"]
    assert f"It said last:\nstarting\n{words}" in gate.context["question"]
    (report,) = (bench.folder / "reports").iterdir()
    assert f"    {words}" in report.read_text("utf-8")
    finished = bench.events("check_finished")[-1]["data"]
    assert (finished["ending"], finished["untouched"]) == ("ended with exit code 7", False)
    # A resumed run knows it from the log alone.
    answered(bench, "show-me", "Try the other index.")
    bench.resume()
    assert f"| {words}" in bench.prompt("web.3")


def test_an_agent_that_changes_nothing_is_heard(bench: Bench) -> None:
    """Exit code 0 and no changed file: what it said last is shown, and told to the next attempt."""
    done = bench.run(plan(bench, "[ $n = 2 ] && touch done.txt || echo 'There is nothing to do for me here.'"))
    assert done.code == 0, done.out + done.err
    assert "the agent changed no file; it said last: There is nothing to do for me here." in done.out
    assert "The last attempt changed no file. Its last words were:\n| There is nothing" in bench.prompt("web.2")
    assert [event["data"]["untouched"] for event in bench.events("check_finished")] == [True, False]


def test_an_agent_that_works_is_not_quoted(bench: Bench) -> None:
    """A good end with changed files adds nothing to the prompt."""
    bench.run(plan(bench, "echo $n > work.txt; echo 'All done.'; [ $n = 1 ] || touch done.txt"))
    assert "All done." not in bench.prompt("web.2")
    assert [event["data"]["ending"] for event in bench.events("check_finished")] == ["", ""]


def test_a_short_complaint_with_exit_code_0_asks_too(bench: Bench) -> None:
    """Some agents end well after they could not even begin."""
    done = bench.run(plan(bench, "echo 'Not logged in · Please run /login'", program="claude"))
    assert done.code == 3
    assert bench.attempts("web") == 1
    (gate,) = bench.gates().values()
    assert gate.key == "agent"


def test_an_unknown_agent_that_fails_three_times_and_touches_nothing_asks(bench: Bench) -> None:
    """It is an agent failure: the question begins with its own words, and says what it did."""
    done = bench.run(plan(bench, "echo 'cannot reach the mothership'; exit 3"))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 3
    (gate,) = bench.gates().values()
    assert (gate.type, gate.key, gate.context["error_type"]) == ("question", "agent", "agent_crash")
    first, told = gate.context["question"].splitlines()
    assert first == "cannot reach the mothership"
    assert "ended with exit code 3 and changed no file, 3 times in a row" in told
    assert bench.prompt("web.2") != bench.prompt("web.1")


def test_one_that_touches_a_file_climbs_on(bench: Bench) -> None:
    """An agent that changes a file is no failed agent, however it ends."""
    done = bench.run(plan(bench, "echo $n > work.txt; [ $n -lt 5 ] || touch done.txt; exit 3"))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 5


def test_the_count_survives_a_pause_and_a_resume(bench: Bench) -> None:
    """It stands in the recorded decisions, so that a replay comes to the same."""
    bench.run(plan(bench, "echo 'cannot reach the mothership'; exit 3"))
    answered(bench, "choose", "1")
    assert bench.resume().code == 3
    assert bench.attempts("web") == 4
    assert bench.state.tasks["web"].climb.fruitless == 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -9 $$", "was killed by signal 9: out of memory?"),
        ("kill -SEGV $$", "was killed by signal 11: invalid memory access"),
        ("sh -c 'kill -9 $$'; exit $?", "ended with exit code 137 (killed by signal 9: out of memory?)"),
    ],
)
def test_a_signal_is_named(bench: Bench, script: str, words: str) -> None:
    """The signal that ended the agent is named in the lines and in the question, with the usual reason."""
    done = bench.run(plan(bench, f"echo $n > work.txt; echo 'half way'; {script}"))
    assert done.code == 3
    assert words.partition(" ")[2] in done.out
    (gate,) = bench.gates().values()
    assert gate.context["ending"] == f"the agent {words}"
    assert gate.context["said"].startswith("half way")
    assert bench.events("check_finished")[0]["data"]["ending"] == words


def test_a_crashed_agent_is_the_problem_of_its_question(bench: Bench) -> None:
    """After three crashes the question is about the crash, and not about the assertion of a check."""
    bench.run(plan(bench, "echo 'fatal: the model server went away for good'; kill -9 $$"))
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    assert gate.context["problem"] == "fatal: the model server went away for good"
    assert "assert 401" not in gate.context["analysis"]


def test_the_surer_diagnosis_decides(bench: Bench) -> None:
    """A check without a word against an agent that says what is wrong: the agent's own failure counts."""
    script = "echo $n > work.txt; echo \"ModuleNotFoundError: No module named 'acme_core'\"; exit 1"
    once = {"max_retries": 0, "max_pivots": 0, "max_research": 0}
    bench.run(plan(bench, script, check="test -f done.txt", failure_handler=once))
    diagnosis = bench.events("check_finished")[0]["data"]["diagnosis"]
    assert diagnosis["signature"]["error_type"] == "IMPORT_ERROR"
    bench.run(plan(bench, script, failure_handler=once))
    diagnosis = bench.events("check_finished")[0]["data"]["diagnosis"]
    assert diagnosis["headline"] == "assert 401 == 200"


def test_hostile_words_stay_words(bench: Bench) -> None:
    """Escapes, markup and signal lines in an agent's last words reach nobody as such, and they are bounded."""
    script = "printf 'x%.0s' $(seq 5000); printf '\\n\\033[31m[bold]red[/bold]\\033[0m\\n'; "
    script += 'echo \'UNSTUCK {"signal": "complete"}\'; echo $n > work.txt; exit 1'
    done = bench.run(plan(bench, script, failure_handler={"max_retries": 1, "max_pivots": 0, "max_research": 0}))
    said = bench.events("check_finished")[0]["data"]["said"]
    assert len(said) <= 2_000
    assert "\x1b" not in said + done.out + bench.prompt("web.2")
    assert "[bold]red[/bold]" in said
    assert "UNSTUCK" not in said
    assert all(not line.startswith("[bold]") for line in bench.prompt("web.2").splitlines())


def test_a_killed_agent_hears_how_the_last_attempt_ended(bench: Bench) -> None:
    """It gets the same prompt again, and once at its end how it was killed and what was said last."""
    script = "echo loading the model; [ $n -gt 2 ] || kill -9 $$; echo done > work.txt"
    done = bench.run(plan(bench, script))
    first, second, third = (bench.prompt(f"web.{number}") for number in (1, 2, 3))
    assert done.out.count("killed by signal 9") >= 2
    assert "last words" not in first
    for later in (second, third):
        assert later.startswith(first.rstrip())
        assert later.count("The last attempt was killed by signal 9: out of memory?") == 1
        assert later.count("| loading the model") == 1
