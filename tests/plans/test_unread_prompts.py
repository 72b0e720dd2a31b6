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


def test_the_question_at_the_end_says_so(bench: Bench) -> None:
    """The person who has missed the line hears of it with what was tried."""
    bench.write({"unstuck.yaml": "failure_handler: {max_retries: 1, max_pivots: 0, max_research: 0}\n"})
    worker = agent(bench, "rm work.txt")
    task = {"id": "web", "prompt": "Build it.", "verify": CHECK}
    done = bench.run(bench.plan(agents={"worker": worker}, tasks=[task]))
    assert done.code == 3, done.out + done.err
    assert "the agent changed no file and did not read its prompt" in done.out


@pytest.mark.parametrize(
    ("name", "cure"), [("pi", "`pi -p {prompt}`"), ("aider", "`aider --message {prompt} --yes-always`")]
)
def test_a_known_agent_without_a_prompt_is_asked_about_once(bench: Bench, name: str, cure: str) -> None:
    """As these do, it ends well where nobody types: one question with the command to use."""
    program = bench.outside / name
    program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    task = {"id": "web", "prompt": "Build it.", "verify": CHECK}
    done = bench.run(bench.plan(agents={"worker": {"command": [str(program)]}}, tasks=[task]))
    assert done.code == 3, done.out + done.err
    assert "attempt 2" not in done.out
    assert f"! {name} got no prompt: its command has no place for one" in done.out
    assert cure in done.out
