"""A quota that is used up for hours: a wait that is seen, and nothing that starts by itself at night."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records

from unstuck import Answer, Guidance, Outcome, Report, Supervisor, Task, admit, diagnose
from unstuck.diagnosis.agent_messages.quota_reset import seconds_until
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings

HOURS, DAY = 5 * 3600, 24 * 3600
TASK = Task(id="t", prompt=admit("Do it."))


class Refused:
    """An agent whose service refuses it until ``times`` have passed."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.told: list[Guidance] = []

    async def __call__(self, guidance: Guidance) -> Report:
        self.told.append(guidance)
        if len(self.told) <= self.times:
            return Report(exit_code=1, error=admit(f"HTTP 429 Too Many Requests: quota used up, retry after {HOURS} s"))
        return Report(exit_code=0)


async def begun(supervisor: Supervisor, agent: Refused, record: Any) -> asyncio.Future[Outcome]:
    """The task at work, up to its first wait."""
    working = asyncio.ensure_future(supervisor.supervise(TASK, agent))
    await record.until(lambda: record.of(e.TransientErrorRetry))
    return working


async def test_after_the_reset_i_am_asked_and_nothing_starts(
    repo: Path, clock: ManualClock, records: type[Records]
) -> None:
    """The wait of five hours is on record with its end; then it waits for my word, the whole night."""
    async with Supervisor.open(repo, clock=clock, person=True) as supervisor:
        agent, record = Refused(1), records(supervisor)
        working = await begun(supervisor, agent, record)
        row = supervisor.core.head.tasks["t"]
        assert row.state == "backoff"
        assert row.backoff_quota is True
        assert row.backoff_delay == HOURS
        assert row.backoff_until - clock.monotonic() == HOURS
        await clock.advance(HOURS - 1)
        assert not supervisor.core.head.gates
        await clock.advance(10 * 3600)
        gate = await record.asked()
        assert gate.gate.type == "question"
        assert gate.gate.key == "quota"
        assert gate.gate.context["options"] == ["Continue"]
        assert len(agent.told) == 1
        await supervisor.answer(gate.id, Answer(choice="choose", number=1))
        assert (await working).status == "unverified"
        assert [guidance.text for guidance in agent.told] == ["Do it.", "Do it."]
        assert [event.total_retries for event in record.of(e.TransientErrorResolved)] == [1]
        assert supervisor.core.head.gates[gate.id].status == "delivered"


async def test_whoever_wants_it_lets_it_go_on(repo: Path, clock: ManualClock, records: type[Records]) -> None:
    """With `after_quota: resume` the task begins again when the quota is there, and nobody is asked."""
    async with Supervisor.open(repo, Settings(after_quota="resume"), clock=clock, person=True) as supervisor:
        agent, record = Refused(2), records(supervisor)
        working = await begun(supervisor, agent, record)
        await clock.advance(HOURS)
        await record.until(lambda: len(record.of(e.TransientErrorRetry)) == 2)
        await clock.advance(HOURS)
        assert (await working).status == "unverified"
        assert [(event.retry, event.quota) for event in record.of(e.TransientErrorRetry)] == [(1, True), (2, True)]
        assert len(agent.told) == 3
        assert not supervisor.core.head.gates


async def test_the_waits_are_counted_and_end(repo: Path, clock: ManualClock, records: type[Records]) -> None:
    """A quota that never comes back is waited for three times, then it is a failure like any other."""
    async with Supervisor.open(repo, Settings(after_quota="resume"), clock=clock, person=True) as supervisor:
        agent, record = Refused(99), records(supervisor)
        working = await begun(supervisor, agent, record)
        for number in (1, 2, 3):
            await record.until(lambda number=number: len(record.of(e.TransientErrorRetry)) == number)
            await clock.advance(HOURS)
        await record.until(lambda: record.of(e.TransientErrorEscalated))
        await record.until(lambda: record.of(e.DirectiveIssued))
        assert len(record.of(e.TransientErrorRetry)) == 3
        await supervisor.stop("seen enough")
        await working


