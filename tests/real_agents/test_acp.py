"""Real agents that speak the Agent Client Protocol: asked, answered, steered, gone on with, stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.real_agents import conversations
from tests.real_agents.conftest import Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents


class Speaker(NamedTuple):
    """An agent: its program, what a run of it is given here, how its model deploys, and what it tells of a failure.

    ``code`` is the exit code of a failing command as it tells it, None where it tells of none; ``counts``: all that it
    uses is told, None where nothing is; ``asks``: it may not write by a command without being allowed to; ``looks``: it
    may look; ``remembers``: its model is told again what was said in a session that is gone on with.
    """

    program: str
    arguments: tuple[str, ...] = ()
    deploy: Turn = Turn(text="I deploy.", command="make deploy")
    code: int | None = 2
    counts: bool | None = True
    asks: bool = False
    looks: bool = True
    remembers: bool = True


ESCALATED = {"cmd": "make deploy", "sandbox_permissions": "require_escalated", "justification": "May I deploy?"}
SPEAKERS = {
    "claude": Speaker("claude-agent-acp", counts=False),  # what it suggests to its user comes on top
    "codex": Speaker("codex-acp", deploy=Turn(text="I deploy.", calls=(("exec_command", ESCALATED),))),
    "gemini": Speaker("gemini", ("--model", "gemini-2.5-flash"), code=None, counts=False, asks=True, remembers=False),
    "qwen": Speaker("qwen", ("--auth-type", "openai"), asks=True, remembers=False),
    "opencode": Speaker("opencode", counts=False),
    "cline": Speaker("cline", counts=None, asks=True, looks=False),
}


def opened(name: str, lab: Labs, answer: Callable[[Asked], Turn]) -> tuple[Lab, tuple[str, ...]]:
    """The agent's lab, and what follows the task on the command line."""
    speaker = SPEAKERS[name]
    one = lab(speaker.program, answer)
    if name == "opencode":  # by itself it asks about nothing
        file = one.home / "opencode.json"
        asks = {"permission": {"bash": {"*": "allow", "make *": "ask"}}}
        file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | asks), encoding="utf-8")
    if name == "cline":
        one.sign_in()
    return one, ("--", *speaker.arguments) if speaker.arguments else ()


@pytest.mark.parametrize("name", list(SPEAKERS))
def test_answered_on_the_screen(name: str, lab: Labs) -> None:
    """A person at the screen says no with a reason, and shows the way when it is stuck."""
    speaker = SPEAKERS[name]
    one, more = opened(name, lab, lambda asked: conversations.gets_stuck(asked, speaker.deploy))
    told = speaker._asdict()
    asked = {what: told[what] for what in ("code", "counts", "asks", "looks")}
    conversations.answered_by_a_person(one, f"acp:{name}", *more, **asked)


@pytest.mark.parametrize("name", list(SPEAKERS))
def test_words_reach_its_attempt(name: str, lab: Labs) -> None:
    """It is told of a repetition, then frozen and asked about; the answer is heard in the same attempt."""

    def repeats(asked: Asked) -> Turn:
        # Cline ends its turn after some failures: a model that answers at once would get there before the question.
        limit = time.monotonic() + 30
        while asked.answered == 4 and not is_asked() and time.monotonic() < limit:
            time.sleep(0.05)
        return conversations.repeats(asked)

    def is_asked() -> bool:
        return any(record["data"]["type"] == "loop_detected" for record in one.events("gate_opened"))

    one, more = opened(name, lab, repeats)
    conversations.steered(one, "--verify", conversations.VERIFY, "--agent", f"acp:{name}", conversations.TASK, *more)


@pytest.mark.parametrize("name", list(SPEAKERS))
def test_stopped(name: str, lab: Labs) -> None:
    """Its turn is cancelled before its process is ended, and no process is left."""
    one, more = opened(name, lab, conversations.sleeps)
    (one.repo / "answers.yaml").write_text("- {gate: permission, answer: allow, always: true}\n")
    log = conversations.stopped(one, f"acp:{name}", "--answers", "answers.yaml", *more)
    assert '"stopReason":"cancelled"' in log.replace(" ", "")


@pytest.mark.parametrize("name", list(SPEAKERS))
def test_a_retry_goes_on_with_its_session(name: str, lab: Labs) -> None:
    """The second attempt is the same conversation, the pivot a new one; what it remembers is not recorded again."""
    one, more = opened(name, lab, lambda asked: Turn(text="All tests pass now."))
    (one.repo / "unstuck.yaml").write_text("failure_handler: {max_retries: 1, max_pivots: 1, max_research: 0}\n")
    one.unstuck(
        "run",
        "--headless",
        "--verify",
        conversations.VERIFY,
        "--agent",
        f"acp:{name}",
        conversations.TASK,
        *more,
        code=3,
    )
    # Some ask their model more than they were told to.
    told = (conversations.TASK, "did not pass the check", "The last approach did not work")
    first, retry, pivot = (next(asked for asked in one.model.asked if words in asked.last) for words in told)
    assert "All tests pass now." not in first.text
    assert "All tests pass now." in retry.text or not SPEAKERS[name].remembers
    assert not any("All tests pass now." in text for role, text in pivot.turns if role == "assistant")
    sessions = [record["data"]["report"]["session"] for record in one.events("attempt_ended")]
    assert sessions[2] not in (sessions[0], None)
    assert sessions[0] == sessions[1] or not SPEAKERS[name].remembers
    said = [step["data"]["text"] for step in one.events("step_recorded") if step["data"]["kind"] == "message"]
    assert sum("All tests pass now." in text for text in said) == 3


@pytest.mark.parametrize("name", ["gemini", "qwen"])
def test_what_comes_from_a_cache_is_not_counted(name: str, lab: Labs) -> None:
    """These count cached tokens among those they read: they are left out, also in a session that is gone on with."""
    one, more = opened(name, lab, lambda asked: Turn(text="All tests pass now."))
    one.model.cached = 60
    (one.repo / "unstuck.yaml").write_text("failure_handler: {max_retries: 1, max_pivots: 0, max_research: 0}\n")
    one.unstuck(
        "run",
        "--headless",
        "--verify",
        conversations.VERIFY,
        "--agent",
        f"acp:{name}",
        conversations.TASK,
        *more,
        code=3,
    )
    used = [record["data"]["tokens"] for record in one.events("usage_counted")]
    assert len(used) == 2
    assert sum(used) == 50 * len(conversations.counted(one))
