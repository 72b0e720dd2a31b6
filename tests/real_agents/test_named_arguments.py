"""First look at real agents: the argument that it names is the one with which they may run the check."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from tests.real_agents.conftest import Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

CHECKS = {"gemini": "cd . && make test", "qwen": "MODE=fast make test"}
TASK = "Write the greeting that everybody waits for."
CHECK = "make test"
SETTINGS = "failure_handler: {max_retries: 0, max_pivots: 0, max_research: 0}\n"
SHELLS = {"claude": "Bash", "gemini": "run_shell_command", "qwen": "run_shell_command"}
MORE = {"gemini": ("--model", "gemini-2.5-flash"), "qwen": ("--auth-type", "openai")}


def doctors_words(one: Lab) -> list[str]:
    """Whatever the doctor says about the agents of this machine."""
    rows = [json.loads(line) for line in one.run("unstuck", "doctor", "--json").stdout.splitlines()]
    return [row["value"] for row in rows if row["what"] == "agent"]


def worked(one: Lab, *more: str, check: str = CHECK) -> tuple[list[str], list[Asked]]:
    """One attempt: the warnings before it, and the requests after the agent's own call."""
    arguments = (*MORE.get(one.name, ()), *more)
    before = len(one.model.asked)
    run = ("run", "--headless", "--direct", "--ask", "never", "--check", check, "--agent", one.name, TASK)
    one.unstuck(*run, *(("--", *arguments) if arguments else ()), code=4)
    assert len(one.events("attempt_started")) == 1
    (record,) = one.events("run_started")
    return record["data"]["warnings"], [asked for asked in one.model.asked[before:] if asked.answered]


@pytest.mark.parametrize(("name", "check"), [*((name, CHECK) for name in SHELLS), *CHECKS.items()])
def test_the_argument_that_is_named_allows_the_check(name: str, check: str, lab: Labs) -> None:
    """Doctor and the start of a run say the same; without the argument the call is refused, with it the check runs."""
    call = (SHELLS[name], {"command": check, "description": "check"})
    one = lab(name, lambda asked: Turn(text="Done.") if asked.answered else Turn(text="I check.", calls=(call,)))
    (one.repo / "Makefile").write_text("test:\n\t@echo the check fails; false\n")
    (one.repo / "unstuck.yaml").write_text(SETTINGS)
    warnings, answers = worked(one, check=check)
    (told,) = warnings
    if check == CHECK:  # the one that the project seems to have
        assert doctors_words(one) == [told]
    assert answers
    (ended,) = one.events("attempt_ended")
    assert check in str(ended["data"]["report"]["denied"])
    assert not any("the check fails" in asked.last for asked in answers)
    (argument,) = re.findall(r"`-- (.+)` allows it", told)
    warnings, answers = worked(one, *shlex.split(argument), check=check)
    assert not any("check itself" in warning for warning in warnings)
    assert any("the check fails" in asked.last for asked in answers)


def test_the_sandbox_that_is_named_lets_codex_write(lab: Labs) -> None:
    """In a read-only sandbox its command fails, and the warning names the sandbox in which it does not."""
    one = lab(
        "codex",
        lambda asked: Turn(text="Done.") if asked.answered else Turn(text="I write.", command="echo hello > new.txt"),
    )
    (one.repo / "Makefile").write_text("test:\n\t@grep hello new.txt\n")
    (one.repo / "unstuck.yaml").write_text(SETTINGS)
    assert doctors_words(one) == []
    warnings, _ = worked(one, "--sandbox", "read-only")
    (told,) = [warning for warning in warnings if "read-only" in warning]
    assert not (one.repo / "new.txt").exists()
    (argument,) = re.findall(r"give it `(.+)`", told)
    one.unstuck(
        "run", "--headless", "--direct", "--check", CHECK, "--agent", "codex", TASK, "--", *shlex.split(argument)
    )
    assert "hello" in (one.repo / "new.txt").read_text()


WRITERS = {"claude": "Write", "gemini": "write_file", "qwen": "write_file"}


@pytest.mark.parametrize("name", list(WRITERS))
def test_the_mode_that_is_named_lets_it_write(name: str, lab: Labs) -> None:
    """In a mode that asks for each edit nothing is written, and the warning names the mode in which it is."""
    one = lab(name, lambda asked: Turn(text="Done.") if asked.answered else write)
    path = one.repo / "new.txt"
    write = Turn(text="I write.", calls=((WRITERS[name], {"file_path": str(path), "content": "hello"}),))
    (one.repo / "Makefile").write_text("test:\n\t@false\n")
    (one.repo / "unstuck.yaml").write_text(SETTINGS)
    option = "--permission-mode" if name == "claude" else "--approval-mode"
    warnings, _ = worked(one, option, "default")
    (told,) = [warning for warning in warnings if "cannot change a file" in warning]
    assert not path.exists()
    (argument,) = re.findall(r"give it `(.+)`", told)
    warnings, _ = worked(one, *shlex.split(argument))
    assert not any("cannot change a file" in warning for warning in warnings)
    assert path.read_text().strip() == "hello"
