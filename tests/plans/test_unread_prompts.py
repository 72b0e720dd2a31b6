"""Programs that cannot hear what failed: the prompt is in no argument, and its file is not read."""

from __future__ import annotations

import pytest
from tests.plans.conftest import Bench

SAID = "! the agent did not read its prompt"
CHECK = "test -f done.txt"


def agent(bench: Bench, script: str, *arguments: str) -> dict[str, object]:
    """An agent that counts its attempts, and reads no prompt by itself."""
    path = bench.outside / "worker.sh"
    path.write_text(f"#!/bin/sh\nn=${{UNSTUCK_ATTEMPT##*.}}\necho $n > work.txt\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return {"command": [str(path), *arguments]}


def lines(bench: Bench, worker: dict[str, object]) -> list[str]:
    """Return the lines of a run whose third attempt is right."""
    task = {"id": "web", "prompt": "Build it.", "verify": CHECK}
    done = bench.run(bench.plan(agents={"worker": worker}, tasks=[task]))
    assert done.code == 0, done.out + done.err
    return done.out.splitlines()


def test_it_is_noticed_before_the_second_attempt(bench: Bench) -> None:
    """One line says what to add, once."""
    printed = lines(bench, agent(bench, "[ $n -lt 3 ] || touch done.txt", "fix it"))
    (said,) = [place for place, line in enumerate(printed) if SAID in line]
    assert "put {prompt} into its command" in printed[said]
    assert printed[said].endswith("read $UNSTUCK_PROMPT_FILE")
    assert said < next(place for place, line in enumerate(printed) if "attempt 2" in line)


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ('cat "$UNSTUCK_PROMPT_FILE" > /dev/null', ()),
        ("true", ("--message", "{prompt}")),
        ("true", ("--file", "{prompt_file}")),
    ],
)
def test_a_program_that_gets_it_is_not_warned_about(bench: Bench, script: str, arguments: tuple[str, ...]) -> None:
    """By its file or by an argument."""
    printed = lines(bench, agent(bench, f"{script}; [ $n -lt 3 ] || touch done.txt", *arguments))
    assert not any(SAID in line for line in printed)


def test_a_check_that_passes_says_nothing(bench: Bench) -> None:
    """There is no second attempt that would need it."""
    assert not any(SAID in line for line in lines(bench, agent(bench, "touch done.txt")))


def asked_once(bench: Bench, worker: dict[str, object]) -> str:
    """Return the output of a run that asks after its first attempt."""
    task = {"id": "web", "prompt": "Build it.", "verify": CHECK}
    done = bench.run(bench.plan(agents={"worker": worker}, tasks=[task]))
    assert done.code == 3, done.out + done.err
    assert "attempt 2" not in done.out
    return done.out


def test_one_that_changed_nothing_is_asked_about_once(bench: Bench) -> None:
    """Further attempts would be the same: the question says what to add, and fixed, the run goes on."""
    worker = agent(bench, "echo ready; rm work.txt")
    out = asked_once(bench, worker)
    assert "! The agent changed no file and did not read its prompt" in out
    assert "Put `{prompt}` or `{prompt_file}` into its command" in out
    assert SAID not in out  # the question says it
    agent(bench, "touch done.txt")
    assert bench.call("answer", bench.gate(), "choose", "1").code == 0
    assert bench.resume().code == 0


@pytest.mark.parametrize("script", ["echo ready", "cat; echo ready", 'echo \'{"status": "complete"}\''])
def test_what_it_prints_or_finds_on_its_input_is_no_prompt(bench: Bench, script: str) -> None:
    """A program that waits for its task on its standard input finds the end of it."""
    assert "did not read its prompt" in asked_once(bench, {"command": ["sh", "-c", script]})


@pytest.mark.parametrize(
    "worker",
    [
        {"command": ["sh", "-c", "cat > /dev/null"], "prompt": "stdin"},
        {"command": ["sh", "-c", "cat {prompt_file} > /dev/null"]},
        {"command": ["sh", "-c", "true", "sh", "{prompt}"]},
        {"command": ["sh", "-c", 'cat "$UNSTUCK_PROMPT_FILE" > /dev/null']},
        {"command": ["sh", "-c", "test $UNSTUCK_ATTEMPT"]},
    ],
)
def test_one_that_heard_and_changed_nothing_is_tried_again(bench: Bench, worker: dict[str, object]) -> None:
    """By its input, an argument, the file or a variable: its failure is like any other."""
    bench.write({"unstuck.yaml": "failure_handler: {max_retries: 1, max_pivots: 0, max_research: 0}\n"})
    task = {"id": "web", "prompt": "Build it.", "verify": CHECK}
    done = bench.run(bench.plan(agents={"worker": worker}, tasks=[task]))
    assert done.code == 3, done.out + done.err
    assert "attempt 2" in done.out
    assert "read its prompt" not in done.out


def test_the_question_at_the_end_says_so(bench: Bench) -> None:
    """The person who has missed the line hears of it with what was tried."""
    bench.write({"unstuck.yaml": "failure_handler: {max_retries: 1, max_pivots: 0, max_research: 0}\n"})
    task = {"id": "web", "prompt": "Build it.", "verify": CHECK}
    done = bench.run(bench.plan(agents={"worker": agent(bench, "rm work.txt; exit 1")}, tasks=[task]))
    assert done.code == 3, done.out + done.err
    assert "ended with exit code 1 and changed no file and did not read its prompt" in done.out


@pytest.mark.parametrize(
    ("name", "cure"), [("pi", "`pi -p {prompt}`"), ("aider", "`aider --message {prompt} --yes-always`")]
)
def test_a_known_agent_without_a_prompt_is_asked_about_once(bench: Bench, name: str, cure: str) -> None:
    """As these do, it ends well where nobody types: one question with the command to use."""
    program = bench.outside / name
    # As aider does, it writes files of its own before it knows a task.
    own = "echo .aider > .gitignore" if name == "aider" else ""
    program.write_text(f"#!/bin/sh\n{own}\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    out = asked_once(bench, {"command": [str(program)]})
    assert f"! {name} did not get its prompt: its command has no place for one" in out
    assert cure in out


def test_an_agent_with_a_prompt_of_its_own_is_only_warned_about(bench: Bench) -> None:
    """It has worked: its usage is known."""
    program = bench.outside / "aider"
    script = (
        "echo 'Tokens: 2.4k sent, 17 received.'; [ ${UNSTUCK_ATTEMPT##*.} -lt 3 ] || touch done.txt; echo $$ > work"
    )
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    printed = lines(bench, {"command": [str(program), "--message-file", "todo.md"]})
    assert sum(SAID in line for line in printed) == 1
