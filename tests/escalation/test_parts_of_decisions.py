"""Parts of a decision, each with the case beside it that must come out otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unstuck.diagnosis.agent_messages.troubles import TROUBLE
from unstuck.escalation.complexity import grows
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.precedence import AskQuestion, Direct, Halt, chosen, decide
from unstuck.escalation.prompts import cut_off, ended_badly
from unstuck.escalation.research_targets import insights_about

Make = Callable[..., Any]


@dataclass(frozen=True)
class Remembered:
    """A line of the memory."""

    note: str
    signature: str = "s1"
    approach: str = ""
    outcome: str = "worked"
    task: str = "fix the cart"
    when: str = "2026-05-03T10:00:00Z"


def test_an_agent_that_a_person_must_cure_is_asked_about_at_once(facts: Make, failure: Make) -> None:
    """A trouble of the agent itself opens a question, or ends the task where nobody may be asked."""
    broken = failure("no credit", **{TROUBLE: "account"})
    asked = decide(facts(diagnosis=broken), Limits())
    assert isinstance(asked, AskQuestion)
    assert asked.error_type == "agent_account"
    assert isinstance(decide(facts(diagnosis=broken, may_ask=False), Limits()), Halt)
    assert isinstance(decide(facts(diagnosis=failure("no credit")), Limits()), Direct)


def test_the_chosen_level_is_the_one_that_is_taken(facts: Make) -> None:
    """Research stays research where another approach is known, and a pivot without one becomes research."""
    assert getattr(chosen(facts(), "pivot"), "level", "") == "pivot"
    assert getattr(chosen(facts(), "research"), "level", "") == "research"
    assert getattr(chosen(facts(alternatives=()), "pivot"), "level", "") == "research"
    assert getattr(chosen(facts(), "human"), "level", "") == "human"


def test_a_change_grows_over_three_attempts_only() -> None:
    """Three attempts that double the change are growth; two, a smaller growth and a step back are none."""
    assert grows([10, 30, 90])
    assert grows([500, 10, 30, 90])
    assert not grows([10, 90])
    assert not grows([10, 12, 29])
    assert not grows([10, 90, 30])


def test_sizes_and_repeats_belong_to_one_failure() -> None:
    """Another failure begins to count from one."""
    climb = Climb().noting("s1", "", size=10).noting("s1", "", size=20)
    assert (climb.repeats, climb.sizes) == (2, (10, 20))
    other = climb.noting("s2", "", size=30)
    assert (other.repeats, other.sizes) == (1, (30,))


def test_an_attempt_that_was_cut_off_says_what_it_left() -> None:
    """Unknown changes, none, a few and many are told apart, and so is a tree that was put back."""
    assert "look at that first" in cut_off(None)
    assert "has changed no file" in cut_off([])
    assert "- M cart.py" in cut_off(["M cart.py"])
    assert "more" in cut_off([f"M file{n}.py" for n in range(500)])
    assert cut_off(["M cart.py"], stays=False) in cut_off(None)


def test_last_words_are_told_once() -> None:
    """Words that the ending has are not repeated, and an attempt that ended well has no paragraph."""
    assert "| no credit left" in ended_badly("ended with 2", "no credit left")
    assert ended_badly("ended with: no credit left", "no credit left") == "The last attempt ended with: no credit left."
    assert ended_badly("ended with 2", "") == "The last attempt ended with 2."
    assert ended_badly("", "no credit left") == ""


def test_findings_about_the_same_failure_come_before_those_about_a_similar_one() -> None:
    """The newest two that helped against the same failure, each once; a similar one only where there is none."""
    known = [
        Remembered("use a table", task="newest"),
        Remembered("use a table", task="oldest"),
        Remembered("read the schema"),
        Remembered("never reached"),
        Remembered("other", signature="s2", approach="the cart total is wrong after a refund"),
        Remembered("failed", signature="s3", outcome="failed"),
    ]
    found = insights_about(known, signature="s1", headline="the cart total is wrong after a refund")
    assert [one.rpartition("\n")[2] for one in found] == ["use a table", "read the schema"]
    assert "newest" in found[0]
    (similar,) = insights_about(known, signature="s9", headline="the cart total is wrong after a refund")
    assert similar.endswith("other")
    assert insights_about(known, signature="s9", headline="") == ()
    assert insights_about(known, signature="s3", headline="") == ()
