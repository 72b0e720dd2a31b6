"""Outputs of tools beyond the corpus, collected from real runs and by hand (`tests/data/tools.jsonl`).

Each line: ``output``, ``exit_code`` and what a reader says of it; null where readers disagree. ``again`` is the same
failure from a second run in another directory with seven more lines above.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "tools.jsonl").read_text(encoding="utf-8").splitlines()
]
Pairs = list[tuple[dict[str, Any], Diagnosis]]


@pytest.fixture(scope="module")
def found() -> Pairs:
    pairs = []
    for case in CASES:
        diagnosis = diagnose(case["output"], exit_code=case["exit_code"])
        assert diagnosis is not None
        pairs.append((case, diagnosis))
    return pairs


def wrong(found: Pairs, field: str, says: Any) -> list[str]:
    """The cases whose ``field`` is not what a reader says; where readers disagree, nothing is wrong."""
    return [case["id"] for case, one in found if case[field] is not None and case[field] != says(one)]


def at_most(ids: list[str], part: float) -> bool:
    """Few enough; the ids show in the assertion that fails."""
    return len(ids) <= part * len(CASES)


def test_error_types_of_tools(found: Pairs) -> None:
    """Tools that no rule was written for in particular get the right type all the same."""
    ids = wrong(found, "error_type", lambda one: one.error_type.value.removesuffix("_ERROR"))
    assert at_most(ids, 0.03), ids


def test_failure_types_of_tools(found: Pairs) -> None:
    """The failure type is right for compilers, linters, test runners and programs."""
    ids = wrong(found, "failure_type", lambda one: one.failure_type.value)
    assert at_most(ids, 0.03), ids


def test_categories_of_tools(found: Pairs) -> None:
    """The category tells apart what a person must fix, what passes with time, and what the agent did."""
    ids = wrong(found, "category", lambda one: one.category.value)
    assert at_most(ids, 0.03), ids


def test_places_of_tools(found: Pairs) -> None:
    """The user's own line is found, and none is made up where the tool says none."""
    ids = [
        case["id"]
        for case, one in found
        if (one.location is not None)
        if case["location"] is None or not f"/{one.location}".endswith(f"/{case['location']}")
    ]
    ids += [case["id"] for case, one in found if one.location is None and case["location"] is not None]
    assert at_most(ids, 0.04), ids


def test_a_second_run_elsewhere_is_the_same_failure(found: Pairs) -> None:
    """Another directory and seven lines more above change nothing about what the failure is."""
    again = [
        (case["id"], one.signature, diagnose(case["again"], exit_code=case["exit_code"]))
        for case, one in found
        if "again" in case
    ]
    assert len(again) > 100
    other = [id for id, one, two in again if two is None or not one.is_identical_to(two.signature)]
    assert at_most(other, 0.02), other
