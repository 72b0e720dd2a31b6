"""Where a pivot can go, in which order, and that the ways every project knows are really different ones."""

from __future__ import annotations

from itertools import permutations

import pytest

from unstuck.detection import is_circular_fix
from unstuck.detection.similarity import SIMILAR, similarity
from unstuck.diagnosis import Cause
from unstuck.escalation.alternatives import alternatives, built_in


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
