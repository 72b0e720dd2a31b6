"""Real agents whose context is full: a new session goes on from their work, and after three of them a question."""

from __future__ import annotations

import pytest
from tests.real_agents.conftest import Labs
from tests.real_agents.programs import PROGRAMS
from tests.real_agents.scripted_model import Asked, Turn
from tests.real_agents.test_acp import SPEAKERS, opened

pytestmark = pytest.mark.agents

TASK = "Write the greeting that everybody waits for."
CHECK = "grep hello greeting.txt"


BEGUN = "I begin."


def is_first(asked: Asked) -> bool:
    """Return whether this is the first request of a session."""
    return bool(asked.body.get("tools")) and BEGUN not in asked.text


def full(asked: Asked) -> Turn:
    """Begins to work in every session; all further requests of it are too long, also those for a summary."""
    if is_first(asked):
        return Turn(text=BEGUN, command="echo begun > work.txt")
    return Turn(full=True) if BEGUN in asked.text else Turn(text="ok")


@pytest.mark.parametrize("name", [*PROGRAMS, "cline", *(f"acp:{name}" for name in SPEAKERS)])
def test_three_new_sessions_and_then_the_question(name: str, lab: Labs) -> None:
    """Each new session is told what was done; no level of the escalation is used, and nothing is left at work."""
    program = name.removeprefix("acp:")
    if program != name:
        one, more = opened(program, lab, full)
    else:
        one = lab(program, full)
        more = ("--", *one.program.arguments) if one.program.arguments else ()
        if name == "cline":
            one.sign_in()
    one.model.plain = True
    (one.repo / "answers.yaml").write_text("- {gate: permission, answer: allow, always: true}\n")
    given = ("--answers", "answers.yaml", "--check", CHECK, "--agent", name)
    (one.repo / "unstuck.yaml").write_text("idle_timeout: 20\n")
    one.unstuck("run", "--headless", *given, TASK, *more, code=3)
    levels = [record["data"]["level"] for record in one.events("directive_issued")]
    assert levels == ["continue", "continue", "continue", "human"]
    sessions = [asked for asked in one.model.asked if is_first(asked) and TASK in asked.text]
    assert all("The last session ran out of context." in asked.text for asked in sessions[1:])
    assert all(record["data"]["report"]["receipt"]["alive"] == [] for record in one.events("attempt_ended"))
