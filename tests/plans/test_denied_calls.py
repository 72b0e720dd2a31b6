"""Calls that an agent's own permissions do not allow: one question names the command and how it is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench, Ended

STREAMS = Path(__file__).parents[1] / "data" / "streams"
FORMATS = {
    "claude": ["--output-format", "stream-json"],
    "codex": ["exec", "--json"],
    "gemini": ["-o", "stream-json"],
    "qwen": ["-o", "stream-json"],
    "opencode": ["run", "--format", "json"],
}
CHECK = "test -f done.txt || { echo 'E       assert 1 == 2'; echo '1 failed in 0.01s'; exit 1; }"


def plan(bench: Bench, program: str, script: str, **settings: Any) -> Path:
    """One task for a stand-in of ``program``; its arguments of each attempt are kept beside its prompts."""
    path = Path(bench.agent("worker", f'echo "$@" > "$TOLD/$UNSTUCK_ATTEMPT.arguments"\n{script}')["command"][0])
    named = bench.outside / "bin" / program
    named.parent.mkdir(exist_ok=True)
    path.rename(named)
    task = {"id": "web", "prompt": "Build it.", "verify": CHECK}
    command = [str(named), *FORMATS[program], "--", "{prompt}"]
    return bench.plan(agents={"worker": {"command": command}}, tasks=[task], settings=settings)


def prints(recording: str) -> str:
    """The lines of a shell script that print a recorded stream."""
    return f"cat {STREAMS / f'{recording}.jsonl'}"


def answered(bench: Bench, *answer: str) -> Ended:
    """The open question answered from the command line."""
    return bench.call("answer", bench.gate(), *answer)


DENIED = {
    "claude": ("claude_denied", "make test", "make test *", "--allowedTools 'Bash(make test:*)'"),
    "claude, a part": ("claude_part_denied", "make test", "make test *", "--allowedTools 'Bash(make test:*)'"),
    "gemini": ("gemini_denied", "make test", "make test *", "--allowed-tools 'run_shell_command(make test)'"),
    "qwen": ("qwen_denied", "make test", "make test *", "--allowed-tools 'run_shell_command(make test)'"),
    "opencode": ("opencode_denied", "make test", "", "opencode.json"),
    "codex": ("codex_sandbox_denied", "touch /home/dev/other; curl", "", "--sandbox"),
}


@pytest.mark.parametrize("case", DENIED)
def test_one_question_names_the_command_and_its_argument(bench: Bench, case: str) -> None:
    """An attempt that changed no file and was denied a call is the last one before the question."""
    recording, command, rule, argument = DENIED[case]
    done = bench.run(plan(bench, case.partition(",")[0], prints(recording)))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 1
    (gate,) = bench.gates().values()
    assert (gate.type, gate.key, gate.context["error_type"]) == ("question", "denied", "permission_denied")
    first, cure = gate.context["question"].splitlines()
    assert command in first
    assert argument in cure
    without = "do without it: take another approach"
    assert gate.context["options"] == ([f"allow `{rule}` for this run", without] if rule else [without])
    assert "abandon" in gate.choices
    assert "assert 1 == 2" not in gate.context["question"]
    diagnosis = bench.events("check_finished")[0]["data"]["diagnosis"]
    assert diagnosis["headline"] == first
    assert first in done.out


def test_allowed_for_the_run_the_attempt_is_repeated_with_the_argument(bench: Bench) -> None:
    """No level is used up, and every later attempt of the run is started with it."""
    script = (
        f"case \"$*\" in *'Bash(make test:*)'*) [ $n -lt 3 ] || touch done.txt;; *) {prints('claude_denied')};; esac"
    )
    assert bench.run(plan(bench, "claude", script)).code == 3
    assert answered(bench, "choose", "1").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    told = [(bench.told / f"web.{n}.arguments").read_text() for n in (1, 2, 3)]
    assert "allowedTools" not in told[0]
    assert all("stream-json --allowedTools Bash(make test:*) -- " in one for one in told[1:])
    assert [event["data"]["climb"]["retries"] for event in bench.events("directive_issued")] == [1]
    assert "`make test *` is allowed now" in bench.prompt("web.2")
    begun = [event["data"]["guidance"].get("allowed") for event in bench.events("attempt_started")]
    assert begun == [[], ["make test *"], ["make test *"]]


def test_without_it_the_agent_hears_so_and_is_not_asked_about_it_again(bench: Bench) -> None:
    """The next attempts look for another approach; the same denial is no second question."""
    few = {"max_retries": 1, "max_pivots": 0, "max_research": 0}
    bench.run(plan(bench, "claude", f"{prints('claude_denied')}; [ $n -lt 3 ] || touch done.txt", failure_handler=few))
    assert answered(bench, "choose", "2").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert "do without it" in bench.prompt("web.2")
    assert bench.attempts("web") == 3


def test_an_attempt_that_works_on_is_asked_about_at_the_second_denial(bench: Bench) -> None:
    """Once denied and files changed: the work goes on; the same call denied again is asked about."""
    once = "sed -e '/toolu_00000003/d' -e '/\"permission_denials\"/d'"
    script = f"echo $n > work.txt; {once} {STREAMS / 'claude_denied.jsonl'}"
    done = bench.run(plan(bench, "claude", script))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 2
    (gate,) = bench.gates().values()
    assert gate.key == "denied"


def test_denied_twice_in_one_attempt_is_enough(bench: Bench) -> None:
    """Also where files were changed."""
    done = bench.run(plan(bench, "claude", f"echo $n > work.txt; {prints('claude_denied')}"))
    assert (done.code, bench.attempts("web")) == (3, 1)
    assert [gate.key for gate in bench.gates().values()] == ["denied"]


def test_a_denial_does_not_matter_where_the_check_passes(bench: Bench) -> None:
    """The check decides."""
    done = bench.run(plan(bench, "claude", f"{prints('claude_denied')}; touch done.txt"))
    assert done.code == 0, done.out + done.err
    assert bench.events("gate_opened") == []


def test_where_nobody_may_be_asked_the_task_fails_with_that_reason(bench: Bench) -> None:
    """One attempt, and the reason names the command and its argument."""
    done = bench.run(plan(bench, "claude", prints("claude_denied"), ask="never"))
    assert done.code == 4, done.out + done.err
    assert bench.attempts("web") == 1
    assert bench.events("workflow_failed")[0]["data"]["reason"] == "permission_denied"
    reason = str(bench.state.tasks["web"].reason)
    assert "make test" in reason
    assert "--allowedTools" in reason


def test_codex_says_beside_its_stream_what_it_rejects(bench: Bench) -> None:
    """Its own rule against a command is in no line of its JSON."""
    said = "2026-11-23T12:24:27Z ERROR codex_core::tools::router: error=exec_command failed: CreateProcess { message: "
    said += '"Rejected(\\"`/bin/bash -lc \'rm -rf build\'` rejected: rm -f style commands are not permitted.\\")" }'
    line = said.replace("'", "'\\''")
    plain = "sed -e '/command_execution/d'"
    script = f"printf '%s\\n' '{line}' >&2; {plain} {STREAMS / 'codex_sandbox_denied.jsonl'}"
    assert bench.run(plan(bench, "codex", script)).code == 3
    (gate,) = bench.gates().values()
    assert gate.context["question"].startswith("codex was not allowed to run this: rm -rf build\n")


@pytest.mark.parametrize(
    "printed",
    [
        "Exit code 1\\nThis command requires approval",
        "AssertionError: This command requires approval",
        "Permission denied",
    ],
)
def test_output_of_a_test_is_no_denial(bench: Bench, printed: str) -> None:
    """A command that ran and failed was allowed, whatever it printed."""
    text = printed.replace("\\", "\\\\")
    script = f'sed -e \'s/"This command requires approval"/"{text}"/\' -e \'s/"permission_denials":.*\\]/"x":[]/\' '
    few = {"max_retries": 0, "max_pivots": 0, "max_research": 0}
    bench.run(
        plan(bench, "claude", f"echo $n > work.txt; {script} {STREAMS / 'claude_denied.jsonl'}", failure_handler=few)
    )
    assert [gate.type for gate in bench.gates().values()] == ["stuck"]


def test_allowed_for_always_is_given_to_the_next_run(bench: Bench) -> None:
    """The same agent of another run starts with the argument, until the permission is revoked."""
    script = f"case \"$*\" in *'Bash(make test:*)'*) touch done.txt;; *) {prints('claude_denied')};; esac"
    path = plan(bench, "claude", script)
    assert bench.run(path).code == 3
    assert answered(bench, "choose", "1", "--for", "always").code == 0
    assert bench.resume().code == 0
    bench.git("clean", "-fdq")
    assert bench.run(path).code == 0
    assert bench.call("permissions", "revoke", "make test *").code == 0
    bench.git("clean", "-fdq")
    assert bench.run(path).code == 3
