"""Trouble of the check alone, such as a service that it needs: the check waits and runs again, the agent does not."""

from __future__ import annotations

from pathlib import Path

from unstuck import Capabilities, Guidance, Observation, Report, Supervisor, Task, admit
from unstuck.eventlog import events as e

# The check runs once before the work and twice at each look at it.
CHECK = """
n=$(cat runs 2>/dev/null || echo 0); n=$((n + 1)); echo $n > runs
test $n -ge {runs} || { echo "HTTPError: 429 Client Error: Too Many Requests"; exit 1; }
"""


async def test_only_the_check_is_repeated(repo: Path) -> None:
    """One attempt, two waits of 1 and 2 s, then the check passes and the trouble is over."""
    attempts: list[str] = []
    heard: list[e.Event] = []

    async def agent(guidance: Guidance) -> None:
        attempts.append(guidance.attempt)

    async with Supervisor.open(repo) as supervisor:
        supervisor.core.journal.on_append(lambda record: heard.append(record.event))
        task = Task(id="web", prompt=admit("mend it"), verify=CHECK.replace("{runs}", "6"))
        outcome = await supervisor.supervise(task, agent)
    assert outcome.status == "succeeded"
    assert attempts == ["web.1"]
    waits = [event for event in heard if isinstance(event, e.TransientErrorRetry)]
    assert [(wait.delay_seconds, wait.check_alone) for wait in waits] == [(1.0, True), (2.0, True)]
    (resolved,) = [event for event in heard if isinstance(event, e.TransientErrorResolved)]
    assert resolved.total_retries == 2


async def test_a_check_that_passes_only_for_the_agent(repo: Path) -> None:
    """The agent ran the check last and saw it pass; it fails here. The next attempt and the record say so."""
    heard: list[e.Event] = []
    check = 'test -n "$ONLY_THE_AGENT_HAS_THIS"'
    async with Supervisor.open(repo) as supervisor:
        supervisor.core.journal.on_append(lambda record: heard.append(record.event))
        session = supervisor.session(Task(id="web", prompt=admit("mend it"), verify=check), Capabilities())
        started = await session.begin()
        assert started.guidance is not None
        for kind, text in (("action", f"cd . && {check}"), ("success", "ok"), ("message", "It passes.")):
            session.see(Observation(kind=kind, text=admit(text)))  # type: ignore[arg-type]
        directive = await session.end(started.guidance.attempt, Report(exit_code=0))
    (finished,) = [event for event in heard if isinstance(event, e.CheckFinished)]
    assert finished.result == "failed"
    assert finished.trouble == "env_disagreement"
    assert finished.problem.startswith("the check passed when the agent ran it and fails when unstuck runs")
    assert directive.kind == "start"
    assert "The check passed when the agent ran it and fails when unstuck runs" in directive.guidance.text


async def test_a_pass_before_the_last_edit_says_nothing(repo: Path) -> None:
    """A pass of the agent's own check is void after its next edit."""
    heard: list[e.Event] = []
    async with Supervisor.open(repo) as supervisor:
        supervisor.core.journal.on_append(lambda record: heard.append(record.event))
        session = supervisor.session(Task(id="web", prompt=admit("mend it"), verify="false"), Capabilities())
        started = await session.begin()
        assert started.guidance is not None
        for kind, text in (("action", "false"), ("success", "ok"), ("action", "sed -i s/a/b/ x"), ("success", "")):
            session.see(Observation(kind=kind, text=admit(text)))  # type: ignore[arg-type]
        await session.end(started.guidance.attempt, Report(exit_code=0))
    (finished,) = [event for event in heard if isinstance(event, e.CheckFinished)]
    assert finished.trouble == ""
