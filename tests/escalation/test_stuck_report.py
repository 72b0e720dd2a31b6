"""The stuck report: everything a person needs to decide, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from unstuck.diagnosis.model import Diagnosis
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.stuck_report import format_stuck_question, stuck_report

Make = Callable[..., Diagnosis]
CLIMB = Climb(
    told_retries=3,
    told_pivots=1,
    told_research=2,
    seen=("a",),
    repeats=7,
    failed_approaches=("use the SDK",),
    insights=("web.py:\n1 | # title\n2 | body",),
)


def test_the_report_as_a_file(failure: Make) -> None:
    """Problem, what was tried, the analysis, insights, the checkpoint, who waits, and the four options."""
    report = replace(
        stuck_report("web", CLIMB, failure("boom"), reason="nothing is left to try", checkpoint="chk-1"),
        touches=("shop",),
        files=("changed web.py",),
        tokens={"retry": 1200},
        consequences=("no file changes back", "shop stays blocked", "it ends", "a fresh session"),
    )
    text = report.markdown()
    for part in (
        "# web is stuck",
        "**Problem:** boom",
        "- 3 retries\n- 1 new approach\n- 2 rounds of research\n- without success: use the SDK",
        "It failed the same way 7 times in a row.",
        "Nothing is left to try.",
        "- web.py:\n\n      1 | # title\n      2 | body",
        "Checkpoint saved: chk-1",
        "Waiting for this task: shop",
        "## Changed so far\n\n- changed web.py",
        "- retry: 1,200 tokens",
        "1. Show me how to do this\n   (no file changes back)\n2. Skip this part for now\n   (shop stays blocked)\n",
        "3. Abandon the task\n   (it ends)\n4. Try again with a different approach: [describe]\n   (a fresh",
    ):
        assert part in text


def test_the_question(failure: Make) -> None:
    """The first part of a question fits on a screen and ends with the question."""
    report = stuck_report("web", CLIMB, failure("boom"), reason="nothing is left to try")
    assert format_stuck_question(report).splitlines() == [
        "I am stuck on: boom",
        "",
        "What I tried:",
        "• 3 retries",
        "• 1 new approach",
        "• 2 rounds of research",
        "",
        "My analysis:",
        f"It failed the same way 7 times in a row. {failure('boom').fix_hint} Nothing is left to try.",
        "",
        "Options:",
        "1. Show me how to do this",
        "2. Skip this part for now",
        "3. Abandon the task",
        "4. Try again with a different approach: [describe]",
        "",
        "What should I do?",
    ]


def test_what_happened_beside_the_ladder_is_counted_too(failure: Make) -> None:
    """An agent that crashed three times was not retried three times, and the report does not say so."""
    climb = Climb(agent_failures=3, transient=2, continuations=1)
    report = stuck_report("web", climb, failure(), reason="the agent failed 3 times (agent_crash)")
    assert report.attempts == {
        "retries": 0,
        "pivots": 0,
        "research": 0,
        "sessions": 1,
        "waits": 2,
        "agent_failures": 3,
    }
    tried = report.markdown()
    assert "- 3 failures of the agent itself" in tried
    assert "0 retries" not in tried
    assert "in a row" not in tried


def test_a_question_on_the_very_first_failure() -> None:
    """Nothing was tried yet, and there may be no diagnosis: the reason stands for it."""
    report = stuck_report("web", Climb(), None, reason="EACCES goes straight to a person")
    assert report.summary == "EACCES goes straight to a person"
    assert report.analysis == "EACCES goes straight to a person."
    assert "• one attempt" in format_stuck_question(report)
