"""The responses to an error by its category: the result dictionaries and the events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import unstuck

Logged = list[tuple[str, dict[str, Any]]]


def logger(logged: Logged) -> Any:
    return lambda name, **fields: logged.append((name, fields))


def test_a_transient_error_waits_1_2_4_seconds_and_then_is_the_agents() -> None:
    """Three retries, then the task is dispatched again."""
    logged: Logged = []
    error, context = SimpleNamespace(type="rate_limit"), {"retry_count": 0, "task_id": "web", "agent_type": "qa"}
    delays = []
    for _ in range(3):
        done = unstuck.handle_transient_error(error, context, log_event=logger(logged))
        assert done["action"] == "retry"
        delays.append(done["delay_seconds"])
        context["retry_count"] = done["retry_count"]
    assert delays == [1, 2, 4]
    assert logged[0] == ("transient_error_retry", {"error_type": "rate_limit", "retry": 1, "delay_seconds": 1})
    done = unstuck.handle_transient_error(error, context, log_event=logger(logged))
    assert done == {"action": "redispatch", "task_id": "web"}
    assert [name for name, _ in logged[-2:]] == ["transient_error_escalated", "agent_failure"]


def test_a_failed_agent_is_dispatched_again_until_the_limit() -> None:
    """Its task returns to the queue twice; the third failure halts."""
    logged: Logged = []
    failed: dict[str, int] = {}
    queue: list[str] = []
    error = SimpleNamespace(type="agent_crash")
    results = [
        unstuck.handle_agent_failure(
            error, "web", "qa_engineer", failed_attempts=failed, available_tasks=queue, log_event=logger(logged)
        )
        for _ in range(3)
    ]
    assert results == [{"action": "redispatch", "task_id": "web"}] * 2 + [
        {"action": "halt", "reason": "task_limit_exceeded"}
    ]
    assert (failed, queue) == ({"web": 3}, ["web", "web"])
    assert logged[1] == (
        "agent_failure",
        {"task_id": "web", "agent_type": "qa_engineer", "error_type": "agent_crash", "attempt": 2},
    )
    assert logged[2][1]["details"] == "Task web failed 3 times"


def test_infrastructure_is_remediated() -> None:
    """Nothing starts before the issue is gone."""
    logged: Logged = []
    error = SimpleNamespace(type="test_failure", details="the tests fail without any change")
    done = unstuck.handle_infrastructure_error(error, "web", log_event=logger(logged))
    assert done["action"] == "remediate"
    assert logged == [("infrastructure_blocked", {"issue": error.details, "reported_by": "web"})]


def test_configuration_is_asked_about() -> None:
    """The question, its options and its context are there; options may be missing."""
    error = SimpleNamespace(type="scope_unclear", details="All pages?", options=["all", "one"], context="web")
    done = unstuck.handle_configuration_error(error, "web")
    assert done == {
        "action": "ask",
        "task_id": "web",
        "question": "All pages?",
        "options": ["all", "one"],
        "context": "web",
    }
    assert unstuck.handle_configuration_error(SimpleNamespace(type="missing_info"), "web")["options"] == []


def test_unrecoverable_errors_halt() -> None:
    """The event holds reason, details and context."""
    logged: Logged = []
    error = SimpleNamespace(type="remediation_limit_exceeded", details="three times")
    done = unstuck.handle_unrecoverable_error(error, {"task_id": "web"}, log_event=logger(logged))
    assert done == {"action": "halt", "reason": "remediation_limit_exceeded"}
    assert logged == [
        (
            "workflow_failed",
            {"reason": "remediation_limit_exceeded", "details": "three times", "context": {"task_id": "web"}},
        )
    ]