async def test_where_nobody_may_be_asked_the_run_ends(repo: Path, clock: ManualClock) -> None:
    """With `ask: never` and no word about going on the run halts at once, and says why."""
    async with Supervisor.open(repo, Settings(ask="never"), clock=clock) as supervisor:
        agent = Refused(1)
        await supervisor.supervise(TASK, agent)
        run = supervisor.core.head.run
        assert run.failed == "rate_limit"
        assert len(agent.told) == 1


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("retry in 2 hours", "7200"),
        ("retry after 2h", "7200"),
        ("Your limit resets in 2 hrs", "7200"),
        ("Retry-After: 7200", "7200"),
        ("try again in 3 hours 12 minutes.", "11520"),
        ("Please retry in 2h15m30.5s", "8130.5"),
        ("try again in 1 day and 2 hours", "93600"),
        ("try again in 250ms", "0.25"),
        ("retry after 3 hosts", "3"),
    ],
)
def test_hours_are_understood(words: str, seconds: str) -> None:
    """However a service says how long it takes, the wait is that long."""
    found = diagnose(f"HTTP 429 Too Many Requests. {words}", exit_code=1)
    assert found is not None
    assert found.signature.metadata["retry_after"] == seconds


NOW = 1_800_000_000.0  # 2027-01-15, 08:00 in UTC


@pytest.mark.parametrize(
    ("words", "said", "seconds"),
    [
        ("Claude usage limit reached. Your limit will reset at 3pm (Europe/Zagreb).", "15:00 Europe/Zagreb", 6 * 3600),
        ("5-hour limit reached, resets 8:30am (UTC)", "08:30 UTC", 1800),
        ("usage limit reached, resets at 8am (UTC)", "08:00 UTC", DAY),
        (f"Claude AI usage limit reached|{int(NOW) + 900}", str(int(NOW) + 900), 900),
        (f"Claude AI usage limit reached|{int(NOW) - 900}", str(int(NOW) - 900), 0),
        ("usage limit reached, resets at 3pm (Nowhere/Town)", "15:00 Nowhere/Town", 0),
        ("usage limit reached, resets at 13pm", "", 0),
    ],
)
def test_a_time_of_day_is_understood(words: str, said: str, seconds: float) -> None:
    """The next such time, where a zone is named in that zone; what is past or makes no sense is no wait."""
    found = diagnose(words, exit_code=1)
    assert found is not None
    assert found.signature.metadata.get("resets_at", "") == said
    assert seconds_until(said, NOW) == seconds


async def test_a_limit_until_a_time_of_day_is_waited_for(
    repo: Path, clock: ManualClock, records: type[Records]
) -> None:
    """An agent that says when its limit ends is not sent again before, and then I am asked."""

    async def agent(guidance: Guidance) -> Report:
        return Report(exit_code=1, error=admit("Claude usage limit reached. Your limit will reset at 3pm (UTC)."))

    async with Supervisor.open(repo, clock=clock, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(TASK, agent))
        await record.until(lambda: record.of(e.TransientErrorRetry))
        (wait,) = record.of(e.TransientErrorRetry)
        assert wait.quota
        assert wait.delay_seconds == seconds_until("15:00 UTC", clock.now())
        await supervisor.stop("seen enough")
        await working


async def test_a_limit_that_names_no_time_is_not_hammered(
    repo: Path, clock: ManualClock, records: type[Records]
) -> None:
    """A spent limit is no matter of seconds: an hour's wait that is seen, then I am asked, and no rung is used."""
    told = list[Guidance]()

    async def agent(guidance: Guidance) -> Report:
        told.append(guidance)
        return Report(exit_code=1, error=admit("Claude usage limit reached.")) if len(told) == 1 else Report()

    async with Supervisor.open(repo, clock=clock, person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(TASK, agent))
        await record.until(lambda: record.of(e.TransientErrorRetry))
        (wait,) = record.of(e.TransientErrorRetry)
        assert wait.delay_seconds == 3600
        assert wait.quota is True
        await clock.advance(10 * 3600)
        gate = await record.asked()
        assert gate.gate.type == "question"
        assert gate.gate.key == "quota"
        assert len(told) == 1
        await supervisor.answer(gate.id, Answer(choice="choose", number=1))
        assert (await working).status == "unverified"
        assert supervisor.core.head.tasks["t"].climb.directives == 0


@pytest.mark.parametrize(
    ("words", "spent"),
    [
        ("You've hit your usage limit. Upgrade to Pro.", "yes"),
        ("Error: 429 insufficient_quota: You exceeded your current quota, please check your plan", "yes"),
        ("HTTP 429 Too Many Requests", ""),
        ("rate limit exceeded, slow down", ""),
    ],
)
def test_what_is_spent_and_what_is_only_too_fast(words: str, spent: str) -> None:
    """Too many calls at once pass in seconds; a limit that is used up does not."""
    found = diagnose(words, exit_code=1)
    assert found is not None
    assert found.signature.metadata.get("used_up", "") == spent
    assert found.category.value == "transient"
