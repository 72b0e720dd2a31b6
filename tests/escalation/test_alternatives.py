"""Targets of a pivot and their order, and that the built-in approaches really differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import pytest

from unstuck.detection import is_circular_fix
from unstuck.detection.similarity import SIMILAR, similarity
from unstuck.diagnosis.enums import Cause
from unstuck.escalation.alternatives import alternatives, built_in, known_ways, learnt_patterns, remembered_ways


@dataclass(frozen=True)
class Use:
    """One use of an approach, as memory has it."""

    approach: str
    signature: str = "s1"
    outcome: str = "worked"
    note: str = "KeyError: currency"
    cause: str = "test_assertion"


CAUSE = Cause.TEST_ASSERTION


@pytest.mark.parametrize("cause", list(Cause))
def test_the_built_in_ways_are_no_circle(cause: Cause) -> None:
    """Two pivots in a row are never taken for the same idea in other words."""
    ways = built_in(cause)
    assert len(ways) >= 2
    assert len(set(ways)) == len(ways)
    for way, other in permutations(ways, 2):
        assert similarity(way, other) <= SIMILAR, (way, other)
    assert not any(is_circular_fix(way, [other for other in ways if other != way]) for way in ways)


def test_what_worked_before_comes_first() -> None:
    """Memory before patterns before the agent's own idea before what every project knows, by their discounts."""
    ways = alternatives(
        Cause.DEPENDENCY_ISSUE,
        remembered=[("remembered", 1.0)],
        patterns=[("pattern", 1.0)],
        named=["named"],
    )
    assert [way.source for way in ways[:4]] == ["memory", "pattern", "agent", "failure_analysis"]
    assert [way.confidence for way in ways[:4]] == pytest.approx([0.8, 0.7, 0.6, 0.5])
    assert {way.source for way in ways[4:]} == {"built_in"}
    assert ways[3].name == "use_alternative_library"


def test_what_failed_is_never_offered_again_wherever_it_comes_from() -> None:
    """Neither memory nor a pattern nor the agent brings back an approach that failed."""
    ways = alternatives(
        Cause.SIMPLE_LOGIC,
        remembered=[("bad", 1.0)],
        patterns=[("bad", 1.0)],
        named=["bad", "good"],
        failed={"bad", *built_in(Cause.SIMPLE_LOGIC)},
    )
    assert [way.name for way in ways] == ["good"]


def test_the_same_way_is_offered_once_at_its_best() -> None:
    """Two sources that name one approach are one alternative."""
    ways = alternatives(Cause.SIMPLE_LOGIC, remembered=[("cache it", 0.5)], named=["cache it", ""])
    assert [(way.name, way.source) for way in ways if way.name == "cache it"] == [("cache it", "agent")]
    assert all(way.name for way in ways)


def test_memory_goes_by_how_alike_failures_are() -> None:
    """An approach that worked against this very failure counts whole, against a similar one less, against others not at
    all.
    """
    tried = [
        Use("same"),
        Use("alike", "s2", note="KeyError: price"),
        Use("other words", "s3", note="nothing in common"),
        Use("other cause", "s4", cause="syntax_error"),
        Use("this failure, other cause", "s1", cause="syntax_error"),
    ]
    ways = dict(remembered_ways(tried, cause=CAUSE, signature="s1", headline="KeyError: currency"))
    assert ways.keys() == {"same", "alike", "this failure, other cause"}
    assert ways["same"] == ways["this failure, other cause"] == 1.0
    assert 0 < ways["alike"] < 1
    assert alternatives(CAUSE, remembered=ways.items())[0].confidence == pytest.approx(0.8)


def test_the_last_use_decides_what_is_remembered() -> None:
    """An approach that failed since it worked is not remembered as one that works."""
    newest_first = [Use("a", outcome="failed"), Use("a"), Use("b"), Use("b", outcome="failed")]
    assert [way for way, _ in remembered_ways(newest_first, cause=CAUSE, signature="s1", headline="x")] == ["b"]


def test_what_worked_twice_is_a_pattern() -> None:
    """Against two failures of one cause, with the share of those against which it worked; once is no pattern."""
    tried = [
        Use("twice", "s1"), Use("twice", "s2"), Use("mostly", "s1"), Use("mostly", "s2"), Use("once", "s1"),
        Use("mostly", "s3", outcome="failed"), Use("again", "s1"), Use("again", "s1"), Use("far", "s9", cause="x"),
    ]  # fmt: skip
    found = dict(learnt_patterns(tried, cause=CAUSE))
    assert found == {"twice": 1.0, "mostly": pytest.approx(2 / 3)}
    assert alternatives(CAUSE, patterns=found.items())[0].confidence == pytest.approx(0.7)


def test_my_own_patterns() -> None:
    """My own approaches for such failures are offered, and none for others."""
    mine = (("currency|price", "use cents", 0.9), ("timeout", "wait", 1.0))
    assert known_ways(mine, "KeyError: currency") == (("use cents", 0.9),)
