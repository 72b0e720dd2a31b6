"""Real agents that we run ourselves, headless: retry in their session, pivot afresh, a question, and its answer."""

from __future__ import annotations

import re

import pytest
from tests.real_agents.conftest import Labs
from tests.real_agents.programs import PROGRAMS
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

TASK = "Write the greeting that everybody waits for."
APPROACH = "Say hello in greeting dot txt"
VERIFY = "grep hello greeting.txt"
SHORT_LADDER = "failure_handler: {max_retries: 1, max_pivots: 1, max_research: 0}\n"


def stubborn(asked: Asked) -> Turn:
    """Looks, fails, and says that all is well, until it hears the person's own words."""
    if APPROACH in asked.last:
        return Turn(text="I do as I am told.", command="echo hello > greeting.txt")
    if asked.answered == 0:
        return Turn(text="I look.", command="echo looking; ls no-such-file")
    return Turn(text="All tests pass now.")


def people(asked: Asked) -> int:
    """Return the number of a person's messages in a conversation; additions of agents do not count."""
    return sum(role == "user" and TASK in text for role, text in asked.turns)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_from_the_first_attempt_to_the_persons_answer(name: str, lab: Labs) -> None:
    """It fails and is retried in the same session with the hint in its next request; the pivot begins a new session;
    it gets stuck, asks, and the person's approach is in the request after that. Steps, usage and sessions are on
    record, and only the check says that it is done."""
    one = lab(name, stubborn)
    (one.repo / "unstuck.yaml").write_text(SHORT_LADDER)
    arguments = ("--", *one.program.arguments) if one.program.arguments else ()
    one.unstuck("run", "--headless", "--verify", VERIFY, "--agent", name, TASK, *arguments, code=3)

    begun = [record["data"]["guidance"] for record in one.events("attempt_started")]
    levels = [guidance["level"] for guidance in begun]
    assert levels[:3] == ["first", "retry", "pivot"]
    sessions = [record["data"]["report"]["session"] for record in one.events("attempt_ended")]
    assert sessions[0]
    assert begun[1]["session"] == sessions[0] == sessions[1]
    assert begun[2]["session"] is None
    assert sessions[2] not in (None, sessions[0])

    first_requests = [asked for asked in one.model.asked if asked.answered == 0]
    first, retry, pivot = first_requests[:3]
    assert TASK in first.last
    assert "did not pass the check" in retry.last
    assert VERIFY in retry.last
    assert "All tests pass now." in retry.text  # the same conversation
    assert people(retry) == 2
    assert not any("All tests pass now." in text for role, text in pivot.turns if role == "assistant")
    assert people(pivot) == 1

    steps = [record["data"] for record in one.events("step_recorded")]
    assert any(step["kind"] == "action" and "no-such-file" in step["text"] for step in steps)
    if name in ("claude", "codex", "opencode", "pi"):  # the others' streams do not tell how a command ended
        assert {step["exit_code"] for step in steps if step["kind"] == "failure"} == {2}
    used = sum(record["data"]["tokens"] for record in one.events("usage_counted"))
    assert used == 110 * len(one.model.asked)

    said = one.unstuck("show")
    (gate,) = re.findall(r"\? (g\d+-[0-9a-f]{4})  stuck", said)
    before = len(one.model.asked)
    one.unstuck("answer", gate, "retry", APPROACH)
    one.unstuck("run", "--headless", "--resume", "last")
    told = one.model.asked[before]
    assert APPROACH in told.last
    assert people(told) == 1
    assert "hello" in (one.repo / "greeting.txt").read_text()
    assert [record["data"]["status"] for record in one.events("task_ended")] == ["succeeded"]
    used = sum(record["data"]["tokens"] for record in one.events("usage_counted"))
    assert used == 110 * len(one.model.asked)  # also where another process had worked in the session before


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_claim_is_not_believed(name: str, lab: Labs) -> None:
    """An agent that says all tests pass and runs none, and whose program ends with 0, is not done."""
    one = lab(name, lambda asked: Turn(text="All tests pass. Done."))
    arguments = ("--", *one.program.arguments) if one.program.arguments else ()
    one.unstuck(
        "run",
        "--headless",
        "--ask",
        "never",
        "--direct",
        "--verify",
        "false",
        "--agent",
        name,
        TASK,
        *arguments,
        code=4,
    )
    assert {record["data"]["report"]["exit_code"] for record in one.events("attempt_ended")} == {0}
    assert not any(record["data"]["status"] == "succeeded" for record in one.events("task_ended"))


