"""The failure handler's output examples, and the circular fix's, as far as the ladder decides them."""

from __future__ import annotations

from unstuck import Approach, Execution, Failure, FailureHandler, FailureType, classify_failure, is_circular_fix


def flow(handler: FailureHandler, *failures: Failure) -> list[str]:
    """The actions that answer these failures, one after the other."""
    execution = Execution(current_phase="GREEN", current_approach=Approach("the plan's"))
    return [handler.handle(failure, execution).action for failure in failures]


def test_successful_retry() -> None:
    """A failing test that the first retry mends: ``→ Retry 1/3``."""
    said: list[str] = []
    handler = FailureHandler(output=said.append)
    failure = Failure("Test failed: Expected string but received undefined", phase="test")
    assert flow(handler, failure) == ["RETRY"]
    (line,) = said
    assert line.startswith("  → Retry 1/3: ")
    handler.succeeded()
    assert handler.retry_count == 0


def test_successful_pivot() -> None:
    """After a retry the approach turns out to be wrong: ``→ Pivot 1/3``, and its retries begin anew."""
    said: list[str] = []
    handler = FailureHandler(output=said.append)
    failures = (
        Failure("Middleware not working with App Router"),
        Failure("Still not matching routes", same_location_count=2),
    )
    assert flow(handler, *failures) == ["RETRY", "PIVOT"]
    assert [line.split(":")[0] for line in said] == ["  → Retry 1/3", "  → Pivot 1/3"]
    assert "Trying " in said[1]
    another = Failure("ReferenceError: groups is not defined")
    assert flow(handler, another) == ["RETRY"]
    assert said[2].startswith("  → Retry 1/3: ")


def test_research_success() -> None:
    """Retry, pivot, research: ``→ Research 1/2``."""
    said: list[str] = []
    handler = FailureHandler(output=said.append)
    failures = (
        Failure("Token refresh failing"),
        Failure("Token refresh still failing", same_location_count=2),
        Failure("Library doesn't support this provider", involves_external_api=True),
    )
    assert flow(handler, *failures) == ["RETRY", "PIVOT", "RESEARCH"]
    assert said[-1].startswith("  → Research 1/2: ")


def test_stuck_needs_help() -> None:
    """Three retries, the pivots and two research change nothing: the question lists them and the four options."""
    said: list[str] = []
    handler = FailureHandler(output=said.append)
    failure = Failure(
        "AssertionError: Webhook signature verification failing", summary="The webhook signature never matches"
    )
    actions = flow(handler, *[failure] * 9)
    assert actions == ["RETRY"] * 3 + ["PIVOT"] * 3 + ["RESEARCH"] * 2 + ["ASK"]
    heads = [line.split(":")[0].strip() for line in said[:-1]]
    assert heads == [
        "→ Retry 1/3",
        "→ Retry 2/3",
        "→ Retry 3/3",
        "→ Pivot 1/3",
        "→ Pivot 2/3",
        "→ Pivot 3/3",
        "→ Research 1/2",
        "→ Research 2/2",
    ]
    assert said[-1].startswith("! I am stuck and need help.\n\nI tried:\n• 3 retries\n")
    assert "Problem: The webhook signature never matches" in said[-1]


def test_the_circular_fix() -> None:
    """Three attempts that are one idea in other words are a circular fix; other ideas are none."""
    history = ["Using async await for fetch", "Using async/await with try-catch"]
    assert is_circular_fix("Using async await pattern", history)
    circular = is_circular_fix("Using async await pattern", history)
    assert classify_failure("still the same", "subtask-1", circular=circular) is FailureType.CIRCULAR_FIX
    assert not is_circular_fix("Rewrite it with plain callbacks", history)
    assert not is_circular_fix("Using async await pattern", history[:1])
