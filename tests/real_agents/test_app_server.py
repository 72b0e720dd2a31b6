"""Codex itself by its app-server: asked, steered, interrupted, and gone on with."""

from __future__ import annotations

import pytest
from tests.real_agents import conversations
from tests.real_agents.conftest import Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

AGENT = "codex-app-server"
DEPLOY = Turn(
    text="I deploy.",
    calls=(
        (
            "exec_command",
            {"cmd": "make deploy", "sandbox_permissions": "require_escalated", "justification": "May I deploy?"},
        ),
    ),
)


def allowed(lab: Lab) -> Lab:
    """Allow what Codex calls experimental."""
    lab.environ["UNSTUCK_EXPERIMENTAL"] = "accept"
    return lab


def test_answered_on_the_screen(lab: Labs) -> None:
    """A person at the screen says no with a reason, and shows the way when it is stuck."""

    def answer(asked: Asked) -> Turn:
        return conversations.gets_stuck(asked, DEPLOY)

    one = allowed(lab("codex", answer))
    conversations.answered_by_a_person(one, AGENT)
    (permission, _) = one.events("gate_opened")
    assert permission["data"]["context"]["context"] == "May I deploy?"
    attempts = [record["data"]["guidance"]["session"] for record in one.events("attempt_started")]
    sessions = [record["data"]["report"]["session"] for record in one.events("attempt_ended")]
    assert attempts[1] in (None, sessions[0])


@pytest.mark.parametrize("hold", ["freeze", "step"])
def test_steered_in_its_turn(hold: str, lab: Labs) -> None:
    """Frozen, or held before its next command: the answer is told in the same turn."""
    one = allowed(lab("codex", conversations.repeats))
    plan = f"agents: {{it: {{preset: {AGENT}, hold: {hold}}}}}\ntasks: [{{id: web, prompt: x, verify: y}}]\n"
    (one.repo / "plan.yaml").write_text(
        plan.replace("prompt: x", f"prompt: {conversations.TASK}").replace(
            "verify: y", f"verify: {conversations.VERIFY}"
        )
    )
    conversations.steered(one, "plan.yaml")
    standing = {"freeze": "frozen", "step": "held"}[hold]
    assert one.events("gate_opened")[0]["data"]["standing"] == standing


def test_interrupted(lab: Labs) -> None:
    """Its turn is interrupted before its process is ended; nothing of it is left."""
    assert '"status":"interrupted"' in conversations.stopped(allowed(lab("codex", conversations.sleeps)), AGENT)


def test_a_retry_goes_on_with_its_thread(lab: Labs) -> None:
    """The second attempt is the same conversation, the pivot a new one."""

    def answer(asked: Asked) -> Turn:
        return Turn(text="All tests pass now.")

    one = allowed(lab("codex", answer))
    (one.repo / "unstuck.yaml").write_text("failure_handler: {max_retries: 1, max_pivots: 1, max_research: 0}\n")
    one.unstuck("run", "--headless", "--verify", conversations.VERIFY, "--agent", AGENT, conversations.TASK, code=3)
    first, retry, pivot = one.model.asked[:3]
    assert "All tests pass now." not in first.text
    assert "did not pass the check" in retry.last
    assert "All tests pass now." in retry.text
    assert not any("All tests pass now." in text for role, text in pivot.turns if role == "assistant")
    used = sum(record["data"]["tokens"] for record in one.events("usage_counted"))
    assert used == 110 * len(one.model.asked)