DENIED = {"claude": "Bash", "gemini": "run_shell_command", "qwen": "run_shell_command"}


@pytest.mark.parametrize("name", list(DENIED))
def test_a_denied_command_is_asked_about_and_allowed_for_the_run(name: str, lab: Labs) -> None:
    """With its preset alone the agent may not run the command; the answer adds its own argument, and then it may."""
    told = (DENIED[name], {"command": "make greeting.txt", "description": "greet"})
    one = lab(name, lambda asked: Turn(text="I am done.") if asked.answered else Turn(text="I make it.", calls=(told,)))
    (one.repo / "Makefile").write_text("greeting.txt:\n\techo hello > greeting.txt\n")
    others = [word for word in one.program.arguments if word not in ("--allowedTools", "Bash", "--yolo")]
    arguments = ("--", *others) if others else ()
    one.unstuck("run", "--headless", "--verify", VERIFY, "--agent", name, TASK, *arguments, code=3)
    (asked,) = one.events("gate_opened")
    assert asked["data"]["key"] == "denied"
    assert "make greeting.txt" in asked["data"]["context"]["question"]
    one.unstuck("answer", asked["data"]["gate"], "choose", "1")
    one.unstuck("run", "--headless", "--resume", "last")
    assert "hello" in (one.repo / "greeting.txt").read_text()
    assert len(one.events("attempt_started")) == 2


def test_cline_from_wrong_to_right(lab: Labs) -> None:
    """Its steps and usage are on record, each attempt hears what failed, and nothing of it is left at work."""
    one = lab("cline", lambda asked: Turn(text="All done.") if asked.answered else _by_turns(asked))
    one.sign_in()
    one.unstuck("run", "--headless", "--verify", VERIFY, "--agent", "cline", TASK)
    steps = [record["data"] for record in one.events("step_recorded")]
    assert {step["exit_code"] for step in steps if step["kind"] == "failure"} == {2}
    assert sum(record["data"]["tokens"] for record in one.events("usage_counted")) == 110 * len(one.model.asked)
    assert len(one.events("attempt_started")) == 2
    assert all(not record["data"]["report"]["receipt"]["alive"] for record in one.events("attempt_ended"))


def _by_turns(asked: Asked) -> Turn:
    told = "did not pass the check" in asked.last
    return Turn(text="I work.", command="echo hello > greeting.txt" if told else "ls no-such-file")


def test_aider_from_wrong_to_right(lab: Labs) -> None:
    """It edits by what its model says, its usage lines are on record, and each attempt hears what failed."""

    def edits(asked: Asked) -> Turn:
        told = "hello" if "did not pass the check" in asked.last else "good morning"
        return Turn(text=f"greeting.txt\n```\n{told}\n```\n")

    one = lab("aider", edits)
    one.model.plain = True
    arguments = ("--edit-format", "whole", "--map-tokens", "0", "--no-gitignore")
    one.unstuck("run", "--headless", "--verify", VERIFY, "--agent", "aider", TASK, "--", *arguments)
    assert len(one.events("attempt_started")) == 2
    assert sum(record["data"]["tokens"] for record in one.events("usage_counted")) == 110 * len(one.model.asked)
    assert "hello" in (one.repo / "greeting.txt").read_text()
    assert TASK in one.model.asked[0].last
    assert [record["data"]["status"] for record in one.events("task_ended")] == ["succeeded"]


def test_aider_hears_why_its_edits_failed(lab: Labs) -> None:
    """It ends its turn after three failed edits; the next attempt hears that no file changed, and its last words."""

    def edits(asked: Asked) -> Turn:
        old = "good day" if "changed no file" in asked.text else "no such line"
        return Turn(text=f"greeting.txt\n```\n<<<<<<< SEARCH\n{old}\n=======\nhello\n>>>>>>> REPLACE\n```\n")

    one = lab("aider", edits)
    one.model.plain = True
    (one.repo / "greeting.txt").write_text("good day\n")
    arguments = ("--edit-format", "diff", "--map-tokens", "0", "greeting.txt")
    one.unstuck("run", "--headless", "--verify", VERIFY, "--agent", "aider", TASK, "--", *arguments)
    assert len(one.events("attempt_started")) == 2
    assert "SEARCH/REPLACE block failed to match" in one.model.asked[-1].last
    assert (one.repo / ".aider.chat.history.md").is_file()
    assert not (one.repo / ".gitignore").exists()
