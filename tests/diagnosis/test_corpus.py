"""Measured on labelled outputs of about fifty real tools. The floors are slightly below what is reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unstuck.diagnosis import Diagnosis, diagnose

DATA = Path(__file__).parent.parent / "data"


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def diagnosed() -> dict[str, tuple[dict[str, Any], Diagnosis]]:
    found = {}
    for case in cases("failures.jsonl"):
        diagnosis = diagnose(case["output"], exit_code=case["exit_code"], tool=case["tool"])
        assert diagnosis is not None
        found[case["id"]] = (case, diagnosis)
    return found


def is_there(diagnosis: Diagnosis, file: str | None, line: int | None) -> bool:
    if file is None or line is None:
        return diagnosis.location is None
    said, _, number = (diagnosis.location or "").rpartition(":")
    return number == str(line) and (said == file or said.endswith("/" + file))


def share(verdicts: list[bool]) -> float:
    return sum(verdicts) / len(verdicts)


def test_error_types(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """Nine of ten real failures get the error type a person would give them."""
    strict = [
        found.error_type.value.removesuffix("_ERROR") == case["truth"]["error_type"]
        for case, found in diagnosed.values()
    ]
    assert share(strict) >= 0.95


def test_failure_types(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """Builds, failed checks and full contexts are told apart in nine of ten real failures."""
    strict = [found.failure_type.value == case["truth"]["failure_type"] for case, found in diagnosed.values()]
    assert share(strict) >= 0.94


def test_locations(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """The place shown is the user's own line, and no place is shown where there is none."""
    strict = [is_there(found, case["truth"]["file"], case["truth"]["line"]) for case, found in diagnosed.values()]
    assert share(strict) >= 0.95


def test_transient_failures_are_waited_for(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """Rate limits and time-outs of services are transient; no bug in the code is taken for one."""
    transient = [(case, found) for case, found in diagnosed.values() if found.category.value == "transient"]
    harmless = ("transient", "infrastructure")
    wrong = [
        case["id"]
        for case, _ in transient
        if case["truth"]["category"] not in harmless
        and not set(harmless) & set(case["truth"].get("alt_categories", []))
    ]
    missed = [
        case["id"]
        for case, found in diagnosed.values()
        if case["truth"]["category"] == "transient" and found.category.value != "transient"
    ]
    assert wrong == []
    assert len(missed) <= 2


def test_the_same_failure_again(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """Another directory, line, process or time does not make it another failure."""
    pairs = [(found, diagnosed[case["pair_of"]][1]) for case, found in diagnosed.values() if case["pair_of"]]
    assert share([one.identity == two.identity for one, two in pairs]) >= 0.95


def test_another_failure_that_looks_alike(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """Another key, module, test or status is another failure, however alike the text."""
    pairs = [(found, diagnosed[case["not_same_as"]][1]) for case, found in diagnosed.values() if case["not_same_as"]]
    assert share([one.identity != two.identity for one, two in pairs]) >= 0.95


def test_success_is_no_failure() -> None:
    """A command that ended well has no diagnosis, however many error words it printed."""
    assert [diagnose(case["output"], exit_code=case["exit_code"]) for case in cases("clean.jsonl")] == [None] * 6


def test_every_diagnosis_survives_the_log(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """What was written to the log reads back as the same diagnosis."""
    for _, found in diagnosed.values():
        assert Diagnosis.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_every_diagnosis_helps(diagnosed: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    """Each says one line of what is wrong and one of what to do."""
    for _, found in diagnosed.values():
        assert found.headline
        assert "\n" not in found.headline
        assert found.fix_hint
