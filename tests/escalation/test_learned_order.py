"""``memory: {order: learned}``: approaches by their share of successes against similar failures, fading with age."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.clock import iso
from unstuck.diagnosis.classification.causes import Approach
from unstuck.escalation.alternatives import HALF_LIFE_DAYS, learned_order, uses_of

NOW, DAY = 1_800_000_000.0, 86_400.0
HEADLINE = "AssertionError: total of cart is wrong"


@dataclass(frozen=True)
class Use:
    """A use of an approach by a task of its own."""

    approach: str
    outcome: str
    run: str
    signature: str = "s"
    note: str = HEADLINE
    cause: str = "test_assertion"
    task: str = "t"
    when: str = iso(NOW - DAY)


def uses(approach: str, *outcomes: str, days: float = 1, **more: str) -> list[Use]:
    when = iso(NOW - days * DAY)
    return [Use(approach, one, f"{approach}{number}", when=when, **more) for number, one in enumerate(outcomes)]


def order(tried: list[Use], *ways: Approach) -> list[str]:
    return [way.name for way in learned_order(ways, uses_of(tried, signature="s", headline=HEADLINE, now=NOW))]


WORKED, FAILED = "worked", "failed"
A, B, C = Approach("a", "agent", 0.6), Approach("b", "memory", 0.8), Approach("c", "built_in", 0.4)


def test_the_better_share_comes_first_and_says_why() -> None:
    """Four of five go before one of one, an untried one, and one that mostly failed."""
    tried = [*uses("c", *[WORKED] * 4, FAILED), *uses("b", WORKED), *uses("d", FAILED, FAILED, WORKED)]
    ways = (B, A, C, Approach("d", "memory", 0.8))
    assert order(tried, *ways) == ["c", "b", "a", "d"]
    first = learned_order(ways, uses_of(tried, signature="s", headline=HEADLINE, now=NOW))[0]
    assert first.record == "worked 4 of 5"


def test_old_successes_fade() -> None:
    """Successes of a year ago count less than the agent's own idea now, which they passed when they were new."""
    assert order(uses("c", *[WORKED] * 5, days=1), A, C) == ["c", "a"]
    assert order(uses("c", *[WORKED] * 5, days=6 * HALF_LIFE_DAYS), A, C) == ["a", "c"]


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({}, True),
        ({"signature": "other"}, True),
        ({"signature": "other", "note": "AssertionError: total of the cart is wrong here"}, True),
        ({"signature": "other", "note": "ImportError: no module named pay"}, False),
        ({"note": ""}, True),
        ({"signature": "other", "note": ""}, False),
    ],
)
def test_only_similar_failures_count(more: dict[str, str], counts: bool) -> None:
    """The same failure, or one whose message has nearly the same words."""
    found = uses_of(uses("c", WORKED, **more), signature="s", headline=HEADLINE, now=NOW)
    assert bool(found) == counts


def test_a_task_counts_once() -> None:
    """Of the uses by one task the newest counts, which is the first of the list."""
    same = [Use("c", WORKED, "r"), Use("c", FAILED, "r"), Use("c", FAILED, "r", task="u")]
    (found,) = uses_of(same, signature="s", headline=HEADLINE, now=NOW).values()
    assert found.words == "worked 1 of 2"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([WORKED, FAILED]), st.integers(0, 900))))
def test_nothing_is_lost_or_invented(drawn: list[tuple[str, str, int]]) -> None:
    """Whatever is remembered, every approach stays, with a share from 0 to 1; without a record nothing moves."""
    tried = [Use(name, outcome, str(n), when=iso(NOW - days * DAY)) for n, (name, outcome, days) in enumerate(drawn)]
    found = learned_order((B, A, C), uses_of(tried, signature="s", headline=HEADLINE, now=NOW))
    assert {way.name for way in found} == {"a", "b", "c"}
    assert all(0 <= way.confidence <= 1 for way in found)
    assert learned_order((B, A, C), {}) == (B, A, C)
    assert uses_of([Use("c", WORKED, "r", when="yesterday")], signature="s", headline="", now=NOW)["c"].weight == 0.5
