"""Real agents in trouble of their own: no key, no credit, no such model or option, and a provider that is down."""

from __future__ import annotations

import json

import pytest
from tests.real_agents.conftest import Lab, Labs
from tests.real_agents.programs import PROGRAMS
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

TASK = "Write the greeting that everybody waits for."
VERIFY = "grep hello greeting.txt"
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "SCRIPTED_KEY", "gemini": "GEMINI_API_KEY", "qwen": "OPENAI_API_KEY"}
REFUSED = {
    "claude-401": (401, "authentication_error", "invalid x-api-key"),
    "claude-credit": (
        400,
        "invalid_request_error",
        (
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
            "purchase credits."
        ),
    ),
    "claude-model": (404, "not_found_error", "model: claude-99"),
    "codex-401": (401, "invalid_api_key", "Incorrect API key provided: none."),
    "codex-credit": (
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "codex-model": (404, "model_not_found", "The model `scripted` does not exist or you do not have access to it."),
    "gemini-key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "qwen-401": (401, "invalid_api_key", "Incorrect API key provided: none."),
    "opencode-401": (401, "invalid_api_key", "Incorrect API key provided: none."),
    "pi-401": (401, "invalid_api_key", "Incorrect API key provided: none."),
}
"""Refusals in the words of the providers. The name begins with the agent's."""


def works(asked: Asked) -> Turn:
    """Does its task at once."""
    return Turn(text="Done.") if asked.answered else Turn(text="I work.", command="echo hello > greeting.txt")


def given(one: Lab, *more: str) -> tuple[str, ...]:
    """The command line of a run that nobody watches."""
    arguments = (*one.program.arguments, *more)
    last = ("--", *arguments) if arguments else ()
    return ("run", "--headless", "--verify", VERIFY, "--agent", one.name, TASK, *last)


def asked_once(one: Lab) -> str:
    """The one question after one attempt, about the agent itself; its text."""
    assert len(one.events("attempt_started")) == 1
    (opened,) = [record["data"] for record in one.events("gate_opened")]
    assert (opened["type"], opened["key"]) == ("question", "agent")
    assert opened["context"]["options"] == ["I have fixed it: go on"]
    said: str = opened["context"]["question"]
    message, cure = said.splitlines()
    assert message
    assert any(word in cure for word in ("`", "provider", "credit"))
    return said


@pytest.mark.parametrize("name", list(KEYS))
def test_no_key_is_asked_about_once_and_goes_on_when_it_is_there(name: str, lab: Labs) -> None:
    """A warning before the attempt, one question with the agent's own words, and then the work."""
    one = lab(name, works)
    key = one.environ.pop(KEYS[name])
    told = one.unstuck(*given(one), code=3)
    if name != "codex":  # a provider of one's own is configured, whose key has any name
        assert f"{name} does not seem to be signed in here" in told
    asked_once(one)
    assert one.model.asked == []
    (opened,) = one.events("gate_opened")
    one.environ[KEYS[name]] = key
    one.unstuck("answer", opened["data"]["gate"], "choose", "1")
    one.unstuck("run", "--headless", "--resume", "last")
    assert [record["data"]["status"] for record in one.events("task_ended")] == ["succeeded"]
    assert one.events("directive_issued") == []


@pytest.mark.parametrize("trouble", list(REFUSED))
def test_a_refusal_that_only_a_person_cures_is_asked_about_once(trouble: str, lab: Labs) -> None:
    """The provider's own message is the first line of the one question; no level is used."""
    name = trouble.partition("-")[0]
    is_refused = [True]
    one = lab(name, lambda asked: Turn(refused=REFUSED[trouble]) if is_refused else works(asked))
    one.environ["CLAUDE_CODE_MAX_RETRIES"] = "0"
    one.unstuck(*given(one), code=3)
    said = asked_once(one)
    assert any(word in said.splitlines()[0].lower() for word in ("key", "credit", "quota", "model", "401")), said
    is_refused.clear()
    (opened,) = one.events("gate_opened")
    one.unstuck("answer", opened["data"]["gate"], "choose", "1")
    one.unstuck("run", "--headless", "--resume", "last")
    assert [record["data"]["status"] for record in one.events("task_ended")] == ["succeeded"]
    assert one.events("directive_issued") == []


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_an_option_that_it_does_not_know_is_asked_about_once(name: str, lab: Labs) -> None:
    """Its own line about the option, and no second attempt."""
    one = lab(name, works)
    one.unstuck(*given(one, "--bogus-option"), code=3)
    assert "bogus-option" in asked_once(one)


OUTAGES = {
    "claude-529": (529, "overloaded_error", "Overloaded"),
    "codex-503": (503, "server_error", "The server is overloaded or not ready yet."),
    "gemini-429": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "gemini-503": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}


@pytest.mark.parametrize("outage", list(OUTAGES))
@pytest.mark.parametrize("ends", [True, False])
def test_an_outage_is_waited_for_without_a_level(outage: str, ends: bool, lab: Labs) -> None:
    """Three short waits and one of its own kind; then the work, or a question where it does not end."""
    name = outage.partition("-")[0]

    def answer(asked: Asked) -> Turn:
        return works(asked) if ends and one.events("outage_wait") else Turn(refused=OUTAGES[outage])

    one = lab(name, answer)
    one.environ["CLAUDE_CODE_MAX_RETRIES"] = "0"
    if name == "gemini":  # otherwise it waits ten times itself, for minutes
        file = one.home / ".gemini" / "settings.json"
        settings = json.loads(file.read_text("utf-8"))
        file.write_text(json.dumps(settings | {"general": {"maxAttempts": 1}}), encoding="utf-8")
    (one.repo / "unstuck.yaml").write_text("outage_limit: 5s\n")
    one.unstuck(*given(one), code=0 if ends else 3)
    assert [record["data"]["delay_seconds"] for record in one.events("transient_error_retry")][1:] == [2, 4]
    assert one.events("outage_wait")
    assert one.events("directive_issued") == []
    assert len(one.events("gate_opened")) == (0 if ends else 1)


OVERLOADED = (503, "server_error", "The server is overloaded or not ready yet.")
REPEATING = {
    "qwen-429": (429, "rate_limit_exceeded", "Rate limit reached for scripted. Please try again later."),
    "qwen-503": OVERLOADED,
    "opencode-503": OVERLOADED,
    "gemini-503": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}
"""Outages that these agents wait for themselves: for minutes, or without an end."""


@pytest.mark.parametrize("outage", list(REPEATING))
def test_an_agent_that_only_repeats_its_request_is_ended_and_waited_for(outage: str, lab: Labs) -> None:
    """After four refusals in a row, of which its output says nothing, the outage is told; then the work goes on."""
    name = outage.partition("-")[0]

    def answer(asked: Asked) -> Turn:
        if one.events("transient_error_retry"):
            return works(asked)
        return Turn(refused=REPEATING[outage]) if asked.answered else Turn(text="I look.", command="true")

    one = lab(name, answer)
    one.unstuck(*given(one))
    is_waited_for(one)


OPENCODE = ("opencode", "run", "{prompt}")
WITHOUT_PRESET = {
    "gemini over ACP": ("gemini", ("--agent", "acp:gemini", TASK), ("--yolo", "--model", "gemini-2.5-flash")),
    "qwen over ACP": ("qwen", ("--agent", "acp:qwen", TASK), ("--auth-type", "openai", "--yolo")),
    "opencode over ACP": ("opencode", ("--agent", "acp:opencode", TASK), ()),
    "opencode by its own command": ("opencode", ("--task", TASK), (*OPENCODE, "--format", "json")),
    "opencode in plain text": ("opencode", ("--task", TASK), OPENCODE),
}


@pytest.mark.parametrize("how", list(WITHOUT_PRESET))
def test_refusals_are_heard_however_it_is_started(how: str, lab: Labs) -> None:
    """Over ACP, and by a command of one's own, it tells its log alone: that is enough."""
    name, work, more = WITHOUT_PRESET[how]

    def answer(asked: Asked) -> Turn:
        return works(asked) if one.events("transient_error_retry") else Turn(refused=OVERLOADED)

    one = lab(name, answer)
    last = ("--", *more) if more else ()
    one.unstuck("run", "--headless", "--verify", VERIFY, *work, *last)
    is_waited_for(one)


def is_waited_for(one: Lab) -> None:
    """One outage after repeated refusals, and the work after it."""
    name = one.name
    (waited,) = one.events("transient_error_retry")
    assert waited["data"]["delay_seconds"] == 1
    told = one.events("check_finished")[0]["data"]["diagnosis"]["headline"]
    assert told.startswith(f"{name} repeats a request that its provider refuses: ")
    assert len(one.events("attempt_started")) == 2
    assert one.events("directive_issued") == []


def test_a_model_that_opencode_does_not_know_is_asked_about_once(lab: Labs) -> None:
    """Its output only speaks of an unexpected error; the question has the words of its log."""
    one = lab("opencode", works)
    one.unstuck(*given(one, "--model", "scripted/none"), code=3)
    assert asked_once(one).startswith("Model not found: scripted/none.")
