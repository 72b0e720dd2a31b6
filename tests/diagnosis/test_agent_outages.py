"""Outages and spent quotas in the words of real agents, and much that looks alike and is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.diagnosis.test_agent_troubles import MESSAGES, ORDINARY, outputs

from unstuck.diagnosis.agent_messages.outages import agent_outage
from unstuck.diagnosis.agent_messages.troubles import agent_trouble

DATA = Path(__file__).resolve().parents[1] / "data"
OUTAGES = [json.loads(line) for line in (DATA / "agent_outages.jsonl").read_text("utf-8").splitlines()]
# Errors of a model's API that are kept among the outputs of tools: an agent that prints them reports an outage.
OF_AN_API = ("told-",)


def test_the_messages_of_real_agents_are_known() -> None:
    """Recorded messages of many agents, in three lots that were collected one after the other."""
    missed = [row["said"][:80] for row in OUTAGES if agent_outage(row["said"], agent=row["agent"]) is None]
    assert len(missed) <= 1, missed


def test_none_of_them_needs_a_person() -> None:
    """Whatever passes by itself is no question about a sign-in or a key."""
    assert [row["said"] for row in OUTAGES if agent_trouble(row["said"], agent=row["agent"])] == []


def test_what_needs_a_person_stays_that() -> None:
    """Of the messages that only a person can cure at most those are taken for an outage that speak of a status."""
    both = [row for row in MESSAGES if agent_outage(row["said"], agent=row["agent"])]
    troubles = [agent_trouble(row["said"], agent=row["agent"], own=row.get("own", False)) for row in both]
    assert None not in troubles


@pytest.mark.parametrize("agent", ["", "claude", "aider"])
def test_no_output_of_a_check_is_taken_for_one(agent: str) -> None:
    """Also where an agent prints what its tests printed, and ends with an error."""
    texts = [(id, text) for id, text in outputs() if not id.startswith(OF_AN_API)]
    assert len(texts) >= 300
    assert [id for id, text in texts if agent_outage(text, agent=agent) is not None] == []
    assert [said for said in (*ORDINARY, *WORK) if agent_outage(said, agent=agent) is not None] == []


WORK = [
    "The endpoint now answers 429 Too Many Requests after ten calls, as the tests ask.",
    "E       assert 503 == 200\n1 failed in 0.12s",
    "  ✕ answers 503 Service Unavailable when overloaded\nTests:       1 failed, 3 passed, 4 total",
    "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: http://localhost:8000/items",
    "I added a rate limit of 100 requests; the test of the limit still fails.",
    "Let me make the requests faster to trigger the rate limit:",
    "1. Install the server\n2. Configure it with custom logging and rate limiting",
    "    48→    # Rate limiting zone for the benchmark",
]


@pytest.mark.parametrize(
    ("said", "times"),
    [
        ('{"error": {"code": 429,\n"details": [{"retryDelay": "41s"}],\n"status": "RESOURCE_EXHAUSTED"}}', ("41", "")),
        ('{"type":"usage_limit_reached","resets_in_seconds":1234}', ("1234", "")),
        ('{"type":"usage_limit_reached","resets_at":1800000900}', ("", "1800000900")),
        ('rate_limit_error "reset_at": "2027-01-15T09:00:00Z"', ("", "2027-01-15T09:00:00Z")),
        ("Opus weekly limit reached ∙ resets Oct 6, 1pm (UTC)", ("", "10-06 13:00 UTC")),
        ("You've hit your usage limit. Try again at Jan 17th, 2027 9:12 AM.", ("", "01-17 09:12")),
        ("stream error: Rate limit is exceeded. Try again in 4 seconds\nAPI Error: 429, try again in 17 s", ("17", "")),
    ],
)
def test_the_times_they_name_are_read(said: str, times: tuple[str, str]) -> None:
    """In words or JSON; the last message's own time counts before an earlier one's."""
    found = agent_outage(said, agent="codex")
    assert found is not None
    assert (found.times.get("retry_after", ""), found.times.get("resets_at", "")) == times
